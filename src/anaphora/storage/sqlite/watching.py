"""Noticing that another process has erased vectors which are kept at hand here."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Final

from anaphora.errors import StoreError
from anaphora.storage.sqlite.engine import Database, raw

#: seconds between two looks
_EVERY: Final = 0.4
_VERSION: Final = "PRAGMA data_version"
_ERASED: Final = "SELECT total(erased) FROM vector_marks"


class Watch:
    """A thread that looks whether vectors were erased, from when there is something to forget until it is stopped."""

    def __init__(self, database: Database, forget: Callable[[], None], *, timeout: float) -> None:
        self._database = database
        self._forget = forget
        self._timeout = timeout
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Look from now on; again is harmless."""
        with self._lock:
            if self._thread is not None or self._database.path is None or self._database.immutable:
                return
            if not self._stopping.is_set():
                self._thread = threading.Thread(target=self._run, name="anaphora-watch", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """Look no more. Blocks until it has ended."""
        self._stopping.set()
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        with suppress(StoreError, sqlite3.Error), closing(self._database.reader(timeout=self._timeout)) as connection:
            driver = raw(connection)
            version, erased = -1, driver.execute(_ERASED).fetchone()[0]
            while not self._stopping.wait(_EVERY):
                seen = driver.execute(_VERSION).fetchone()[0]
                if seen == version:
                    continue
                version = seen
                now = driver.execute(_ERASED).fetchone()[0]
                if now != erased:
                    erased = now
                    self._forget()
