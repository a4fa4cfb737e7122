"""Which service does which kind of job."""

from __future__ import annotations

from typing import Protocol

from anaphora.domain.jobs import Fence, Job
from anaphora.ports.store import Unit


class Beside(Protocol):
    """Work that is no job of a session: it is done when no job is due."""

    async def step(self) -> bool | None:
        """Do some of it, and say whether that succeeded; None if there is none."""
        ...


class Handler(Protocol):
    """Does one kind of job."""

    async def run(self, job: Job, fence: Fence) -> None:
        """Do the work and end the job in the transaction that commits the result.

        Raises:
            LeaseLost: the job is not ours any more; nothing was written.
            AnaphoraError: it did not work; the worker decides whether to try again.

        """
        ...

    def abandon(self, unit: Unit, job: Job) -> None:
        """The job has failed for good: clear away what it left, in the same transaction."""
        ...
