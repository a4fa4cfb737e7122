"""Checks of the rows themselves, the same on every database. They read aggregates and pages, never a whole log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

import sqlalchemy as sa

from anaphora.domain.jobs import JobState
from anaphora.errors import AnaphoraError
from anaphora.ports.rows import SessionRow
from anaphora.ports.store import Unit
from anaphora.services.maintenance import Check, Findings, Judge
from anaphora.storage.access_checks import access_laws, sealed_chain
from anaphora.storage.columns import metadata
from anaphora.storage.document_checks import document_laws
from anaphora.storage.erasure_checks import erasure_laws
from anaphora.storage.fact_checks import fact_laws
from anaphora.storage.history_checks import stale_breaches, version_breaches, wrong_deleted
from anaphora.storage.laws import Breach, Law, of_session, same_session
from anaphora.storage.notepad_checks import notepad_laws
from anaphora.storage.summary_checks import summary_laws
from anaphora.storage.tables import jobs, messages, receipts, sessions, summaries
from anaphora.storage.topic_checks import topic_laws

_PAGE = 500
#: examples that a query for a breach gives at most
FEW = 4
_MESSAGES = sa.select(sa.func.count()).select_from(messages)
_LIVE = jobs.c.state.in_([JobState.QUEUED.value, JobState.RUNNING.value])


def _order() -> Law:
    return Law(
        id="I2",
        name="messages are numbered without a hole, turns and receipts fit them",
        table=messages,
        breaches=(*_counts(), *_turns(), *version_breaches()),
    )


def _counts() -> Iterator[Breach]:
    counted = (
        sa.select(
            messages.c.tenant_id,
            messages.c.session_uid,
            sa.func.count().label("count"),
            sa.func.min(messages.c.seq).label("first"),
            sa.func.max(messages.c.seq).label("last"),
            sa.func.sum(messages.c.tokens).label("tokens"),
            sa.func.sum(sa.case((messages.c.turn == messages.c.seq, 1), else_=0)).label("turns"),
        )
        .group_by(messages.c.tenant_id, messages.c.session_uid)
        .subquery()
    )
    logs = sa.select(sessions.c.id).outerjoin(counted, of_session(counted))
    found = sa.func.coalesce(counted.c.count, 0)
    last = sessions.c.head - 1
    yield (
        "sessions whose messages are not 0 to head - 1",
        logs.where(
            sa.or_(
                sessions.c.head != found,
                sa.and_(found > 0, sa.or_(counted.c.first != 0, counted.c.last != last)),
            )
        ),
    )
    yield (
        "sessions that count their turns or tokens wrongly",
        logs.where(
            sa.or_(
                sessions.c.turns != sa.func.coalesce(counted.c.turns, 0),
                sessions.c.tokens != sa.func.coalesce(counted.c.tokens, 0),
            )
        ),
    )
    now = receipts.c.epoch == sessions.c.epoch
    yield (
        "receipts beyond the log",
        sa.select(receipts.c.id)
        .join(sessions, of_session(receipts))
        .where(now, receipts.c.stop > receipts.c.start, receipts.c.stop > sessions.c.head),
    )


def _turns() -> Iterator[Breach]:
    opener, before = messages.alias("opener"), messages.alias("before")
    yield (
        "messages whose turn begins nowhere",
        sa.select(messages.c.id)
        .outerjoin(opener, same_session(opener, messages) & (opener.c.seq == messages.c.turn))
        .where(opener.c.turn.is_distinct_from(messages.c.turn)),
    )
    yield (
        "messages whose turn lies before that of the message before",
        sa.select(messages.c.id)
        .join(before, same_session(before, messages) & (before.c.seq == messages.c.seq - 1))
        .where(before.c.turn > messages.c.turn),
    )


def _single_flight() -> Law:
    one = (jobs.c.tenant_id, jobs.c.session_uid, jobs.c.kind)
    return Law(
        id="I4",
        name="at most one live job of a kind in a session",
        table=jobs,
        breaches=(
            (
                "sessions with two live jobs",
                sa.select(jobs.c.session_uid).where(_LIVE).group_by(*one).having(sa.func.count() > 1),
            ),
        ),
    )


def _fencing() -> Law:
    return Law(
        id="I5",
        name="nothing is left from before a reset",
        table=jobs,
        breaches=(
            (
                "live jobs of an older epoch",
                sa.select(jobs.c.id).join(sessions, of_session(jobs)).where(_LIVE, jobs.c.epoch != sessions.c.epoch),
            ),
            (
                "versions of an older epoch",
                sa.select(summaries.c.id)
                .join(sessions, of_session(summaries))
                .where(summaries.c.epoch != sessions.c.epoch),
            ),
            (
                "messages of an older epoch",
                sa.select(messages.c.id)
                .join(sessions, of_session(messages))
                .where(messages.c.epoch != sessions.c.epoch),
            ),
        ),
    )


def _progress() -> Law:
    return Law(
        id="I9",
        name="no live job has had more attempts than it may, and what is stale is made again",
        table=jobs,
        breaches=(
            (
                "jobs with too many attempts",
                sa.select(jobs.c.id).where(_LIVE, jobs.c.attempt > jobs.c.max_attempts + 1),
            ),
            *stale_breaches(),
        ),
    )


def _idempotency() -> Law:
    one = (receipts.c.tenant_id, receipts.c.session_uid, receipts.c.idempotency_key)
    used = receipts.c.idempotency_key.is_not(None)
    return Law(
        id="I14",
        name="a key stands for one append of its session",
        table=receipts,
        breaches=(
            (
                "sessions with a key used twice",
                sa.select(receipts.c.session_uid)
                .join(sessions, of_session(receipts))
                .where(used, receipts.c.epoch == sessions.c.epoch)
                .group_by(*one)
                .having(sa.func.count() > 1),
            ),
        ),
    )


def laws() -> tuple[Law, ...]:
    """The laws that are one question to the database each."""
    return (
        _order(),
        _single_flight(),
        _fencing(),
        _progress(),
        _idempotency(),
        *summary_laws(),
        *fact_laws(),
        *notepad_laws(),
        *topic_laws(),
        *document_laws(),
        *erasure_laws(),
        *access_laws(),
    )


def coverage(connection: sa.Connection, unit: Unit, judge: Judge) -> Check:
    """I1: judge every session, a page at a time."""
    found = Findings()
    count = 0
    for tenant, session_id in _session_ids(connection):
        row = unit.sessions.get(tenant, session_id)
        if row is None:
            continue
        count += 1
        problem = _wrong_turns(connection, row) or wrong_deleted(connection, row) or judge(unit, row)
        if problem is not None:
            found.add(f"session {row.id}: {problem}")
    return Check(
        id="I1",
        name="every message is summarised, verbatim or declared left out, exactly once",
        ok=not found.count,
        detail=str(found),
        checked=count,
    )


def stuck(connection: sa.Connection, *, now: datetime, seconds: float) -> Check:
    """I9: work that nobody does. A warning: it goes on when a worker runs."""
    since = now - timedelta(seconds=seconds)
    running = sa.and_(jobs.c.state == JobState.RUNNING.value, jobs.c.lease_until < since)
    waiting = sa.and_(jobs.c.state == JobState.QUEUED.value, jobs.c.run_at < since, sa.not_(jobs.c.needs_model))
    states = sa.select(
        sa.func.count(sa.case((running, 1))), sa.func.count(sa.case((waiting, 1))), sa.func.count()
    ).where(_LIVE)
    lost, late, live = connection.execute(states).one()
    detail = f"{lost} with a lease that is over, {late} due and not begun, for {seconds:g} s: run `anaphora worker`"
    return Check(
        id="stuck",
        name="no job waits for a worker",
        ok=not (lost or late),
        detail=detail if lost or late else "",
        checked=live,
        warning=True,
    )


def failed(connection: sa.Connection) -> Check:
    """I9: jobs that were given up. A warning: each has its reason, and can be tried again."""
    count = connection.execute(
        sa.select(sa.func.count()).select_from(jobs).where(jobs.c.state == JobState.FAILED.value)
    ).scalar_one()
    return Check(
        id="failed",
        name="no job was given up",
        ok=not count,
        detail="see `anaphora jobs list --failed`, `anaphora jobs retry`" if count else "",
        checked=count,
        warning=True,
    )


def _session_ids(connection: sa.Connection) -> Iterator[tuple[str, UUID]]:
    key = sa.tuple_(sessions.c.tenant_id, sessions.c.id)
    query = sa.select(sessions.c.tenant_id, sessions.c.id).order_by(sessions.c.tenant_id, sessions.c.id).limit(_PAGE)
    page = connection.execute(query).all()
    while page:
        yield from ((row[0], row[1]) for row in page)
        page = connection.execute(query.where(key > sa.tuple_(*page[-1]))).all()


def _wrong_turns(connection: sa.Connection, row: SessionRow) -> str | None:
    """The session's own list of its newest turns, against its messages."""
    first = row.turn_starts[0] if row.turn_starts else 0
    starts = connection.execute(
        sa.select(messages.c.seq)
        .where(
            messages.c.tenant_id == row.key.tenant,
            messages.c.session_uid == row.id,
            messages.c.seq >= first,
            messages.c.turn == messages.c.seq,
        )
        .order_by(messages.c.seq)
    ).scalars()
    found = tuple(starts)
    if found == row.turn_starts:
        return None
    return f"it remembers {len(row.turn_starts)} turns from {first} on, its messages begin {len(found)}"


