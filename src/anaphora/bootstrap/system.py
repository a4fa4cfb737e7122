"""The world outside: the system's clock and randomness."""

from __future__ import annotations

import os
import signal
import time
from datetime import UTC, datetime

import anyio

from anaphora.ports.clock import Failpoint, no_failpoint


class SystemClock:
    """The host's clock."""

    def now(self) -> datetime:
        """The time in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await anyio.sleep(seconds)


def system_randomness(size: int, /) -> bytes:
    """Random bytes of the operating system."""
    return os.urandom(size)


def failpoint_from(setting: str | None) -> Failpoint:
    """The failpoint that `NAME` or `NAME:COUNT` asks for: kills this process at the COUNT-th time it is reached."""
    if setting is None:
        return no_failpoint
    name, _, count = setting.partition(":")
    left = int(count or 1)

    def kill(reached: str, /) -> None:
        nonlocal left
        if reached == name:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    return kill
