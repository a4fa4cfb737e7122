"""What changed from one version of a summary to another."""

from __future__ import annotations

from dataclasses import dataclass

from anaphora.domain.summaries import Point


@dataclass(frozen=True, slots=True)
class Words:
    """Words that stay, go or come."""

    #: "keep", "remove" or "add"
    change: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PointChange:
    """A point that speaks of the same messages in other words."""

    before: Point
    after: Point
    words: tuple[Words, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What changed between two versions."""

    #: how many points are the same
    kept: int
    removed: tuple[Point, ...]
    added: tuple[Point, ...]
    changed: tuple[PointChange, ...]
