"""Numbers and names of a statement: they were said, and of what the statement says they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from anaphora.rules.facts.counts import corrects
from anaphora.rules.facts.lexicon import FREE, GENERIC_NAMES, NATIONS, PERSONS, supported
from anaphora.rules.facts.numerals import numbers
from anaphora.rules.facts.quantities import COUNTERS
from anaphora.rules.facts.said import Said
from anaphora.rules.facts.stems import stem
from anaphora.rules.facts.weighed import Source, Weighed
from anaphora.rules.facts.words import STOP

ELSEWHERE: Final = "a number or name that was said of something else"


def check_names(named: frozenset[str], sources: Sequence[Source], found: Weighed) -> None:
    """Every name must have been said."""
    for name in named:
        root = stem(name)
        if root in GENERIC_NAMES:
            continue
        places = [
            source
            for source in sources
            if any(word.low == name or supported(root, (word.stem,)) for word in source.words)
        ]
        if not places and root in NATIONS:
            found.missing.append(root)
        elif not places:
            found.conflicts.append("a name that was not said")
        else:
            found.used.add(places[0].seq)


def check_pairs(mine: Sequence[Said], named: frozenset[str], sources: Sequence[Source], found: Weighed) -> None:
    """A name stays with its relation."""
    theirs = [list(source.words) for source in sources]
    for at, word in enumerate(mine):
        if word.stem in PERSONS:
            name = _name_after(mine, at, named)
            if name and _others_name(word.stem, name, theirs):
                found.conflicts.append("a name of somebody else")


def _name_after(words: Sequence[Said], at: int, named: frozenset[str]) -> str | None:
    for word in words[at + 1 : at + 5]:
        if word.low in named:
            return word.low
        if word.stem in PERSONS:
            return None
    return None


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


def check_bindings(
    mine: Sequence[Said], named: frozenset[str], counted: frozenset[str], sources: Sequence[Source], found: Weighed
) -> None:
    """What stands beside one number or name in the source must not be told of another.

    "Rent is 980 and I earn 2100" says nothing of a rent of 2100.
    """
    topics = [
        word.stem
        for word in mine
        if word.stem not in FREE and word.low not in STOP and not numbers(word.low) and not word.capital
    ]
    topics = [topic for topic in topics if topic not in {stem(name) for name in named} and topic not in PERSONS]
    for source in sources:
        if source.rank > 1 or corrects(source.text):
            continue
        clauses: dict[int, list[Said]] = {}
        for word in source.words:
            clauses.setdefault(word.clause, []).append(word)
        for group, of, about in (
            (counted, _numbers_of, [*topics, *map(stem, named)]),
            (named, _names_of, topics),
        ):
            marks = {
                clause: of(words) | group.intersection(word.low for word in words) for clause, words in clauses.items()
            }
            for mark in group:
                kind = {clause: _like(mark, held) for clause, held in marks.items()}
                apart = _elsewhere(mark, about if mark[:1].isdigit() else topics, clauses, kind, group)
                if apart:
                    (found.conflicts if apart > 1 else found.added).append(ELSEWHERE)


def _like(mark: str, held: frozenset[str]) -> frozenset[str]:
    """Those that could be taken for the mark: a date for a date, a number for a number."""
    return frozenset(other for other in held if other.isdigit() == mark.isdigit())


def _elsewhere(
    mark: str,
    topics: Sequence[str],
    clauses: dict[int, list[Said]],
    marks: dict[int, frozenset[str]],
    group: frozenset[str],
) -> int:
    """Whether a topic of the statement stands only beside other marks (1), and the mark only beside others (2)."""
    homes = [clause for clause, held in marks.items() if mark in held]
    if not homes:
        return 0
    beside = {word.stem for clause in homes for word in clauses[clause]}
    if not any(_tells(word) for clause in homes for word in clauses[clause]):
        # it only goes on: "at eight sharp, twice a day"
        return 0
    for topic in topics:
        if supported(topic, beside):
            continue
        places = [clause for clause, words in clauses.items() if supported(topic, (word.stem for word in words))]
        if places and all(marks[clause] - group for clause in places):
            if not beside.intersection(topics):
                return 2
            if _is_year(mark) and all(any(map(_is_year, marks[clause])) for clause in places):
                return 1
    return 0


def _tells(word: Said) -> bool:
    return not (word.low in STOP or word.low in COUNTERS or word.capital or numbers(word.low))


def _is_year(mark: str) -> bool:
    return len(mark) == 4 and mark[:2] in {"19", "20"}


def _numbers_of(words: Sequence[Said]) -> frozenset[str]:
    return numbers(" ".join(word.low for word in words))


def _names_of(words: Sequence[Said]) -> frozenset[str]:
    return frozenset(word.low for word in words if word.capital and word.low not in STOP and not word.opens)
