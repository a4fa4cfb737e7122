"""What a scenario is: who says and does what, and what must hold then."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from anaphora.domain.context import Context
from anaphora.memory import Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Sitting:
    """Whose conversation it is, and what is done in it."""

    user: str
    session: str
    steps: tuple[Step, ...]
    #: None: the configured one
    agent: str | None = None
    instructions: str | None = None
    #: tokens of a prompt; None: as configured
    budget: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a point is judged by: the memory, through its public API, and the turn before."""

    memory: Memory
    tenant: str
    sitting: Sitting
    #: of the last turn: what the user said, the answer, and the prompt that was sent
    asked: str = ""
    answer: str = ""
    context: Context | None = None

    @property
    def who(self) -> Mapping[str, Any]:
        """Whose memory, as the public API takes it."""
        return {"user": self.sitting.user, "tenant": self.tenant}


#: what is wrong, in a few words; None if nothing is
Check: TypeAlias = Callable[[Seen], Awaitable[str | None]]


@dataclass(frozen=True, slots=True)
class Point:
    """Something that must hold: every check of it."""

    name: str
    checks: tuple[Check, ...]


def point(name: str, *checks: Check) -> Point:
    """A point of these checks."""
    return Point(name, checks)


@dataclass(frozen=True, slots=True)
class Say:
    """The user says something, and is answered; then all that is due is done, and the points must hold."""

    text: str
    points: tuple[Point, ...] = ()


@dataclass(frozen=True, slots=True)
class Put:
    """Turns that are stored as they are, without a model that answers; all that is due is done after each."""

    turns: tuple[tuple[Mapping[str, Any], ...], ...]


@dataclass(frozen=True, slots=True)
class Look:
    """Points that must hold, though nothing was said since."""

    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class End:
    """The session ends; then the points must hold."""

    points: tuple[Point, ...] = ()


@dataclass(frozen=True, slots=True)
class Reopen:
    """The memory is closed, and opened again."""


@dataclass(frozen=True, slots=True)
class Pin:
    """The user adds a fact and pins it."""

    content: str


@dataclass(frozen=True, slots=True)
class Correct:
    """The user corrects the fact that has a word."""

    having: str
    content: str


@dataclass(frozen=True, slots=True)
class Forget:
    """The user deletes the facts that have a word."""

    having: str


@dataclass(frozen=True, slots=True)
class Unsay:
    """The user deletes every message of the session that has a word."""

    having: str


Step: TypeAlias = Say | Put | Look | End | Reopen | Pin | Correct | Forget | Unsay


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A story with points."""

    name: str
    #: scenarios of one store see what those before them have left
    store: str
    sittings: tuple[Sitting, ...]

    @property
    def points(self) -> tuple[Point, ...]:
        """Every point, in the order in which they are judged."""
        steps = (step for sitting in self.sittings for step in sitting.steps)
        return tuple(each for step in steps if isinstance(step, Say | Look | End) for each in step.points)
