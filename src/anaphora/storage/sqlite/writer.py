"""The one thread that writes: group commit.

What callers hand in while a transaction is being committed goes into the next one together, so that a `fsync` is
paid once for all of them.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import sqlalchemy as sa

from anaphora.errors import AnaphoraError, StoreBusy, StoreClosed
from anaphora.ports.clock import Failpoint
from anaphora.ports.rows import Append
from anaphora.storage.effects import Effects
from anaphora.storage.outcome import Outcome
from anaphora.storage.policy import AppendPolicy
from anaphora.storage.sqlite.engine import raw
from anaphora.storage.sqlite.errors import translated
from anaphora.storage.unit import SqlUnit

#: members of one transaction
MAX_BATCH = 256
#: what was erased may still stand in the files: kept on disk, so that whoever opens them next cleans up
_MARK_UNCLEAN = "INSERT OR REPLACE INTO store_meta (name, value) VALUES ('unclean', '1')"
_IS_UNCLEAN = "SELECT 1 FROM store_meta WHERE name = 'unclean'"
_MARK_CLEAN = "DELETE FROM store_meta WHERE name = 'unclean'"
#: every full-text table: the segments of its index are written anew
_OPTIMIZE = tuple(
    f"INSERT INTO {table} ({table}) VALUES ('optimize')"  # noqa: S608 - our own names
    for table in ("message_words", "message_trigrams", "document_words", "document_trigrams")
)
#: seconds after which an unfinished cleaning is tried again
_CLEAN_AGAIN = 0.5
#: the longest pause before asking for the write lock again, in seconds
_PAUSE = 0.02


@dataclass(slots=True, eq=False)
class Task:
    """Something to be written, and who waits for it: exactly one of `append`, `work` and `aside`."""

    future: asyncio.Future[Any]
    append: Append | None = None
    work: Callable[[SqlUnit], Any] | None = None
    #: something to be done on the writer's connection between transactions
    aside: Callable[[sa.Connection], Any] | None = None
    outcome: Outcome = field(default_factory=Outcome)


class Writer:
    """A thread that owns the writing connection until it is stopped."""

    def __init__(
        self,
        connection: sa.Connection,
        *,
        guard: AbstractContextManager[Any],
        make_unit: Callable[[sa.Connection], SqlUnit],
        policy: AppendPolicy,
        failpoint: Failpoint,
        busy_timeout: float,
        on_planned: Callable[[], None],
        on_erased: Callable[[], None],
        check_place: Callable[[], None],
    ) -> None:
        self._connection = connection
        self._guard = guard
        self._make_unit = make_unit
        self._policy = policy
        self._failpoint = failpoint
        self._busy_timeout = busy_timeout
        self._on_planned = on_planned
        self._on_erased = on_erased
        self._check_place = check_place
        self._queue: queue.SimpleQueue[Sequence[Task] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._stopped = False
        self._unclean = self._found_unclean()
        self._thread = threading.Thread(target=self._run, name="anaphora-writer", daemon=True)
        self._thread.start()

    def put(self, tasks: Sequence[Task]) -> None:
        """Hand in. Raises `StoreClosed` once the writer was told to stop."""
        with self._lock:
            if self._stopped:
                raise StoreClosed("the store is closed: open it again")
            self._queue.put(tasks)

    def stop(self) -> None:
        """Finish what was handed in, then end the thread. Blocks until it has ended."""
        with self._lock:
            if not self._stopped:
                self._stopped = True
                self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        going = True
        if self._unclean:
            self._clean()
        while going:
            batch, going = self._take()
            for start in range(0, len(batch), MAX_BATCH):
                part = batch[start : start + MAX_BATCH]
                self._commit([task for task in part if task.aside is None])
                if self._unclean:
                    self._clean()
                for task in part:
                    if task.aside is not None:
                        with task.outcome, self._guard, translated():
                            task.outcome.value = task.aside(self._connection)
                deliver(part)
            if self._unclean:
                self._clean()

    def _take(self) -> tuple[list[Task], bool]:
        """What waits, up to a batch or a little more, and whether there may be more to come."""
        batch: list[Task] = []
        with suppress(queue.Empty):
            item = self._queue.get(timeout=_CLEAN_AGAIN if self._unclean else None)
            while item is not None:
                batch.extend(item)
                if len(batch) >= MAX_BATCH:
                    return batch, True
                item = self._queue.get_nowait()
            return batch, False
        return batch, True

    def _commit(self, tasks: Sequence[Task]) -> None:
        """Write all of them together; if that fails, each alone, so that one cannot fail the others."""
        if not tasks:
            return
        error = self._attempt(tasks)
        if error is None:
            return
        if len(tasks) == 1 or isinstance(error, StoreBusy):
            for task in tasks:
                task.outcome.error = error
            return
        for task in tasks:
            task.outcome = Outcome()
            task.outcome.error = self._attempt([task]) or task.outcome.error

    def _attempt(self, tasks: Sequence[Task]) -> BaseException | None:
        """One transaction: None when it is on disk, or else why nothing of it is."""
        kind = "append" if tasks[0].append is not None else "write"
        whole = Outcome()
        with whole, self._guard, translated():
            whole.value = self._transaction(tasks, kind)
        if whole.error is not None:
            return whole.error
        effects: Effects = whole.value
        after = Outcome()
        with after:
            self._failpoint(f"{kind}.after_commit")
        for task in tasks:
            task.outcome.error = task.outcome.error or after.error
        self._unclean |= effects.erased and not (effects.later and len(tasks) == 1)
        if effects.erased:
            self._on_erased()
        if effects.planned:
            self._on_planned()
        return None

    def _transaction(self, tasks: Sequence[Task], kind: str) -> Effects:
        with self._begin():
            unit = self._make_unit(self._connection)
            for appending, group in groupby(tasks, key=lambda task: task.append is not None):
                if appending:
                    self._append(unit, list(group))
                else:
                    for task in group:
                        self._work(unit, task, alone=len(tasks) == 1)
            unit.changes.settle()
            if unit.effects.erased:
                self._connection.exec_driver_sql(_MARK_UNCLEAN)
                self._failpoint("reset.before_commit")
            self._failpoint(f"{kind}.before_commit")
            self._check_place()
        return unit.effects

    def _append(self, unit: SqlUnit, tasks: Sequence[Task]) -> None:
        appends = [task.append for task in tasks if task.append is not None]
        results = unit.messages.append(appends, self._policy.planner)
        for task, result in zip(tasks, results, strict=True):
            if isinstance(result, AnaphoraError):
                task.outcome.error = result
            else:
                task.outcome.error, task.outcome.value = None, result

    def _work(self, unit: SqlUnit, task: Task, *, alone: bool) -> None:
        if task.work is None:
            return
        if alone:
            task.outcome.value = task.work(unit)
            return
        with task.outcome, translated(), self._connection.begin_nested():
            task.outcome.value = task.work(unit)
        if task.outcome.error is not None and not raw(self._connection).in_transaction:
            raise task.outcome.error  # SQLite gave up the whole transaction, not only the savepoint

    def _begin(self) -> sa.RootTransaction:
        """A transaction that has the write lock. Raises `StoreBusy` after the busy time-out."""
        deadline = time.monotonic() + self._busy_timeout
        while True:
            try:
                with translated():
                    return self._connection.begin()
            except StoreBusy:
                if time.monotonic() >= deadline:
                    raise
                time.sleep(_PAUSE * (1 + self._policy.randomness(1)[0]) / 256)

    def _found_unclean(self) -> bool:
        """Whether a process died, or was stopped, before it had cleaned up."""
        return raw(self._connection).execute(_IS_UNCLEAN).fetchone() is not None

    def _clean(self) -> None:
        """Leave no byte of what was erased in the index's segments or the write-ahead log.

        A reader that still looks at the old state prevents it: then it is tried again.
        """
        cleaned = Outcome()
        with cleaned, self._guard, translated():
            with self._begin():
                for statement in _OPTIMIZE:
                    self._connection.exec_driver_sql(statement)
            cleaned.value = raw(self._connection).execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
            if cleaned.value:
                with self._begin():
                    self._connection.exec_driver_sql(_MARK_CLEAN)
        self._unclean = not cleaned.value


def deliver(tasks: Iterable[Task]) -> None:
    """Tell the callers what came of it, with one call into each event loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Task]] = defaultdict(list)
    for task in tasks:
        by_loop[task.future.get_loop()].append(task)
    for loop, its in by_loop.items():
        with suppress(RuntimeError):  # the loop is closed: nobody waits there any more
            loop.call_soon_threadsafe(settle, its)


def settle(tasks: Iterable[Task]) -> None:
    """Give each caller its outcome, in the caller's loop; who was cancelled is not told."""
    for task in tasks:
        if task.future.done():
            continue
        if task.outcome.error is not None:
            task.future.set_exception(task.outcome.error)
        else:
            task.future.set_result(task.outcome.value)
