"""Numbers and names of a statement: they were said, and of what the statement says they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from anaphora.rules.facts.judging.weighed import Source, Weighed
from anaphora.rules.language.lexicon import FREE, GENERIC_NAMES, NATIONS, PERSONS, VERBS, is_person, stems, supported
from anaphora.rules.language.numerals import numbers
from anaphora.rules.language.quantities import COUNTERS
from anaphora.rules.language.said import Said
from anaphora.rules.language.stems import stem
from anaphora.rules.language.words import STOP

ELSEWHERE: Final = "a number or name that was said of something else"


def check_names(named: frozenset[str], sources: Sequence[Source], found: Weighed) -> None:
    """Every name must have been said."""
    for name in named:
        root = stem(name)
        if root in GENERIC_NAMES or len(name) == 1:
            continue
        places = [
            source
            for source in sources
            if any(word.low in {name, name.removesuffix("s")} or supported(root, (word.stem,)) for word in source.words)
        ]
        if not places and root in NATIONS:
            if any(
                word.capital and word.stem in NATIONS for source in sources if source.quoted for word in source.words
            ):
                found.conflicts.append("another of its kind was said")
            found.missing.append(root)
        elif not places:
            found.conflicts.append("a name that was not said")
        else:
            found.used.add(places[0].seq)


def check_pairs(mine: Sequence[Said], named: frozenset[str], sources: Sequence[Source], found: Weighed) -> None:
    """A name stays with its relation."""
    theirs = [list(source.words) for source in sources]
    for at, word in enumerate(mine):
        if is_person(word.low):
            name = _name_after(mine, at, named)
            if name and _others_name(word.stem, name, theirs):
                found.conflicts.append("a name of somebody else")


def _name_after(words: Sequence[Said], at: int, named: frozenset[str]) -> str | None:
    for word in words[at + 1 : at + 5]:
        if word.low in named:
            return word.low
        if is_person(word.low) or (word.low in STOP and word.low not in {"is", "was", "are"}) or word.stem in _DOING:
            return None
    return None


_DOING: Final = VERBS - stems("name call be")


def _others_name(relation: str, name: str, theirs: Sequence[Sequence[Said]]) -> bool:
    """Whether the relation was named otherwise, and never so."""
    otherwise = False
    for words in theirs:
        if otherwise:
            return True
        for at, word in enumerate(words):
            if not supported(relation, (word.stem,)):
                continue
            near = words[max(0, at - 3) : at + 6]
            if any(other.low == name and other.sentence == word.sentence for other in near):
                following = [other for other in words[at + 1 : at + 3] if other.capital and other.low not in STOP]
                if not following or following[0].low == name or any(other.low == name for other in following):
                    return False
            following = [other for other in words[at + 1 : at + 4] if other.stem not in FREE]
            after = following[0] if following else None
            if after is not None and after.capital and after.low not in STOP and after.sentence == word.sentence:
                otherwise = otherwise or after.low != name
    return otherwise


def check_bindings(mine: Sequence[Said], named: frozenset[str], sources: Sequence[Source], found: Weighed) -> None:
    """What stands beside one name in the source must not be told of another."""
    topics = [
        word.stem
        for word in mine
        if word.stem not in FREE and word.low not in STOP and not numbers(word.low) and not word.capital
    ]
    topics = [topic for topic in topics if topic not in {stem(name) for name in named} and topic not in PERSONS]
    for source in sources:
        if source.rank > 1:
            continue
        clauses: dict[int, list[Said]] = {}
        for word in source.words:
            clauses.setdefault(word.clause, []).append(word)
        marks = {
            clause: _names_of(words) | named.intersection(word.low for word in words)
            for clause, words in clauses.items()
        }
        if any(_elsewhere(mark, topics, clauses, marks, named) for mark in named):
            found.conflicts.append(ELSEWHERE)


def _elsewhere(
    name: str,
    topics: Sequence[str],
    clauses: dict[int, list[Said]],
    names: dict[int, frozenset[str]],
    mine: frozenset[str],
) -> bool:
    """Whether a topic of the statement stands only beside other names, and the name beside no topic."""
    homes = [clause for clause, held in names.items() if name in held]
    beside = {word.stem for clause in homes for word in clauses[clause]}
    if not any(_tells(word) for clause in homes for word in clauses[clause]) or beside.intersection(topics):
        # it only goes on: "and Tom"
        return False
    for topic in topics:
        if supported(topic, beside):
            continue
        places = [clause for clause, words in clauses.items() if supported(topic, (word.stem for word in words))]
        if places and all(names[clause] - mine for clause in places):
            return True
    return False


def _tells(word: Said) -> bool:
    return not (word.low in STOP or word.low in COUNTERS or word.capital or numbers(word.low))


def _names_of(words: Sequence[Said]) -> frozenset[str]:
    return frozenset(word.low for word in words if word.capital and word.low not in STOP and not word.opens)
