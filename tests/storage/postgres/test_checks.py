"""The doctor of a server sees what is broken, and what it cannot check is broken too."""

from __future__ import annotations

from pathlib import Path

import asyncpg
import pytest
from tests.databases.postgres import database_of, opened

from anaphora.bootstrap.maintenance import diagnose
from anaphora.settings import Settings
from anaphora.testing.conformance.store_laws.tools import append

pytestmark = pytest.mark.anyio


async def _broken(folder: Path, *statements: str) -> set[str]:
    """The checks that fail after the statements, which somebody with every right runs."""
    url = await database_of(folder)
    async with opened(url) as store:
        await store.append(append("a", "b"))
    connection = await asyncpg.connect(url)
    for statement in statements:
        await connection.execute(statement)
    await connection.close()
    found = diagnose(Settings(db=url, durability="normal"), stuck_seconds=60)
    assert len({check.id for check in found.checks}) > 12, "a check that fails ends no other"
    return {check.id for check in found.checks if not check.ok}


@pytest.mark.parametrize(
    ("statement", "broken"),
    [
        ("SELECT 1", set()),
        ("ALTER TABLE messages NO FORCE ROW LEVEL SECURITY", {"I11"}),
        ("DROP POLICY tenant ON heads", {"I11"}),
        ("DELETE FROM message_words WHERE seq = 1", {"I12"}),
        ("DELETE FROM messages WHERE seq = 1", {"I1", "I2", "I12"}),
        ("DROP INDEX uq_jobs_live", {"schema"}),
    ],
)
async def test_what_is_broken_is_seen_and_nothing_else(tmp_path: Path, statement: str, broken: set[str]) -> None:
    assert await _broken(tmp_path, statement) == broken


async def test_a_check_whose_statement_fails_ends_no_other(tmp_path: Path) -> None:
    """PostgreSQL refuses everything behind a failed statement, unless that stood apart."""
    broken = await _broken(tmp_path, "DROP TABLE points CASCADE")
    assert "schema" in broken
    assert "I12" not in broken
    assert "stuck" not in broken
