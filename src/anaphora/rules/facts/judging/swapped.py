"""A value stays with what it was said of: of "rent is 850, deposit 1200" comes no deposit of 850."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from anaphora.rules.facts.judging.counts import is_unit, unit_of, valued
from anaphora.rules.facts.judging.replaced import replaced
from anaphora.rules.facts.judging.weighed import Source, Weighed
from anaphora.rules.language.lexicon import FIRST, FREE, SOFT, THIRD, alike, stems, supported
from anaphora.rules.language.numeral_words import MONTHS, WEEKDAYS
from anaphora.rules.language.numerals import numbers
from anaphora.rules.language.quantities import COUNTERS
from anaphora.rules.language.said import Said
from anaphora.rules.language.stems import split
from anaphora.rules.language.words import STOP

SWAPPED: Final = "a number or name that was said of something else"
#: words between a thing and a value that stands in the next clause
_REACH: Final = 6
_COUNTERS: Final = stems(" ".join(COUNTERS))
#: what they say is said of the thing before: "goal is under 10"
_RELATED: Final = stems("goal target aim limit max min maximum minimum total average normal usual cap")
#: they begin an opening like "On Monday"
_OPENING: Final = frozenset(split("on in at since from until by last next every this after before around"))


@dataclass(frozen=True, slots=True)
class _Value:
    """A number or date within a list of words."""

    at: int
    read: frozenset[str]
    kind: str
    #: the statement that it belongs to
    clause: int
    unit: frozenset[str] | None


def check_swapped(mine: Sequence[Said], sources: Sequence[Source], found: Weighed) -> None:
    """No value of a statement may be one that was said of another thing than the statement says."""
    # how often it is may be reckoned from the days
    told = [value for value in _values(mine) if mine[value.at].low not in {"twice", "thrice"}]
    if not told:
        return
    theirs = sorted(
        (word for source in sources if source.rank < 2 for word in source.words), key=lambda word: word.start
    )
    gone = replaced(sources)
    spoken = [value for value in _values(theirs) if not value.read <= gone]
    everything = frozenset[str]().union(*(value.read for value in told))
    for value in told:
        rivals = [other for other in spoken if _rivals(value, other)]
        if not any(other.read & value.read for other in rivals) or all(other.read <= everything for other in rivals):
            continue
        bound, loose = _bindings(value, _anchors(mine, value), theirs, rivals, everything)
        if not bound and not loose and value.kind != "day":
            same = [other for other in rivals if other.unit == value.unit]
            bound, loose = _bindings(value, _small(mine, value), theirs, same, everything)
        if loose and not bound:
            found.conflicts.append(SWAPPED)
        elif not bound and _is_detached(value, mine, theirs, spoken):
            found.added.append(SWAPPED)
        elif loose and value.kind in {"year", "date"}:
            # of two things that happened, each has its own year
            found.added.append(SWAPPED)


def _is_detached(value: _Value, mine: Sequence[Said], words: Sequence[Said], spoken: Sequence[_Value]) -> bool:
    """Whether a value was said in a statement of its own that has no word of this one, while others have."""
    told = [word for word in mine if word.low not in STOP and word.stem not in FREE and not numbers(word.low)]
    homes = [other for other in spoken if other.read & value.read]
    clauses = {other.clause for other in homes} | {words[other.at].clause for other in homes}
    beside = [word for word in words if word.clause in clauses and _tells(word) and word.stem not in _RELATED]
    if not beside or any(supported(word.stem, (other.stem,)) for word in told for other in beside):
        return False
    sentences = {words[other.at].sentence for other in homes}
    return any(
        supported(word.stem, (other.stem,)) for word in told for other in words if other.sentence not in sentences
    )


def homes_of(words: Sequence[Said]) -> dict[int, int]:
    """For each clause the one that it belongs to: "twice a day" goes on with what was said before it."""
    telling = {
        word.clause
        for word in words
        if word.low in FIRST | THIRD or (_tells(word) and not word.capital and word.stem not in _RELATED)
    }
    following = {word.clause for word in words if word.low == "which" and not word.opens}
    clauses = list(dict.fromkeys((word.clause, word.sentence) for word in words))
    opening = {word.clause: word.low for word in reversed(words)}
    homes: dict[int, int] = {}
    for at, (clause, sentence) in enumerate(clauses):
        before = clauses[at - 1] if at else None
        if clause in telling - following:
            homes[clause] = clause
        elif (before is not None and before[1] == sentence) or opening[clause] not in _OPENING:
            homes[clause] = homes[before[0]] if before is not None and before[1] == sentence else clause
        else:
            # "On Monday I started": it belongs to what comes
            homes[clause] = next((other for other, its in clauses[at:] if its == sentence and other in telling), clause)
    return homes


def _values(words: Sequence[Said]) -> Iterator[_Value]:
    homes = homes_of(words)
    for at, word, read in valued(words):
        kind = "day" if read & frozenset(WEEKDAYS) else ""
        kind = kind or ("date" if any(part in MONTHS for each in read for part in each.split()) else "")
        kind = kind or ("rank" if word.low[-2:] in {"st", "nd", "rd", "th"} else "")
        kind = kind or ("year" if any(len(each) == 4 and each[:2] in {"19", "20"} for each in read) else "")
        kind = kind or ("time" if any(":" in each for each in read) or read & {"am", "pm"} else "number")
        yield _Value(at, read, kind, homes[word.clause], unit_of(words, at))


def _rivals(one: _Value, other: _Value) -> bool:
    """Whether one could be taken for the other."""
    return one.kind == other.kind and (one.unit is None or other.unit is None or one.unit == other.unit)


def _scope(mine: Sequence[Said], value: _Value) -> int:
    """The clause of a statement that says of what a value is: its own, if that says anything."""
    own = mine[value.at].clause
    tells = any(word.clause == own and not (word.low in STOP or numbers(word.low) or is_unit(word)) for word in mine)
    return own if tells else value.clause


def _anchors(mine: Sequence[Said], value: _Value) -> list[Said]:
    """The words of a statement that say of what a value is."""
    dated = value.kind in {"year", "date"}
    clause = _scope(mine, value)
    return [word for word in mine if _tells(word) and word.clause == clause and (dated or word.stem not in SOFT)]


def _small(mine: Sequence[Said], value: _Value) -> list[Said]:
    """Every word beside a value that tells anything, without its unit: "last year", "nights"."""
    clause = _scope(mine, value)
    return [
        word
        for at, word in enumerate(mine)
        if word.clause == clause
        and not (word.low in STOP or numbers(word.low) or (at == value.at + 1 and is_unit(word)))
    ]


def _tells(word: Said) -> bool:
    return not (word.low in STOP or word.stem in FREE | _COUNTERS or is_unit(word) or numbers(word.low))


def _bindings(
    value: _Value,
    anchors: Sequence[Said],
    words: Sequence[Said],
    rivals: Sequence[_Value],
    everything: frozenset[str],
) -> tuple[int, int]:
    """How many words of the statement are bound to this value, and how many to none that the statement tells."""
    bound = loose = 0
    for anchor in anchors:
        beside = [
            other
            for at, word in enumerate(words)
            if alike(anchor.stem, word.stem)
            for other in _bound(words, at, rivals)
        ]
        if any(other.read & value.read for other in beside):
            bound += 1
        elif any(not other.read & everything for other in beside):
            loose += 1
    return bound, loose


def _bound(words: Sequence[Said], at: int, rivals: Sequence[_Value]) -> list[_Value]:
    """The values that belong to a word: those of its clause, or the next one of its sentence, or the one before."""
    same = [value for value in rivals if words[at].clause in {value.clause, words[value.at].clause}]
    if same:
        return same
    near = [
        value for value in rivals if words[value.at].sentence == words[at].sentence and abs(value.at - at) <= _REACH
    ]
    after = [value for value in near if value.at > at]
    if after:
        return after[:1]
    return near[-1:]
