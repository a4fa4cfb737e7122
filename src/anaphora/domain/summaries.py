"""Summaries: versions made of points, each with the range of the log that it came from."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from anaphora.domain.keys import SeqRange, subtract, union
from anaphora.domain.messages import Trust
from anaphora.domain.structures import Structure
from anaphora.errors import InvalidInput


class Method(StrEnum):
    """How a point was made."""

    MODEL = "model"
    #: no model is configured: chosen sentences
    EXTRACTIVE = "extractive"
    #: the model failed for good: chosen sentences, until a model is back
    DIGEST = "digest"


class SummaryStatus(StrEnum):
    """Where a version stands in its life."""

    #: made by a rebuild that has not caught up: not served
    BUILDING = "building"
    COMPLETED = "completed"
    #: a source was edited: served until it is rebuilt
    STALE = "stale"
    #: a rebuild took its place
    SUPERSEDED = "superseded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One statement of a summary.

    `range` is the stretch of the log that it answers for; `elided` are the parts of that stretch that it says
    nothing about. What it covers is the range less the elided parts.
    """

    text: str
    range: SeqRange
    elided: tuple[SeqRange, ...] = ()
    method: Method = Method.MODEL
    tokens: int = 0

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise InvalidInput("a point needs text")
        if not self.range:
            raise InvalidInput("a point needs a range")
        if self.elided != union(self.elided) or any(not self.range.contains(r) for r in self.elided):
            raise InvalidInput(f"elided ranges must be sorted, disjoint and inside {self.range}")
        if self.elided == (self.range,):
            raise InvalidInput("a point that covers nothing is not a point")

    @property
    def covered(self) -> tuple[SeqRange, ...]:
        """The messages that this point speaks for."""
        return subtract((self.range,), self.elided)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """One version in the chain. Its points tile its range (I3)."""

    id: UUID
    #: the version whose points it carried on from
    base_id: UUID | None
    #: counts up within a session and strategy
    version: int
    strategy: str
    range: SeqRange
    points: tuple[Point, ...]
    status: SummaryStatus = SummaryStatus.COMPLETED
    method: Method
    #: name of the model that wrote the new points; None without a model
    model: str | None
    prompt_version: str | None
    trust: Trust
    created_at: datetime
    generation_ms: int
    tokens: int
    #: what it lists beside its points
    structure: Structure = field(default_factory=Structure)

    def __post_init__(self) -> None:
        check_tiling(self.points, self.range)


def check_tiling(points: tuple[Point, ...], whole: SeqRange) -> None:
    """The points' ranges, in order, fill the whole range without gap or overlap (I3).

    Raises:
        InvalidInput: they do not.

    """
    at = whole.start
    for point in points:
        if point.range.start != at:
            raise InvalidInput(f"points do not tile {whole}: expected one at {at}, found {point.range}")
        at = point.range.stop
    if at != whole.stop or not points:
        raise InvalidInput(f"points do not tile {whole}: they end at {at}")
