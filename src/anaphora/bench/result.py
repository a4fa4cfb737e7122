"""What a question gives: figures with units and targets, and what they were measured on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from anaphora.errors import InvalidInput
from anaphora.rules.timings import millis, percentile

RATE = "/s"
MILLIS = "ms"
SECONDS = "s"
COUNT = ""
RATIO = "x"

#: units of which less is better
_LESS = frozenset({MILLIS, SECONDS, "MB", "bytes"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a figure should be; exactly one of the two bounds is set."""

    at_least: float | None = None
    at_most: float | None = None

    def __post_init__(self) -> None:
        if (self.at_least is None) == (self.at_most is None):
            raise InvalidInput("a target has one bound: at_least or at_most")

    def met_by(self, value: float) -> bool:
        """True if the value is on the right side of the bound, or on it."""
        if self.at_least is not None:
            return value >= self.at_least
        return self.at_most is not None and value <= self.at_most

    def to_dict(self) -> dict[str, float]:
        """The bound as JSON types."""
        bounds = {"at_least": self.at_least, "at_most": self.at_most}
        return {name: bound for name, bound in bounds.items() if bound is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One number, or one word, of an answer. `name` and `case` together are its identity."""

    name: str
    value: float | str
    unit: str = COUNT
    #: under which of several conditions; empty where there is only one
    case: str = ""
    target: Target | None = None

    @property
    def met(self) -> bool | None:
        """Whether the target was met; None without one."""
        if self.target is None or isinstance(self.value, str):
            return None
        return self.target.met_by(self.value)

    @property
    def more_is_better(self) -> bool | None:
        """Which way is better; None if neither is."""
        if self.target is not None:
            return self.target.at_least is not None
        if self.unit == RATE:
            return True
        return False if self.unit in _LESS else None

    def to_dict(self) -> dict[str, Any]:
        """The figure as JSON types."""
        document: dict[str, Any] = {"name": self.name, "case": self.case, "value": self.value, "unit": self.unit}
        if self.target is not None:
            document |= {"target": self.target.to_dict(), "met": self.met}
        return document

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Figure:
        """The figure that `to_dict` gave. Raises `KeyError`, `TypeError` or `InvalidInput` for anything else."""
        target = document.get("target")
        value = document["value"]
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            raise InvalidInput(f"a figure is a number or a word, not {type(value).__name__}")
        return cls(
            name=str(document["name"]),
            value=value,
            unit=str(document["unit"]),
            case=str(document["case"]),
            target=None if target is None else Target(**target),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The answer to a question, before it is known who asked."""

    figures: tuple[Figure, ...]
    #: what a reader must know to read the figures right; whole sentences
    notes: tuple[str, ...] = ()
    #: of the packages that take part, beside Anaphora's own
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The answer to one question, with everything that is needed to judge it."""

    question: str
    asks: str
    #: True: sizes that only show that the question can be asked
    quick: bool
    seed: int
    #: how much was measured
    sizes: Mapping[str, Any]
    figures: tuple[Figure, ...]
    notes: tuple[str, ...]
    versions: Mapping[str, str]
    #: system, arch, cores, memory, and the load before the question; nothing that names the machine or its owner
    machine: Mapping[str, Any]
    #: UTC
    started_at: datetime
    #: wall time of the whole question, its preparations included
    seconds: float

    @property
    def missed(self) -> tuple[Figure, ...]:
        """The figures that are not what they should be."""
        return tuple(figure for figure in self.figures if figure.met is False)

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON types."""
        return {
            "question": self.question,
            "asks": self.asks,
            "quick": self.quick,
            "seed": self.seed,
            "sizes": dict(self.sizes),
            "figures": [figure.to_dict() for figure in self.figures],
            "notes": list(self.notes),
            "versions": dict(self.versions),
            "machine": dict(self.machine),
            "started_at": self.started_at.isoformat().replace("+00:00", "Z"),
            "seconds": self.seconds,
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Result:
        """The result that `to_dict` gave.

        Raises:
            InvalidInput: the document is something else.

        """
        try:
            return cls(
                question=str(document["question"]),
                asks=str(document["asks"]),
                quick=bool(document["quick"]),
                seed=int(document["seed"]),
                sizes=dict(document["sizes"]),
                figures=tuple(Figure.from_dict(figure) for figure in document["figures"]),
                notes=tuple(map(str, document["notes"])),
                versions={str(name): str(value) for name, value in document["versions"].items()},
                machine=dict(document["machine"]),
                started_at=datetime.fromisoformat(document["started_at"]).astimezone(UTC),
                seconds=float(document["seconds"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InvalidInput(f"not a result of `anaphora bench` ({type(error).__name__}: {error})") from None


def at_least(bound: float) -> Target:
    """A target from below."""
    return Target(at_least=bound)


def at_most(bound: float) -> Target:
    """A target from above."""
    return Target(at_most=bound)


def per_second(count: int, seconds: float) -> float:
    """A rate, rounded to what can be trusted."""
    rate = count / seconds if seconds > 0 else 0.0
    return round(rate) if rate >= 100 else round(rate, 1)


def ratio(one: float, other: float) -> float:
    """How many times the other the one is; 0 if there is no other."""
    return round(one / other, 2) if other else 0.0


def waits(
    seconds: Sequence[float], *, case: str = "", name: str = "", p50: Target | None = None, p99: Target | None = None
) -> tuple[Figure, Figure]:
    """Median and 99th percentile of how long something took, as `NAME p50` and `NAME p99` in milliseconds."""
    lead = f"{name} " if name else ""
    return (
        Figure(name=f"{lead}p50", value=millis(percentile(seconds, 0.5)), unit=MILLIS, case=case, target=p50),
        Figure(name=f"{lead}p99", value=millis(percentile(seconds, 0.99)), unit=MILLIS, case=case, target=p99),
    )
