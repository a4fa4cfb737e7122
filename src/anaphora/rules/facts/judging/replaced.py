"""Values that were said and hold no more: "moved from the 4th to the 27th", "18,500 at first, then 22,000"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from anaphora.rules.facts.judging.weighed import Source, Weighed
from anaphora.rules.language.numerals import numbers

_FEW: Final = r"[^.!?;,\n]"
#: "4,900" and "9.5" are no ends of a thought
_VALUE: Final = r"(?P<old>(?:[^.!?;,\n]|(?<=\d)[.,](?=\d)){1,36}?)"
_CHANGE: Final = (
    r"(?:mov(?:e|ed|ing)|push(?:ed|ing)?|rais(?:e|ed|ing)|chang(?:e|ed|ing)|switch(?:ed|ing)?|went|gone|going|go"
    r"|goes|shift(?:ed|ing)?|postponed|increased?|decreased?|reduc(?:ed?|ing)|cut(?:ting)?|dropp?(?:ed|ing)?|lowered"
    r"|up|upped|down|downed|doubled|halved|extended|shortened|grew|grown|fell|fallen|rose|risen|jumped|bumped|rescheduled|delayed|put"
    r"|upgrad(?:ed?|ing)|brought|scaled|shrunk|shrank|slid|slipped|swapped)"
)
_END: Final = r"(?=,? (?:but|and|so|now|then|until|though|while)\b|[,;](?!\d)|[.!?](?!\d)|\n|$)"
_CHOSEN: Final = (
    r"(?:went (?:with|for)|settled on|chose|picked|opted for|decided on|ended up with|took|going (?:with|for))"
)
_ABROAD: Final = r"(?:passé\w*|monté\w*|gestiegen|gesunken|erhöht|subido|subió|pasado|pasó|bajado|bajó|aumentat\w+)"
_AT_FIRST: Final = r"(?:at first|originally|initially|to begin with|before|back then|until (?:recently|last))"
_MEANT: Final = r"(?:supposed|meant|scheduled|planned|originally|initially|first)"
_THEN: Final = r"(?:now|raised|changed|moved|lowered|cut|pushed|went|postponed)"
_SORRY: Final = r"(?:sorry|wait|no,|i mean|i meant|correction|make that|or rather|scratch that)"
_FORMERLY: Final = r"(?:originally|initially|used to|at first|to begin with|previously|formerly|before that)"
_EITHER: Final = r"(?P<old>[^.!?;,\n]{1,15} and [^.!?;,\n]{1,15})"
_NEVER: Final = (
    re.compile(rf"\b(?:instead of|rather than|as opposed to) {_VALUE}{_END}"),
    re.compile(rf"\bnot (?P<old>(?:on |at |in |the )*[^.!?;,\n]{{1,14}}?){_END}"),
    re.compile(rf"{_VALUE}[.,;]* {_SORRY}\b"),
)
_PATTERNS: Final = (
    re.compile(rf"\b(?:up from|down from|no longer) {_VALUE}{_END}"),
    re.compile(rf"\b{_CHANGE}\b{_FEW}{{0,40}}?\bfrom {_VALUE} to\b"),
    re.compile(rf"\b{_ABROAD}\b{_FEW}{{0,20}}? (?:de|von|da) {_VALUE} (?:à|a|auf)\b"),
    re.compile(rf"\bbetween {_EITHER}[^\n]{{0,80}}\b{_CHOSEN}\b"),
    *_NEVER,
    re.compile(rf"\b(?:was|were|is|are)(?:n't)? (?:\w{{1,20}} )?{_MEANT}(?: to)? {_VALUE}{_END}"),
    re.compile(rf"\b{_FORMERLY} {_VALUE}{_END}"),
    re.compile(rf"\b(?:was|were|had|said|paid|cost) {_VALUE} {_AT_FIRST}\b"),
    re.compile(rf"\b(?:was|were) {_VALUE}(?:,? (?:but|and|then|until)|[;.]) {_FEW}{{0,60}}?\b{_THEN}\b"),
)
#: a statement with one of them may well tell of what was
_TELLS_OF_PAST: Final = re.compile(
    r"\b(?:was|were|had|used|originally|initially|first|former\w*|previous\w*|before|until|no longer|replac\w+"
    r"|supposed|meant|old|earlier)\b"
)
_SETS_APART: Final = re.compile(r"\b(?:from|instead|rather|than|not|\w+n't|never)\b")


def check_replaced(content: str, sources: Sequence[Source], found: Weighed) -> None:
    """A value in whose place another was put does not hold any more, unless the statement tells of what was."""
    counted, low = numbers(content), content.casefold()
    if not counted or _SETS_APART.search(low):
        return
    # what stands after "instead of" was not so before either
    never = replaced(sources, _NEVER)
    if counted & (never if _TELLS_OF_PAST.search(low) else never | replaced(sources)):
        found.conflicts.append("a number or date in whose place another was put")


def replaced(sources: Sequence[Source], patterns: Sequence[re.Pattern[str]] = ()) -> frozenset[str]:
    """The numbers and dates of a message in whose place others were put."""
    text = "\n".join(source.text for source in sources if source.rank < 2).casefold()
    spans = sorted(_old(text, patterns or _PATTERNS))
    gone = frozenset[str]().union(*(numbers(text[start:stop]) for start, stop in spans))
    rest, before = [], 0
    for start, stop in spans:
        rest.append(text[before:start])
        before = max(before, stop)
    rest.append(text[before:])
    still = numbers("\n".join(rest))
    return gone - still if still else frozenset()


def _old(text: str, patterns: Sequence[re.Pattern[str]]) -> Iterator[tuple[int, int]]:
    for pattern in patterns:
        for match in pattern.finditer(text):
            if any(map(str.isalnum, match.group("old"))):
                yield match.span("old")
