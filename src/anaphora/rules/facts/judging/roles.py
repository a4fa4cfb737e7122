"""Who is called what: "our lawyer, Ms. Reed" is no landlady, and "Kofi, my boss" no neighbour."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from anaphora.rules.facts.judging.weighed import Source, Weighed
from anaphora.rules.language.lexicon import POSSESSIVES, THEIRS, is_person, stems, supported
from anaphora.rules.language.numerals import numbers
from anaphora.rules.language.said import Said
from anaphora.rules.language.stems import split, stem
from anaphora.rules.language.words import STOP

#: words of a phrase like "my new physics teacher"
_PHRASE: Final = 4
_TITLES: Final = frozenset(split("dr mr mrs ms miss prof professor sir herr frau señor señora doctor"))
_BEING: Final = frozenset(split("is was are named called name's"))
_OWNERS: Final = POSSESSIVES | THEIRS
_DETERMINERS: Final = _OWNERS | {"the", "a", "an"}
#: endings of words for who does a thing
_DOERS: Final = ("er", "or", "ist", "ian", "ant", "man", "woman", "mate", "ess", "lady", "lord")
#: they fit everybody
_ANYBODY: Final = stems("relative person member expert specialist contact somebody professional owner user name")


def check_roles(mine: Sequence[Said], sources: Sequence[Source], found: Weighed) -> None:
    """Who was called one thing must not be called another."""
    called = dict(_called(mine))
    if not called:
        return
    theirs: dict[str, set[str]] = {}
    for source in sources:
        if source.rank < 3:
            for name, roles in _called(source.words):
                theirs.setdefault(name, set()).update(word.stem for word in roles if _is_role(word))
    for name, roles in called.items():
        told = {word.stem for word in roles if _is_role(word)} - _ANYBODY
        said = theirs.get(name, set())
        if (
            told
            and said
            and not any(supported(role, said) or supported(other, (role,)) for role in told for other in said)
        ):
            found.conflicts.append("a name of somebody else")


def aliases(sources: Sequence[Source]) -> Mapping[str, frozenset[str]]:
    """For each name the roles of who has it, and for each role the names."""
    found: dict[str, set[str]] = {}
    for source in sources:
        for name, roles in _called(source.words):
            for word in roles:
                if _is_role(word):
                    found.setdefault(stem(name), set()).add(word.stem)
                    found.setdefault(word.stem, set()).add(stem(name))
    return {word: frozenset(others) for word, others in found.items()}


def _is_role(word: Said) -> bool:
    return is_person(word.low) or (len(word.low) > 4 and word.low.endswith(_DOERS))


def _is_name(word: Said) -> bool:
    return word.capital and word.low not in STOP and word.low not in _TITLES and not numbers(word.low)


def _called(words: Sequence[Said]) -> Iterator[tuple[str, list[Said]]]:
    """Every name with the words of a phrase that says who it is."""
    merged: dict[str, list[Said]] = {}
    for at, word in enumerate(words):
        if _is_name(word) and not (at and _is_name(words[at - 1]) and _joined(words, at)):
            for phrase in (_before(words, at), _after(words, at)):
                if phrase:
                    merged.setdefault(word.low, []).extend(phrase)
    yield from merged.items()


def _joined(words: Sequence[Said], at: int) -> bool:
    """Whether only a blank stands before this word."""
    return words[at].start - words[at - 1].end == 1


def _before(words: Sequence[Said], at: int) -> list[Said]:
    """The phrase before a name: "our lawyer, Ms. ", "my sister is called "."""
    place = at - 1
    while place >= 0 and (words[place].low in _TITLES or words[place].low in _BEING) and at - place < 4:
        place -= 1
    being = any(word.low in _BEING for word in words[place + 1 : at])
    if being and place >= 0 and _is_role(words[place]):
        return [words[place]]
    if place < 0 or words[place].start + 30 < words[at].start - 20:
        return []
    phrase: list[Said] = []
    while place >= 0 and len(phrase) < _PHRASE:
        word = words[place]
        if word.low in _OWNERS:
            return phrase[:1]
        if word.low in STOP or word.sentence != words[at].sentence or (phrase and not _joined(words, place + 1)):
            return []
        phrase.append(word)
        place -= 1
    return []


def _after(words: Sequence[Said], at: int) -> list[Said]:
    """The phrase after a name: ", my niece", " is the captain"."""
    place = at + 1
    while place < len(words) and _is_name(words[place]) and _joined(words, place):
        place += 1
    if place >= len(words) or words[place].sentence != words[at].sentence:
        return []
    apart = not _joined(words, place)
    if words[place].low in _BEING and not apart:
        place += 1
    elif not apart:
        return []
    if place >= len(words) or words[place].low not in _DETERMINERS:
        return []
    phrase: list[Said] = []
    for word in words[place + 1 : place + 1 + _PHRASE]:
        if word.low in STOP or (phrase and word.start - phrase[-1].end > 1) or word.clause != words[place].clause:
            break
        phrase.append(word)
    return phrase
