"""I4, I5, I9: which job may be claimed, by whom, and what of it nobody but its worker changes.

On one connection, transaction by transaction: what a database does with many at once is tried by the shipped laws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from tests.storage.bench import LEASE, NOW, after, fence_of, key_of, never, new_id

from anaphora.bootstrap.system import system_randomness
from anaphora.domain.jobs import Fence, Job, JobKind, JobState
from anaphora.domain.keys import SeqRange, SessionKey
from anaphora.ports.store import SessionRow
from anaphora.storage import tables
from anaphora.storage.policy import AppendPolicy
from anaphora.storage.sqlite.engine import Database, Durability
from anaphora.storage.sqlite.search import FtsWords
from anaphora.storage.unit import SqlUnit

SUMMARISE, REBUILD = JobKind.SUMMARISE, JobKind.REBUILD
QUEUED, RUNNING, DONE, FAILED = JobState.QUEUED, JobState.RUNNING, JobState.DONE, JobState.FAILED


@pytest.fixture
def connection() -> Iterator[sa.Connection]:
    """An empty database in memory, in a transaction."""
    database = Database(path=None, durability=Durability.NORMAL, read_only=False)
    with closing(database.writer(timeout=1)) as connection:
        tables.metadata.create_all(connection)
        yield connection


@pytest.fixture
def unit(connection: sa.Connection) -> SqlUnit:
    policy = AppendPolicy(planner=never, reader_of=lambda name: f"live:{name}", randomness=system_randomness)
    return SqlUnit(connection, FtsWords(connection), policy)


def session(unit: SqlUnit, name: str = "s1", tenant: str = "t") -> SessionRow:
    key: SessionKey = key_of(session=name, tenant=tenant)
    return unit.sessions.create(key, session_id=new_id(), strategy=None, subject=None, now=NOW)


def planned(
    unit: SqlUnit,
    row: SessionRow,
    kind: JobKind = SUMMARISE,
    *,
    run_at: datetime = NOW,
    now: datetime = NOW,
    job_id: UUID | None = None,
) -> Job:
    job_id = job_id or new_id()
    assert unit.jobs.plan(row, kind, job_id=job_id, run_at=run_at, now=now, max_attempts=3)
    return job_of(unit, job_id, row.key.tenant)


def job_of(unit: SqlUnit, job_id: UUID, tenant: str = "t") -> Job:
    (job,) = (job for job in unit.jobs.list(tenant) if job.id == job_id)
    return job


def claimed(unit: SqlUnit, job: Job, *, owner: str = "w1", now: datetime = NOW) -> Job | None:
    return unit.jobs.claim(job.tenant, job.id, owner=owner, now=now, lease_seconds=LEASE)


def taken(unit: SqlUnit, job: Job) -> Fence:
    found = claimed(unit, job)
    assert found is not None
    return fence_of(found)


def found(unit: SqlUnit, *, now: datetime = NOW, limit: int = 99) -> list[UUID]:
    rows = unit.jobs.candidates(now=now, lease_seconds=LEASE, with_model=True, limit=limit)
    return [job_id for _, job_id in rows]


def put(connection: sa.Connection, job: Job, **values: object) -> None:
    """Change a row behind the back of the store."""
    change = sa.update(tables.jobs).where(tables.jobs.c.id == job.id).values(**values)
    assert connection.execute(change).rowcount == 1


@pytest.mark.parametrize(
    ("state", "run_at", "updated_at", "claimable"),
    [
        (QUEUED, -1, -1, True),
        (QUEUED, 0, -1, True),
        (QUEUED, 0, 0, True),
        (QUEUED, 0.001, 0, False),  # it waits, also if it was planned this very moment
        (QUEUED, 1, -1, False),
        (QUEUED, 1, 0.001, True),  # written in the future: nobody knows how long to wait
        (DONE, -1, -1, False),
        (DONE, -1, 1, False),
        (FAILED, -1, -1, False),
        (FAILED, -1, 1, False),
    ],
)
def test_a_queued_job_can_be_claimed_from_its_time_on_and_one_that_is_over_never(
    unit: SqlUnit, connection: sa.Connection, *, state: JobState, run_at: float, updated_at: float, claimable: bool
) -> None:
    job = planned(unit, session(unit))
    put(connection, job, state=state.value, run_at=after(run_at), updated_at=after(updated_at))
    assert found(unit) == ([job.id] if claimable else [])
    assert (claimed(unit, job) is not None) == claimable


@pytest.mark.parametrize(
    ("lease_until", "claimable"),
    [
        (-1, True),
        (0, True),
        (0.001, False),
        (LEASE, False),
        (LEASE + 0.001, True),  # no lease reaches so far: its owner's clock ran ahead
    ],
)
def test_a_running_job_can_be_claimed_when_its_lease_is_over_or_longer_than_any(
    unit: SqlUnit, connection: sa.Connection, *, lease_until: float, claimable: bool
) -> None:
    """Whenever it should have run, and whenever it was written."""
    for name, (run_at, updated_at) in {"s1": (-1, -1), "s2": (1, 1), "s3": (-1, 1), "s4": (1, -1)}.items():
        job = planned(unit, session(unit, name))
        assert claimed(unit, job, owner="w0") is not None
        times = {"run_at": after(run_at), "updated_at": after(updated_at), "lease_until": after(lease_until)}
        put(connection, job, **times)
        assert found(unit) == ([job.id] if claimable else [])
        again = claimed(unit, job)
        assert (again is not None) == claimable
        if again is not None:
            assert (again.attempt, again.lease_owner, again.lease_until) == (2, "w1", after(LEASE))


def test_what_waited_longest_comes_first_and_of_each_tenant_one_before_anybodys_second(unit: SqlUnit) -> None:
    """Who comes at the same time comes in the order of the ids, and the tenants in the order of their names."""
    ids = sorted(new_id() for _ in range(7))
    by_name = {
        "b early": planned(unit, session(unit, "early", "b"), run_at=after(-9), job_id=ids[6]),
        "b first": planned(unit, session(unit, "first", "b"), run_at=after(-5), job_id=ids[4]),
        "b twin": planned(unit, session(unit, "twin", "b"), run_at=after(-5), job_id=ids[5]),
        "a late": planned(unit, session(unit, "late", "a"), run_at=after(-1), job_id=ids[0]),
        "a same": planned(unit, session(unit, "same", "a"), run_at=after(-2), job_id=ids[1]),
        "c same": planned(unit, session(unit, "same", "c"), run_at=after(-2), job_id=ids[2]),
        "c not yet": planned(unit, session(unit, "not yet", "c"), run_at=after(1), job_id=ids[3]),
    }
    names = {job.id: name for name, job in by_name.items()}
    order = ["b early", "a same", "c same", "b first", "a late", "b twin"]
    assert [names[job_id] for job_id in found(unit)] == order
    assert [names[job_id] for job_id in found(unit, limit=3)] == order[:3]
    rows = unit.jobs.candidates(now=NOW, lease_seconds=LEASE, with_model=True, limit=99)
    assert [tenant for tenant, _ in rows] == [name[0] for name in order]


def others(unit: SqlUnit) -> dict[str, Job]:
    """Jobs that are none of anybody's business: another of the session, others of the tenant, and of another one."""
    row = session(unit, "s1")
    jobs = {
        "of another kind": planned(unit, row, REBUILD),
        "of another session": planned(unit, session(unit, "s2")),
        "of another tenant": planned(unit, session(unit, "s1", "t2")),
        "running": planned(unit, session(unit, "s3")),
        "failed": planned(unit, session(unit, "s4")),
        "done": planned(unit, session(unit, "s5")),
    }
    taken(unit, jobs["running"])
    assert unit.jobs.fail(taken(unit, jobs["failed"]), reason="no", now=NOW)
    unit.jobs.finish(taken(unit, jobs["done"]), now=NOW)
    return {name: job_of(unit, job.id, job.tenant) for name, job in jobs.items()}


