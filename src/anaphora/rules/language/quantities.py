"""Amounts with their unit in one measure, so that "a year and a half" is 18 months; and how often. English words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Final

from anaphora.rules.language.numeral_words import WEEKDAYS
from anaphora.rules.language.numerals import in_digits, numbers
from anaphora.rules.language.stems import split

#: of each measure, the names of a unit and how many of the smallest it is
_UNITS: Final = (
    ("time", "s sec secs second seconds", 1),
    ("time", "min mins minute minutes", 60),
    ("time", "h hr hrs hour hours", 3_600),
    ("time", "day days", 86_400),
    ("time", "week weeks wk wks", 604_800),
    ("time", "fortnight fortnights", 1_209_600),
    ("months", "month months mo mos", 1),
    ("months", "year years yr yrs", 12),
    ("months", "decade decades", 120),
    ("months", "century centuries", 1_200),
    ("length", "mm", 1),
    ("length", "cm centimetre centimetres centimeter centimeters", 10),
    ("length", "m metre metres meter meters", 1_000),
    ("length", "km kilometre kilometres kilometer kilometers kms", 1_000_000),
    ("weight", "mcg µg μg microgram micrograms", 1),
    ("weight", "mg milligram milligrams", 1_000),
    ("weight", "g gram grams", 1_000_000),
    ("weight", "kg kgs kilo kilos kilogram kilograms", 1_000_000_000),
    ("volume", "ml millilitre millilitres", 1),
    ("volume", "l litre litres liter liters", 1_000),
)
_UNIT: Final = {name: (measure, size) for measure, names, size in _UNITS for name in split(names)}
#: everything with which something is counted: words that mean nothing without their number
COUNTERS: Final = frozenset(_UNIT)
_NAME: Final = "|".join(sorted(_UNIT, key=len, reverse=True))
_NUMBER: Final = r"(?<![\w.,])(\d{1,9}(?:[.,]\d{1,3})?)"
_PATTERNS: Final = (
    # whole, unit, fraction
    (re.compile(rf"{_NUMBER} and (?:a )?(half|quarter) ({_NAME})\b"), (1, 3, 2)),
    (re.compile(rf"{_NUMBER} ({_NAME}) and (?:a )?(half|quarter)\b"), (1, 2, 3)),
    (re.compile(rf"\b(an?|one) ({_NAME}) and (?:a )?(half|quarter)\b"), (1, 2, 3)),
    (re.compile(rf"\b(3 )?(half|quarters?)[ -](?:of )?(?:an? )?({_NAME})\b"), (1, 3, 2)),
    (re.compile(rf"{_NUMBER}[ -]?({_NAME})\b"), (1, 2, 0)),
    (re.compile(rf"\b(a|an|one|a whole|a full) ({_NAME})\b"), (1, 2, 0)),
)
_THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d{3}\b)")
_SPAN: Final = re.compile(r"\b(\d{1,3}) ?(?:h|hrs?|hours?)(?: and)? ?(\d{1,2}) ?(?:m|mins?|minutes?)?\b")
_TIMES: Final = {"day": 1, "week": 7, "fortnight": 14, "month": 30, "quarter": 90, "year": 360, "hour": 0, "minute": -1}
_OFTEN: Final = (
    re.compile(r"\b(?:per|each|every|/) ?(?P<every>other |second |2nd |\d{1,2} )?(?P<unit>\w+)"),
    re.compile(
        r"(?:\d[\w.,%]*|\bonce|\btimes|\btwice|\bdollars|\beuros|\bpounds|\bbucks"
        r"|\brand)(?: \w+){0,4}? an? (?P<unit>\w+)"
    ),
    re.compile(r"\b(?P<unit>hourly|daily|nightly|weekly|fortnightly|monthly|quarterly|yearly|annually|annual|pcm)\b"),
    re.compile(rf"\b(?P<unit>{'|'.join(WEEKDAYS)})s\b"),
)
#: "twice a year" is every six months
_SO_OFTEN: Final = re.compile(r"\b(?:(?P<many>\d{1,2}) times|twice) (?:a|per|each|every) (?P<unit>week|month|year)\b")
_SAME_TIME: Final = (
    dict.fromkeys(split("night nightly daily morning evening afternoon lunchtime"), "day")
    | dict.fromkeys([*WEEKDAYS, "weekend"], "week")
    | dict.fromkeys(split("annually annual summer winter spring autumn christmas"), "year")
    | {"pcm": "month"}
)


def measured(text: str) -> Mapping[str, frozenset[str]]:
    """Every amount, in the smallest unit of its measure, and the numbers with which it was written."""
    low = _THOUSANDS.sub("", in_digits(text))
    found: dict[str, frozenset[str]] = {}
    for match in _SPAN.finditer(low):
        minutes = int(match.group(1)) * 60 + int(match.group(2))
        found[f"{minutes * 60} time"] = numbers(match.group()) | {match.group(1), match.group(2)}
    low = _SPAN.sub(" ", low)
    for pattern, (whole, unit, part) in _PATTERNS:
        for match in pattern.finditer(low):
            written = (match.group(whole) or "").strip()
            measure, size = _UNIT[match.group(unit)]
            key = f"{_value(written, match.group(part) if part else '') * size} {measure}"
            found[key] = found.get(key, frozenset()) | numbers(written)
        # what was read is not read again in a shorter form
        low = pattern.sub(" ", low)
    return found


def _value(written: str, part: str) -> Fraction:
    fraction = {"": Fraction(0), "half": Fraction(1, 2), "quarter": Fraction(1, 4)}.get(part, Fraction(1, 4))
    if part == "quarters":
        return int(written or 3) * fraction
    if not written:
        return fraction
    return (Fraction(written.replace(",", ".")) if written[0].isdigit() else Fraction(1)) + fraction


def periods(text: str) -> frozenset[int]:
    """How often something is, as days from once to once: "every other week" and "once a fortnight" are 14."""
    low = in_digits(text)
    found = set()
    for pattern in _OFTEN:
        for match in pattern.finditer(low):
            name = match.group("unit")
            unit = next((_SAME_TIME[form] for form in (name, name[:-1]) if form in _SAME_TIME), name.removesuffix("s"))
            unit = unit.removesuffix("ly")
            if unit not in _TIMES:
                continue
            every = (match.groupdict().get("every") or "1").strip()
            many = 2 if every in {"other", "second", "2nd"} else int(every)
            found.add(_TIMES[unit] * many)
    for match in _SO_OFTEN.finditer(low):
        found.add(_TIMES[match.group("unit")] // max(1, int(match.group("many") or "2")))
    return frozenset(found)


def counted_days(text: str) -> int:
    """How many different days of the week are named: "Tuesdays and Fridays" is twice a week."""
    low = text.casefold()
    return sum(re.search(rf"\b{day[:3]}(?:{day[3:]})?s?\b", low) is not None for day in WEEKDAYS)


def lengths_of_lists(texts: Iterable[str]) -> frozenset[int]:
    """How many things are listed in a row: of "Amharic, Tigrinya and Italian" it is three."""
    found = set()
    for text in texts:
        for sentence in re.split(r"[.!?\n:;]", text[:4_000]):
            parts = re.split(r",\s*(?:and |& )?|\band\b|&", sentence)
            if len(parts) > 1:
                found.add(len(parts))
    return frozenset(found)


_CURRENCIES: Final = tuple(
    re.compile(rf"{sign}|\b(?:{words})\b")
    for sign, words in (
        ("€", "euros?|eur"),
        ("£", "pounds? sterling|quid|gbp|pounds?(?! of)"),
        (r"\$", "dollars?|usd|bucks?"),
        ("¥", "yen|yuan"),
        ("₹", "rupees?|inr"),
        ("kr\\b", "kronor|kroner|crowns"),
        ("₽", "roubles?|rubles?"),
        ("zł", "zloty|zlotys"),
        ("\\bchf\\b", "francs?|franken"),
    )
)


def currencies(text: str) -> frozenset[int]:
    """In what money it speaks: a number for each."""
    low = text.casefold()
    return frozenset(at for at, pattern in enumerate(_CURRENCIES) if pattern.search(low))


_RELATIVE: Final = re.compile(
    r"\b(this|next|last) (week|weekend|month|year|spring|summer|autumn|fall|winter|semester|term|night|time"
    rf"|{'|'.join(WEEKDAYS)})\b"
)


def relative_dates(text: str) -> frozenset[tuple[str, str]]:
    """Dates as seen from the day of the talk: "next year" is `("year", "next")`."""
    return frozenset((match.group(2), match.group(1)) for match in _RELATIVE.finditer(text.casefold()))


_ORDINAL: Final = re.compile(
    r"\b(?:\d+(?:st|nd|rd|th)|(?:twenty|thirty)?-?(?:second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth"
    r"|eleventh|twelfth))\b",
    re.IGNORECASE,
)


def without_ordinals(text: str) -> str:
    """The text without "third" and "3rd": they count no things."""
    return _ORDINAL.sub(" ", text)


_HOUR: Final = re.compile(
    r"\b(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?(?: ?o'clock)?"
    r"(?: ?(?P<half>[ap])\.?m\b|,? (?:in the |at |this |each |every )?(?P<part>morning|afternoon|evening|night)s?\b)?"
)


def hours(text: str) -> Mapping[str, frozenset[str]]:
    """The hours of a clock of which it is said whether they are before noon: "8 in the evening" is 8, `pm`."""
    found: dict[str, frozenset[str]] = {}
    for match in _HOUR.finditer(in_digits(text)):
        hour, part = int(match.group("hour")), match.group("part")
        half = "am" if part == "morning" else "pm" if part else f"{match.group('half')}m" if match.group("half") else ""
        if not half and match.group("minute"):
            half = "am" if match.group("hour").startswith("0") else "pm" if hour > 12 else ""
        if half:
            key = str(hour - 12 if hour > 12 else hour)
            found[key] = found.get(key, frozenset()) | {half}
    return found
