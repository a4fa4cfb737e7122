"""kill -9 while documents are kept, changed, embedded and deleted: each is whole or gone, and embedded in the end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.faults.documents_program import CHANGED, LONG
from tests.faults.places import rows

from anaphora.bootstrap.maintenance import diagnose
from anaphora.settings import Settings

pytestmark = pytest.mark.faults

ROOT = Path(__file__).parents[2]
#: counts for each failpoint that the program reaches
DOCUMENTS: Mapping[str, tuple[int, ...]] = {
    "document.kept": (1, 3),
    "document.claimed": (1, 3),
    "document.released": (1,),
    "document.after_model": (1, 3),
    "document.embedded": (1, 3),
    "document.put_off": (1,),
    "document.changed": (1,),
    "document.deleted": (1,),
    "reindex.documents_planned": (1,),
}


def run(path: Path, failpoint: str | None = None) -> int:
    """The program's exit code."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")]),
        "ANAPHORA_WORKER__LEASE_SECONDS": "0.2",
        "ANAPHORA_WORKER__BACKOFF_SECONDS": "0",
        **({"ANAPHORA_FAILPOINT": failpoint} if failpoint else {}),
    }
    words = [sys.executable, "-m", "tests.faults.documents_program", str(path)]
    return subprocess.run(words, env=environment, cwd=ROOT, capture_output=True, check=False).returncode


def broken(path: Path) -> list[str]:
    """What the doctor finds wrong."""
    report = diagnose(Settings(db=str(path), embedder="none"), stuck_seconds=3600.0)
    return [check.detail for check in report.checks if not check.ok and not check.warning]


@pytest.mark.sqlite_only("the program is the same on a server, and so are its commits")
@pytest.mark.parametrize(("name", "count"), [(name, count) for name, counts in DOCUMENTS.items() for count in counts])
def test_a_kill_around_documents_leaves_each_whole_and_all_are_embedded_in_the_end(
    name: str, count: int, tmp_path: Path
) -> None:
    path = tmp_path / "m.db"
    assert run(path, f"{name}:{count}") == -signal.SIGKILL, "hollow run: it was not killed"
    assert broken(path) == []
    assert run(path) == 0
    assert broken(path) == []
    kept = {row[0]: row[1] for row in rows(path, "select name, content from documents")}
    assert kept == {"long": LONG, "plums": "Plums.", "changed": CHANGED}
    chunks = rows(path, "select document_id, number from document_chunks")
    assert {tuple(row) for row in rows(path, "select document_id, number from document_vectors")} == set(
        map(tuple, chunks)
    )
    assert rows(path, "select count(*) from document_jobs") == [(0,)]
