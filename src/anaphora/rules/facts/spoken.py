"""Facts that people state in plain words, found by narrow rules: for those who have no model. English.

A fact is put without its subject, as it reads under "Known facts about Alice": "Lives in Lisbon", "Allergic to nuts".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from anaphora.domain.facts import MAX_CONTENT, Candidate
from anaphora.domain.messages import Message, Role
from anaphora.rules.facts.gate import Outcome, judge
from anaphora.rules.language.stems import plain, split

#: characters of a message that are read: what is longer is hardly said by hand
_LONGEST: Final = 8_000
#: candidates of one message
_MOST: Final = 12

_I: Final = r"(?<![\w'\"])[Ii]"
_AM: Final = rf"{_I}(?:'m| am)"
_VERY: Final = (
    r"(?:(?:really|absolutely|so|very|just|also|still|now|currently|actually|totally|severely|deathly|badly) )*"
)
#: up to the end of the clause
_REST: Final = r"(?P<x>[^.!?;:\n()\"]{2,90})"
_NAME: Final = r"(?P<x>[A-Z][\w'-]*(?: [A-Z][\w'-]*){0,2})"
_RELATIVE: Final = (
    r"(?P<who>(?:little |older |younger |big |elder |twin )?(?:brother|sister|mother|father|mom|mum|dad|wife"
    r"|husband|partner|girlfriend|boyfriend"
    r"|fianc[eé]e?|son|daughter|baby|cousin|nephew|niece|dog|cat|puppy|kitten|rabbit|hamster|parrot|horse|best"
    r" friend))"
)
_COUNT: Final = r"(?:an?|one|two|three|four|five|six|\d)"
_KINDS: Final = (
    r"(?:brother|sister|son|daughter|child|children|kid|dog|cat|puppy|kitten|rabbit|hamster|parrot|horse|chicken"
    r"|twin boy|twin girl|grandchild"
    r"|grandchildren)s?"
)
_DIETS: Final = (
    r"(?P<x>vegan|vegetarian|pescatarian|lactose intolerant|gluten intolerant|coeliac|celiac|diabetic|teetotal)"
)
_ILLS: Final = (
    r"(?P<x>(?:type [12] )?diabetes|asthma|epilepsy|coeliac disease|celiac disease|migraines|adhd|ADHD|dyslexia"
    r"|hay fever|high blood pressure)"
)
_OFTEN: Final = (
    r"every (?:single )?(?:day|morning|evening|night|week|weekend|month|[Mm]onday|[Tt]uesday|[Ww]ednesday|[Tt]hursday"
    r"|[Ff]riday|[Ss]aturday|[Ss]unday)s?"
)
_DONE: Final = (
    r"(?P<verb>run|swim|walk|cycle|bike|jog|meditate|cook|bake|read|write|play|practise|practice|train|drink|eat"
    r"|go|visit|call|take|do|study|paint"
    r"|draw|garden|journal|stretch|fast|volunteer|teach|wake up|get up|hike|climb|sing|work out)"
)
_JOBS: Final = (
    r"(?P<x>(?:[a-z-]+ ){0,2}(?:[a-z-]*(?:eer|ician|ologist|grapher|maker|worker|keeper|teacher|writer|driver"
    r"|designer|developer|programmer|manager|officer"
    r"|painter|baker|builder|farmer|lawyer|plumber|carpenter|gardener|trainer|cleaner|dancer|singer|hairdresser"
    r"|firefighter|photographer|therapist"
    r"|dentist|pharmacist|scientist|chemist|journalist|artist|economist|nurse|doctor|surgeon|architect|electrician"
    r"|librarian|musician|midwife|chef|cook"
    r"|pilot|accountant|translator|editor|actor|author|student|professor|tutor|mechanic|barista|consultant|analyst"
    r"|paramedic|vet|welder|tailor))"
    r"(?: (?:at|for|in|with) [^.!?;:,\n()\"]{2,60})?)"
)
#: what is liked must be named
_POINTS: Final = frozenset(
    split(
        "it that this these those you your yours how when what where who why the way idea him her them his their "
        "one to "
        "everything nothing something anything all both some more most such so being having if seeing hearing"
    )
)
_AND: Final = re.compile(
    r",?\s+(?:and|but|so|because|since|which|who|when|if|though|although|while|please|then|however|btw|by the way"
    r"|anyway|lol|haha|right now|at the moment|these days)"
    r"\s+(?:i|i'm|i've|my|we|we're|it|it's|he|she|they|you|please|so|then|that|this|there|what|can|could|do|does"
    r"|is|was|now|also|would|will|am|have|would|the)\b.*$"
    r"|,\s+(?:so|but|because|which|who|though|although|while|please|and|what|can|could|do|any|is|right|you|if|it|i"
    r"|my|we|he|she|they|that|not|thanks|ok)\b.*$"
    r"|\s+(?:but|so|because|which|who|though|although|while|please|however|btw|by the way|anyway|lol|haha|right"
    r" now|at the moment|these days|too|as well|since|if|when)\b.*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Rule:
    """A pattern, and what becomes of a match."""

    pattern: re.Pattern[str]
    category: str
    importance: int
    content: Callable[[re.Match[str]], str]


def _said(lead: str) -> Callable[[re.Match[str]], str]:
    """The words after the lead, up to the end of the thought."""

    def content(match: re.Match[str]) -> str:
        rest = cut(match.group("x"))
        return f"{lead}{rest}" if rest and rest.split()[0].casefold() not in _POINTS else ""

    return content


def cut(rest: str) -> str:
    """Up to the end of the thought."""
    return _AND.sub("", rest).strip(" ,-")


def _relative(match: re.Match[str]) -> str:
    who = match.group("who")
    return f"{who[:1].upper()}{who[1:]}'s name is {match.group('x')}"


def _habit(match: re.Match[str]) -> str:
    verb, rest = match.group("verb"), match.group("x")
    first, _, more = verb.partition(" ")
    third = {"go": "goes", "do": "does"}.get(first) or (
        f"{first[:-1]}ies"
        if first.endswith("y") and first[-2] not in "aeiou"
        else f"{first}{'es' if first.endswith(('ch', 'sh', 's')) else 's'}"
    )
    return f"{third[:1].upper()}{third[1:]}{' ' if more else ''}{more}{rest}"


def _order(match: re.Match[str]) -> str:
    text = match.group("x").strip()
    return f"{text[:1].upper()}{text[1:]}"


def _rule(pattern: str, category: str, importance: int, content: Callable[[re.Match[str]], str]) -> _Rule:
    return _Rule(re.compile(pattern), category, importance, content)


def _fixed(lead: str, end: str = "") -> Callable[[re.Match[str]], str]:
    return lambda match: f"{lead}{match.group('x')}{end}"


_RULES: Final = (
    _rule(rf"{_AM} {_VERY}allergic to {_REST}", "other", 9, _said("Allergic to ")),
    _rule(rf"{_I} have an? (?P<x>[\w -]{{2,30}}) allergy\b", "other", 9, _fixed("Has a ", " allergy")),
    _rule(
        rf"{_AM} {_VERY}(?:an? )?{_DIETS}\b(?! (?:restaurant|place|recipe|cook))",
        "preference",
        8,
        lambda m: m.group("x").capitalize(),
    ),
    _rule(rf"{_I} have {_ILLS}\b", "other", 8, _fixed("Has ")),
    _rule(rf"{_I} (?:don't|do not|never|can't|cannot) eat {_REST}", "preference", 8, _said("Doesn't eat ")),
    _rule(rf"{_I} (?:don't|do not|never) drink {_REST}", "preference", 7, _said("Doesn't drink ")),
    _rule(rf"\b[Mm]y (?:full |first |last )?name(?:'s| is) {_NAME}", "other", 8, _fixed("Name is ")),
    _rule(rf"\b(?:[Pp]lease |[Yy]ou can |[Jj]ust )?[Cc]all me {_NAME}", "instruction", 8, _fixed("Call the user ")),
    _rule(rf"{_AM} {_VERY}(?P<x>\d{{1,3}})(?: years old|(?=\s*[.,!]|\s*$))", "other", 6, _fixed("Is ", " years old")),
    _rule(rf"\b[Mm]y birthday(?:'s| is) (?:on )?{_REST}", "milestone", 7, _said("Birthday is ")),
    _rule(rf"{_I} was born (?P<x>(?:on|in) [^.!?;:\n()\",]{{2,60}})", "milestone", 6, _said("Was born ")),
    _rule(rf"{_I} {_VERY}live (?P<x>in [^.!?;:\n()\"]{{2,60}})", "other", 7, _said("Lives ")),
    _rule(rf"{_AM} {_VERY}based (?P<x>in [^.!?;:\n()\"]{{2,60}})", "other", 7, _said("Based ")),
    _rule(
        rf"{_I}(?:'ve| have)? {_VERY}(?:recently )?moved to (?P<x>[A-Z][^.!?;:\n()\"]{{1,60}})",
        "milestone",
        7,
        _said("Moved to "),
    ),
    _rule(rf"{_AM} {_VERY}(?:originally )?from (?P<x>[A-Z][^.!?;:\n()\"]{{1,60}})", "other", 6, _said("From ")),
    _rule(rf"{_I} grew up (?P<x>in [^.!?;:\n()\"]{{2,60}})", "other", 5, _said("Grew up ")),
    _rule(
        rf"{_I} {_VERY}work (?P<x>(?:at|for|as|in|with [^.!?;:,\n()\"]{{2,60}} (?:at|for)) [^.!?;:\n()\"]{{2,70}})",
        "occupation",
        7,
        _said("Works "),
    ),
    _rule(rf"{_AM} {_VERY}(?P<a>an?) {_JOBS}", "occupation", 7, lambda m: f"Is {m.group('a')} {cut(m.group('x'))}"),
    _rule(
        rf"{_I}(?:'ll)? {_VERY}start (?:my |a )?(?:new )?(?:job |work )?(?P<x>at [^.!?;:\n()\"]{{2,70}})",
        "occupation",
        7,
        _said("Starts "),
    ),
    _rule(rf"{_I} {_VERY}study (?P<x>[^.!?;:\n()\"]{{2,60}})", "occupation", 6, _said("Studies ")),
    _rule(rf"{_AM} {_VERY}(?:studying|majoring in) (?P<x>[^.!?;:\n()\"]{{2,60}})", "occupation", 6, _said("Studying ")),
    _rule(
        rf"\b[Mm]y {_RELATIVE}(?:'s name is| is called| is named|'s called|'s named) {_NAME}",
        "relationship",
        7,
        _relative,
    ),
    _rule(rf"\b[Mm]y {_RELATIVE},? {_NAME}(?=[ ,.!?]|'s|$)", "relationship", 6, _relative),
    _rule(
        rf"{_I}(?:'ve got| have) (?P<x>{_COUNT} {_KINDS}(?:,? (?:called|named) [A-Z][\w'-]*(?:(?:, | and"
        rf" )[A-Z][\w'-]*)*)?)(?=[ ,.!]|$)(?! (?:in|at|from) my)",
        "relationship",
        7,
        _fixed("Has "),
    ),
    _rule(
        r"\b[Mm]y favou?rite (?P<of>[\w -]{2,30}?) (?P<be>is|are) (?P<x>[^.!?;:\n()\"]{2,60})",
        "preference",
        5,
        lambda m: f"Favourite {m.group('of')} {m.group('be')} {cut(m.group('x'))}",
    ),
    _rule(rf"{_I} {_VERY}(?:love|adore) {_REST}", "preference", 5, _said("Loves ")),
    _rule(rf"{_I} {_VERY}(?:enjoy|like) {_REST}", "preference", 4, _said("Likes ")),
    _rule(rf"{_I} {_VERY}(?:hate|detest|loathe) {_REST}", "preference", 5, _said("Hates ")),
    _rule(rf"{_I} (?:can't|cannot) stand {_REST}", "preference", 5, _said("Can't stand ")),
    _rule(rf"{_I} {_VERY}(?:don't like|do not like|dislike) {_REST}", "preference", 5, _said("Dislikes ")),
    _rule(rf"{_I} {_VERY}prefer {_REST}", "preference", 5, _said("Prefers ")),
    _rule(rf"{_I} {_VERY}{_DONE}(?P<x> [^.!?;:\n()\",]{{0,50}}?\b{_OFTEN})\b", "habit", 5, _habit),
    _rule(
        rf"\b(?P<when>[Ee]very (?:single )?(?:day|morning|evening|night|week|weekend)),? I {_DONE}(?P<x>(?:"
        rf" [^.!?;:\n()\",]{{0,50}})?)",
        "habit",
        5,
        lambda m: f"{_habit(m).rstrip()} {m.group('when').casefold()}",
    ),
    _rule(
        r"(?:^|(?<=[.!?\n] ))(?:[Pp]lease )?(?P<x>(?:[Aa]lways|[Nn]ever) (?:answer|reply|respond|write|use|call"
        r"|address|give|show|include|format|speak|add|keep|explain|put|send|start|end)\b[^.!?\n\"]{2,120})",
        "instruction",
        8,
        _order,
    ),
    _rule(
        r"(?:^|(?<=[.!?\n] ))(?P<x>[Ff]rom now on,? (?:please )?(?:always |never |do not |don't |only )?(?:answer"
        r"|reply|respond|write|use|call|address|give|show|include|format|speak|add|keep|explain|put|send|start"
        r"|end)\b[^.!?\n\"]{2,120})",
        "instruction",
        8,
        _order,
    ),
)


def facts_said(messages: Sequence[Message]) -> tuple[Candidate, ...]:
    """What the user states about themself in plain words, in the order in which it was said, nothing twice.

    Nothing is taken from questions, conditions, quotations and pasted text: every candidate passes `judge`.

    Args:
        messages: the stretch that was read, in order, without deleted ones.

    """
    found: dict[str, Candidate] = {}
    for message in messages:
        if message.role is not Role.USER:
            continue
        for candidate in _stated(message):
            if candidate.content.casefold() in found:
                continue
            judged = judge(candidate, messages, speaker=message.name)
            if judged.outcome is Outcome.ACCEPT:
                found[candidate.content.casefold()] = candidate
    return tuple(found.values())


def _stated(message: Message) -> Iterator[Candidate]:
    """The matches of one message by their place; of two in the same place the first rule's."""
    text = plain(message.content)[:_LONGEST]
    taken: list[tuple[int, int]] = []
    made: list[tuple[int, Candidate]] = []
    for rule in _RULES:
        for match in rule.pattern.finditer(text):
            quote = _AND.sub("", match.group().strip())
            start = match.start()
            stop = start + len(quote)
            if any(start < last and first < stop for first, last in taken):
                continue
            content = " ".join(rule.content(match).split()).rstrip(".,")
            if not content or len(content) > MAX_CONTENT:
                continue
            taken.append((start, stop))
            made.append((start, _candidate(rule, content, quote, message.seq)))
    made.sort(key=lambda entry: entry[0])
    yield from (candidate for _, candidate in made[:_MOST])


def _candidate(rule: _Rule, content: str, quote: str, seq: int) -> Candidate:
    return Candidate(category=rule.category, content=content, quote=quote, seq=seq, importance=rule.importance)
