"""Who does a thing to whom, and whether it is done yet: of "Tom lent me 50" comes no loan to Tom. English."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from anaphora.rules.facts.judging.senses import OTHERS
from anaphora.rules.facts.judging.unsaid import main_verb
from anaphora.rules.facts.judging.weighed import Source, Weighed
from anaphora.rules.language.lexicon import alike, stems
from anaphora.rules.language.said import Said, Who
from anaphora.rules.language.stems import inflected, split

_BEING: Final = frozenset(split("am i'm im is are we're he's she's they're was were"))
_ME_AND: Final = re.compile(r"\b(?:me and|and (?:me|i))\b", re.IGNORECASE)
_DETERMINERS: Final = frozenset(split("a an the my our his her their your this that of for some no more"))
#: what is done with them is done before it is over
_PASSIVE: Final = frozenset(split("was is been were being got get are am"))
_TAKEN: Final = re.compile(r"\b(?:got|gets?|received|inherited|borrowed|bought|obtained|acquired)\b.{1,60}\bfrom\b")
_GIVEN: Final = re.compile(r"\b(?:gave|giving|lent|sold|sent|handed|donated|passed)\b.{1,60}\bto (?!me\b|us\b)")


def check_directions(mine: Sequence[Said], sources: Sequence[Source], found: Weighed) -> None:
    """A statement must not turn round who did what to whom, nor end what only goes on."""
    near = [source for source in sources if source.rank < 2]
    verb = main_verb(mine)
    if verb is not None and verb.who is Who.SPEAKER:
        _check_doer(mine, verb, near, found)
        _check_done(mine, verb, near, found)
        _check_habit(mine, verb, near, found)
    _check_compared(mine, near, found)
    told = " ".join(word.low for word in mine)
    if _TAKEN.search(told) and any(_GIVEN.search(source.quoted.casefold()) for source in near):
        found.conflicts.append(OTHERS)


def _check_doer(mine: Sequence[Said], verb: Said, near: Sequence[Source], found: Weighed) -> None:
    """What others did to the one who speaks, the one who speaks did not do."""
    if not verb.low.endswith("ing") and any(
        word.low in _PASSIVE and 0 < mine.index(verb) - at < 3 for at, word in enumerate(mine)
    ):
        return
    places = [(source.words, at) for source in near for at in _places(source.words, verb.stem)]
    # "the rent" is nobody's act
    places = [(words, at) for words, at in places if not at or words[at - 1].low not in _DETERMINERS]
    if any(_ME_AND.search(source.text) for source in near):
        return
    if places and all(words[at].who in {Who.OTHERS, Who.THEY} for words, at in places):
        found.conflicts.append(OTHERS)


def _check_done(mine: Sequence[Said], verb: Said, near: Sequence[Source], found: Weighed) -> None:
    """Who is learning a thing has not learned it."""
    if not inflected(verb.low) or verb.low.endswith("ing") or any(word.low in _BEING for word in mine[1:3]):
        return
    places = [(source.words, at) for source in near for at in _places(source.words, verb.stem)]
    if places and all(words[at].low.endswith("ing") and at and words[at - 1].low in _BEING for words, at in places):
        found.added.append("an act that only goes on")


def _check_habit(mine: Sequence[Said], verb: Said, near: Sequence[Source], found: Weighed) -> None:
    """What was done once is no habit: "woke at 5 today"."""
    if not verb.low.endswith("s") or verb.low.endswith("ss") or mine.index(verb) != 1 or verb.stem in _LASTING:
        return
    places = [(source, at) for source in near for at in _places(source.words, verb.stem)]
    if places and all(
        source.rank == 0
        and inflected(source.words[at].low)
        and not source.words[at].low.endswith("ing")
        and _ONCE.search(source.text)
        and not _HABIT.search(source.text)
        for source, at in places
    ):
        found.added.append("a habit that nobody spoke of")


#: what was so is likely to be so still
_LASTING: Final = stems("have own know like love hate prefer need want live")
_ONCE: Final = re.compile(
    r"\b(?:today|yesterday|tonight|last (?:night|week|weekend|month|\w+day)|this (?:morning|week|weekend)|once|just)\b",
    re.IGNORECASE,
)
_HABIT: Final = re.compile(
    r"\b(?:every|each|always|usual\w*|often|again|as usual|daily|weekly|regular\w*|never|still|since|\w+ times)\b",
    re.IGNORECASE,
)


def _check_compared(mine: Sequence[Said], near: Sequence[Source], found: Weighed) -> None:
    """Who is taller than somebody is not the one who is shorter."""
    for word in _comparatives(mine):
        theirs = [
            other
            for source in near
            for other in _comparatives(source.words)
            if alike(word.stem, other.stem) or word.low == other.low
        ]
        if theirs and all((word.who is Who.SPEAKER) is (other.who in {Who.OTHERS, Who.THEY}) for other in theirs):
            found.conflicts.append(OTHERS)


def _comparatives(words: Sequence[Said]) -> Iterator[Said]:
    for at, word in enumerate(words[:-1]):
        if words[at + 1].low == "than" and word.who in {Who.SPEAKER, Who.OTHERS, Who.THEY}:
            yield word


def _places(words: Sequence[Said], root: str) -> Iterator[int]:
    yield from (at for at, word in enumerate(words) if alike(root, word.stem))


def check_owners(mine: Sequence[Said], sources: Sequence[Source], found: Weighed) -> None:
    """Whose a thing is, it is not called: "Tom's cat" is no cat called Tom."""
    text = "\n".join(source.text for source in sources).casefold()
    for at, word in enumerate(mine):
        if not word.capital or not at or mine[at - 1].low not in {"called", "named"}:
            continue
        name = re.escape(word.low)
        owned = len(re.findall(rf"\b{name}'s [a-z]", text))
        if (
            owned
            and owned == len(re.findall(rf"\b{name}\b", text))
            and not re.search(rf"\b{name}'s (?:a|an|my|the|our)\b", text)
        ):
            found.conflicts.append(OTHERS)
