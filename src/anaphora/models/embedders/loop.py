"""An event loop in a thread of its own, for libraries that are asynchronous only."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, TypeVar

T = TypeVar("T")


class LoopThread:
    """Runs coroutines for threads, many at once, within a context that is entered before the first and left at the end.

    The thread begins with the first call. It does not keep the process alive.
    """

    def __init__(self, context: AbstractAsyncContextManager[object]) -> None:
        self._context = context
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._begun: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
        self._closed = False

    def call(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T | None:
        """What the coroutine returns; None if the loop was closed before it did. Blocks."""
        with self._lock:
            if self._closed:
                return None
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="anaphora-embedder", daemon=True)
                self._thread.start()
            try:
                loop, _ = self._begun.result()
            except CancelledError:
                return None
            # handed in before anybody can ask the thread to end: what it ends includes this
            made = asyncio.run_coroutine_threadsafe(work(), loop)
        try:
            return made.result()
        except CancelledError:
            return None

    def leave(self) -> None:
        """Ask the thread to end, without waiting for it: from any thread, its own too."""
        with self._lock:
            self._closed = True
            begun = self._thread is not None
        if begun:
            with suppress(CancelledError, RuntimeError):  # it never began, or has ended already
                loop, stop = self._begun.result()
                loop.call_soon_threadsafe(stop.set)

    def close(self) -> None:
        """End the thread; what still runs in it is cancelled. Twice is harmless."""
        self.leave()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            with asyncio.Runner() as runner:
                runner.run(self._live())
        finally:
            self._begun.cancel()  # whoever still waits for it, if it could not begin

    async def _live(self) -> None:
        stop = asyncio.Event()
        async with self._context:
            self._begun.set_result((asyncio.get_running_loop(), stop))
            await stop.wait()
            # before what they stand on is closed
            left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)
