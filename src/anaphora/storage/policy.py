"""What an append needs to know to plan background work in its own transaction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from anaphora.ports.clock import Randomness
from anaphora.ports.store import Planner, Schedule

DEFAULT_MAX_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class AppendPolicy:
    """The decisions that the store is given and does not make."""

    #: by which job the live reader of a session goes on, if it has something to do
    planner: Planner
    #: the name of the live reader of a strategy (None: the default one), such as `live:rolling_pairs`
    reader_of: Callable[[str | None], str]
    #: for the ids of jobs
    randomness: Randomness
    #: how often a job may be claimed
    max_attempts: int = DEFAULT_MAX_ATTEMPTS
    #: whether messages get vectors
    embeds: bool = False
    #: when sessions are read for facts; None: never
    schedule: Schedule | None = None