def schema(connection: sa.Connection) -> Check:
    """Every table is there, and what must be unique is unique in the database itself (I4, I14)."""
    inspector = sa.inspect(connection)
    there = set(inspector.get_table_names())
    found = Findings()
    for name, table in metadata.tables.items():
        if name not in there:
            found.add(f"no table {name}")
            continue
        columns = {column["name"] for column in inspector.get_columns(name)}
        for column in table.columns:
            if column.name not in columns:
                found.add(f"no column {name}.{column.name}")
        unique = {index["name"] for index in inspector.get_indexes(name) if index["unique"]}
        for index in table.indexes:
            if index.unique and index.name not in unique:
                found.add(f"no unique index {index.name}")
    return Check(
        id="schema",
        name="tables and unique indexes are those of this version",
        ok=not found.count,
        detail=str(found),
        checked=len(metadata.tables),
    )


def attempt(name: str, step: Callable[[], Check], translated: AbstractContextManager[None]) -> Check:
    """The check; one that damaged rows do not allow has failed."""
    try:
        with translated:
            return step()
    except (AnaphoraError, ValueError) as error:
        why = str(error) if isinstance(error, AnaphoraError) else f"a row cannot be read ({type(error).__name__})"
        return Check(id=name, name="it can be checked", ok=False, detail=why)


def steps(
    connection: sa.Connection, unit: Unit, judge: Judge, *, now: datetime, stuck_seconds: float
) -> Iterator[tuple[str, Callable[[], Check]]]:
    """What can be checked on every database, one after the other."""
    yield "schema", partial(schema, connection)
    yield "I1", partial(coverage, connection, unit, judge)
    for law in laws():
        yield law.id, partial(law.check, connection)
    yield "audit", partial(sealed_chain, connection, unit.audit)
    yield "stuck", partial(stuck, connection, now=now, seconds=stuck_seconds)
    yield "failed", partial(failed, connection)


def index(connection: sa.Connection, breaches: Iterable[tuple[str, sa.Executable]]) -> Check:
    """The full-text index and the log say the same; a breach has what is wrong and a query for a few examples."""
    found = []
    for what, query in breaches:
        rows = [str(row[0]) for row in connection.execute(query)]
        if rows:
            found.append(f"{what}: {', '.join(rows[: FEW - 1])}{' and more' if len(rows) == FEW else ''}")
    return Check(
        id="I12",
        name="the search index holds every message, and none that is gone",
        ok=not found,
        detail="; ".join(found),
        checked=connection.execute(_MESSAGES).scalar_one(),
    )
