"""The worker of a service as a process of its own: who waits for an answer shares no interpreter with it."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

import anyio
from anyio.abc import Process

from anaphora.settings import Settings

log = logging.getLogger("anaphora.server")

#: not the folder that it is started in: what lies there is no module of ours
COMMAND: Final = (sys.executable, "-P", "-m", "anaphora", "worker", "--attached")
#: seconds before one that died is started again: doubled while they die young
_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 60.0
#: seconds after which the job in hand goes back, and those after which nobody waits for that
_GRACE: Final = 2.0
_PATIENCE: Final = 1.5


@dataclass(slots=True)
class Beside:
    """One worker, started again when it dies.

    It ends with this process, whatever ends that: its standard input is a pipe that nobody else holds.
    """

    environment: Mapping[str, str]
    command: Sequence[str] = COMMAND
    _process: Process | None = field(default=None, init=False)
    _ending: anyio.Event = field(default_factory=anyio.Event, init=False)

    async def run(self) -> None:
        """Keep one at work until `end`."""
        pause = _PAUSE
        while not self._ending.is_set():
            began = time.monotonic()
            why = await self._work()
            if self._ending.is_set():
                return
            young = time.monotonic() - began < _LONGEST_PAUSE
            pause = min(2 * pause, _LONGEST_PAUSE) if young else _PAUSE
            text = "The worker %s: background work waits, another one starts in %.0f s"
            log.warning(text, why, pause, extra={"event": "worker_ended"})
            with anyio.move_on_after(pause):
                await self._ending.wait()

    async def end(self) -> None:
        """Let it finish its job, or give that back, and wait for its end; it takes 3.5 seconds at most."""
        self._ending.set()
        process = self._process
        if process is None:
            return
        for seconds in (_GRACE, _PATIENCE):
            with suppress(ProcessLookupError):
                process.terminate()
            with anyio.move_on_after(seconds):
                await process.wait()
                return
        with suppress(ProcessLookupError):
            process.kill()

    async def _work(self) -> str:
        """One life of a worker; what became of it."""
        try:
            process = await anyio.open_process(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=None,
                env=self.environment,
                # signals of the terminal are for the service, which tells its worker
                start_new_session=True,
            )
        except OSError as error:
            return f"could not be started ({error.strerror})"
        async with process:
            self._process = process
            try:
                return f"ended with code {await process.wait()}"
            finally:
                self._process = None


@asynccontextmanager
async def worker_beside(settings: Settings) -> AsyncIterator[Beside]:
    """A worker on the database of these settings, for as long as the block lasts."""
    beside = Beside(
        # the URL of a database may hold a password, which the arguments of a process would show to everybody
        {
            **os.environ,
            "ANAPHORA_DB": settings.db,
            "ANAPHORA_TENANT": settings.tenant,
            "ANAPHORA_SERVER__LOG": settings.server.log,
        }
    )
    async with anyio.create_task_group() as group:
        group.start_soon(beside.run)
        try:
            yield beside
        finally:
            with anyio.CancelScope(shield=True):
                await beside.end()
            group.cancel_scope.cancel()
