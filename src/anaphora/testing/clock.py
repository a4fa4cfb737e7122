"""Time and chance that tests own."""

from __future__ import annotations

import hashlib
import heapq
import itertools
from datetime import UTC, datetime, timedelta

import anyio
import anyio.lowlevel

from anaphora.errors import InvalidInput

#: when a `FakeClock` starts unless told otherwise
START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


class FakeClock:
    """Fulfils `ports.clock.Clock`; time stands still until a test moves it.

    Args:
        now: the wall clock at the start, aware.

    """

    def __init__(self, now: datetime = START) -> None:
        self._now = _utc(now)
        self._elapsed = 0.0
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int, anyio.Event]] = []

    def now(self) -> datetime:
        """The wall clock, in UTC."""
        return self._now

    def monotonic(self) -> float:
        """Seconds that were advanced since the start."""
        return self._elapsed

    @property
    def sleeping(self) -> int:
        """How many sleepers wait."""
        return len(self._sleepers)

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has been advanced by that much."""
        if seconds <= 0:
            await anyio.lowlevel.checkpoint()
            return
        sleeper = (self._elapsed + seconds, next(self._order), anyio.Event())
        heapq.heappush(self._sleepers, sleeper)
        try:
            await sleeper[2].wait()
        finally:
            if sleeper in self._sleepers:
                self._sleepers.remove(sleeper)
                heapq.heapify(self._sleepers)

    async def advance(self, seconds: float) -> None:
        """Move both clocks. Sleepers wake in the order of their time, at their time, and may go to sleep again.

        Returns when all other tasks wait for something; work that they handed to threads may still be going on.
        """
        if seconds < 0:
            raise InvalidInput("time is advanced, never taken back: use jump for the wall clock")
        await anyio.wait_all_tasks_blocked()
        end = self._elapsed + seconds
        while self._sleepers and self._sleepers[0][0] <= end:
            due, _, woken = heapq.heappop(self._sleepers)
            self._move_to(due)
            woken.set()
            await anyio.wait_all_tasks_blocked()
        self._move_to(end)

    def jump(self, seconds: float) -> None:
        """Move the wall clock only, either way, as when somebody sets the time of the machine."""
        self._now += timedelta(seconds=seconds)

    def set(self, now: datetime) -> None:
        """Set the wall clock only."""
        self._now = _utc(now)

    def _move_to(self, elapsed: float) -> None:
        if elapsed > self._elapsed:
            self._now += timedelta(seconds=elapsed - self._elapsed)
            self._elapsed = elapsed


class SeededRandom:
    """Fulfils `ports.clock.Randomness`: the same seed gives the same bytes, on every machine."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._calls = itertools.count()

    def __call__(self, size: int, /) -> bytes:
        """That many bytes."""
        return hashlib.shake_256(b"%d:%d" % (self._seed, next(self._calls))).digest(size)

    def chance(self) -> float:
        """A number in [0, 1)."""
        return int.from_bytes(self(6), "big") / 2**48


def _utc(now: datetime) -> datetime:
    if now.tzinfo is None:
        raise InvalidInput("a clock needs an aware time: add tzinfo=UTC")
    return now.astimezone(UTC)
