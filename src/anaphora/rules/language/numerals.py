"""Numbers, dates and times of a text in one form, however they are written. English words; digits of any script."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from anaphora.rules.language.numeral_words import (
    FOREIGN_MONTHS,
    KNOWN,
    MONTHS,
    ONES,
    ORDINALS,
    SCALES,
    SUFFIXES,
    VALUES,
    WEEKDAYS,
)
from anaphora.rules.language.stems import plain, split

_SHORT: Final = {month[:3]: month for month in MONTHS} | {"sept": "september"}

_FOREIGN_DATE: Final = re.compile(
    rf"\b(\d{{1,2}})(?:\.|º|er)? (?:de |di )?({'|'.join(sorted(FOREIGN_MONTHS, key=len, reverse=True))})\b"
)
_NUMBER_WORDS: Final = re.compile(
    r"\b(?:{one})(?:[ -]+(?:and +)?(?:{one})){{0,7}}s?\b".format(one="|".join([*VALUES, *ORDINALS, *SCALES]))
)
#: "three and a half thousand"
_AND_HALF: Final = re.compile(r"\b(\d{1,3}) and (?:a )?half (100|1000|1000000|k|million|thousand)\b")
_OH: Final = re.compile(rf"\b(nineteen|twenty)[ -]oh[ -]({'|'.join(ONES[1:10])})\b")
#: "my thirties", "the eighties"
_TIES: Final = re.compile(r"\b(twen|thir|for|fif|six|seven|eigh|nine)ties\b")
_TIES_VALUES: Final = dict(zip(split("twen thir for fif six seven eigh nine"), range(20, 100, 10), strict=True))
#: "18 500" and "1'200"
_GROUPED: Final = re.compile(r"(?<![\d.,:/-])\b(\d{1,3})((?:[ '\u00a0\u202f]\d{3})+)(?![\d:/-])")
_MONTH: Final = rf"({'|'.join(MONTHS)}|{'|'.join(_SHORT)})\b\.?"
_ISO: Final = re.compile(r"\b(\d{4})-(\d{1,2})-(\d{1,2})\b")
_NUMERIC: Final = re.compile(r"\b(\d{1,2})([/.])(\d{1,2})[/.](\d{4}|\d{2})\b")
#: "12.9." is a day, or the end of a sentence
_DOTTED: Final = re.compile(r"(?<![\d.])(\d{1,2})\.(\d{1,2})\.(?!\d)")
_MONTH_DAY: Final = re.compile(rf"\b{_MONTH} (?:the )?(\d{{1,2}})(?:st|nd|rd|th)?\b(?![:\d])")
#: "9-16 May", "from 9 to 16 May", and "May 9-16"
_TO: Final = r"(?:st|nd|rd|th)? ?(?:-|to|until|till|through|and) ?(?:the )?"
_DAYS_MONTH: Final = re.compile(rf"\b(\d{{1,2}}){_TO}(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH}")
_MONTH_DAYS: Final = re.compile(rf"\b{_MONTH} (\d{{1,2}}){_TO}(\d{{1,2}})(?:st|nd|rd|th)?\b(?![:\d])")
#: "08/2026"
_MONTH_YEAR: Final = re.compile(r"(?<![\d/.])(0?[1-9]|1[0-2])[/.]((?:19|20)\d\d)\b")
_DAY_MONTH: Final = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH}")
_PAST_HOUR: Final = re.compile(r"\b(half|quarter) (past|to) (\d{1,2})\b")
_CLOCK: Final = re.compile(
    r"\b(\d{1,2})(?::(\d{2})(?::\d{2})?)?(?: ?(am|pm|a\.m\.?|p\.m\.?|o'clock)(?![a-z])|(?<=:\d\d))"
)
_DURATION: Final = re.compile(r"\b(\d{1,2}) ?(?:h|hrs?|hours?)(?: and)? ?(\d{1,2}) ?(?:m|mins?|minutes?)?\b")
#: "one" is a pronoun more often than a number
_ONE_HOUR: Final = re.compile(r"\b(?:one|an) hour(?: and)? (?=\d{1,2}\b)")
#: "18 a 20 h", "von 18 bis 20 Uhr"
_TO_HOUR: Final = re.compile(
    r"\b(\d{1,2}) ?(?:h|uhr|uur)? ?(?:-|to|a|à|bis|até|tot|às) ?(\d{1,2}) ?(?:h|uhr|uur)\b(?! ?\d)"
)
#: one of the words of `_FRACTIONS`
_FRACTION: Final = re.compile(r"\b(?:half|quarter|couple|second|hundred|thousand|million|dozen)\b")
_DIGIT: Final = re.compile(r"[0-9]")
_FRACTIONS: Final = (
    (re.compile(r"\bhalf a dozen\b"), "6"),
    (re.compile(r"\b(?:a )?quarter (?:of a )?million\b"), "250000"),
    (re.compile(r"\bhalf a million\b"), "500000"),
    (
        re.compile(
            r"\b(?<=(?:at|by) )half (?=(?:\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b)"
        ),
        "half past ",
    ),
    (re.compile(r"\ba (?=(?:hundred|thousand|million|dozen)\b)"), "one "),
    # "a couple since May" are two people, and no number
    (re.compile(r"\ba couple (?:of )?(?=\w)(?!(?:since|for|in|and|who|that|any|again|now|from|with|but)\b)"), "2 "),
    (re.compile(r"\bsecond[ -]hand\b"), "secondhand"),
)
_PHONE: Final = re.compile(r"(?<![\w.,])\+?\(?\d{2,4}\)?(?:[ .-]\d{2,9}){1,6}\b")
_DECADE: Final = re.compile(r"(\bthe (?:\w+[ -])?)?(?<![\w])(?<!under-)(?<!over-)'?(\d0)'?s\b")
_PLAIN: Final = re.compile(
    r"(?:(?<![A-Za-z0-9])|(?<=\br)(?=\d\d))'?\d{1,30}(?:,\d{3}){0,5}(?:[.,]\d{1,9})?(?: ?(?:hundred"
    r"|thousand|million|billion)\b|(?:k|m"
    r"|mn|bn)\b)?"
)
_BARE_MONTH: Final = re.compile(
    r"\b(january|february|april|june|july|august|september|october|november|december|feb|apr|aug|sept?|oct|nov|dec)\b"
    r"|\b(?:in|on|of|since|until|till|by|this|last|next|every|early|late|mid|from|to|through|come|before|after|around|over|during"
    r"|by) (may|march)\b"
)
#: characters of what may be a single word
_WORD: Final = 20
_DAYS: Final = {day[:3]: day for day in WEEKDAYS}
_WEEKDAY: Final = re.compile(r"\b(mon|tue|wed|thu|fri|sat|sun)(?:days?|sdays?|nesdays?|rsdays?|urdays?|s|rs?|urs)?\b")
_UNSPACED_NUMBERS: Final = re.compile(r"[两兩二三四五六七八九十](?=[年岁歲个個只隻次点點月号號天周週口位本公])")
_UNSPACED_VALUES: Final = dict(zip("两兩二三四五六七八九十", (2, 2, 2, 3, 4, 5, 6, 7, 8, 9, 10), strict=True))
_HALF_OF_DAY: Final = re.compile(r"\b(morning|mornings|afternoon|evening|evenings|tonight)\b")
_NAMED_TIMES: Final = re.compile(r"\b(noon|midday|midnight)\b")


def numbers(text: str) -> frozenset[str]:
    """Every number, date and time, in a normal form.

    "two" is `2`, "3rd" is `3`, "1,200" and "1.2k" are `1200`, "March 3rd" is `3 march`, "half past six" is `6:30`,
    "6 pm" is `6` and `pm`, "Mondays" is `monday`. "one" is left out: it is a pronoun more often than a number.
    """
    return frozenset(reading.partition("|")[0] for reading in _read(text))


def readings(text: str) -> frozenset[frozenset[str]]:
    """Every number, date and time, each with all that its notation may stand for: "3/4/2020" is either of two days."""
    return frozenset(frozenset(reading.split("|")) for reading in _read(text))


def _read(text: str) -> frozenset[str]:
    """Every number, date and time; of several readings, with a bar between them, the likeliest first."""
    return _read_word(text) if len(text) <= _WORD else _read_all(text)


def _read_all(text: str) -> frozenset[str]:
    low = in_digits(text)
    found: set[str] = set()
    # without a digit only the hours that have a name are left
    for pattern, read in _READERS if _DIGIT.search(low) else ((_NAMED_TIMES, _named_time),):
        matches: list[re.Match[str]] = []

        def blank(match: re.Match[str], kept: list[re.Match[str]] = matches) -> str:
            kept.append(match)
            return " "

        low = pattern.sub(blank, low)
        for match in matches:
            found.update(read(match))
    found.update(_kept(low))
    return frozenset(found)


#: single words come again and again; what people say as a whole is not kept
_read_word: Final = lru_cache(maxsize=4096)(_read_all)


def in_digits(text: str) -> str:
    """The text in lower case with digits for numbers in words; "one" stays."""
    low = _digits(plain(text).casefold())
    for pattern, value in _FRACTIONS if _FRACTION.search(low) else ():
        low = pattern.sub(value, low)
    if _DIGIT.search(low):
        low = _FOREIGN_DATE.sub(lambda match: f"{match.group(1)} {FOREIGN_MONTHS[match.group(2)]}", low)
    low = _OH.sub(lambda match: f"{'20' if match.group(1) == 'twenty' else '19'}0{VALUES[match.group(2)]}", low)
    low = _TIES.sub(lambda match: f"{_TIES_VALUES[match.group(1)]}s", low)
    low = _NUMBER_WORDS.sub(_spelled, low)
    if not _DIGIT.search(low):
        return low
    low = _AND_HALF.sub(_and_half, low)
    low = _ONE_HOUR.sub("1 hour ", low)
    low = _TO_HOUR.sub(r"\1:00 - \2:00", low)
    return _GROUPED.sub(lambda match: match.group(1) + re.sub(r"\D", "", match.group(2)), low)


def _and_half(match: re.Match[str]) -> str:
    if not match.group(2).isdigit():
        return f"{match.group(1)}.5 {match.group(2)}"
    return str(int(match.group(1)) * int(match.group(2)) + int(match.group(2)) // 2)


def _kept(low: str) -> Iterator[str]:
    """Days and months that stand alone, and the half of the day."""
    for match in _BARE_MONTH.finditer(low):
        month = match.group(1) or match.group(2)
        yield _SHORT.get(month[:3], month)
    for match in _WEEKDAY.finditer(low):
        yield _DAYS[match.group(1)]
    for match in _HALF_OF_DAY.finditer(low):
        yield "am" if match.group().startswith("m") else "pm"


def _digits(text: str) -> str:
    if text.isascii():
        return text
    text = _UNSPACED_NUMBERS.sub(lambda match: f" {_UNSPACED_VALUES[match.group()]} ", text)
    return "".join(str(unicodedata.decimal(char)) if char.isdecimal() else char for char in text)


def _spelled(match: re.Match[str]) -> str:
    """The digits of a number in words; of several numbers in a row, each."""
    phrase = match.group()
    if match.string[max(match.start() - 2, 0) : match.start()].strip().isdigit():
        # "5 million" is read as one later
        return phrase
    out: list[str] = []
    total = current = 0
    last = 0
    for written in re.split(r"[ -]+", phrase):
        word = written if written in KNOWN else written.removesuffix("s")
        if word == "and":
            continue
        value = VALUES.get(word, ORDINALS.get(word))
        if value is None:
            scale = SCALES[word]
            current = max(current, 1) * scale
            if scale >= 1_000:
                total, current = total + current, 0
            last = scale
            continue
        fits = not (current or total) or last >= 100 or (last in range(20, 100, 10) and value < 10)
        if not fits:
            out.append(_said(total + current, last))
            total = current = 0
        current += value
        last = value
    out.append(_said(total + current, last))
    return _paired(phrase, [piece for piece in out if piece])


def _paired(phrase: str, said: list[str]) -> str:
    """Two numbers in a row may be a year, "nineteen eighty-four", or a time, "one fifty-two"."""
    if len(said) == 1 and phrase.startswith("one ") and 13 <= int(said[0]) <= 59:
        return f"1:{said[0]} {said[0]}"
    if len(said) == 2:
        first, second = (int(piece) for piece in said)
        if first in {19, 20} and 10 <= second <= 99:
            return f"{first}{second}"
        if 2 <= first <= 12 and 10 <= second <= 59:
            return f"{first}:{second} {first} {second}"
    if len(said) == 3 and said[1] == "0" and said[0] in {"19", "20"} and len(said[2]) == 1:
        return f"{said[0]}0{said[2]}"
    return " ".join(said) or phrase


def _said(value: int, last: int) -> str:
    return "" if value == 1 == last else str(value)


def _iso(match: re.Match[str]) -> Iterator[str]:
    year, month, day = (int(part) for part in match.groups())
    yield str(year)
    yield f"{day} {MONTHS[month - 1]}" if 1 <= month <= 12 else f"{month}/{day}"


def _numeric(match: re.Match[str]) -> Iterator[str]:
    first, second, year = int(match.group(1)), int(match.group(3)), int(match.group(4))
    yield str(year if year > 99 else _century(year))
    days = [(first, second)] if match.group(2) == "." else [(first, second), (second, first)]
    yield "|".join(f"{day} {MONTHS[month - 1]}" for day, month in days if 1 <= month <= 12) or f"{first}/{second}"


def _dotted(match: re.Match[str]) -> Iterator[str]:
    day, month = int(match.group(1)), int(match.group(2))
    decimal = _value(f"{match.group(1)}.{match.group(2)}", 1)
    yield f"{decimal}|{day} {MONTHS[month - 1]}" if 1 <= month <= 12 else decimal


def _month_day(match: re.Match[str]) -> Iterator[str]:
    yield f"{int(match.group(2))} {_SHORT[match.group(1)[:3]]}"


def _day_month(match: re.Match[str]) -> Iterator[str]:
    yield f"{int(match.group(1))} {_SHORT[match.group(2)[:3]]}"


def _days_month(match: re.Match[str]) -> Iterator[str]:
    for day in match.groups()[:2]:
        yield f"{int(day)} {_SHORT[match.group(3)[:3]]}"


def _month_days(match: re.Match[str]) -> Iterator[str]:
    for day in match.groups()[1:]:
        yield f"{int(day)} {_SHORT[match.group(1)[:3]]}"


def _month_year(match: re.Match[str]) -> Iterator[str]:
    yield MONTHS[int(match.group(1)) - 1]
    yield match.group(2)


def _past_hour(match: re.Match[str]) -> Iterator[str]:
    part, way, hour = match.group(1), match.group(2), int(match.group(3))
    if way == "to":
        hour = hour - 1 or 12
    minutes = {"half": 30, "quarter": 15 if way == "past" else 45}[part]
    yield f"{hour}:{minutes}"


def _clock(match: re.Match[str]) -> Iterator[str]:
    hour, minutes, half = int(match.group(1)), match.group(2), (match.group(3) or "").replace(".", "")
    if hour > 12:
        hour, half = hour - 12, "pm"
    yield str(hour) if minutes in {None, "00"} else f"{hour}:{minutes}"
    if half in {"am", "pm"}:
        yield half


def _duration(match: re.Match[str]) -> Iterator[str]:
    yield f"{int(match.group(1))}:{int(match.group(2)):02d}"


def _phone(match: re.Match[str]) -> Iterator[str]:
    groups = re.findall(r"\d+", match.group())
    if sum(map(len, groups)) >= 7 and any(len(group) != 4 for group in groups):
        yield "".join(groups)
    else:
        for number in _PLAIN.finditer(match.group()):
            yield from _number(number)


def _decade(match: re.Match[str]) -> Iterator[str]:
    yield f"19{match.group(2)}" if match.group(1) else f"{match.group(2)}s|19{match.group(2)}"


def _named_time(match: re.Match[str]) -> Iterator[str]:
    yield "12"
    yield "am" if match.group() == "midnight" else "pm"


def _number(match: re.Match[str]) -> Iterator[str]:
    written = match.group()
    scale = 1
    suffix = re.search(r"[a-z]+$", written)
    if suffix:
        scale = SCALES.get(suffix.group()) or SUFFIXES[suffix.group()]
        written = written[: suffix.start()].rstrip()
    if written.startswith("'"):
        digits = written[1:]
        yield str(_century(int(digits))) if len(digits) == 2 and digits.isdigit() else _value(digits, scale)
    elif suffix and suffix.group() == "k" and len(written) < 3:
        # so long is a race
        yield f"{_value(written, scale)}|{_value(written, 1)}"
    elif re.fullmatch(r"\d{1,3}\.\d{3}", written) and written[0] != "0":
        yield f"{_value(written, scale)}|{_value(written.replace('.', ''), scale)}"
    else:
        yield _value(written, scale)


def _value(written: str, scale: int) -> str:
    whole, _, part = re.sub(r",(?=\d{3}(?!\d))", "", written).replace(",", ".").partition(".")
    part = part.rstrip("0")
    if scale > 1 or part:
        scaled = int(whole + part) * scale
        tail = str(scaled)[-len(part) :].rjust(len(part), "0").rstrip("0") if part else ""
        head = scaled // 10 ** len(part)
        return f"{head}.{tail}" if tail else str(head)
    return whole.lstrip("0") or "0"


def _century(year: int) -> int:
    return year + (1900 if year >= 30 else 2000)


_READERS: Final = (
    (_ISO, _iso),
    (_NUMERIC, _numeric),
    (_MONTH_YEAR, _month_year),
    (_DOTTED, _dotted),
    (_DAYS_MONTH, _days_month),
    (_MONTH_DAYS, _month_days),
    (_MONTH_DAY, _month_day),
    (_DAY_MONTH, _day_month),
    (_PAST_HOUR, _past_hour),
    (_DURATION, _duration),
    (_CLOCK, _clock),
    (_NAMED_TIMES, _named_time),
    (_DECADE, _decade),
    (_PHONE, _phone),
    (_PLAIN, _number),
)