def plan_beside(unit: SqlUnit, fence: Fence, now: datetime) -> bool:
    """Whether a job is planned beside this one."""
    row = unit.sessions.get(fence.tenant, fence.session_id)
    assert row is not None
    return unit.jobs.plan(row, SUMMARISE, job_id=new_id(), run_at=now, now=now, max_attempts=3)


def retry(unit: SqlUnit, fence: Fence, now: datetime) -> bool:
    return unit.jobs.retry_failed(fence.tenant, job_id=fence.job_id, now=now) > 0


def pull(unit: SqlUnit, fence: Fence, now: datetime) -> bool:
    return unit.jobs.pull_forward(fence.tenant, SUMMARISE, now=now, limit=9) > 0


def claim_again(unit: SqlUnit, fence: Fence, now: datetime) -> bool:
    return unit.jobs.claim(fence.tenant, fence.job_id, owner="w2", now=now, lease_seconds=30) is not None


FREE = {"lease_owner": None, "lease_until": None}
Change = Callable[[SqlUnit, Fence, datetime], bool]
#: what is done to a job in a state; what it answers; and what of the job is another thing then, beside its last change
CHANGES: dict[str, tuple[JobState, Change, bool, dict[str, Any]]] = {
    "taken over": (
        RUNNING,
        claim_again,
        True,
        {"attempt": 2, "lease_owner": "w2", "lease_until": after(LEASE + 30), "rearm": False},
    ),
    "sized": (
        RUNNING,
        lambda unit, fence, now: unit.jobs.set_range(fence, SeqRange(1, 4), now=now),
        True,
        {"range": SeqRange(1, 4)},
    ),
    "alive": (
        RUNNING,
        lambda unit, fence, now: unit.jobs.heartbeat(fence, now=now, lease_seconds=30),
        True,
        {"lease_until": after(LEASE + 30)},
    ),
    "finished": (RUNNING, lambda unit, fence, now: unit.jobs.finish(fence, now=now), True, {"state": DONE, **FREE}),
    "put back": (
        RUNNING,
        lambda unit, fence, now: unit.jobs.retry_later(fence, run_at=after(999), reason="busy", now=now),
        True,
        {"state": QUEUED, "run_at": after(999), "reason": "busy", "rearm": False, **FREE},
    ),
    "released": (
        RUNNING,
        lambda unit, fence, now: unit.jobs.release(fence, now=now),
        True,
        {"state": QUEUED, "run_at": after(LEASE), "attempt": 0, "rearm": False, **FREE},
    ),
    "given up": (
        RUNNING,
        lambda unit, fence, now: unit.jobs.fail(fence, reason="no", now=now),
        True,
        {"state": FAILED, "reason": "no", **FREE},
    ),
    "withdrawn while it runs": (
        RUNNING,
        lambda unit, fence, now: unit.jobs.withdraw(fence.tenant, fence.job_id, now=now),
        True,
        {"state": DONE, "reason": "its messages changed", **FREE},
    ),
    "withdrawn while it waits": (
        QUEUED,
        lambda unit, fence, now: unit.jobs.withdraw(fence.tenant, fence.job_id, now=now),
        True,
        {"state": DONE, "reason": "its messages changed"},
    ),
    "pulled forward": (QUEUED, pull, True, {"run_at": after(LEASE)}),
    "tried again": (FAILED, retry, True, {"state": QUEUED, "attempt": 0, "run_at": after(LEASE), "rearm": False}),
}
#: what a job in a state is proof against
REFUSED: dict[str, tuple[JobState, Change]] = {
    "withdrawn when it is done": (DONE, CHANGES["withdrawn while it waits"][1]),
    "withdrawn when it failed": (FAILED, CHANGES["withdrawn while it waits"][1]),
    "planned beside a queued one": (QUEUED, plan_beside),
    "pulled forward while it runs": (RUNNING, pull),
    "pulled forward when it failed": (FAILED, pull),
    "tried again when it is done": (DONE, retry),
    "tried again while it runs": (RUNNING, retry),
    "tried again while it waits": (QUEUED, retry),
    **{f"{name}, when it was put back": (QUEUED, CHANGES[name][1]) for name in ("sized", "alive", "finished")},
    **{f"{name}, when it is done": (DONE, CHANGES[name][1]) for name in ("put back", "released", "given up")},
}


