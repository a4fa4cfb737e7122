"""Pauses: times in which nothing is learned of a person."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """A time in which a user wanted no memory: what was said in it is never learned from."""

    started_at: datetime
    #: None: it lasts
    ended_at: datetime | None = None

    def holds(self, moment: datetime) -> bool:
        """Whether the moment lies in it."""
        return self.started_at <= moment and (self.ended_at is None or moment < self.ended_at)


def paused_at(pauses: Iterable[Pause], moment: datetime) -> bool:
    """Whether the moment lies in one of the pauses."""
    return any(pause.holds(moment) for pause in pauses)
