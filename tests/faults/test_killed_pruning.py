"""kill -9 while facts are set aside because there are too many: what is left is what is left without a kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.faults.places import rows
from tests.faults.pruning_program import CAPACITY, TURNS
from tests.faults.reading_program import MINE
from tests.faults.test_killed_extraction import ROOT, broken

pytestmark = pytest.mark.faults


def run(path: Path, failpoint: str | None = None) -> int:
    """The program's exit code."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "ANAPHORA_WORKER__LEASE_SECONDS": "0.5",
        **({"ANAPHORA_FAILPOINT": failpoint} if failpoint else {}),
    }
    words = [sys.executable, "-m", "tests.faults.pruning_program", str(path)]
    return subprocess.run(words, env=environment, cwd=ROOT, capture_output=True, check=False).returncode


@pytest.mark.sqlite_only("the program is the same on a server, and so are its commits")
@pytest.mark.parametrize("count", [4, 6])
@pytest.mark.parametrize("name", ["extract.assigned", "extract.after_model", "extract.after_commit"])
def test_a_kill_around_pruning_sets_aside_what_is_set_aside_without_it(name: str, count: int, tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    assert run(path, f"{name}:{count}") == -signal.SIGKILL, "hollow run: it was not killed"
    assert broken(path) == []
    assert run(path) == 0
    assert broken(path) == []
    facts = [tuple(fact) for fact in rows(path, "select content, state from facts order by content")]
    kept = sorted(f"The user likes pears number {number}" for number in range(TURNS - CAPACITY + 1, TURNS))
    assert [content for content, state in facts if state == "active"] == sorted([MINE, *kept])
    assert [state for _, state in facts].count("aside") == TURNS + 1 - CAPACITY