def brought_to(unit: SqlUnit, connection: sa.Connection, state: JobState) -> tuple[Job, Fence]:
    """A job in this state, with as many marks of an eventful life as it can have; and the fence of its last claim."""
    job = planned(unit, session(unit), run_at=after(LEASE + 9))
    put(connection, job, run_at=NOW)
    fence = taken(unit, job)
    put(connection, job, state=state.value, run_at=after(LEASE + 9), rearm=True, reason="before", start=0, stop=2)
    if state is not RUNNING:
        put(connection, job, **FREE)
    return job_of(unit, job.id), fence


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_of_a_job_changes_what_it_should_and_nothing_else(
    unit: SqlUnit, connection: sa.Connection, name: str
) -> None:
    state, change, answer, expected = CHANGES[name]
    bystanders = others(unit)
    job, fence = brought_to(unit, connection, state)
    assert change(unit, fence, after(LEASE)) is answer
    assert job_of(unit, job.id) == replace(job, **{"updated_at": after(LEASE), **expected})
    assert {key: job_of(unit, other.id, other.tenant) for key, other in bystanders.items()} == bystanders


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_happen_to_a_job_changes_nothing(unit: SqlUnit, connection: sa.Connection, name: str) -> None:
    state, change = REFUSED[name]
    bystanders = others(unit)
    job, fence = brought_to(unit, connection, state)
    assert not change(unit, fence, after(LEASE))
    assert job_of(unit, job.id) == job
    assert {key: job_of(unit, other.id, other.tenant) for key, other in bystanders.items()} == bystanders


