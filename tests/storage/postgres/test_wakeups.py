"""Calls between processes: losing one costs time, never more."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg
import pytest

from anaphora.storage.postgres.wakeups import Wakeups


class Line:
    """A connection that fails as asyncpg's do when their server goes in the middle of something."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error
        self.said: list[str] = []
        self.closed = False

    def is_closed(self) -> bool:
        return self.closed

    def terminate(self) -> None:
        self.closed = True

    async def close(self, timeout: float) -> None:
        self.closed = timeout > 0

    async def add_listener(self, _channel: str, _heard: Any) -> None:
        """Nobody calls."""

    async def execute(self, statement: str) -> None:
        if self.error is not None:
            raise self.error
        self.said.append(statement)


class Exchange:
    """Gives one line after the other."""

    def __init__(self, *lines: Line) -> None:
        self.lines = list(lines)

    async def connect(self) -> Line:
        return self.lines.pop(0)


@pytest.mark.anyio
@pytest.mark.parametrize(
    "error",
    [
        asyncpg.InternalClientError("cannot switch to state 15; another operation (2) is in progress"),
        asyncpg.InterfaceError("connection is closed"),
        ConnectionResetError("gone"),
    ],
)
async def test_a_line_that_fails_is_hung_up_and_the_next_call_has_another(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("anaphora.storage.postgres.wakeups._AGAIN", 0.0)
    broken, sound = Line(error), Line(None)
    wakeups = Wakeups(Exchange(broken, sound), lambda: None)  # type: ignore[arg-type]  # the part that is used
    loud: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: loud.append(context))
    wakeups.call()
    await asyncio.sleep(0.1)
    assert broken.closed
    wakeups.call()
    await wakeups.close()
    assert sound.said == ["NOTIFY anaphora_jobs"]
    assert loud == []
