"""Appends that wait while another batch of their tenant is being committed go into the next one together."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from anaphora.domain.messages import Receipt
from anaphora.errors import CommitUnknown, StoreBusy
from anaphora.ports.rows import Append
from anaphora.storage.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

#: members of one transaction
MAX_BATCH = 256

Results = Sequence[Receipt | BaseException]
#: writes a batch of one tenant: a result for each, or an error when nothing was written
Commit = Callable[[str, Sequence[Append]], Awaitable[Results]]


@dataclass(slots=True, eq=False)
class _Waiting:
    append: Append
    future: asyncio.Future[Receipt]


@dataclass(slots=True, kw_only=True)
class Appends:
    """Group commit: one transaction at a time for each tenant."""

    commit: Commit
    _queues: dict[str, deque[_Waiting]] = field(default_factory=dict)
    _running: set[asyncio.Task[None]] = field(default_factory=set)

    def put(self, append: Append) -> asyncio.Future[Receipt]:
        """Hand in; the future is done when it is on disk. It will be, even if nobody waits any more."""
        loop = asyncio.get_running_loop()
        waiting = _Waiting(append, loop.create_future())
        tenant = append.key.tenant
        queue = self._queues.get(tenant)
        if queue is not None:
            queue.append(waiting)
        else:
            self._queues[tenant] = deque([waiting])
            task = loop.create_task(self._work_off(tenant))
            self._running.add(task)
            task.add_done_callback(self._running.discard)
        return waiting.future

    @property
    def running(self) -> AbstractSet[asyncio.Task[None]]:
        """What is being written now."""
        return self._running

    async def _work_off(self, tenant: str) -> None:
        queue = self._queues[tenant]
        try:
            while queue:
                batch = [queue.popleft() for _ in range(min(len(queue), MAX_BATCH))]
                await self._write(tenant, batch)
        finally:
            del self._queues[tenant]

    async def _write(self, tenant: str, batch: Sequence[_Waiting]) -> None:
        """All of them together; if nothing was written, each alone, so that one cannot fail the others."""
        whole = Outcome()
        with whole:
            whole.value = await self.commit(tenant, [waiting.append for waiting in batch])
        if whole.error is None:
            _tell(batch, whole.value)
        elif len(batch) == 1 or isinstance(whole.error, StoreBusy | CommitUnknown):
            _tell(batch, [whole.error] * len(batch))
        else:
            for waiting in batch:
                await self._write(tenant, [waiting])


def _tell(batch: Sequence[_Waiting], results: Results) -> None:
    for waiting, result in zip(batch, results, strict=True):
        if waiting.future.done():  # cancelled: nobody waits
            continue
        if isinstance(result, BaseException):
            waiting.future.set_exception(result)
        else:
            waiting.future.set_result(result)
