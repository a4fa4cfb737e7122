"""kill -9 while vectors are made: every message has its own in the end, once, and those of before are gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import anyio
import pytest
from tests.faults.places import rows

from anaphora.bootstrap import open_services
from anaphora.bootstrap.maintenance import diagnose
from anaphora.domain.keys import SeqRange, SessionKey
from anaphora.domain.messages import Role
from anaphora.domain.vectors import Space
from anaphora.ports.rows import PassageVector
from anaphora.ports.store import Unit
from anaphora.rules.admission import new_message
from anaphora.settings import Settings

pytestmark = pytest.mark.faults

#: counts for each failpoint that `anaphora reindex --prune` reaches
EMBEDDING: Mapping[str, tuple[int, ...]] = {
    "reindex.planned": (1,),
    "embed.assigned": (1, 2, 3),
    "embed.after_model": (1, 2, 3),
    "embed.after_commit": (1, 2, 3),
    "reindex.forgotten": (1,),
}
SESSIONS = ("s1", "s2")
#: more than one batch in each session
MESSAGES = 140
OLD = Space(profile="of before", dimensions=2)
_COMMAND = "import sys; from anaphora.cli import main; sys.exit(main(sys.argv[1:]))"


def settings(path: Path) -> Settings:
    return Settings(db=str(path), embedder="none")


async def fill(path: Path) -> None:
    """Sessions that were embedded by another embedder, in part."""
    async with open_services(settings(path)) as services:
        for name in SESSIONS:
            key = SessionKey(tenant="default", user="u", agent="default", session=name)
            said = [new_message(Role.USER, f"word {number}") for number in range(MESSAGES)]
            await services.ingest.append(key, said)

            def embed(unit: Unit, key: SessionKey = key) -> None:
                row = unit.sessions.find(key)
                assert row is not None
                log = unit.messages.range(key.tenant, row.id, SeqRange(0, 9), limit=9)
                vectors = [
                    PassageVector(seq=m.seq, part=0, message_id=m.id, version=m.version, vector=(1.0, 0.0)) for m in log
                ]
                unit.vectors.put(row, OLD, vectors)

            await services.store.write("default", embed)


def reindex(path: Path, failpoint: str | None = None) -> int:
    """Run the command; its exit code."""
    environment = {
        **os.environ,
        "ANAPHORA_DB": str(path),
        "ANAPHORA_EMBEDDER": "local",
        "ANAPHORA_WORKER__LEASE_SECONDS": "0.5",
        **({"ANAPHORA_FAILPOINT": failpoint} if failpoint else {}),
    }
    words = [sys.executable, "-c", _COMMAND, "reindex", "--prune", "--timeout", "60"]
    return subprocess.run(words, env=environment, capture_output=True, check=False).returncode


@pytest.mark.sqlite_only("the command is the same on a server, and so are its commits")
@pytest.mark.parametrize(("name", "count"), [(name, count) for name, counts in EMBEDDING.items() for count in counts])
def test_a_kill_while_vectors_are_made_loses_none_and_makes_none_twice(name: str, count: int, tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    anyio.run(fill, path)
    assert reindex(path, f"{name}:{count}") == -signal.SIGKILL, "hollow run: it was not killed"
    broken = [check for check in diagnose(settings(path), stuck_seconds=3600.0).checks if not check.ok]
    assert [check for check in broken if not check.warning] == []
    assert reindex(path) == 0
    places = rows(path, "select session_uid, seq, part from message_vectors")
    assert len(places) == len(set(places)) == len(SESSIONS) * MESSAGES
    assert len(rows(path, "select distinct space from message_vectors")) == 1
    assert [tuple(row) for row in rows(path, "select position from vector_heads")] == [(MESSAGES,)] * len(SESSIONS)
    assert rows(path, "select 1 from jobs where state in ('queued', 'running') and kind = 'embed'") == []
