"""kill -9 while a session is compressed and archived: summary and document are one commit, and each is made once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.faults.places import rows
from tests.faults.test_killed_topics import ROOT, broken
from tests.faults.tokens_program import CHANGED, TURNS, said

pytestmark = pytest.mark.faults

#: counts for each failpoint that the program reaches: compressions as the session grows, its rebuild, and its end
COMPRESSION: Mapping[str, tuple[int, ...]] = {
    "summarise.assigned": (1, 3),
    "summarise.after_model": (1, 3, 5),
    "summarise.after_commit": (1, 3, 5),
    "message.edited": (1,),
}


def run(path: Path, failpoint: str | None = None) -> int:
    """The program's exit code."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")]),
        "ANAPHORA_WORKER__LEASE_SECONDS": "0.5",
        **({"ANAPHORA_FAILPOINT": failpoint} if failpoint else {}),
    }
    words = [sys.executable, "-m", "tests.faults.tokens_program", str(path)]
    return subprocess.run(words, env=environment, cwd=ROOT, capture_output=True, check=False).returncode


def archived(path: Path) -> list[tuple[int, int]]:
    """The stretches of which there are documents, in order."""
    return [tuple(span) for span in rows(path, "select start, stop from documents order by start")]


def read(path: Path) -> list[tuple[int, int]]:
    """The stretches of which the versions of the served chain tell beyond the ones before them."""
    stops = [stop for (stop,) in rows(path, "select stop from summaries where status = 'completed' order by stop")]
    return list(zip([0, *stops], stops, strict=False))


@pytest.mark.sqlite_only("the program is the same on a server, and so are its commits")
@pytest.mark.parametrize(("name", "count"), [(n, count) for n, counts in COMPRESSION.items() for count in counts])
def test_a_kill_around_a_compression_leaves_no_summary_without_its_document(
    name: str, count: int, tmp_path: Path
) -> None:
    """Holes 1.2, 1.17: as it was left, and after all is done."""
    path = tmp_path / "m.db"
    assert run(path, f"{name}:{count}") == -signal.SIGKILL, "hollow run: it was not killed"
    assert broken(path) == []
    if name != "message.edited" and not rows(path, "select 1 from summaries where status <> 'completed'"):
        assert archived(path) == read(path)
    assert run(path) == 0
    assert broken(path) == []
    assert archived(path) == read(path)
    assert archived(path)[-1][1] == 2 * TURNS
    contents = rows(path, "select content, metadata from documents order by start")
    decided = [text for _, metadata in contents for text in json.loads(metadata)["decisions_made"]]
    assert decided == [
        CHANGED.removeprefix("Decision: "),
        *(said(n).removeprefix("Decision: ") for n in range(1, TURNS)),
    ]
    assert rows(path, "select count(*) from jobs where state in ('queued', 'running')") == [(0,)]
