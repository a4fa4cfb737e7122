"""Numbers, dates and amounts of a statement: they were said, in that unit, that often, and hold still."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from anaphora.rules.facts.judging.senses import OTHERS, TURNED, WISHED, meant, same_person
from anaphora.rules.facts.judging.weighed import Source, View, Weighed
from anaphora.rules.language.lexicon import supported
from anaphora.rules.language.numerals import in_digits, numbers, readings
from anaphora.rules.language.quantities import (
    COUNTERS,
    counted_days,
    currencies,
    hours,
    lengths_of_lists,
    measured,
    periods,
    relative_dates,
    without_ordinals,
)
from anaphora.rules.language.said import Said
from anaphora.rules.language.stems import stem
from anaphora.rules.language.words import STOP

UNSAID: Final = "a number or date that was not said"
#: what is measured in, beside what `COUNTERS` convert into each other; a number keeps its unit
_UNITS: Final = tuple(
    frozenset(map(stem, group.split()))
    for group in (
        "km kilometre kilometer k kms",
        "mile mi",
        "kg kilo kilogram kgs",
        "lb pound lbs",
        "mg milligram",
        "mcg µg μg microgram",
        "g gram",
        "m metre meter",
        "foot ft",
        "cm centimetre centimeter",
        "inch",
        "litre liter l",
        "ml millilitre milliliter",
        "hour hr h",
        "minute min",
        "second sec",
        "day",
        "week",
        "weekend",
        "fortnight",
        "month",
        "year yr",
        "decade",
        "euro eur",
        "dollar usd buck",
        "percent",
        "times",
        "celsius",
        "fahrenheit",
        "kw kilowatt",
        "kwh",
        "watt w",
        "gb gigabyte gig",
        "mb megabyte",
        "tb terabyte",
        "ms millisecond",
        "kcal calorie",
        "mph",
        "acre",
        "hectare ha",
    )
)
_EVERY: Final = re.compile(r"\bevery (\w+) \w+\b")
_SO_OFTEN: Final = re.compile(r"\b(twice|\w+ times) (?:a|per|each|every) (?:week|month|year)\b")
_PER: Final = re.compile(r"\b(?:per|each) ([a-z]+)")
_TIMES: Final = next(group for group in _UNITS if stem("times") in group)
_YEARS: Final = next(group for group in _UNITS if "year" in group)
_ONE: Final = re.compile(r"\b(?:one|an?|first|single|only|once|1)\b", re.IGNORECASE)
_TWO: Final = re.compile(r"\b(?:both|twins?|couple|pair|twice|we two|each other)\b", re.IGNORECASE)
_HABIT: Final = re.compile(
    r"\b(?:every|each|always|usually|often|never|mostly|per|daily|weekly|monthly|nightly|yearly|annual\w*|regular\w*"
    r"|times"
    r"|once|twice|\w+days(?<!yesterdays)|(?:mon|tues?|wed|thu(?:rs?)?|fri|sat|sun)s?|mornings"
    r"|evenings|nights|weekends|days|whenever|all (?:week|year|day|night))\b|\d ?x\b|/"
    r"|\bday\b"
    r"|\b(?:jede\w*|täglich|immer|toujours|chaque|tous|todos|cada|siempre|sempre|ogni|tutti)\b|每|毎|天|of (?:the|each"
    r"|every) (?:week|month|year)",
    re.IGNORECASE,
)
_TURNING: Final = re.compile(
    r"\b(?:turning|about to (?:turn|be)|going to (?:turn|be)|gonna (?:turn|be)|will (?:turn|be)|(?:i|he|she)'ll"
    r" (?:turn|be)|i turn) (\d{1,3})\b"
)
_AGAIN: Final = re.compile(
    r"^\W*(?:sorry|actually|no wait|wait|i mean|i meant|correction|scratch|make that|rather|no[,.] |nope|\*|oops"
    r"|er+m?\b|hm+\b|well)|\b(?:sorry|i mean|i meant"
    r"|correction|make that|no wait|wait no|scratch that|or rather|typo)\b",
    re.IGNORECASE,
)


def corrects(text: str) -> bool:
    """Whether a text puts right what was said before."""
    return _AGAIN.search(text) is not None


def check_numbers(content: str, sources: Sequence[Source], found: Weighed) -> None:
    """Every number, date and amount must have been said, however it was written."""
    counted = readings(content)
    texts = [source.text for source in sources]
    said = frozenset[str]().union(*map(_all, texts), *map(_implied, texts))
    # "from 9 February to the 16th": the month holds for both
    pieces = said | {part for number in said for part in number.split(" ")}
    amounts = {key for text in texts for key in measured(text)}
    converted = frozenset[str]().union(*(written for key, written in measured(content).items() if key in amounts))
    if periods(content) & frozenset[int]().union(*map(periods, texts)):
        # "every two weeks" is "every other week"
        converted |= frozenset[str]().union(*map(numbers, _EVERY.findall(content.casefold())))
        converted |= frozenset[str]().union(*map(numbers, _SO_OFTEN.findall(content.casefold())))
    quoted = next((source.quoted for source in sources if source.quoted), "")
    inside = _all(quoted)
    for atom in counted:
        if atom & said or atom & converted or atom & {"am", "pm"}:
            continue
        parts = [part for reading in atom for part in reading.split(" ")]
        if len(parts) > 1 and set(parts) <= pieces:
            continue
        if any(_is_listed(number, content, sources) or _is_reckoned(number, inside) for number in atom):
            continue
        found.conflicts.append(UNSAID)
    halves = {half for half in ("am", "pm") if frozenset([half]) in counted}
    spoken = hours(quoted)
    later = {hour for source in sources if source.rank == 0 for hour, its in hours(source.text).items() if "pm" in its}
    if "am" in halves and "pm" in said and "am" not in said and (not later or later & hours(content).keys()):
        found.conflicts.append(UNSAID)
    if any(hour in spoken and not halves & spoken[hour] for hour, halves in hours(content).items()):
        found.conflicts.append(UNSAID)
    mine = frozenset[str]().union(*counted)
    lacking = [
        atom
        for atom in counted
        if not atom & inside | converted
        and any(map(str.isdigit, atom))
        and not any(_is_reckoned(number, inside) for number in atom)
    ]
    if lacking and any(number.isdigit() and number not in mine for number in inside) and not converted:
        found.added.append("a number beside the quote, which has another")
    cardinal = frozenset[str]().union(*({*_all(without_ordinals(text)), *_implied(text)} for text in texts))
    counts = {number for number in numbers(without_ordinals(content)) if number.isdigit() and len(number) < 3}
    if any(number in said and number not in cardinal and number not in converted for number in counts):
        found.added.append("a number that was said as a rank")
    near = frozenset[str]().union(*(_all(source.text) for source in sources if source.rank < 2))
    found.near += bool(converted) + sum(
        bool(atom & near) or any(part in near for reading in atom for part in reading.split(" ")) for atom in counted
    )
    check_periods(content, sources, found)


def _all(text: str) -> frozenset[str]:
    return frozenset[str]().union(*readings(text))


def _implied(text: str) -> Iterator[str]:
    """Numbers that are said without a numeral."""
    if _ONE.search(text):
        yield "1"
    if _TWO.search(text):
        yield "2"
    for reading in numbers(text):
        hour, colon, minutes = reading.partition(":")
        if colon:
            yield hour
            yield minutes
    for match in _TURNING.finditer(text.casefold()):
        yield str(int(match.group(1)) - 1)


def _is_reckoned(number: str, quoted: frozenset[str]) -> bool:
    """Whether a number is the product of two that stand in the quote: "three sessions of 40 minutes"."""
    values = [int(other) for other in quoted if other.isdigit() and 1 < int(other[:6]) < 10_000]
    return number.isdigit() and any(
        one * other == int(number) for at, one in enumerate(values) for other in values[at + 1 :]
    )


def _is_listed(number: str, content: str, sources: Sequence[Source]) -> bool:
    """Whether as many were listed: days for "twice a week", names for "four languages"."""
    near = [source.text for source in sources if source.rank < 2]
    if not number.isdigit() or not 2 <= int(number) <= 9:
        return False
    if periods(content) & {7}:
        return counted_days(" ".join(near)) == int(number)
    if _is_mixed(number, content, near):
        return False
    plain_numbers = [other for text in near for other in numbers(text) if other.isdigit()]
    return not plain_numbers and int(number) in lengths_of_lists(near)


def _is_mixed(number: str, content: str, near: Sequence[str]) -> bool:
    """Whether what is counted is one of the things of a list: "a brother and a sister" are no two brothers."""
    counted = re.search(rf"\b{number} (?:\w+ )?(\w+?)s\b", in_digits(content))
    return counted is not None and any(re.search(rf"\b(?:an?|my) (?:\w+ )?{counted.group(1)}\b", text) for text in near)


def check_periods(content: str, sources: Sequence[Source], found: Weighed) -> None:
    """What is done or paid every week is not done or paid every month."""
    mine = periods(content)
    theirs = frozenset[int]().union(*(periods(source.text) for source in sources if source.rank == 0))
    if mine and theirs and not mine & theirs:
        found.conflicts.append("another rhythm was said")
    things = {stem(thing) for thing in _PER.findall(content) if not periods(f"per {thing}")}
    if numbers(content) and things - {word.stem for source in sources for word in source.words}:
        found.added.append("a rhythm that nobody spoke of")
    if mine and not theirs and not any(_HABIT.search(source.text) for source in sources if source.rank != 2):
        found.added.append("a rhythm that nobody spoke of")
    near = [source.text for source in sources if source.rank < 2]
    money = frozenset[int]().union(*map(currencies, near))
    if currencies(content) and money and not currencies(content) & money:
        found.conflicts.append("a number with another unit")
    when = frozenset[tuple[str, str]]().union(*map(relative_dates, near))
    for unit, which in relative_dates(content):
        if (unit, which) not in when and any(other == unit for other, _ in when):
            found.conflicts.append(UNSAID)


def check_units(mine: Sequence[Said], sources: Sequence[Source], content: str, found: Weighed) -> None:
    """A number keeps its unit, unless the amount is the same in another."""
    amounts = {key for source in sources for key in measured(source.text)}
    if measured(content) and set(measured(content)) <= amounts:
        return
    for at, word in enumerate(mine):
        value = numbers(word.low)
        unit = unit_of(mine, at)
        if not value or (unit is None and not _is_age(mine, at)):
            continue
        unit = unit or _YEARS
        units = [
            unit_of(source.words, place)
            for source in sources
            for place, other in enumerate(source.words)
            if numbers(other.low) & value
        ]
        known = [other for other in units if other is not None]
        if known and unit not in known:
            found.conflicts.append("a number with another unit")


#: after them stands how long it takes
_AMOUNT: Final = re.compile(
    r"\b(?:for|in|after|within|over|lasts?|took|takes) (?:about |nearly |almost |over )?(?:an?|one) ([a-z]+)"
)


def check_spans(content: str, sources: Sequence[Source], found: Weighed) -> None:
    """Of "for a month" comes no "for a year"."""
    said = {word.stem for source in sources for word in source.words}
    near = [source.text for source in sources if source.rank == 0]
    for unit in _AMOUNT.findall(content.casefold()):
        if unit in COUNTERS and stem(unit) not in said and any(_AMOUNT.search(text.casefold()) for text in near):
            found.conflicts.append(UNSAID)


def check_counted(mine: Sequence[Said], sources: Sequence[Source], found: Weighed) -> None:
    """What is counted keeps its number: of "a book of 300 pages" come no 300 books."""
    theirs = [(source.words, at, value) for source in sources for at, _, value in valued(source.words)]
    for at, word, value in valued(mine):
        thing = _counted(mine, at)
        if thing is None or not numbers(without_ordinals(word.low)):
            continue
        places = [(words, place) for words, place, its in theirs if its & value]
        others = [_counted(words, place) for words, place in places]
        near = [{word.stem for word in words[place + 1 : place + 6]} for words, place in places]
        words = mine[at + 1 : mine.index(thing) + 1]
        if others and all(others) and not any(supported(word.stem, stems) for stems in near for word in words):
            found.conflicts.append("a number with another unit")


def _counted(words: Sequence[Said], at: int) -> Said | None:
    """What a number counts: the plural that follows it."""
    for word in words[at + 1 : at + 4]:
        if word.low in STOP or numbers(word.low) or word.capital or not word.low.isalpha():
            return None
        if word.low.endswith("s") and len(word.low) > 3 and not word.low.endswith("ss"):
            return word
        if word.clause != words[at].clause:
            return None
    return None


def _is_age(words: Sequence[Said], at: int) -> bool:
    """Whether a bare number is an age: "is 30"."""
    return at + 1 == len(words) and at > 0 and words[at - 1].low in {"is", "am", "aged", "turned", "are"}


def unit_of(words: Sequence[Said], at: int) -> frozenset[str] | None:
    """The unit of the number that begins at a place, as a group of stems; none if it has none."""
    if words[at].low in {"twice", "thrice"}:
        return _TIMES
    attached = re.sub(r"^[\d.,]+", "", words[at].low)
    following = [attached] if attached and attached != words[at].low else []
    following += [word.low for word in words[at + 1 : at + 2] if word.start - words[at].end <= 1]
    for low in following:
        for group in _UNITS:
            if stem(low) in group:
                return group
    return None


def is_unit(word: Said) -> bool:
    """Whether a word names what is measured in: "percent", "dollars"."""
    return any(word.stem in group for group in _UNITS)


def is_counter(words: Sequence[Said], at: int) -> bool:
    """Whether a word only counts: "months" of "18 months", "week" of "twice a week"."""
    if words[at].low not in COUNTERS and not is_unit(words[at]):
        return False
    return any(
        numbers(word.low) or word.low in {"a", "an", "one", "per", "every", "each", "half"}
        for word in words[max(0, at - 2) : at]
    )


def find_numbers(mine: Sequence[Said], sources: Sequence[Source], view: View, found: Weighed) -> None:
    """A number must be said of the same person, and not only be wished."""
    theirs = [(source, word, value) for source in sources for _, word, value in valued(source.words)]
    for _, word, value in valued(mine):
        reasons = [_against(word, other, source, view) for source, other, its in theirs if its & value]
        if reasons and all(reasons):
            found.conflicts.append(next(reason for reason in reasons if reason))


def valued(words: Sequence[Said]) -> Iterator[tuple[int, Said, frozenset[str]]]:
    """Each number with the place and the word that it begins with; "fifty six" is one."""
    at = 0
    while at < len(words):
        value = numbers(words[at].low)
        if not value:
            at += 1
            continue
        stop = at + 1
        while stop < min(len(words), at + 6) and _continues(words, stop):
            stop += 1
        yield at, words[at], numbers(" ".join(word.low for word in words[at:stop]))
        at = stop


def _continues(words: Sequence[Said], at: int) -> bool:
    close = words[at].start - words[at - 1].end == 1 and words[at].sentence == words[at - 1].sentence
    return close and words[at].low.isalpha() and bool(numbers(words[at].low))


def _against(word: Said, other: Said, source: Source, view: View) -> str | None:
    changes = view.negative or view.denies or (view.changes and (other.compared or other.negative))
    if not changes and not word.negative and not word.over and other.negative and not other.over and not other.owned:
        return TURNED
    if (
        not view.instruction
        and not view.denies
        and not other.owned
        and other.mood > view.mood
        and not meant(word, other, dated=True)
    ):
        return WISHED
    return None if same_person(word, other, source, view) else OTHERS


def check_corrected(content: str, sources: Sequence[Source], found: Weighed) -> None:
    """A number that was corrected in the same breath does not hold any more: "in 2017. Sorry, 2018"."""
    own = [word for source in sources if source.rank < 2 for word in source.words]
    own.sort(key=lambda word: word.start)
    text = " ".join(word.low for word in own)
    counted = numbers(content)
    match = _AGAIN.search(text) if counted else None
    if match is None:
        return
    before, after = numbers(text[: match.start()]), numbers(text[match.end() :])
    if after - before and not counted & after and counted & before:
        found.conflicts.append("corrected in the same breath")
