"""Words of two statements must not make a third: of "our car is blue, the bike is red" comes no blue bike. English."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from anaphora.rules.facts.judging.senses import TURNED
from anaphora.rules.facts.judging.swapped import homes_of
from anaphora.rules.facts.judging.weighed import Source, Weighed
from anaphora.rules.language.lexicon import FREE, alike
from anaphora.rules.language.numerals import numbers
from anaphora.rules.language.said import Said
from anaphora.rules.language.words import FRAME, STOP

MIXED: Final = "words of several statements"
#: a statement of more words draws several together
_FEW: Final = 4
_LETTER: Final = re.compile(
    r"\b(type|vitamin|hepatitis|plan|grade|group|room|size|class|blood type|level|gate) ([A-Z])\b"
)
_BEING: Final = frozenset(["is", "are", "was", "were"])
_RHYTHMS: Final = frozenset(["daily", "weekly", "monthly", "yearly", "nightly", "annually"])


def check_mixed(mine: Sequence[Said], sources: Sequence[Source], found: Weighed) -> None:
    """What stands in one statement with one thing, and in the next with another, is told of neither crosswise."""
    told = [word for word in mine if _tells(word)]
    if len({word.clause for word in told}) != 1 or not 1 < len(told) <= _FEW:
        return
    near = [word for source in sources if source.rank == 0 for word in source.words]
    home = homes_of(near)
    places = [places for word in told if (places := _clauses(word, near, home))]
    if len(places) < 2 or frozenset.intersection(*places) or any(len(each) > 1 for each in places):
        return
    touched = frozenset[int]().union(*places)
    alike_built = all(any(word.low in _BEING and home[word.clause] == clause for word in near) for clause in touched)
    if alike_built and all(_goes_further(clause, told, near, home) for clause in touched):
        found.added.append(MIXED)


def _tells(word: Said) -> bool:
    return not (word.low in STOP or word.stem in FREE or word.stem in FRAME or numbers(word.low))


def _clauses(word: Said, near: Sequence[Said], home: Mapping[int, int]) -> frozenset[int]:
    return frozenset(home[other.clause] for other in near if alike(word.stem, other.stem))


def _goes_further(clause: int, told: Sequence[Said], near: Sequence[Said], home: Mapping[int, int]) -> bool:
    """Whether a statement has a word that tells something else than the one that is weighed."""
    return any(
        home[other.clause] == clause
        and other.low not in STOP
        and not any(alike(word.stem, other.stem) for word in told)
        for other in near
    )


def check_letters(content: str, sources: Sequence[Source], found: Weighed) -> None:
    """A letter is a name: "type C" is no "type G"."""
    said = {match for source in sources for match in _LETTER.findall(source.text)}
    kinds = {kind for kind, _ in said}
    if any(kind in kinds and (kind, letter) not in said for kind, letter in _LETTER.findall(content)):
        found.conflicts.append("a name that was not said")


def check_rhythms(mine: Sequence[Said], sources: Sequence[Source], found: Weighed) -> None:
    """What is denied of every day is not so every day: "nothing daily"."""
    for word in mine:
        if word.low in _RHYTHMS and not word.negative:
            said = [other for source in sources for other in source.words if other.low == word.low]
            if said and all(other.negative for other in said):
                found.conflicts.append(TURNED)
