"""I4, I5, I9: which job may be claimed, by whom, and what of it nobody but its worker changes.

On one connection, transaction by transaction: what a database does with many at once is tried by the shipped laws.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from tests.storage.bench import LEASE, NOW, after, always, new_id
from tests.storage.job_changes import (
    CHANGES,
    DONE,
    FAILED,
    JOB,
    QUEUED,
    REBUILD,
    REFUSED,
    RUNNING,
    SUMMARISE,
    WAKES,
    brought_to,
    claimed,
    found,
    in_memory,
    job_of,
    others,
    plan_beside,
    planned,
    put,
    session,
    taken,
    unit_of,
)

from anaphora.domain.jobs import Job, JobKind, JobState
from anaphora.domain.plans import State
from anaphora.ports.rows import Head
from anaphora.storage import tables
from anaphora.storage.unit import SqlUnit


@pytest.fixture
def connection() -> Iterator[sa.Connection]:
    with in_memory() as connection:
        yield connection


@pytest.fixture
def unit(connection: sa.Connection) -> SqlUnit:
    return unit_of(connection)


@pytest.mark.parametrize(
    ("state", "run_at", "updated_at", "claimable"),
    [
        (QUEUED, -1, -1, True),
        (QUEUED, 0, -1, True),
        (QUEUED, 0, 0, True),
        (QUEUED, 0.001, 0, False),  # it waits, also if it was planned this very moment
        (QUEUED, 1, -1, False),
        (QUEUED, 1, LEASE, False),  # written by a clock that is a little ahead
        (QUEUED, 1, LEASE + 0.001, True),  # written in the future: nobody knows how long to wait
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
        (2 * LEASE, False),  # taken by a clock that is a little ahead
        (2 * LEASE + 0.001, True),  # no lease reaches so far: its owner's clock ran ahead
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


def test_what_waited_longest_comes_first_and_of_each_tenant_one_before_anybodys_second(
    unit: SqlUnit, connection: sa.Connection
) -> None:
    """Who comes at the same time comes in the order of the ids, and the tenants in the order of their names.

    What a dead worker left is no later than what nobody has begun.
    """
    ids = sorted(new_id() for _ in range(8))
    by_name = {
        "b left": planned(unit, session(unit, "left", "b"), run_at=after(-99), job_id=ids[7]),
        "b early": planned(unit, session(unit, "early", "b"), run_at=after(-9), job_id=ids[6]),
        "b first": planned(unit, session(unit, "first", "b"), run_at=after(-5), job_id=ids[4]),
        "b twin": planned(unit, session(unit, "twin", "b"), run_at=after(-5), job_id=ids[5]),
        "a late": planned(unit, session(unit, "late", "a"), run_at=after(-1), job_id=ids[0]),
        "a same": planned(unit, session(unit, "same", "a"), run_at=after(-2), job_id=ids[1]),
        "c same": planned(unit, session(unit, "same", "c"), run_at=after(-2), job_id=ids[2]),
        "c not yet": planned(unit, session(unit, "not yet", "c"), run_at=after(1), job_id=ids[3]),
    }
    taken(unit, by_name["b left"])
    put(connection, by_name["b left"], lease_until=NOW)
    names = {job.id: name for name, job in by_name.items()}
    order = ["b left", "a same", "c same", "b early", "a late", "b first", "b twin"]
    assert [names[job_id] for job_id in found(unit)] == order
    assert [names[job_id] for job_id in found(unit, limit=3)] == order[:3]
    rows = unit.jobs.candidates(now=NOW, lease_seconds=LEASE, with_model=True, limit=99)
    assert [tenant for tenant, _ in rows] == [name[0] for name in order]


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
    job = planned(unit, session(unit), job_id=JOB)
    fence = taken(unit, job)
    before = job_of(unit, job.id)
    assert [plan_beside(unit, fence, after(1)) for _ in range(2)] == [False, False]
    assert job_of(unit, job.id) == replace(before, rearm=True)
    assert {key: job_of(unit, other.id, other.tenant) for key, other in bystanders.items()} == bystanders
    assert unit.jobs.finish(fence, now=after(2)) is True


def test_of_the_running_jobs_only_that_of_the_session_and_kind_looks_again(unit: SqlUnit) -> None:
    """Two tenants may have a session with one id, and a session may be summarised and rebuilt at a time."""
    row = session(unit)
    theirs = session(unit, "s1", "t2", session_id=row.id)
    jobs = [planned(unit, row), planned(unit, row, REBUILD), planned(unit, theirs)]
    for job in jobs:
        taken(unit, job)
    assert not unit.jobs.plan(row, SUMMARISE, job_id=new_id(), run_at=NOW, now=NOW, max_attempts=3)
    assert [job_of(unit, job.id, job.tenant).rearm for job in jobs] == [True, False, False]


def test_a_job_without_anything_new_ends_without_looking_again(unit: SqlUnit) -> None:
    assert unit.jobs.finish(taken(unit, planned(unit, session(unit))), now=NOW) is False


@pytest.mark.parametrize("part", ["tenant", "job_id", "session_id", "owner", "attempt", "epoch"])
def test_a_fence_of_which_one_part_is_anothers_holds_nothing(unit: SqlUnit, part: str) -> None:
    other = taken(unit, planned(unit, session(unit, "s2", "t2")))
    bystanders = others(unit)
    right = taken(unit, planned(unit, session(unit), job_id=JOB))
    anothers: dict[str, Any] = {part: {"owner": "w2", "attempt": 2, "epoch": 1}.get(part, getattr(other, part))}
    wrong = replace(right, **anothers)
    assert unit.jobs.holds(right)
    assert not unit.jobs.holds(wrong)
    assert not any(CHANGES[name][1](unit, wrong, NOW) for name in ("sized", "alive", "put back", "released"))
    assert unit.jobs.holds(right)
    assert {key: job_of(unit, one.id, one.tenant) for key, one in bystanders.items()} == bystanders


def test_a_fence_from_before_an_erasure_holds_nothing_though_the_job_was_not_told(
    unit: SqlUnit, connection: sa.Connection
) -> None:
    """I5, I12."""
    fence = taken(unit, planned(unit, session(unit)))
    connection.execute(sa.update(tables.sessions).values(epoch=1))
    assert not unit.jobs.holds(fence)
    connection.execute(sa.update(tables.sessions).values(epoch=0))
    assert unit.jobs.holds(fence)


def test_a_job_needs_a_model_only_if_it_says_so(unit: SqlUnit) -> None:
    """I17: who has no model finds, and counts, what needs none."""
    without = planned(unit, session(unit, "s1"))
    needing = planned(unit, session(unit, "s2"), needs_model=True)
    assert (without.needs_model, needing.needs_model) == (False, True)
    for with_model, jobs in ((False, [without]), (True, [without, needing])):
        rows = unit.jobs.candidates(now=NOW, lease_seconds=LEASE, with_model=with_model, limit=9)
        assert {job_id for _, job_id in rows} == {job.id for job in jobs}
        assert unit.jobs.due_count(now=NOW, with_model=with_model) == len(jobs)


@pytest.mark.parametrize(
    ("state", "run_at", "updated_at", "counts"),
    [
        (QUEUED, 0, 0, True),
        (QUEUED, 0.001, 0, False),
        (QUEUED, 9, 0.001, True),
        (RUNNING, 9, 0, True),
        (DONE, -9, 0, False),
        (FAILED, -9, 0, False),
    ],
)
def test_a_job_counts_as_due_while_it_runs_and_from_its_time_on(
    unit: SqlUnit, connection: sa.Connection, *, state: JobState, run_at: float, updated_at: float, counts: bool
) -> None:
    job, _ = brought_to(unit, connection, state)
    put(connection, job, run_at=after(run_at), updated_at=after(updated_at))
    assert unit.jobs.due_count(now=NOW, with_model=True) == int(counts)
    assert unit.jobs.due_count(now=None, with_model=True) == int(state in {QUEUED, RUNNING})


def test_what_comes_next_is_pulled_forward_first(unit: SqlUnit) -> None:
    ids = sorted(new_id() for _ in range(4))
    later, twin, soon, first = (
        planned(unit, session(unit, f"s{at}"), REBUILD, run_at=after(run_at), job_id=job_id)
        for at, (run_at, job_id) in enumerate([(90, ids[0]), (50, ids[3]), (50, ids[2]), (40, ids[1])])
    )
    assert unit.jobs.pull_forward("t", REBUILD, now=after(1), limit=2) == 2
    waiting = {job.id for job in (later, twin, soon, first) if job_of(unit, job.id).run_at > after(1)}
    assert waiting == {later.id, twin.id}


def test_a_failed_job_is_tried_again_beside_newer_ones_that_are_done(unit: SqlUnit) -> None:
    older, newer = sorted([new_id(), new_id()])
    failed, done = planned_and_over(unit, job_id=older, well=False), planned_and_over(unit, job_id=newer, well=True)
    assert unit.jobs.retry_failed("t", job_id=None, now=NOW) == 1
    assert job_of(unit, failed.id).state is QUEUED
    assert job_of(unit, done.id).state is DONE


def planned_and_over(unit: SqlUnit, *, well: bool, job_id: UUID | None = None) -> Job:
    job = planned(unit, session(unit), job_id=job_id)
    fence = taken(unit, job)
    assert unit.jobs.finish(fence, now=NOW) is False if well else unit.jobs.fail(fence, reason="no", now=NOW)
    return job


@pytest.mark.parametrize("running", [False, True])
@pytest.mark.parametrize("named", [False, True])
def test_no_failed_job_is_tried_again_beside_a_live_one(unit: SqlUnit, *, named: bool, running: bool) -> None:
    """I4: not even when it is named."""
    failed = planned_and_over(unit, well=False)
    live = planned(unit, session(unit))
    if running:
        taken(unit, live)
    assert unit.jobs.retry_failed("t", job_id=failed.id if named else None, now=NOW) == 0
    assert job_of(unit, failed.id).state is FAILED


def test_an_older_failure_is_tried_again_when_it_is_named(unit: SqlUnit) -> None:
    older, newer = (planned_and_over(unit, well=False, job_id=job_id) for job_id in sorted([new_id(), new_id()]))
    assert unit.jobs.retry_failed("t", job_id=older.id, now=NOW) == 1
    assert (job_of(unit, older.id).state, job_of(unit, newer.id).state) == (QUEUED, FAILED)


@pytest.mark.parametrize("name", WAKES)
def test_workers_are_woken_when_there_may_be_something_to_claim(
    unit: SqlUnit, connection: sa.Connection, name: str
) -> None:
    state, change, wakes = WAKES[name]
    _, fence = brought_to(unit, connection, state or DONE)
    for already in (False, True):
        with connection.begin_nested() as attempt:
            unit.effects.planned = already
            change(unit, fence, after(LEASE))
            assert unit.effects.planned is (wakes or already), "what was planned before is still there"
            attempt.rollback()


def test_a_session_that_was_never_summarised_is_planned_from_its_first_message(unit: SqlUnit) -> None:
    """And each other one from where the live reader of its own strategy stands."""
    made = session(unit, "never"), session(unit, "once"), session(unit, "other", strategy="other")
    rows = [replace(row, head=10) for row in made]
    for reader, row, position in (("live:None", rows[1], 4), ("live:other", rows[2], 7), ("live:other", rows[1], 9)):
        assert unit.summaries.move_head(row, reader, old=Head(), new=Head(position=position), now=NOW)
    seen: list[tuple[str | None, int]] = []

    def planner(strategy: str | None, state: State, /) -> JobKind | None:
        seen.append((strategy, state.covered_to))
        return SUMMARISE if strategy == "other" else None

    unit.jobs.plan_due(rows, planner)
    assert seen == [(None, 0), (None, 4), ("other", 7)]
    (job,) = unit.jobs.list("t")
    assert (job.session_id, job.kind, job.state, job.attempt) == (rows[2].id, SUMMARISE, QUEUED, 0)
    assert (job.run_at, job.created_at, job.needs_model) == (NOW, NOW, False)


def test_who_plans_what_somebody_else_plans_at_that_moment_has_the_others_job_look_again(
    unit: SqlUnit, connection: sa.Connection
) -> None:
    """I4, I9: it may run already, and may have missed what this one has written."""
    raced, fresh, beside = (session(unit, name) for name in ("raced", "fresh", "beside"))
    running, untold = planned(unit, raced, REBUILD), planned(unit, beside)
    for job in (running, untold):
        taken(unit, job)
    races: list[str] = []

    @sa.event.listens_for(connection, "before_cursor_execute")
    def somebody_else(_connection: object, cursor: Any, statement: str, *_: object) -> None:
        """Between the look at the live jobs and the new ones, the running job turns out to be of this kind."""
        if statement.startswith("INSERT INTO jobs"):
            races.append(statement)
            cursor.execute("UPDATE jobs SET kind = 'summarise' WHERE kind = 'rebuild'")

    unit.jobs.plan_due([raced, fresh], always)
    assert len(races) == 1
    jobs = {job.session_id: (job.state, job.rearm) for job in unit.jobs.list("t")}
    assert jobs == {raced.id: (RUNNING, True), fresh.id: (QUEUED, False), beside.id: (RUNNING, False)}
    assert job_of(unit, untold.id).rearm is False


def test_who_asks_for_work_that_is_in_hand_finds_that_in_the_log(
    unit: SqlUnit, caplog: pytest.LogCaptureFixture
) -> None:
    row = session(unit)
    planned(unit, row)
    with caplog.at_level(logging.DEBUG, logger="anaphora"):
        assert not unit.jobs.plan(row, SUMMARISE, job_id=new_id(), run_at=NOW, now=NOW, max_attempts=3)
    (record,) = caplog.records
    assert record.getMessage() == f"A summarise job is in progress already for {row.id}"
    assert (
        vars(record).items() >= {"event": "already_in_progress", "session_id": str(row.id), "kind": "summarise"}.items()
    )


def test_running_jobs_take_no_place_among_those_that_are_pulled_forward(
    unit: SqlUnit, connection: sa.Connection
) -> None:
    running = planned(unit, session(unit, "s1"), REBUILD)
    taken(unit, running)
    put(connection, running, run_at=after(40))
    waiting = planned(unit, session(unit, "s2"), REBUILD, run_at=after(50))
    assert unit.jobs.pull_forward("t", REBUILD, now=after(1), limit=1) == 1
    assert [job_of(unit, job.id).run_at for job in (running, waiting)] == [after(40), after(1)]


def test_jobs_are_listed_from_the_newest_and_those_of_one_moment_from_the_last_id(
    unit: SqlUnit, connection: sa.Connection
) -> None:
    ids = sorted(new_id() for _ in range(3))
    made = [planned(unit, session(unit, f"s{at}"), job_id=ids[at]) for at in (1, 0, 2)]
    put(connection, made[0], created_at=after(5))
    assert [job.id for job in unit.jobs.list("t")] == [ids[1], ids[2], ids[0]]
    assert [job.id for job in unit.jobs.list("t", limit=2)] == [ids[1], ids[2]]
