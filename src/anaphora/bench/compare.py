"""Two results of the same question, figure by figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anaphora.bench.result import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One figure then and now."""

    question: str
    name: str
    case: str
    unit: str
    old: float
    new: float
    #: how many times the old value the new one is; None if the old one is zero
    ratio: float | None
    #: None: it is the same, or neither way is better
    better: bool | None

    def to_dict(self) -> dict[str, Any]:
        """The change as JSON types."""
        return {
            "question": self.question,
            "name": self.name,
            "case": self.case,
            "unit": self.unit,
            "old": self.old,
            "new": self.new,
            "ratio": self.ratio,
            "better": self.better,
        }


def changes(old: Sequence[Result], new: Sequence[Result]) -> Iterator[Change]:
    """The numbers that both have, in the order of the new ones."""
    before = {result.question: result for result in old}
    for result in new:
        if result.question in before:
            yield from _of_one(before[result.question], result)


def cautions(old: Sequence[Result], new: Sequence[Result]) -> Iterator[str]:
    """Why figures of the two should not be compared, one line for each question and reason."""
    before = {result.question: result for result in old}
    for result in new:
        earlier = before.get(result.question)
        if earlier is None:
            yield f"{result.question}: only the new results have it"
            continue
        things: Mapping[str, tuple[object, object]] = {
            "machine": (_lasting(earlier.machine), _lasting(result.machine)),
            "sizes": (earlier.sizes, result.sizes),
            "seed": (earlier.seed, result.seed),
        }
        for what, (then, now) in things.items():
            if then != now:
                yield f"{result.question}: not of the same {what}"
    for name in before.keys() - {result.question for result in new}:
        yield f"{name}: only the old results have it"


def _lasting(machine: Mapping[str, Any]) -> Mapping[str, Any]:
    """What of a machine is the same tomorrow."""
    return {name: value for name, value in machine.items() if name != "load"}


def _of_one(old: Result, new: Result) -> Iterator[Change]:
    before = {(figure.name, figure.case): figure.value for figure in old.figures}
    for figure in new.figures:
        then, now = before.get((figure.name, figure.case)), figure.value
        if then is None or isinstance(then, str) or isinstance(now, str):
            continue
        more = figure.more_is_better
        yield Change(
            question=new.question,
            name=figure.name,
            case=figure.case,
            unit=figure.unit,
            old=then,
            new=now,
            ratio=round(now / then, 3) if then else None,
            better=None if more is None or now == then else (now > then) == more,
        )
