"""What a worker sees to now and then beside its jobs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

#: seconds between two times
EVERY: Final = 60.0


@dataclass(slots=True, kw_only=True)
class Upkeep:
    """Things to be done at the beginning, and then from time to time."""

    tasks: Sequence[Callable[[], Awaitable[object]]] = ()
    #: on a monotonic clock, in seconds
    _next: float | None = None

    async def see(self, now: float, *, at_once: bool = False) -> bool:
        """Do them if it is time, or `at_once`; whether they were done.

        If one fails it is tried again the next time: nobody waits for it meanwhile.
        """
        if self._next is not None and now < self._next and not at_once:
            return False
        self._next = now + EVERY
        for task in self.tasks:
            await task()
        return bool(self.tasks)
