"""How the laws of the store get at a store."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from anaphora.bootstrap.system import SystemClock, system_randomness
from anaphora.ports.clock import Clock, Randomness
from anaphora.ports.store import Planner, Schedule, Store
from anaphora.testing.conformance.laws import Laws
from anaphora.testing.conformance.store_laws.tools import MAX_ATTEMPTS, never, reader_of


class StoreLaws(Laws, ABC):
    """Laws of `ports.store.Store`, for subclasses that open one."""

    @abstractmethod
    def open_store(
        self,
        folder: Path,
        *,
        planner: Planner,
        reader_of: Callable[[str | None], str],
        clock: Clock,
        randomness: Randomness,
        max_attempts: int,
        schedule: Schedule | None,
    ) -> AbstractAsyncContextManager[Store]:
        """A store on the database that belongs to a folder, closed at the end.

        The same folder is the same database, whoever opens it and however often; another folder is another one. When
        a folder is opened for the first time, its database is empty. A law may open one folder twice at once: then
        there are two handles, as two processes would have them, which share nothing but the database.

        Args:
            folder: an empty folder of the law's own. A store that keeps no files may take its path for a name.
            planner: asked inside each append whether the live reader of the session has something to do.
            reader_of: the name of the live reader of a strategy.
            clock: the time for waiting. It runs.
            randomness: for ids and the secret.
            max_attempts: how often a job that an append plans may be claimed.
            schedule: asked inside each append when the session is to be read for facts; None: never.

        """

    def opened(
        self,
        folder: Path,
        *,
        planner: Planner = never,
        max_attempts: int = MAX_ATTEMPTS,
        schedule: Schedule | None = None,
    ) -> AbstractAsyncContextManager[Store]:
        """The store of a folder as most laws want it: with the real clock, and nothing is ever due."""
        return self.open_store(
            folder,
            planner=planner,
            reader_of=reader_of,
            clock=SystemClock(),
            randomness=system_randomness,
            max_attempts=max_attempts,
            schedule=schedule,
        )
