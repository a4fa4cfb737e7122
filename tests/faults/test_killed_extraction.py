"""kill -9 while sessions are read for facts and while facts are handled: each is there once, with its source."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.faults.places import rows
from tests.faults.reading_program import CHANGED, MINE, SAID, SHARED, TURNS

from anaphora.bootstrap.maintenance import diagnose
from anaphora.settings import Settings

pytestmark = pytest.mark.faults

ROOT = Path(__file__).parents[2]
#: counts for each failpoint that the program reaches
EXTRACTION: Mapping[str, tuple[int, ...]] = {
    "extract.assigned": (1, 3, 5),
    "extract.after_model": (1, 3, 5),
    "extract.after_commit": (1, 3, 5),
    "subject.changed": (1,),
    "fact.changed": (1, 2, 3, 4),
}


def run(path: Path, failpoint: str | None = None) -> int:
    """The program's exit code."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "ANAPHORA_WORKER__LEASE_SECONDS": "0.5",
        **({"ANAPHORA_FAILPOINT": failpoint} if failpoint else {}),
    }
    words = [sys.executable, "-m", "tests.faults.reading_program", str(path)]
    return subprocess.run(words, env=environment, cwd=ROOT, capture_output=True, check=False).returncode


def broken(path: Path) -> list[str]:
    """What the doctor finds wrong."""
    report = diagnose(Settings(db=str(path), embedder="none"), stuck_seconds=3600.0)
    return [check.detail for check in report.checks if not check.ok and not check.warning]


@pytest.mark.sqlite_only("the program is the same on a server, and so are its commits")
@pytest.mark.parametrize(("name", "count"), [(name, count) for name, counts in EXTRACTION.items() for count in counts])
def test_a_kill_around_facts_loses_none_and_keeps_none_twice(name: str, count: int, tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    assert run(path, f"{name}:{count}") == -signal.SIGKILL, "hollow run: it was not killed"
    assert broken(path) == []
    assert run(path) == 0
    assert broken(path) == []
    facts = rows(path, "select content, state, visibility, pinned from facts order by content")
    learned = sorted(said.rstrip(".").replace("I like", "The user likes") for said in SAID[1:])
    changed = CHANGED.rstrip(".").replace("I hate", "The user hates")
    expected = [(content, "active", "private", 0) for content in (changed, *learned)]
    expected += [(MINE, "active", "private", 1), (SHARED, "active", "shared", 0)]
    assert [tuple(fact) for fact in facts] == sorted(expected)
    sources = rows(path, "select f.content, s.seq from fact_sources s join facts f on f.id = s.fact_id order by s.seq")
    assert [seq for _, seq in sources] == [2 * number for number in range(TURNS)]
    spans = [tuple(span) for span in rows(path, "select start, stop from chunks order by start")]
    assert spans[0][0] == 0
    assert [start for start, _ in spans[1:]] == [stop for _, stop in spans[:-1]]
    assert spans[-1][1] == 2 * TURNS
    assert rows(path, "select count(*) from chunks where stale") == [(0,)]
