"""What a person has one of at a time: a home, an age, a favourite colour. English."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from anaphora.rules.language.stems import plain, split, stem
from anaphora.rules.language.words import numbers, terms

_WHO: Final = re.compile(r"^(?:the )?(?:user|speaker|owner)(?:'s)?\s+", re.IGNORECASE)
_THEIRS: Final = re.compile(r"^(?:(?:his|her|their|my) )", re.IGNORECASE)
_PERSON: Final = re.compile(
    r"^(?P<who>(?:\w+'s )?(?:[a-z]+[ -])?(?:brother|sister|mother|mom|mum|father|dad|wife|husband|partner|girlfriend"
    r"|boyfriend|fianc[eé]e?|son|daughter|child|kid|baby|friend|roommate|flatmate|boss|manager|colleague|neighbou?r"
    r"|cousin|aunt|uncle|nephew|niece|grandm\w+|grandf\w+|grandpa|dog|cat|pet|horse|parrot|rabbit|hamster|bird|fish"
    r"|team|company|employer|car))(?:'s)? ",
    re.IGNORECASE,
)
_NAMED: Final = re.compile(r"^(?P<who>[A-Z][\w'-]*(?: [A-Z][\w'-]*){0,2}?)(?:'s)? (?=[a-z])")
_NOW: Final = r"(?:currently |now |still |presently |mostly |(?:very )?recently |just )?"
_NO: Final = r"(?:no longer |not |doesn't |does not |isn't |never )?"
_IS: Final = r"(?:is|'s|are|was changed to)"


_OPENERS: Final = frozenset(
    split(
        "favourite favorite name birthday age home hometown job profession occupation employer email e-mail phone "
        "address "
        "height weight native mother first last full currently now just recently born always never not no allergic "
        "please "
        "wife husband"
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """What a statement fills, and with what."""

    #: "home", "age", "favourite colour", ...
    name: str
    #: whose: empty for the person whom the facts are about
    who: str
    #: the telling stems and numbers of what it is filled with
    value: frozenset[str]


_PATTERNS: Final = tuple(
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        ("home", rf"^{_NOW}(?:lives?|resides?|is living|is based|based) {_NOW}(?:in|at|near|on) (?P<value>.+)"),
        ("home", rf"^(?:has )?{_NOW}(?:moved|relocated) (?:back )?(?:(?:from|out of) .{{1,60}}? )?to (?P<value>.+)"),
        ("home", rf"^home(?: ?town| city)? {_IS} {_NOW}(?:in )?(?P<value>.+)"),
        (
            "profession",
            rf"^{_NOW}(?:works?|is working|is employed) as (?:an? )?(?P<value>[^,]+?)(?: (?:at|for|in) .+)?$",
        ),
        ("profession", rf"^(?:profession|occupation|job|job title) {_IS} (?:an? )?(?P<value>.+)"),
        ("employer", rf"^{_NOW}(?:works?|is working|is employed) {_NOW}(?:at|for|by) (?P<value>.+)"),
        ("employer", rf"^employer {_IS} {_NOW}(?P<value>.+)"),
        (
            "age",
            rf"^(?:is |are )?{_NOW}(?:aged? )?(?P<value>\d+|\w+(?:-\w+)?)(?: years? old| years? of age|-years?-old)",
        ),
        ("age", rf"^(?:age {_IS}|is aged|aged|(?:just )?turned|is) (?P<value>\d{{1,3}})$"),
        ("birthday", rf"^(?:birthday|birth date|date of birth) {_IS} (?:on )?(?P<value>.+)"),
        ("birthday", r"^(?:was )?born on (?P<value>.+)"),
        ("name", rf"^(?:(?:first |full |last |real )?name {_IS}|is named|is called) (?P<value>.+)"),
        ("favourite", rf"^favou?rite (?P<of>[\w' -]{{2,40}}?) {_IS} {_NOW}(?P<value>.+)"),
        ("marriage", rf"^{_IS} {_NOW}(?P<value>single|married|divorced|engaged|widowed|separated)\b.*"),
        ("diet", rf"^{_IS} {_NOW}(?:an? )?(?P<value>vegan|vegetarian|pescatarian|omnivore|carnivore|flexitarian)\b.*"),
        ("diet", r"^(?:follows|eats|keeps) (?:an? )?(?P<value>[\w-]+) diet\b.*"),
        (
            "number of",
            r"^(?:has|owns) (?P<value>\d+|two|three|four|five|six|seven|eight|nine|ten|an?|one) (?P<of>\w+)$",
        ),
        ("phone", rf"^(?:phone|mobile|cell)(?: phone)?(?: number)? {_IS} (?P<value>.+)"),
        ("email", rf"^e-?mail(?: address)? {_IS} (?P<value>.+)"),
        ("address", rf"^(?:home |postal |mailing )?address {_IS} (?P<value>.+)"),
        ("height", rf"^(?:height {_IS}|is) (?P<value>\d[\w.' ]*?)(?: tall)$"),
        ("weight", rf"^(?:weight {_IS}|weighs) (?P<value>\d.*)"),
        ("major", r"^(?:majors|is majoring) in (?P<value>.+)"),
        ("wake", rf"^{_NOW}(?:(?:usually|always) )?(?:wakes|gets) up (?:every (?:day|morning) )?at (?P<value>.+)"),
        ("native language", rf"^(?:native language|mother tongue|first language) {_IS} (?P<value>.+)"),
        ("call", r"^(?:call|address) (?:the user|him|her|them|me) (?:as )?(?P<value>.+)"),
        ("call", r"^(?:wants|prefers|likes) to be called (?P<value>.+)"),
        (
            "answers in",
            r"^(?:always |please )*(?:answer|reply|respond|write|speak)s? (?:\w+ )?(?:only )?in (?P<value>\w+)$",
        ),
        ("units", r"^(?:always |please )*(?:use|give|prefers)s? (?:\w+ )?(?P<value>metric|imperial)\b.*"),
        (
            "length",
            (
                r"^(?:always |please )*(?:keep|make|give|prefers) (?:\w+ ){0,2}(?:answers?|repl\w+|responses?) "
                r"(?P<value>short|brief|concise|long|detailed)\b.*"
            ),
        ),
    )
)


def slot(content: str, speaker: str | None = None) -> Slot | None:
    """What the statement fills, if it is of a kind that a person has one of."""
    who, rest = whose(content, speaker)
    for name, pattern in _PATTERNS:
        match = pattern.match(rest)
        if match is None:
            continue
        of = match.groupdict().get("of")
        value = match.group("value")
        told = frozenset(terms(value)) | numbers(value)
        if name == "home" and who == "" and not _is_place(value):
            return None
        return Slot(name=f"{name} {' '.join(map(stem, of.casefold().split()))}" if of else name, who=who, value=told)
    return None


def whose(content: str, speaker: str | None = None) -> tuple[str, str]:
    """Whom a statement is about, and the statement without that; empty for the person whom the facts are about."""
    rest = plain(content).strip().rstrip(".!")
    if speaker:
        lead = plain(speaker).strip()
        if lead and rest.casefold().startswith(lead.casefold()) and rest[len(lead) : len(lead) + 1] in {" ", "'"}:
            rest = rest[len(lead) :].removeprefix("'s").strip()
    rest = _THEIRS.sub("", _WHO.sub("", rest))
    person = _PERSON.match(rest)
    if person:
        return " ".join(stem(word) for word in person.group("who").casefold().split()), rest[person.end() :]
    named = _NAMED.match(rest)
    if named and _is_subject(named, rest):
        return named.group("who").casefold(), rest[named.end() :]
    return "", rest


def _is_subject(named: re.Match[str], rest: str) -> bool:
    """A name and a verb, not "Lives in": after a name stands "is", "has" or a verb with an "s"."""
    following = rest[named.end() :].split(None, 1)[0]
    first = named.group("who").split()[0].casefold()
    if first in _OPENERS:
        return False
    return following in {"is", "was", "has", "are", "were", "had"} or (
        following.endswith("s") and not following.endswith("ss") and not first.endswith(("s", "ed"))
    )


def _is_place(value: str) -> bool:
    """Not "lives in a flat" beside "lives in Lisbon": a place is at least not indefinite."""
    return not re.match(r"(?:an? |the (?:city|country|suburbs|countryside)\b|with\b)", value, re.IGNORECASE)
