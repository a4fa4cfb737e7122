"""Numbers and names of a statement: they were said, and of what the statement says they are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from anaphora.rules.facts.lexicon import FREE, GENERIC_NAMES, NATIONS, PERSONS, stems, supported
from anaphora.rules.facts.numerals import numbers
from anaphora.rules.facts.said import Said
from anaphora.rules.facts.stems import stem
from anaphora.rules.facts.weighed import Source, Weighed
from anaphora.rules.facts.words import STOP

#: what is measured in; a number keeps its unit
_UNITS: Final = tuple(
    stems(group)
    for group in (
        "km kilometre kilometer k",
        "mile mi",
        "kg kilo kilogram",
        "lb pound lbs",
        "mg milligram",
        "g gram",
        "m metre meter",
        "foot ft",
        "hour hr h",
        "minute min",
        "second sec",
        "day",
        "week",
        "month",
        "year",
        "euro eur",
        "dollar usd buck",
        "percent",
        "times",
        "celsius",
        "fahrenheit",
    )
)
_AGAIN: Final = re.compile(
    r"^\W*(?:sorry|actually|no wait|wait|i mean|i meant|correction|scratch|make that|rather|no[,.] |nope|\*|oops"
    r"|er+m?\b|hm+\b|well)|\b(?:sorry|i mean|i meant"
    r"|correction|make that|no wait|wait no|scratch that|or rather|typo)\b",
    re.IGNORECASE,
)


def check_numbers(counted: frozenset[str], sources: Sequence[Source], found: Weighed) -> None:
    """Every number and date must have been said."""
    said = frozenset[str]().union(*(numbers(source.text) for source in sources)) if sources else frozenset[str]()
    near = frozenset[str]().union(*(numbers(source.text) for source in sources if source.rank < 2))
    if re.search(r"\b(?:both|twins?|couple|pair)\b", " ".join(source.text for source in sources), re.IGNORECASE):
        said |= {"2"}
    lacking = [number for number in counted if number not in said and number not in {"am", "pm"}]
    for number in lacking:
        parts = number.split(" ")
        if len(parts) == 2 and set(parts) <= said:
            continue
        found.conflicts.append("a number or date that was not said")
    if "am" in counted and "pm" in said and "am" not in said:
        found.conflicts.append("a number or date that was not said")
    found.near += len(counted & near)


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
    """A name stays with its relation, a number with its noun and its unit."""
    theirs = [list(source.words) for source in sources]
    for at, word in enumerate(mine):
        if word.stem in PERSONS:
            name = _name_after(mine, at, named)
            if name and _others_name(word.stem, name, theirs):
                found.conflicts.append("a name of somebody else")
        if word.low.isdigit() or numbers(word.low):
            _check_unit(mine, at, theirs, found)


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


def _check_unit(mine: Sequence[Said], at: int, theirs: Sequence[Sequence[Said]], found: Weighed) -> None:
    value = numbers(mine[at].low)
    unit = _unit(mine, at)
    if unit is None or not value:
        return
    units = [_unit(words, place) for words in theirs for place, word in enumerate(words) if numbers(word.low) & value]
    known = [other for other in units if other is not None]
    if known and unit not in known:
        found.conflicts.append("a number with another unit")


def _unit(words: Sequence[Said], at: int) -> frozenset[str] | None:
    attached = re.sub(r"^[\d.,]+", "", words[at].low)
    following = [attached] if attached and attached != words[at].low else []
    following += [word.low for word in words[at + 1 : at + 2]]
    for low in following:
        for group in _UNITS:
            if stem(low) in group:
                return group
    return None


def check_bindings(
    mine: Sequence[Said], named: frozenset[str], counted: frozenset[str], sources: Sequence[Source], found: Weighed
) -> None:
    """What stands beside one number or name in the source must not be told of another.

    "Rent is 980 and I earn 2100" says nothing of a rent of 2100.
    """
    topics = [word.stem for word in mine if word.stem not in FREE and word.low not in STOP and not numbers(word.low)]
    topics = [topic for topic in topics if topic not in {stem(name) for name in named} and topic not in PERSONS]
    for source in sources:
        if source.rank > 1 or _AGAIN.search(source.text):
            continue
        clauses: dict[int, list[Said]] = {}
        for word in source.words:
            clauses.setdefault(word.clause, []).append(word)
        for group, of in ((counted, _numbers_of), (named, _names_of)):
            marks = {clause: of(words) for clause, words in clauses.items()}
            for mark in group:
                kind = {clause: _like(mark, held) for clause, held in marks.items()}
                if _elsewhere(mark, topics, clauses, kind, group):
                    found.conflicts.append("a number or name that was said of something else")


def _like(mark: str, held: frozenset[str]) -> frozenset[str]:
    """Those that could be taken for the mark: a date for a date, a number for a number."""
    return frozenset(other for other in held if other.isdigit() == mark.isdigit())


def _elsewhere(
    mark: str,
    topics: Sequence[str],
    clauses: dict[int, list[Said]],
    marks: dict[int, frozenset[str]],
    group: frozenset[str],
) -> bool:
    """Whether a topic of the statement stands only beside other marks, and the mark only beside other topics."""
    homes = [clause for clause, held in marks.items() if mark in held]
    if not homes:
        return False
    beside = {word.stem for clause in homes for word in clauses[clause]}
    for topic in topics:
        if supported(topic, beside):
            continue
        places = [clause for clause, words in clauses.items() if supported(topic, (word.stem for word in words))]
        if places and all(marks[clause] - group for clause in places) and not beside.intersection(topics):
            return True
    return False


def _numbers_of(words: Sequence[Said]) -> frozenset[str]:
    return frozenset[str]().union(*(numbers(word.low) for word in words))


def _names_of(words: Sequence[Said]) -> frozenset[str]:
    return frozenset(word.low for word in words if word.capital and word.low not in STOP and not word.opens)


def check_corrected(counted: frozenset[str], sources: Sequence[Source], found: Weighed) -> None:
    """A number that was corrected in the same breath does not hold any more: "in 2017. Sorry, 2018"."""
    own = [word for source in sources if source.rank < 2 for word in source.words]
    own.sort(key=lambda word: word.start)
    text = " ".join(f"{word.low}" for word in own)
    match = _AGAIN.search(text) if counted else None
    if match is None:
        return
    before, after = numbers(text[: match.start()]), numbers(text[match.end() :])
    if after - before and not counted & after and counted & before:
        found.conflicts.append("corrected in the same breath")
