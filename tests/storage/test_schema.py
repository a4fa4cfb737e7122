"""One schema: what the migrations make is what the tables say, for every database."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from tests.storage.bench import NOW, always, append, new_id, opened, row_of

from anaphora.bootstrap.system import system_randomness
from anaphora.domain.keys import SeqRange
from anaphora.ports.store import Unit
from anaphora.storage import (
    columns,
    history,
    jobs,
    keyed,
    messages,
    migrations,
    moves,
    sessions,
    summaries,
    tables,
)
from anaphora.storage.migrations import run
from anaphora.storage.sqlite.engine import Database, Durability, raw
from anaphora.storage.sqlite.opening import open_writer
from anaphora.storage.sqlite.search import index_metadata

DIALECTS = {name: sa.make_url(f"{name}://").get_dialect()() for name in ("sqlite", "postgresql")}
#: what the migrations make by hand, because only this database has it; the laws of search say that it works
BY_HAND = re.compile(
    r"^(message_words|message_trigrams|document_words|document_trigrams|vector_marks|vector_erased)|^alembic_version"
)


@pytest.fixture
def migrated(tmp_path: Path) -> Iterator[sa.Connection]:
    database = Database(path=tmp_path / "m.db", durability=Durability.NORMAL, read_only=False)
    connection, _ = open_writer(database, randomness=system_randomness, busy_timeout=5)
    with connection:
        yield connection


def ours(_object: Any, name: str | None, kind: str, _reflected: bool, _other: Any) -> bool:
    return kind != "table" or not BY_HAND.match(name or "")


def both(*parts: sa.MetaData) -> sa.MetaData:
    whole = sa.MetaData(naming_convention=columns.metadata.naming_convention)
    for part in parts:
        for table in part.tables.values():
            table.to_metadata(whole)
    return whole


def test_the_migrations_make_what_the_tables_say(migrated: sa.Connection) -> None:
    options = {"compare_type": True, "compare_server_default": True, "include_object": ours}
    context = MigrationContext.configure(migrated, opts=options)
    assert compare_metadata(context, both(columns.metadata, index_metadata)) == []


def test_the_migrations_make_the_same_statements_as_the_tables(migrated: sa.Connection) -> None:
    def statements(connection: sa.Connection) -> dict[str, set[str]]:
        rows = connection.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
        return {name: parts(sql) for name, sql in rows if not BY_HAND.match(name)}

    def parts(sql: str) -> set[str]:
        # columns that were added later stand at the end, in one line: what counts is that they are there
        _, _, inside = re.sub(r"\s+", " ", sql).partition("(")
        found, depth = [""], 0
        for char in inside.rpartition(")")[0]:
            depth += {"(": 1, ")": -1}.get(char, 0)
            if char == "," and not depth:
                found.append("")
            else:
                found[-1] += char
        return {part.strip() for part in found}

    plain = sa.create_engine("sqlite://")
    with plain.connect() as connection:
        for metadata in (columns.metadata, index_metadata):
            metadata.create_all(connection)
        assert statements(migrated) == statements(connection)
    plain.dispose()


def test_every_revision_is_named_in_order() -> None:
    script = ScriptDirectory.from_config(run.config())
    walked = [revision.revision for revision in script.walk_revisions()]
    assert tuple(reversed(walked)) == migrations.REVISIONS
    assert script.get_current_head() == migrations.head()


def test_migrating_twice_changes_nothing(migrated: sa.Connection) -> None:
    before = migrated.exec_driver_sql("SELECT * FROM sqlite_master").all()
    run.upgrade(migrated)
    assert migrated.exec_driver_sql("SELECT * FROM sqlite_master").all() == before
    assert migrations.current(migrated) == migrations.head()


def test_the_tenant_comes_first_in_every_key_and_index() -> None:
    for table in columns.metadata.tables.values():
        if table is tables.store_meta:
            continue
        keys: list[Sequence[str]] = [[column.name for column in index.columns] for index in table.indexes]
        kinds = (sa.PrimaryKeyConstraint, sa.UniqueConstraint, sa.ForeignKeyConstraint)
        keys += [[c.name for c in rule.columns] for rule in table.constraints if isinstance(rule, kinds)]
        assert keys, table.name
        assert {key[0] for key in keys} == {"tenant_id"}, table.name


def test_no_value_comes_from_the_servers_clock_or_a_sequence() -> None:
    for table in columns.metadata.tables.values():
        for column in table.columns:
            assert column.default is None, column
            assert column.onupdate is None, column
            assert column.autoincrement is not True, column
            if column.server_default is not None:
                assert isinstance(column.server_default, sa.DefaultClause)
                assert isinstance(column.server_default.arg, str | type(sa.false())), column
        ddl = str(sa.schema.CreateTable(table).compile(dialect=DIALECTS["postgresql"]))
        assert "SERIAL" not in ddl


def test_a_job_whose_state_was_forgotten_is_queued_and_an_empty_point_is_refused(migrated: sa.Connection) -> None:
    assert tables.jobs.c.state.server_default is not None
    with migrated.begin(), pytest.raises(sa.exc.IntegrityError, match="ck_points_text"):
        migrated.execute(
            sa.insert(tables.points),
            {
                "tenant_id": "t",
                "summary_id": new_id(),
                "ordinal": 0,
                "start": 0,
                "stop": 1,
                "text": "",
                "elided": [],
                "method": "model",
                "tokens": 0,
            },
        )


def test_the_shared_statements_can_be_said_to_both_databases() -> None:
    for dialect in DIALECTS.values():
        made = [keyed.by_keys((tables.heads.c.position,), (tables.heads.c.tenant_id, tables.heads.c.session_uid))]
        for module in (history, jobs, messages, moves, sessions, summaries):
            for value in vars(module).values():
                if isinstance(value, sa.Executable) and isinstance(value, sa.ClauseElement):
                    value.compile(dialect=dialect)
                elif isinstance(value, Mapping) and set(value) == set(DIALECTS):
                    made.append(value)
        assert len(made) >= 6
        for statements in made:
            statements[dialect.name].compile(dialect=dialect)


@pytest.mark.anyio
async def test_no_statement_of_the_hot_paths_reads_a_whole_table(tmp_path: Path) -> None:
    """Lookups go through an index, whatever the number of sessions, receipts, heads or finished jobs."""
    plans: list[str] = []

    async with opened(tmp_path / "m.db", planner=always) as store:
        connection = store._connection

        @sa.event.listens_for(connection, "before_cursor_execute")
        def explain(_c: Any, _cursor: Any, statement: str, parameters: Any, _x: Any, many: bool) -> None:
            if statement.startswith(("SELECT", "UPDATE", "DELETE")):
                given = parameters[0] if many else parameters
                explained = raw(connection).execute(f"EXPLAIN QUERY PLAN {statement}", given)
                plans.extend(f"{row[3]} IN {statement[:60]!r}" for row in explained)

        def hot(unit: Unit) -> None:
            row = row_of(unit)
            unit.messages.newest("t", row.id, SeqRange(0, 9), limit=5)
            messages = unit.messages.range("t", row.id, SeqRange(0, 9), limit=5)
            edited = replace(messages[0], content="other", version=2)
            moment = unit.history.moment(unit.messages.amend(row, messages[0], edited, now=NOW), 1)
            assert moment is not None
            unit.history.newest(unit.history.session(row, moment), SeqRange(0, 1), moment=moment, limit=5)
            unit.history.head("t", row.id, "live", moment=moment)
            unit.history.chain("t", row.id, strategy="s", moment=moment, limit=2)
            unit.history.versions("t", row.id, SeqRange(0, 1))
            unit.summaries.mark_stale(row, 0, now=NOW)
            unit.summaries.head("t", row.id, "live")
            unit.summaries.chain("t", row.id, strategy="s", limit=2)
            unit.summaries.base_for("t", row.id, strategy="s", stop=3)
            unit.sessions.reset("t", row.id, now=NOW)

        await store.append(append("a", idempotency_key="k"))
        await store.append(append("b"))
        await store.write("t", hot)
        await store.due_jobs(now=NOW, lease_seconds=60, with_model=True, limit=2)
        await store.due_count(now=None, with_model=True)
    scans = [plan for plan in plans if plan.startswith("SCAN")]
    allowed = re.compile(
        r"SCAN (wanted VIRTUAL|message_\w+ VIRTUAL|jobs USING (COVERING )?INDEX ix_jobs_claim|anon_\d|\(subquery)"
    )
    assert len(plans) > 15
    assert [scan for scan in scans if not allowed.match(scan)] == []
