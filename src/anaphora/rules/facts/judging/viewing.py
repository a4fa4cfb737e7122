"""What is known of a statement as a whole before its words are looked for. English."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from anaphora.rules.facts.judging.claims import DISLIKES, LIKES
from anaphora.rules.facts.judging.roles import aliases
from anaphora.rules.facts.judging.senses import ILL
from anaphora.rules.facts.judging.weighed import Source, View
from anaphora.rules.language.lexicon import VERBS, is_person, stems
from anaphora.rules.language.markers import Mood
from anaphora.rules.language.said import Said
from anaphora.rules.language.stems import inflected, split, stem
from anaphora.rules.language.words import STOP

_CONDITIONS: Final = frozenset(
    split("if when whenever unless otherwise should depending depends provided conditional once would case")
)
#: with them a statement says itself that something is not so yet
_OPEN: Final = stems(
    "goal aim intend consider hope save aside dream interest possible possibly potential option depend target ideally "
    "propose suppose expect due upcoming tentative recommend advise plan want wish would might may could should "
    "think prospective eventual future undecided uncertain unsure"
)


_CHANGES: Final = frozenset(split("from instead than rather replaced replacing changed switched over"))
#: with them a statement says that something is not done, or not there
_ENDS: Final = stems(
    "decline refuse reject turn cancel drop give gave quit stop skip miss avoid abandon end cut remove lack "
    "unable exclude forbid prohibit ban absent fail cease leave sell discontinue withdraw opt eliminate "
    "restrict limit forgo oppose dislike lose retire trouble difficulty struggle"
)
#: "not more than" in other words
_AT_MOST: Final = re.compile(r"\b(?:at (?:the )?most|maximum|up to|limit(?:ed)?|at (?:the )?latest|minimum|at least)\b")
#: after them stands what there is none of
_NONE: Final = frozenset(["no", "any"])
#: after them stands what is spoken of, and not claimed
_ABOUT: Final = frozenset(["about", "regarding", "concerning", "besides"])


def _after(mine: Sequence[Said], openers: frozenset[str]) -> frozenset[str]:
    """The stems of the phrases that such a word opens."""
    found: set[str] = set()
    for at, word in enumerate(mine):
        if word.low in openers:
            for other in mine[at + 1 : at + 4]:
                if (
                    other.low in openers
                    or (other.low in STOP and other.low not in _ARTICLES)
                    or other.clause != word.clause
                ):
                    break
                found.add(other.stem)
    return frozenset(found)


_ARTICLES: Final = frozenset(split("a an the his her their my"))


def _text(mine: Sequence[Said]) -> str:
    return " ".join(word.low for word in mine)


def _in_past(mine: Sequence[Said]) -> bool:
    """Whether the first verb of a statement is in the past: "did", "visited"."""
    for word in mine[1:6]:
        if word.low in _PAST or (inflected(word.low) and word.stem in VERBS and word.low.endswith("ed")):
            return True
        if word.low in _PRESENT or word.stem in VERBS:
            return False
    return False


#: with them a statement tells of what was, beside what is
_TELLS_OF_BEFORE: Final = re.compile(
    r"^(?:\w+ ){0,12}(?:after|following|before|until|formerly|previously|during) (?:(?:an?|the|my|\w+ing|\d+|\w+) )"
    r"|\bha(?:s|ve) (?:already |just |recently |also )?had\b|\bha(?:s|ve) been to\b"
    r"|\b(?:retired|former|ex|late|ever since|at the time|as a (?:child|boy|girl|teenager|student|kid))\b"
)
_PAST: Final = frozenset(split("did was were had went got took made saw met ran won lost wrote came left spent began"))
_PRESENT: Final = frozenset(split("is are has have am does do been can will"))


def _mood(mine: Sequence[Said]) -> Mood:
    """How far a statement is meant as a fact: "a move is what Alice considers" is none before its last word."""
    marked = max((word.mood for word in mine), default=Mood.FACT)
    if any(word.low in {"prefers", "prefer"} for word in mine):
        # who wants one thing and not another prefers it
        marked = max(marked, Mood.WISH)
    if _UNDERWAY.search(_text(mine)):
        marked = max(marked, Mood.PLAN)
    return max(marked, Mood.MAYBE) if any(word.stem in _OPEN for word in mine) else marked


#: who is not good at a thing may have said what it is to them
_ABLE: Final = stems("good")
_UNDERWAY: Final = re.compile(r"\b(?:is|are|am) (?:\w+ )?\w+ing\b|\b(?:will|going to|gets?|starts?|begins?)\b")


def view_of(
    mine: Sequence[Said],
    sources: Sequence[Source],
    *,
    named: frozenset[str],
    dated: bool,
    free: frozenset[str],
    instruction: bool,
) -> View:
    """What is known of a statement as a whole.

    Args:
        mine: its words.
        sources: what was said.
        named: the names in it, in lower case.
        dated: it has numbers or dates.
        free: stems of the speaker's and the subject's names.
        instruction: it says how to answer.

    """
    acting = frozenset(stem for source in sources for word in source.words for stem in word.whom)
    persons = frozenset(word.stem for word in mine if is_person(word.low))
    said = frozenset(word.stem for source in sources if source.rank < 2 for word in source.words)
    return View(
        disfavours=any(word.stem in DISLIKES or (word.negative and word.stem in LIKES | _ABLE) for word in mine),
        people=persons | (frozenset(map(stem, named)) & acting),
        free=free,
        topics=frozenset(word.stem for word in mine),
        dated=dated,
        instruction=instruction,
        conditional=any(word.low in _CONDITIONS for word in mine),
        mood=_mood(mine),
        past=_in_past(mine) or _TELLS_OF_BEFORE.search(_text(mine)) is not None,
        negative=any(word.negative for word in mine),
        changes=any(word.low in _CHANGES for word in mine),
        denies=any(word.stem in _ENDS - said for word in mine) or _AT_MOST.search(_text(mine)) is not None,
        aliases=aliases(sources),
        none=_after(mine, _NONE),
        about=_after(mine, _ABOUT),
        named=any(word.low in {"named", "called"} for word in mine) and bool(named),
        averse=any(word.stem in ILL and not word.negative for word in mine),
    )
