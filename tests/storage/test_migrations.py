"""Databases of every earlier revision are brought to the newest, with all that is in them (F12)."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from alembic import command
from tests.storage.bench import KEY, NOW, after, new_id, opened, row_of

from anaphora.bootstrap.maintenance import diagnose
from anaphora.domain.jobs import JobKind
from anaphora.domain.keys import SeqRange
from anaphora.domain.vectors import Space
from anaphora.errors import StoreTooNew
from anaphora.ports.store import Unit
from anaphora.settings import Settings
from anaphora.storage import migrations
from anaphora.storage.migrations import run
from anaphora.storage.scope import tokens_of
from anaphora.storage.sqlite.engine import Database, Durability
from anaphora.storage.tables import head_moves, heads, jobs, messages, points, sessions, summaries, summary_states

pytestmark = pytest.mark.anyio

COUNT = 12
#: a job of each state, and its kind
JOBS = {"queued": "summarise", "running": "rebuild", "done": "summarise", "failed": "rebuild"}
_ADD_DOC = "INSERT INTO message_docs (doc, tenant_id, session_uid, seq) VALUES (?, ?, ?, ?)"
_ADD_WORDS = "INSERT INTO message_words (rowid, scope, body) VALUES (?, '', ?)"


@contextmanager
def revision(path: Path, name: str) -> Iterator[sa.Connection]:
    """A database as that revision left it, in a transaction."""
    database = Database(path=path, durability=Durability.NORMAL, read_only=False)
    with closing(database.writer(timeout=5)) as connection, connection.begin():
        config = run.config()
        config.attributes["connection"] = connection
        command.upgrade(config, name)
        yield connection


def insert(connection: sa.Connection, table: sa.Table, **values: Any) -> None:
    """A row with the columns that its revision knows: the table of today has more."""
    known = {column["name"] for column in sa.inspect(connection).get_columns(table.name)}
    connection.execute(
        sa.insert(sa.table(table.name, *(sa.column(c.name, c.type) for c in table.columns if c.name in known))), values
    )


def fill(connection: sa.Connection) -> None:
    """A session of `COUNT` messages with a summary of the first four."""
    uid, summary = new_id(), new_id()
    stamp = {"created_at": NOW, "expires_at": None}
    insert(
        connection,
        sessions,
        tenant_id=KEY.tenant,
        id=uid,
        user_id=KEY.user,
        agent_id=KEY.agent,
        session_id=KEY.session,
        strategy=None,
        subject=None,
        head=COUNT,
        turns=COUNT,
        turn_starts=list(range(COUNT)),
        turn_finished=True,
        tokens=COUNT,
        epoch=0,
        updated_at=NOW,
        ended_at=None,
        **stamp,
    )
    for seq in range(COUNT):
        insert(
            connection,
            messages,
            tenant_id=KEY.tenant,
            session_uid=uid,
            seq=seq,
            id=new_id(),
            turn=seq,
            role="user",
            name=None,
            content=f"word{seq}",
            parts=[],
            metadata={},
            tokens=1,
            source="api",
            trust="owner_said",
            epoch=0,
            appended_at=NOW,
            **stamp,
        )
        connection.exec_driver_sql(_ADD_DOC, (seq + 1, KEY.tenant, uid.hex, seq))
        connection.exec_driver_sql(_ADD_WORDS, (seq + 1, f"word{seq}"))
    fill_jobs(connection, uid)
    fill_summary(connection, uid, summary)


def fill_jobs(connection: sa.Connection, uid: UUID) -> None:
    """A job of each state."""
    for state, kind in JOBS.items():
        insert(
            connection,
            jobs,
            tenant_id=KEY.tenant,
            id=new_id(),
            session_uid=uid,
            kind=kind,
            state=state,
            start=1,
            stop=4,
            attempt=2,
            max_attempts=5,
            run_at=NOW,
            lease_owner="w1" if state == "running" else None,
            lease_until=after(60) if state == "running" else None,
            rearm=state == "running",
            needs_model=kind == "rebuild",
            from_seq=3 if kind == "rebuild" else None,
            epoch=0,
            reason=f"it is {state}",
            created_at=NOW,
            updated_at=after(1),
        )


def rows_of_jobs(path: Path) -> list[tuple[Any, ...]]:
    """Every column of every job."""
    with closing(sqlite3.connect(path)) as plain:
        names = ", ".join(column.name for column in jobs.columns)
        return plain.execute(f"SELECT {names} FROM jobs ORDER BY id").fetchall()  # noqa: S608 - names of columns


def fill_summary(connection: sa.Connection, uid: UUID, summary: UUID) -> None:
    """A version of the session's summary, which is served."""
    stamp = {"created_at": NOW, "expires_at": None}
    insert(
        connection,
        summaries,
        tenant_id=KEY.tenant,
        id=summary,
        session_uid=uid,
        strategy="rolling_pairs",
        version=1,
        base_id=None,
        start=0,
        stop=4,
        status="completed",
        method="model",
        model="m",
        prompt_version="p",
        trust="owner_said",
        tokens=2,
        generation_ms=1,
        epoch=0,
        **stamp,
    )
    insert(
        connection,
        points,
        tenant_id=KEY.tenant,
        summary_id=summary,
        ordinal=0,
        start=0,
        stop=4,
        text="said",
        elided=[],
        method="model",
        tokens=2,
    )
    insert(
        connection,
        heads,
        tenant_id=KEY.tenant,
        session_uid=uid,
        reader="live:rolling_pairs",
        position=4,
        summary_id=summary,
        updated_at=NOW,
    )
    if "head_moves" in sa.inspect(connection).get_table_names():  # since 0002
        move = {"number": 1, "position": 4, "summary_id": summary, "at": NOW, "log_head": 4}
        insert(connection, head_moves, tenant_id=KEY.tenant, session_uid=uid, reader="live:rolling_pairs", **move)
        state = {"summary_id": summary, "status": "completed", "at": NOW, "log_head": 4}
        insert(connection, summary_states, tenant_id=KEY.tenant, **state)


