"""What the storage tests share: stores in a folder, appends, and the clock they go by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from anaphora.bootstrap.system import SystemClock, system_randomness
from anaphora.domain.jobs import Fence, Job, JobKind
from anaphora.domain.keys import SeqRange, SessionKey, uuid7
from anaphora.domain.messages import NewMessage, Role, Trust
from anaphora.domain.plans import State
from anaphora.domain.summaries import Method, Point, Summary, SummaryStatus
from anaphora.ports.clock import Failpoint, no_failpoint
from anaphora.ports.rows import Append, SessionRow
from anaphora.ports.store import Unit
from anaphora.storage.sqlite.store import SqliteStore, open_sqlite

NOW = datetime(2026, 3, 1, 12, 0, 0, 250_000, tzinfo=UTC)
LEASE = 60.0
KEY = SessionKey(tenant="t", user="alice", agent="default", session="s1")


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def new_id() -> UUID:
    return uuid7(NOW, system_randomness(10))


def never(_strategy: str | None, _state: State, /) -> JobKind | None:
    return None


def always(_strategy: str | None, _state: State, /) -> JobKind:
    return JobKind.SUMMARISE


def opened(
    path: Path | str,
    *,
    planner: Callable[[str | None, State], JobKind | None] = never,
    failpoint: Failpoint = no_failpoint,
    **options: Any,
) -> AbstractAsyncContextManager[SqliteStore]:
    return open_sqlite(
        path,
        planner=planner,
        reader_of=lambda strategy: f"live:{strategy or 'standard'}",
        clock=SystemClock(),
        randomness=system_randomness,
        failpoint=failpoint,
        **options,
    )


def append(
    *contents: str,
    key: SessionKey = KEY,
    role: Role = Role.USER,
    idempotency_key: str | None = None,
    body_hash: str | None = None,
    messages: Sequence[NewMessage] | None = None,
    turns: str = "single",
    now: datetime = NOW,
    ids: Sequence[UUID] | None = None,
) -> Append:
    said = tuple(messages or (NewMessage(role=role, content=content) for content in contents))
    return Append(
        key=key,
        session_id=new_id(),
        receipt_id=new_id(),
        messages=said,
        ids=tuple(ids or (new_id() for _ in said)),
        tokens=tuple(max(1, len(message.content) // 4) for message in said),
        trusts=tuple(Trust.OWNER_SAID for _ in said),
        turns=turns,
        source="api",
        idempotency_key=idempotency_key,
        body_hash=body_hash or "|".join(contents),
        strategy=None,
        subject=None,
        now=now,
    )


def key_of(user: str = "alice", session: str = "s1", *, tenant: str = "t", agent: str = "default") -> SessionKey:
    return SessionKey(tenant=tenant, user=user, agent=agent, session=session)


def row_of(unit: Unit, key: SessionKey = KEY) -> SessionRow:
    row = unit.sessions.find(key)
    assert row is not None
    return row


async def log_of(store: SqliteStore, key: SessionKey = KEY) -> list[str]:
    def work(unit: Unit) -> list[str]:
        row = row_of(unit, key)
        log = unit.messages.range(key.tenant, row.id, SeqRange(0, row.head), limit=1_000_000)
        assert [message.seq for message in log] == list(range(row.head))
        return [message.content for message in log]

    return await store.read("t", work)


async def queued(store: SqliteStore, key: SessionKey = KEY, kind: JobKind = JobKind.SUMMARISE) -> bool:
    def work(unit: Unit) -> bool:
        return unit.jobs.plan(row_of(unit, key), kind, job_id=new_id(), run_at=NOW, now=NOW, max_attempts=3)

    return await store.write("t", work)


async def claimed(store: SqliteStore, *, owner: str = "w1", now: datetime = NOW, tenant: str = "t") -> Job:
    ((of, due),) = await store.due_jobs(now=now, lease_seconds=LEASE, with_model=True, limit=1)
    job = await store.write(tenant, lambda unit: unit.jobs.claim(of, [due], owner=owner, now=now, lease_seconds=LEASE))
    assert job is not None
    assert job.tenant == tenant
    return job


def fence_of(job: Job) -> Fence:
    assert job.lease_owner is not None
    return Fence(
        tenant=job.tenant,
        job_id=job.id,
        session_id=job.session_id,
        owner=job.lease_owner,
        attempt=job.attempt,
        epoch=job.epoch,
    )


def summary(
    *spans: tuple[int, int],
    version: int,
    base: Summary | None = None,
    status: SummaryStatus = SummaryStatus.COMPLETED,
    text: str = "Alice likes tea.",
    millis: int = 12,
) -> Summary:
    return Summary(
        id=new_id(),
        base_id=base.id if base else None,
        version=version,
        strategy="standard",
        range=SeqRange(spans[0][0], spans[-1][1]),
        points=tuple(Point(text=text, range=SeqRange(*span), tokens=4) for span in spans),
        status=status,
        method=Method.MODEL,
        model="scripted",
        prompt_version="1",
        trust=Trust.OWNER_SAID,
        created_at=NOW,
        generation_ms=millis,
        tokens=4 * len(spans),
    )
