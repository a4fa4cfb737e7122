"""The blocking API in the shape of the async one, so that the laws that ship can be read to it as they stand."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial, wraps
from typing import Any

import anyio
from anyio.to_thread import run_sync

import anaphora.memory
from anaphora import sync
from anaphora.bootstrap import Overrides
from anaphora.ports.clock import Clock
from anaphora.sync.forward import Facade

ASYNC = {
    sync.Memory: anaphora.memory.Memory,
    sync.Session: anaphora.memory.Session,
    sync.JobsView: anaphora.memory.JobsView,
}


class Shaped:
    """An object of the blocking API; what is awaited of it runs in a worker thread and waits there."""

    def __init__(self, blocking: Facade[Any]) -> None:
        self._blocking = blocking

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._blocking, name)
        if not inspect.isroutine(value):
            return shaped(value)
        there = inspect.unwrap(getattr(ASYNC[type(self._blocking)], name))
        if inspect.isasyncgenfunction(there):
            return _streaming(value)
        return _awaited(value) if inspect.iscoroutinefunction(there) else _plain(value)


def shaped(value: Any) -> Any:
    return Shaped(value) if isinstance(value, Facade) else value


def _plain(method: Callable[..., Any]) -> Callable[..., Any]:
    return wraps(method)(lambda *args, **kwargs: shaped(method(*args, **kwargs)))


def _awaited(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    async def call(*args: Any, **kwargs: Any) -> Any:
        return shaped(await run_sync(partial(method, *args, **kwargs)))

    return call


def _streaming(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    async def call(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        pieces = method(*args, **kwargs)
        try:
            while (piece := await run_sync(next, pieces, None)) is not None:
                yield piece
        finally:
            with anyio.CancelScope(shield=True):
                await run_sync(pieces.close)

    return call


class Memory:
    """Opens as the async `Memory` does."""

    @staticmethod
    @asynccontextmanager
    async def open(*args: Any, overrides: Overrides | None = None, **options: Any) -> AsyncIterator[Shaped]:
        if overrides is not None and overrides.clock is not None:
            overrides = replace(overrides, clock=FarClock(overrides.clock))
        manager = sync.Memory.open(*args, overrides=overrides, **options)
        memory = await run_sync(manager.__enter__)
        try:
            yield Shaped(memory)
        finally:
            with anyio.CancelScope(shield=True):
                await run_sync(manager.__exit__, None, None, None)


class FarClock:
    """The clock of the loop that this is made in, for the loops of other threads."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._loop = asyncio.get_running_loop()

    def now(self) -> datetime:
        return self._clock.now()

    def monotonic(self) -> float:
        return self._clock.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._sleep(seconds), self._loop))

    async def _sleep(self, seconds: float) -> None:
        await self._clock.sleep(seconds)
