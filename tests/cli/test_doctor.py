"""`anaphora doctor` and `migrate`: a sound database is sound, and each broken law is named."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run, unprivileged
from tests.cli.test_managing import change

from anaphora.storage import migrations

DECIDABLE = ["I1", "I2", "I3", "I4", "I5", "I6", "I7", "I8", "I9", "I12", "I14", "I15", "I17", "I20"]
OTHERS = {
    "integrity",
    "facts",
    "chunks",
    "notepads",
    "topics",
    "documents",
    "erasures",
    "keys",
    "audit",
    "foreign_keys",
    "schema",
    "search",
    "secure_delete",
    "stuck",
    "failed",
    "sqlite",
}
ENVIRONMENT = {"embedder", "model"}
NO_SINGLE_FLIGHT = "DROP INDEX uq_jobs_live"
COPY_A_JOB = (
    "INSERT INTO jobs SELECT tenant_id, randomblob(8), session_uid, kind, 'queued', start, stop, attempt, max_attempts,"
    " run_at, NULL, NULL, rearm, needs_model, from_seq, epoch, reason, created_at, updated_at FROM jobs"
    " WHERE state = 'queued' LIMIT 1"
)

A_FACT_OF_NOBODY = (
    "INSERT INTO facts (tenant_id, id, user_id, subject_id, category, content, content_key, importance, standing,"
    " visibility, state, pinned, trust, valid_from, version, created_at, updated_at)"
    " SELECT tenant_id, lower(hex(randomblob(16))), user_id, '', 'other', 'Likes figs', 'k', 5, 50,"
    " 'private', 'active', 0, 'owner_said', created_at, 1, created_at, created_at FROM sessions LIMIT 1"
)
A_PAGE = (
    "insert into notepad_pages (tenant_id, user_id, agent_id, version, action, text, tokens, session_uid, start, stop,"
    " method, trust, restores, created_at)"
    " select tenant_id, user_id, agent_id, 2, '{}', 'x', 1, {}, '{}', {}, created_at from sessions limit 1"
)
A_CHUNK_OF_NOTHING = (
    "INSERT INTO chunks (tenant_id, id, session_uid, start, stop, text, tokens, method, trust, first_at, last_at,"
    " created_at, stale) SELECT tenant_id, lower(hex(randomblob(16))), id, 0, 4, 'They spoke.', 3, 'model',"
    " 'owner_said', created_at, created_at, created_at, 0 FROM sessions LIMIT 1"
)
A_KEY = (
    "INSERT INTO api_keys (tenant_id, id, name, hash, permissions, created_at)"
    " SELECT tenant_id, id, '', 'it itself', '[]', created_at FROM sessions LIMIT 1"
)
AN_ENTRY = (
    "INSERT INTO audit (tenant_id, number, at, by, action, about, status, seal)"
    " SELECT tenant_id, 1, created_at, 'open', 'erase', '{}', 200, 'none of ours' FROM sessions LIMIT 1"
)

#: the law that a change breaks, and the change
BREACHES = [
    ("I1", ["UPDATE heads SET position = position - 1"]),
    ("I1", ["UPDATE sessions SET turn_starts = '[0]' WHERE head > 20"]),
    ("I1", ["UPDATE points SET elided = '[[0, 1000]]' WHERE ordinal = 0"]),
    ("I2", ["DELETE FROM messages WHERE seq = 3"]),
    ("I2", ["UPDATE sessions SET tokens = tokens + 1"]),
    ("I2", ["UPDATE messages SET turn = 0 WHERE seq = 5"]),
    ("I2", ["UPDATE messages SET turn = 5 WHERE seq = 7"]),
    ("I2", ["UPDATE receipts SET stop = stop + 1000"]),
    ("I3", ["UPDATE points SET stop = stop + 1 WHERE ordinal = 0"]),
    ("I3", ["UPDATE summaries SET start = start + 1"]),
    ("I3", ["UPDATE summaries SET base_id = id"]),
    ("I3", ["UPDATE summaries SET base_id = 'nowhere'"]),
    ("I4", [NO_SINGLE_FLIGHT, COPY_A_JOB]),
    ("I5", ["UPDATE jobs SET epoch = epoch + 1 WHERE state = 'queued'"]),
    ("I5", ["UPDATE summaries SET epoch = epoch + 1"]),
    ("I5", ["UPDATE messages SET epoch = epoch + 1 WHERE seq = 0"]),
    ("I6", ["UPDATE heads SET position = position + 1"]),
    ("I6", ["UPDATE heads SET position = 1000"]),
    ("I6", ["DELETE FROM heads"]),
    ("I8", ["DELETE FROM points"]),
    ("I8", ["UPDATE heads SET summary_id = NULL"]),
    ("I8", ["UPDATE summaries SET status = 'superseded'"]),
    ("I9", ["UPDATE jobs SET attempt = max_attempts + 2 WHERE state = 'queued'"]),
    ("I12", ["DELETE FROM message_docs WHERE doc = 2"]),
    ("I12", ["DELETE FROM messages WHERE seq = 3"]),
    ("I12", ["DELETE FROM message_words WHERE rowid = 2"]),
    ("I14", ["DROP INDEX uq_receipts_key", "UPDATE receipts SET idempotency_key = 'same'"]),
    ("I15", ["UPDATE summaries SET method = 'model'"]),
    ("I15", ["UPDATE summaries SET trust = 'hearsay'"]),
    ("I15", ["UPDATE messages SET trust = 'other' WHERE seq = 0"]),
    ("I17", ["UPDATE summaries SET method = 'model', model = 'm', prompt_version = '1'"]),
    ("I20", ["UPDATE points SET text = ' '"]),
    ("I20", ["UPDATE points SET tokens = 0"]),
    ("facts", [A_FACT_OF_NOBODY]),
    ("chunks", [A_CHUNK_OF_NOTHING]),
    ("notepads", [A_PAGE.format("edited", "null, null, null, null", "tool", "null")]),
    ("notepads", [A_PAGE.format("reverted", "null, null, null, null", "tool", "7")]),
    ("notepads", [A_PAGE.format("edited", "null, null, null, null", "owner_confirmed", "1")]),
    ("notepads", [A_PAGE.format("reflected", "id, 0, 4, 'model'", "tool", "null")]),
    ("notepads", [A_PAGE.format("reflected", "id, 4, 4, null", "tool", "null")]),
    (
        "notepads",
        [
            A_PAGE.replace("user_id, agent_id, 2", "user_id, 'nobody', 2").format(
                "reflected", "id, 0, 4, 'model'", "tool", "null"
            )
        ],
    ),
    ("erasures", ["UPDATE messages SET erased = 1 WHERE seq = 3"]),
    ("keys", [A_KEY]),
    ("audit", [AN_ENTRY]),
    ("schema", [NO_SINGLE_FLIGHT]),
    ("schema", ["ALTER TABLE receipts RENAME COLUMN body_hash TO hash"]),
    ("foreign_keys", ["DELETE FROM sessions"]),
    ("search", ["UPDATE message_words SET body = 'something else' WHERE rowid = 1"]),
]


def by_id(document: Any) -> dict[str, Any]:
    """The checks of a report by their ids, each of which stands there once."""
    checks = {check["id"]: check for check in document["checks"]}
    assert len(checks) == len(document["checks"])
    return checks


@pytest.mark.parametrize("which", ["imported", "summarised", "chain"])
def test_a_sound_database_keeps_every_promise(which: str, run: Run, request: pytest.FixtureRequest) -> None:
    request.getfixturevalue(which)
    done = run("doctor", "--json")
    assert done.code == 0
    assert '"ok": true' in done.out
    checks = by_id(done.document)
    assert list(checks)[: len(DECIDABLE)] == DECIDABLE
    assert set(checks) == {*DECIDABLE, *OTHERS, *ENVIRONMENT}
    assert [check["id"] for check in checks.values() if not check["ok"] and check["level"] == "error"] == []
    assert checks["I1"]["checked"] == 3
    assert checks["I2"]["checked"] == checks["I12"]["checked"] >= 54


def test_for_people_it_is_a_line_a_law(run: Run, summarised: Path) -> None:
    done = run("doctor")
    assert done.code == 0
    first = [line.split()[:2] for line in done.out.splitlines() if line.startswith("ok")]
    assert [name for _, name in first if name in DECIDABLE] == DECIDABLE
    assert done.err == f"{summarised.name}: every promise is kept.\n"


@pytest.mark.parametrize(("law", "changes"), BREACHES, ids=[f"{law}-{at}" for at, (law, _) in enumerate(BREACHES)])
def test_a_broken_law_is_named(law: str, changes: list[str], run: Run, chain: Path) -> None:
    change(chain, changes)
    done = run("doctor", "--json")
    assert done.code == 1
    assert done.document["ok"] is False
    assert by_id(done.document)[law]["ok"] is False
    assert by_id(done.document)[law]["detail"]


def test_a_breach_is_told_without_what_was_said(run: Run, chain: Path) -> None:
    change(chain, ["UPDATE heads SET position = 1000", "UPDATE points SET text = ' '", "DELETE FROM message_docs"])
    shown = run("doctor")
    assert shown.code == 1
    assert "promises broken" in shown.err
    assert "kitchen" not in shown.out + shown.err


def test_a_damaged_file_fails_its_check_and_not_the_doctor(run: Run, chain: Path) -> None:
    with closing(sqlite3.connect(chain)) as connection:
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'points'").fetchone()
    with chain.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)
    done = run("doctor", "--json")
    assert done.code == 1
    checks = by_id(done.document)
    assert [checks[name]["ok"] for name in ("integrity", "I3", "I2")] == [False, False, True]


def test_work_that_nobody_does_is_a_warning(run: Run, imported: Path) -> None:
    change(imported, ["UPDATE jobs SET run_at = '2020-01-01T00:00:00.000000Z'"])
    done = run("doctor", "--stuck", "1d", "--json")
    assert done.code == 0
    check = by_id(done.document)["stuck"]
    assert (check["ok"], check["level"]) == (False, "warning")
    assert any("3 due and not begun" in warning for warning in done.document["warnings"])


def test_it_changes_nothing(run: Run, chain: Path) -> None:
    with closing(sqlite3.connect(chain)) as connection:
        before = list(connection.iterdump())
    assert run("doctor").code == 0
    with closing(sqlite3.connect(chain)) as connection:
        assert list(connection.iterdump()) == before


def test_durability_is_checked_as_it_is_set(run: Run, chain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert chain.exists()
    assert "synchronous 2" in by_id(run("doctor", "--json").document)["I7"]["detail"]
    monkeypatch.setenv("ANAPHORA_DURABILITY", "normal")
    check = by_id(run("doctor", "--json").document)["I7"]
    assert check["ok"]
    assert "synchronous 1" in check["detail"]


def test_a_database_that_cannot_be_written_is_examined_all_the_same(
    run: Run, chain: Path, open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = open_folder / "copy.db"
    copy.write_bytes(chain.read_bytes())
    copy.chmod(0o444)
    open_folder.chmod(0o555)
    monkeypatch.chdir(open_folder)
    assert run("doctor", "--db", str(chain)).code == 0
    with unprivileged():
        done = run("doctor", "--db", str(copy), "--json")
    assert done.code == 0
    assert by_id(done.document)["I7"]["level"] == "warning"


def test_migrate_makes_a_database_and_is_harmless_afterwards(run: Run, home: Path) -> None:
    newest = migrations.head()
    assert run("migrate").out == f"./anaphora.db was brought from nothing to revision {newest}.\n"
    assert run("migrate").out == f"./anaphora.db is at revision {newest}: nothing to do.\n"
    assert run("migrate", "--json").document == {
        "changed": False,
        "database": "./anaphora.db",
        "from": newest,
        "to": newest,
    }
    assert (home / "anaphora.db").stat().st_mode & 0o077 == 0
    assert run("doctor").code == 0


def test_words_that_sqlite_cuts_differently_are_no_finding(run: Run, home: Path) -> None:
    said = ["abc\ue000def ghi", "\u19b0\u19b0\u19b0\u19b0 \u19b0", "cafe\u0301s", "plain words"]
    lines = [json.dumps({"messages": [{"role": "user", "content": text}]}) for text in said]
    (home / "odd.jsonl").write_text("\n".join(lines), encoding="utf-8")
    assert run("import", "odd.jsonl", "--user", "alice").code == 0
    assert by_id(run("doctor", "--json").document)["search"]["ok"]
