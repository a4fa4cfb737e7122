"""`anaphora worker`: background work beside other processes on the same database."""

from __future__ import annotations

import os
import signal
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from typing import IO, Annotated, Final

import anyio
import anyio.abc
import typer

from anaphora.agents.opening import with_folder_and_models
from anaphora.bootstrap import Services
from anaphora.bootstrap.process import settled
from anaphora.cli.options import AsJson, Db, Timeout
from anaphora.cli.output import emit, note, plural
from anaphora.cli.running import Access, database, run, settings_from
from anaphora.domain.jobs import Job, JobKind, JobState
from anaphora.domain.keys import SessionKey
from anaphora.errors import InvalidInput
from anaphora.memory import GRACE
from anaphora.settings import Settings
from anaphora.worker.loop import Worker

_LIVE: Final = (JobState.QUEUED, JobState.RUNNING)
#: longest sleep between two looks at the queue while draining, in seconds
_LOOK: Final = 0.5
_MAX_CONCURRENCY: Final = 32
#: how far an attached worker steps back for whoever else wants the processor
_NICE: Final = 10


def worker(
    *,
    once: Annotated[bool, typer.Option("--once", help="Do one job, if one is due, and end.")] = False,
    drain: Annotated[bool, typer.Option("--drain", help="End when nothing is left to do, now or later.")] = False,
    timeout: Timeout = 300.0,
    concurrency: Annotated[
        int, typer.Option("--concurrency", metavar="N", help="How many jobs at once: useful with a remote model.")
    ] = 1,
    attached: Annotated[
        bool, typer.Option("--attached", help="End when standard input does, and step back for other processes.")
    ] = False,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Work on queued jobs until told to stop (Ctrl-C or SIGTERM): work in hand gets 4 seconds, then goes back.

    With --drain it ends when nothing is left, waiting up to --timeout for what is planned for later: retries, and
    reading sessions that fall silent. It says what it waits for; the exit code is 1 if something is left then.
    Any number of workers may share a database.
    """
    if once and drain:
        raise InvalidInput("--once does one job, --drain all of them: give one of the two")
    if not 1 <= concurrency <= _MAX_CONCURRENCY:
        raise InvalidInput(f"--concurrency must be between 1 and {_MAX_CONCURRENCY}")
    if attached and (once or drain):
        raise InvalidInput("--attached works until standard input ends: give neither --once nor --drain with it")
    if attached and not _is_pipe(sys.stdin):
        raise InvalidInput("--attached is for a process that starts a worker with a pipe as its standard input")
    settings = anyio.run(with_folder_and_models, settings_from(db))
    path = database(settings)

    async def work(services: Services) -> Tally:
        crew = Crew(services, size=1 if once else concurrency, attached=attached)
        if not (once or drain or attached):
            model = services.settings.memory_model_for().model
            note(f"Working on {path}, {f'with {model}' if model else 'extractively: no model is set'}. Ctrl-C ends.")
        with settled():
            return await crew.work(once=once, drain=drain, timeout=timeout)

    with _behind(settings) if attached else nullcontext():
        tally = run(work, settings, Access.WRITE)
    if as_json:
        emit({"done": tally.done, "failed": tally.failed, "waiting": tally.waiting})
    elif not attached:
        note(f"{plural(tally.done, 'job')} done, {tally.failed:,} not.")
    if drain and tally.waiting and not tally.told_to_stop:
        note(f"{plural(tally.waiting, 'job')} still waiting after {timeout:g} s: run it again later.")
        raise typer.Exit(1)


def _is_pipe(stream: IO[str] | None) -> bool:
    """Whether it ends when a process does."""
    try:
        mode = os.fstat(stream.fileno()).st_mode if stream is not None else 0
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


@contextmanager
def _behind(settings: Settings) -> Iterator[None]:
    """As a part of a service: it logs as that does, and answers come before its work."""
    from anaphora.server.logs import service_logs  # noqa: PLC0415 - other workers need no server

    os.nice(_NICE)
    with service_logs(settings.server.log):
        yield


@dataclass(slots=True)
class Tally:
    """What a crew did."""

    done: int = 0
    failed: int = 0
    #: jobs that are left, due or not
    waiting: int = 0
    told_to_stop: bool = False


class Crew:
    """Workers side by side, ended by a signal or by running out of work; if attached, quiet, and by standard input."""

    def __init__(self, services: Services, *, size: int = 1, attached: bool = False) -> None:
        self._services = services
        self._attached = attached
        self._tally = Tally()
        self._stopping = anyio.Event()
        #: how many planned jobs were said to be waited for
        self._waited_for = 0
        owner = services.worker.owner
        self._members: Sequence[Worker] = [
            replace(services.worker, owner=f"{owner}-{number}", on_event=self._report, on_beside=self._report_documents)
            for number in range(size)
        ]

    async def work(self, *, once: bool = False, drain: bool = False, timeout: float = 0.0) -> Tally:
        """Work in one of three ways: one job, until nothing is left, or until told to stop."""
        async with anyio.create_task_group() as group:
            with anyio.CancelScope() as scope:
                await group.start(self._obey_signals, scope)
                if self._attached:
                    group.start_soon(self._obey_parent, scope)
                async with anyio.create_task_group() as members:
                    for member in self._members:
                        if once:
                            members.start_soon(member.step)
                        elif drain:
                            members.start_soon(self._drain, member, timeout)
                        else:
                            members.start_soon(member.run, self._stopping)
            group.cancel_scope.cancel()
        self._tally.waiting = await self._left()
        return self._tally

    async def _drain(self, member: Worker, timeout: float) -> None:
        with anyio.move_on_after(timeout):
            while not self._stopping.is_set():
                if await member.step():
                    continue
                left = await self._left()
                if not left:
                    return
                await self._tell(left, timeout)
                await self._services.store.wait_for_work(_LOOK)

    async def _left(self, now: datetime | None = None) -> int:
        """Jobs that this process could do, at that time, or now or later."""
        jobs = self._services.jobs
        return await self._services.store.due_count(
            now=now, with_model=jobs.with_model, with_embedder=jobs.with_embedder
        )

    async def _tell(self, left: int, timeout: float) -> None:
        """Say once what is waited for: work that is planned for later, such as reading a session that falls silent."""
        now = self._services.clock.now()
        if self._waited_for == left or await self._left(now):
            return
        self._waited_for = left
        queued = await self._services.jobs.list(self._services.settings.tenant, states=(JobState.QUEUED,), limit=1000)
        named = ""
        for job in sorted(queued, key=lambda each: each.run_at)[:1]:
            seconds = max(0.0, (job.run_at - now).total_seconds())
            named = f", the next ({job.kind} of {job.key.user}/{job.key.agent}/{job.key.session}) in {seconds:,.0f} s"
        jobs = "1 job that is" if left == 1 else f"{left:,} jobs that are"
        note(f"Waiting for {jobs} planned for later{named}. Up to {timeout:g} s; Ctrl-C ends.")

    async def _obey_signals(self, scope: anyio.CancelScope, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        """The first signal lets the job in hand finish within the grace, the second does not."""
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            task_status.started()
            async with anyio.create_task_group() as group:
                async for _ in signals:
                    if self._stopping.is_set():
                        break
                    self._stop()
                    group.start_soon(_cancel_after, scope, GRACE)
                scope.cancel()
                group.cancel_scope.cancel()

    async def _obey_parent(self, scope: anyio.CancelScope) -> None:
        """Nothing ever comes from standard input: it can be read when whoever holds the other end is gone."""
        await anyio.wait_readable(sys.stdin.fileno())
        self._stop()
        await _cancel_after(scope, GRACE)

    def _stop(self) -> None:
        self._tally.told_to_stop = True
        self._stopping.set()

    def _tell_of(self, what: str) -> None:
        if not self._attached:
            note(what)

    def _report_documents(self, ok: bool) -> None:  # noqa: FBT001 - as the worker calls it
        if ok:
            self._tally.done += 1
        else:
            self._tally.failed += 1
        self._tell_of(f"vectors of a document: {'done' if ok else 'did not work, it is tried again later'}")

    def _report(self, job: Job, ok: bool) -> None:  # noqa: FBT001 - as the worker calls it
        if ok:
            self._tally.done += 1
        else:
            self._tally.failed += 1
        how = "done" if ok else "did not work, see `anaphora jobs list`"
        self._tell_of(f"{job.kind} {job.key.user}/{job.key.agent}/{job.key.session} attempt {job.attempt}: {how}")


async def finish_rebuild(services: Services, key: SessionKey, *, timeout: float) -> Job | None:
    """Work until the rebuild of a session has ended, or the time is over; its newest job, if there is one."""

    async def newest() -> Job | None:
        row = await services.sessions.find(key)
        if row is None:
            return None
        jobs = await services.store.read(
            key.tenant, lambda unit: unit.jobs.list(key.tenant, session_id=row.id, limit=50)
        )
        # one that waits for a model is not this rebuild: it was planned for later when this one ended
        with_model = services.jobs.with_model
        return next((job for job in jobs if job.kind is JobKind.REBUILD and (with_model or not job.needs_model)), None)

    with anyio.move_on_after(timeout):
        while True:
            job = await newest()
            if job is None or job.state not in _LIVE:
                return job
            if not await services.worker.step():
                await services.store.wait_for_work(_LOOK)
    return await newest()


async def _cancel_after(scope: anyio.CancelScope, seconds: float) -> None:
    await anyio.sleep(seconds)
    scope.cancel()
