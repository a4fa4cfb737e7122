"""What the laws of the store share: appends to hand in, work to do, and the time they go by."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

from anaphora.bootstrap.system import system_randomness
from anaphora.domain.jobs import Fence, Job, JobKind
from anaphora.domain.keys import SeqRange, SessionKey, uuid7
from anaphora.domain.messages import Message, NewMessage, Role, Trust
from anaphora.domain.plans import State
from anaphora.domain.summaries import Method, Point, Summary, SummaryStatus
from anaphora.ports.rows import Append, Head, SessionRow
from anaphora.ports.store import Store, Unit

T = TypeVar("T")

#: when the laws play, with a part of a second that must not be lost
NOW = datetime(2026, 3, 1, 12, 0, 0, 250_001, tzinfo=UTC)
#: seconds
LEASE = 60.0
MAX_ATTEMPTS = 5
TENANT = "t"
STRATEGY = "standard"
KEY = SessionKey(tenant=TENANT, user="alice", agent="default", session="s1")
#: seconds that something which must happen may take on a slow machine
PATIENCE = 20.0
#: seconds after which something that did not happen counts as not happening
MOMENT = 0.1


def after(seconds: float) -> datetime:
    """So many seconds after `NOW`."""
    return NOW + timedelta(seconds=seconds)


def new_id() -> UUID:
    """An id that nobody has."""
    return uuid7(NOW, system_randomness(10))


def never(_strategy: str | None, _state: State, /) -> JobKind | None:
    """Nothing is ever due."""
    return None


def always(_strategy: str | None, _state: State, /) -> JobKind:
    """Something is always due."""
    return JobKind.SUMMARISE


def reader_of(strategy: str | None) -> str:
    """The name of the live reader of a strategy."""
    return f"live:{strategy or STRATEGY}"


def key_of(user: str = "alice", session: str = "s1", *, tenant: str = TENANT, agent: str = "default") -> SessionKey:
    """The key of a session."""
    return SessionKey(tenant=tenant, user=user, agent=agent, session=session)


def append(
    *contents: str,
    key: SessionKey = KEY,
    role: Role = Role.USER,
    messages: Sequence[NewMessage] | None = None,
    turns: str = "single",
    idempotency_key: str | None = None,
    ids: Sequence[UUID] | None = None,
    session_id: UUID | None = None,
    strategy: str | None = None,
    subject: str | None = None,
    now: datetime = NOW,
) -> Append:
    """Messages with these contents (or these messages), ready to be appended."""
    said = tuple(messages or (NewMessage(role=role, content=content) for content in contents))
    return Append(
        key=key,
        session_id=session_id or new_id(),
        receipt_id=new_id(),
        messages=said,
        ids=tuple(ids or (new_id() for _ in said)),
        tokens=tuple(max(1, len(message.content) // 4) for message in said),
        trusts=tuple(Trust.OWNER_SAID for _ in said),
        turns=turns,
        source="api",
        idempotency_key=idempotency_key,
        body_hash="|".join(message.content for message in said) if idempotency_key else "",
        strategy=strategy,
        subject=subject,
        now=now,
    )


def row_of(unit: Unit, key: SessionKey = KEY) -> SessionRow:
    """The session, which is there."""
    row = unit.sessions.find(key)
    assert row is not None, f"there is no session {key}"
    return row


async def session(store: Store, key: SessionKey = KEY) -> SessionRow:
    """The session, which is there, in a snapshot of its own."""
    return await store.read(key.tenant, lambda unit: row_of(unit, key))


async def messages_of(store: Store, key: SessionKey = KEY) -> list[Message]:
    """The whole log of a session; its numbers are dense (I2)."""

    def work(unit: Unit) -> list[Message]:
        row = row_of(unit, key)
        log = unit.messages.range(key.tenant, row.id, SeqRange(0, row.head), limit=1_000_000)
        assert [message.seq for message in log] == list(range(row.head)), "I2: the numbers have holes or doubles"
        return list(log)

    return await store.read(key.tenant, work)


async def log_of(store: Store, key: SessionKey = KEY) -> list[str]:
    """What was said in a session."""
    return [message.content for message in await messages_of(store, key)]


def makes(name: str, then: Exception | None = None) -> Callable[[Unit], str]:
    """Work that makes the session of this name, and perhaps fails after that."""

    def work(unit: Unit) -> str:
        unit.sessions.create(key_of(session=name), session_id=new_id(), strategy=None, subject=None, now=NOW)
        if then is not None:
            raise then
        return name

    return work


async def names(store: Store, tenant: str = TENANT) -> list[str]:
    """The names of a tenant's sessions, in alphabetical order."""
    return sorted(
        row.key.session for row in await store.read(tenant, lambda unit: unit.sessions.list(tenant, limit=1000))
    )


# -- jobs ----------------------------------------------------------------------------------------------------------


async def planned(
    store: Store,
    key: SessionKey = KEY,
    kind: JobKind = JobKind.SUMMARISE,
    *,
    run_at: datetime = NOW,
    now: datetime = NOW,
    needs_model: bool = False,
    from_seq: int | None = None,
) -> bool:
    """Plan a job by hand; what the store says."""

    def work(unit: Unit) -> bool:
        return unit.jobs.plan(
            row_of(unit, key),
            kind,
            job_id=new_id(),
            run_at=run_at,
            now=now,
            max_attempts=3,
            needs_model=needs_model,
            from_seq=from_seq,
        )

    return await store.write(key.tenant, work)


