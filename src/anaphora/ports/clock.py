"""Time and chance, handed in so that tests can own them."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Tells the time and waits."""

    def now(self) -> datetime:
        """The time, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back; only differences mean something."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class Randomness(Protocol):
    """A source of random bytes."""

    def __call__(self, size: int, /) -> bytes:
        """That many random bytes."""
        ...


class Failpoint(Protocol):
    """A named place where a test may stop the process. Outside tests it does nothing."""

    def __call__(self, name: str, /) -> None:
        """Say that the named place was reached."""
        ...


def no_failpoint(_name: str, /) -> None:
    """The failpoint of every process that is not under test."""
