"""kill -9 while sessions are reflected upon and notepads rewritten: each is noted once, and what is gone is not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.faults.noting_program import CHANGED, MINE, SAID
from tests.faults.places import rows

from anaphora.bootstrap.maintenance import diagnose
from anaphora.settings import Settings

pytestmark = pytest.mark.faults

ROOT = Path(__file__).parents[2]
#: counts for each failpoint that the program reaches
REFLECTION: Mapping[str, tuple[int, ...]] = {
    "reflect.assigned": (1, 3, 5),
    "reflect.after_model": (1, 3, 5),
    "reflect.after_commit": (1, 3, 5),
    "notepad.changed": (1, 2, 3),
}


def run(path: Path, failpoint: str | None = None) -> int:
    """The program's exit code."""
    environment = {
        **os.environ,
        "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
        "ANAPHORA_WORKER__LEASE_SECONDS": "0.5",
        **({"ANAPHORA_FAILPOINT": failpoint} if failpoint else {}),
    }
    words = [sys.executable, "-m", "tests.faults.noting_program", str(path)]
    return subprocess.run(words, env=environment, cwd=ROOT, capture_output=True, check=False).returncode


def broken(path: Path) -> list[str]:
    """What the doctor finds wrong."""
    report = diagnose(Settings(db=str(path), embedder="none"), stuck_seconds=3600.0)
    return [check.detail for check in report.checks if not check.ok and not check.warning]


@pytest.mark.sqlite_only("the program is the same on a server, and so are its commits")
@pytest.mark.parametrize(("name", "count"), [(name, count) for name, counts in REFLECTION.items() for count in counts])
def test_a_kill_around_a_notepad_loses_no_session_and_notes_none_twice(name: str, count: int, tmp_path: Path) -> None:
    """I7, I9, hole 3.5: what was said is noted, whoever dies on the way."""
    path = tmp_path / "m.db"
    assert run(path, f"{name}:{count}") == -signal.SIGKILL, "hollow run: it was not killed"
    assert broken(path) == []
    assert run(path) == 0
    assert broken(path) == []
    said = sorted([SAID[0], CHANGED, SAID[2]])
    about = {"I like": "- The user likes", "I hate": "- The user hates"}
    expected = [f"{about[text[:6]]}{text[6:].rstrip('.')}" for text in said]
    pages = rows(path, "select version, text from notepad_pages where agent_id = 'default' order by version")
    assert [version for version, _ in pages] == [1, 2, 3]
    assert sorted(pages[-1][1].splitlines()) == sorted(expected)
    assert all(SAID[1].rstrip(".").removeprefix("I like ") not in text for _, text in pages)
    mine = rows(path, "select text, action from notepad_pages where agent_id = 'mine' order by version")
    assert [tuple(page) for page in mine] == [(MINE, "edited"), ("", "edited"), (MINE, "reverted")]
