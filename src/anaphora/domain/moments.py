"""Moments of a session's past."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

#: how people name a moment: when the log held so many messages (and before the next one came), or a time
AsOf: TypeAlias = int | datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A moment of a session's past. Whatever changed noted its time and how long the log was."""

    #: how many messages the log held
    head: int
    #: the time; None = the last moment at which the log was that long
    at: datetime | None = None
