"""Tells waiting workers, in whatever event loop, that there may be something to do."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress


class Bell:
    """Rung from any thread. Who listens after a ring that nobody heard yet is called at once: none is lost."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: set[asyncio.Future[None]] = set()
        self._unheard = False

    def ring(self) -> None:
        """Call everyone who listens."""
        with self._lock:
            called, self._waiting = self._waiting, set()
            self._unheard = not called
        for future in called:
            with suppress(RuntimeError):  # its loop is closed: nobody waits there any more
                future.get_loop().call_soon_threadsafe(_call, future)

    def listen(self) -> asyncio.Future[None]:
        """A future of the running loop that is done when the bell rings."""
        future = asyncio.get_running_loop().create_future()
        with self._lock:
            if self._unheard:
                self._unheard = False
                future.set_result(None)
            else:
                self._waiting.add(future)
        return future

    def leave(self, future: asyncio.Future[None]) -> None:
        """Listen no more."""
        with self._lock:
            self._waiting.discard(future)


def _call(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