@pytest.mark.parametrize("name", migrations.REVISIONS[:-1])
async def test_a_database_of_an_earlier_revision_keeps_everything_and_passes_the_doctor(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / "m.db"
    with revision(path, name) as connection:
        fill(connection)

    def look(unit: Unit) -> tuple[int, list[str], int]:
        row = row_of(unit)
        head = unit.summaries.head(KEY.tenant, row.id, "live:rolling_pairs")
        log = unit.messages.range(KEY.tenant, row.id, SeqRange(0, 99), limit=99)
        moment = unit.history.moment(row, 6)
        assert moment is not None
        assert unit.history.head(KEY.tenant, row.id, "live:rolling_pairs", moment=moment) == head
        assert head.summary_id is not None
        assert unit.history.summary(KEY.tenant, head.summary_id, moment=moment) == unit.summaries.get(
            KEY.tenant, head.summary_id
        )
        return row.head, [m.content for m in log if m.version == 1 and not m.deleted], head.position

    async with opened(path) as store:
        assert await store.read("t", look) == (COUNT, [f"word{seq}" for seq in range(COUNT)], 4)
    broken = [check for check in diagnose(Settings(db=str(path)), stuck_seconds=60).checks if not check.ok]
    assert [check.id for check in broken if not check.warning and check.id != "search"] == []


@pytest.mark.parametrize("name", migrations.REVISIONS[:-1])
async def test_jobs_of_an_earlier_revision_are_what_they_were_and_go_on(name: str, tmp_path: Path) -> None:
    """Their table is made anew: SQLite changes no rule of one that is there."""
    path = tmp_path / "m.db"
    with revision(path, name) as connection:
        fill(connection)
    before = rows_of_jobs(path)
    assert {row[4] for row in before} == set(JOBS)

    def plan(unit: Unit, kind: JobKind) -> bool:
        return unit.jobs.plan(row_of(unit), kind, job_id=new_id(), run_at=NOW, now=NOW, max_attempts=5)

    async with opened(path) as store:
        assert rows_of_jobs(path) == before
        assert await store.due_count(now=None, with_model=True) == 2
        assert not await store.write("t", lambda unit: plan(unit, JobKind.SUMMARISE)), "one of a kind (I4)"
        assert await store.write("t", lambda unit: plan(unit, JobKind.EMBED))
        ((_, due), *_) = await store.due_jobs(now=after(2), lease_seconds=60, with_model=True, limit=9)
        job = await store.write("t", lambda u: u.jobs.claim("t", [due], owner="w", now=after(2), lease_seconds=60))
        assert job is not None
        assert job.reason in {"it is queued", None}
        row = await store.read("t", row_of)
        await store.write("t", lambda unit: unit.sessions.reset("t", row.id, now=after(3)))
        assert await store.due_count(now=None, with_model=True) == 0, "jobs go with the messages of their session"


@pytest.mark.parametrize("name", migrations.REVISIONS[:-1])
async def test_messages_of_an_earlier_revision_are_found_and_wait_for_their_vectors(name: str, tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with revision(path, name) as connection:
        fill(connection)
        uid = connection.execute(sa.select(sessions.c.id)).scalar_one()
        scope = " ".join(tokens_of(KEY, uid))
        connection.exec_driver_sql("UPDATE message_words SET scope = ?", (scope,))
    space = Space(profile="p", dimensions=2)

    def find(unit: Unit, word: str) -> list[tuple[int, int, int]]:
        found = unit.words.find("t", KEY.user, agent=None, session_id=None, terms=[word], pieces=(), limit=99).found
        return [(match.seq, match.part, match.parts) for match in found]

    async with opened(path) as store:
        assert await store.read("t", lambda unit: find(unit, "word3")) == [(3, 0, 1)]
        waiting = await store.read("t", lambda unit: unit.embedding.pending(row_of(unit), space, limit=99))
        assert [message.seq for message in waiting] == list(range(COUNT))

        def edit(unit: Unit) -> None:
            row = row_of(unit)
            (old,) = unit.messages.range("t", row.id, SeqRange(3, 4), limit=1)
            new = replace(old, content="A long word. " * 100, version=2, changed_at=NOW)
            unit.messages.amend(row, old, new, now=NOW)

        await store.write("t", edit)
        assert await store.read("t", lambda unit: find(unit, "word3")) == []
        parts = await store.read("t", lambda unit: find(unit, "long"))
        assert sorted(parts) == [(3, part, len(parts)) for part in range(len(parts))]
        assert len(parts) > 1


#: the last table that the revision after each makes; 0006 changes nothing in a file
_NEXT = {
    "0001": "summary_states",
    "0002": "message_vectors",
    "0003": "vector_heads",
    "0004": "chunks",
    "0006": "notepad_pages",
    "0007": "document_jobs",
    "0009": "erased_marks",
    "0010": "pauses",
    "0011": "audit",
}


@pytest.mark.parametrize("name", _NEXT)
async def test_a_migration_that_is_broken_off_leaves_the_earlier_revision_whole(name: str, tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with revision(path, name) as connection:
        fill(connection)
    with sqlite3.connect(path) as plain:
        before = {row[0] for row in plain.execute("SELECT name FROM sqlite_master")}
        plain.execute(f"CREATE TABLE {_NEXT[name]} (in_the_way)")
    plain.close()
    with pytest.raises(Exception, match=_NEXT[name]):
        async with opened(path):
            pass
    with sqlite3.connect(path) as plain:
        assert plain.execute("SELECT version_num FROM alembic_version").fetchall() == [(name,)]
        assert plain.execute("SELECT count(*) FROM messages").fetchone() == (COUNT,)
        plain.execute(f"DROP TABLE {_NEXT[name]}")
        assert {row[0] for row in plain.execute("SELECT name FROM sqlite_master")} == before
    plain.close()
    async with opened(path) as store:
        assert await store.read("t", lambda unit: row_of(unit).head) == COUNT


async def test_a_database_of_a_later_revision_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    async with opened(path):
        pass
    with sqlite3.connect(path) as plain:
        plain.execute("UPDATE alembic_version SET version_num = '9999'")
    plain.close()
    before = path.read_bytes()
    with pytest.raises(StoreTooNew):
        async with opened(path):
            pass
    assert path.read_bytes() == before