def test_a_running_job_beside_which_another_is_wanted_looks_again_and_others_do_not(unit: SqlUnit) -> None:
    bystanders = others(unit)
    job = planned(unit, session(unit))
    fence = taken(unit, job)
    before = job_of(unit, job.id)
    assert [plan_beside(unit, fence, after(1)) for _ in range(2)] == [False, False]
    assert job_of(unit, job.id) == replace(before, rearm=True)
    assert {key: job_of(unit, other.id, other.tenant) for key, other in bystanders.items()} == bystanders
    assert unit.jobs.finish(fence, now=after(2)) is True


def test_a_job_without_anything_new_ends_without_looking_again(unit: SqlUnit) -> None:
    assert unit.jobs.finish(taken(unit, planned(unit, session(unit))), now=NOW) is False


@pytest.mark.parametrize("part", ["tenant", "job_id", "session_id", "owner", "attempt", "epoch"])
def test_a_fence_of_which_one_part_is_anothers_holds_nothing(unit: SqlUnit, part: str) -> None:
    other = taken(unit, planned(unit, session(unit, "s2", "t2")))
    right = taken(unit, planned(unit, session(unit)))
    anothers: dict[str, Any] = {part: {"owner": "w2", "attempt": 2, "epoch": 1}.get(part, getattr(other, part))}
    wrong = replace(right, **anothers)
    assert unit.jobs.holds(right)
    assert not unit.jobs.holds(wrong)
    assert not any(CHANGES[name][1](unit, wrong, NOW) for name in ("sized", "alive", "put back", "released"))
    assert unit.jobs.holds(right)


def test_a_fence_from_before_an_erasure_holds_nothing_though_the_job_was_not_told(
    unit: SqlUnit, connection: sa.Connection
) -> None:
    """I5, I12."""
    fence = taken(unit, planned(unit, session(unit)))
    connection.execute(sa.update(tables.sessions).values(epoch=1))
    assert not unit.jobs.holds(fence)
    connection.execute(sa.update(tables.sessions).values(epoch=0))
    assert unit.jobs.holds(fence)
