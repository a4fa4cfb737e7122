"""kill -9 while facts are edited, undone and deleted: each change is whole, with what it closed, or not there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.faults.correcting_program import CLOSING, DONE, EDITED, HOME, STEPS, UNDONE
from tests.faults.places import rows
from tests.faults.test_killed_extraction import ROOT, broken

pytestmark = pytest.mark.faults


def run(path: Path, failpoint: str | None = None) -> int:
    """The program's exit code."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        **({"ANAPHORA_FAILPOINT": failpoint} if failpoint else {}),
    }
    words = [sys.executable, "-m", "tests.faults.correcting_program", str(path)]
    return subprocess.run(words, env=environment, cwd=ROOT, capture_output=True, check=False).returncode


def check_histories(path: Path) -> None:
    """A fact is what its last version says, and one that is closed names one that is believed and says otherwise."""
    last = rows(
        path,
        "select f.content = v.content, f.state = v.state from facts f join fact_versions v"
        " on v.fact_id = f.id and v.version = f.version",
    )
    assert len(last) == rows(path, "select count(*) from facts")[0][0]
    assert all(tuple(same) == (1, 1) for same in last)
    homes = rows(path, "select count(*) from facts where state = 'active' and content like 'Lives in %'")
    assert homes[0][0] <= 1, "two homes are believed"
    closed = rows(
        path, "select n.state from facts f left join facts n on n.id = f.superseded_by where f.state = 'closed'"
    )
    assert all(tuple(state) == ("active",) for state in closed)


@pytest.mark.sqlite_only("the program is the same on a server, and so are its commits")
@pytest.mark.parametrize("count", range(1, STEPS + 1))
def test_a_kill_around_a_correction_leaves_it_whole_and_the_rest_is_done_later(count: int, tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    assert run(path, f"fact.changed:{count}") == -signal.SIGKILL, "hollow run: it was not killed"
    assert broken(path) == []
    check_histories(path)
    assert run(path) == 0
    assert broken(path) == []
    check_histories(path)
    facts = rows(path, "select content, state from facts order by content")
    assert [tuple(fact) for fact in facts] == [
        (content, "active") for content in sorted((UNDONE[1], CLOSING[1], EDITED[2], HOME, DONE))
    ]
    actions = rows(
        path,
        "select v.action from fact_versions v join facts f on f.id = v.fact_id"
        " where f.category = 'hobby' order by v.version",
    )
    assert [action for (action,) in actions] == ["added", "edited", "undone"]