async def candidates(
    store: Store, *, now: datetime = NOW, with_model: bool = True, limit: int = 9
) -> list[tuple[str, UUID]]:
    """What could be claimed."""
    return list(await store.due_jobs(now=now, lease_seconds=LEASE, with_model=with_model, limit=limit))


async def claim(
    store: Store, tenant: str, job_id: UUID, *, owner: str = "w1", now: datetime = NOW, lease: float = LEASE
) -> Job | None:
    """Try to claim this job."""
    return await store.write(
        tenant, lambda unit: unit.jobs.claim(tenant, [job_id], owner=owner, now=now, lease_seconds=lease)
    )


async def claimed(store: Store, *, owner: str = "w1", now: datetime = NOW) -> Job:
    """Claim the first job that there is."""
    for tenant, job_id in await candidates(store, now=now, limit=1):
        job = await claim(store, tenant, job_id, owner=owner, now=now)
        assert job is not None, "the job that comes first cannot be claimed"
        return job
    raise AssertionError("there is no job to be claimed")


def fence_of(job: Job) -> Fence:
    """The proof that a job which was just claimed is its worker's."""
    assert job.lease_owner is not None
    return Fence(
        tenant=job.tenant,
        job_id=job.id,
        session_id=job.session_id,
        owner=job.lease_owner,
        attempt=job.attempt,
        epoch=job.epoch,
    )


async def holds(store: Store, fence: Fence) -> bool:
    """Whether the fence holds."""
    return await store.write(fence.tenant, lambda unit: unit.jobs.holds(fence))


async def finished(store: Store, job: Job, *, now: datetime = NOW) -> bool:
    """End a job well; whether it should look again."""
    return await store.write(job.tenant, lambda unit: unit.jobs.finish(fence_of(job), now=now))


async def failed(store: Store, job: Job, *, reason: str = "no", now: datetime = NOW) -> bool:
    """End a job badly."""
    return await store.write(job.tenant, lambda unit: unit.jobs.fail(fence_of(job), reason=reason, now=now))


async def jobs_of(store: Store, tenant: str = TENANT) -> list[Job]:
    """The tenant's jobs, newest first."""
    return list(await store.read(tenant, lambda unit: unit.jobs.list(tenant, limit=1000)))


async def due(store: Store, *, now: datetime | None = NOW, with_model: bool = True) -> int:
    """How many live jobs there are."""
    return await store.due_count(now=now, with_model=with_model)


# -- summaries -----------------------------------------------------------------------------------------------------


def summary(
    *spans: tuple[int, int],
    version: int,
    base: Summary | None = None,
    status: SummaryStatus = SummaryStatus.COMPLETED,
    strategy: str = STRATEGY,
    text: str = "Alice likes tea.",
    millis: int = 12,
) -> Summary:
    """A version with one point for each span."""
    return Summary(
        id=new_id(),
        base_id=base.id if base else None,
        version=version,
        strategy=strategy,
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


def insert(unit: Unit, *versions: Summary, key: SessionKey = KEY) -> None:
    """Store versions of a session's summary."""
    row = row_of(unit, key)
    for version in versions:
        unit.summaries.insert(row, version, now=NOW)


def move(
    unit: Unit, old: Head, new: Head, *, reader: str | None = None, key: SessionKey = KEY, counts: bool = False
) -> bool:
    """Move a head of a session, the live one unless another is named."""
    row = row_of(unit, key)
    return unit.summaries.move_head(row, reader or reader_of(None), old=old, new=new, now=NOW, counts=counts)


async def prepared(store: Store, *versions: Summary, key: SessionKey = KEY) -> SessionRow:
    """A session of ten messages, with versions of its summary."""
    await store.append(append(*"abcdefghij", key=key))
    await store.write(key.tenant, lambda unit: insert(unit, *versions, key=key))
    return await session(store, key)


async def chain(store: Store, key: SessionKey = KEY, *, strategy: str = STRATEGY) -> list[Summary]:
    """The versions of a session's summary, newest first."""
    return list(
        await store.read(
            key.tenant,
            lambda unit: unit.summaries.chain(key.tenant, row_of(unit, key).id, strategy=strategy, limit=1000),
        )
    )


async def head(store: Store, *, reader: str | None = None, key: SessionKey = KEY) -> Head:
    """Where a reader of a session stands."""
    return await store.read(
        key.tenant, lambda unit: unit.summaries.head(key.tenant, row_of(unit, key).id, reader or reader_of(None))
    )


# -- time ----------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def beside(work: Coroutine[Any, Any, None]) -> AsyncIterator[asyncio.Task[None]]:
    """Work that goes on beside the block; what is still going on at its end is stopped."""
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def soon(awaited: Awaitable[T], what: str) -> T:
    """What is awaited; it must come before patience ends."""
    try:
        return await asyncio.wait_for(awaited, PATIENCE)
    except TimeoutError:
        raise AssertionError(f"{what}: not within {PATIENCE:.0f} s") from None
