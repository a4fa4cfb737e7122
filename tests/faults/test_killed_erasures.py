"""kill -9 while something is erased: it is finished by whoever comes next, and what is others' stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.faults.erasing_program import TURNS, word
from tests.faults.places import rows

from anaphora.bootstrap.maintenance import diagnose
from anaphora.bootstrap.residue import verify_erasure
from anaphora.settings import Settings

pytestmark = pytest.mark.faults

ROOT = Path(__file__).parents[2]
#: counts for each failpoint that the program reaches
ERASURES: Mapping[str, tuple[int, ...]] = {
    "erase.noted": (1, 2, 3),
    "erase.step": (1, 2, 4, 6),
    "erase.done": (1, 2, 3),
    "retention.kept": (1, 2),
    "retention.expired": (1,),
    "retention.postponed": (1,),
    "retention.brought_back": (1,),
}
GONE = [word("alice", session, turn) for session in ("s1", "s2") for turn in range(TURNS)]


def run(path: Path, failpoint: str | None = None) -> int:
    """The program's exit code."""
    environment = {
        **os.environ,
        "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
        "ANAPHORA_WORKER__LEASE_SECONDS": "0.5",
        **({"ANAPHORA_FAILPOINT": failpoint} if failpoint else {}),
    }
    words = [sys.executable, "-m", "tests.faults.erasing_program", str(path)]
    return subprocess.run(words, env=environment, cwd=ROOT, capture_output=True, check=False).returncode


@pytest.mark.sqlite_only("the program is the same on a server, and so are its commits")
@pytest.mark.parametrize(("name", "count"), [(name, count) for name, counts in ERASURES.items() for count in counts])
def test_a_kill_while_something_is_erased_leaves_nothing_half_erased_in_the_end(
    name: str, count: int, tmp_path: Path
) -> None:
    """I12: the note comes first, so the next one knows; I7: nobody else loses a word."""
    path = tmp_path / "m.db"
    assert run(path, f"{name}:{count}") == -signal.SIGKILL, "hollow run: it was not killed"
    assert run(path) == 0
    settings = Settings(db=str(path), embedder="none")
    assert verify_erasure(settings, [*GONE, "alice", word("bob", "s1", 1)]).residues == ()
    left = rows(path, "select content from messages where not deleted and role = 'user'")
    said = {word("bob", session, turn) for session in ("s1", "old") for turn in range(TURNS)}
    assert {text.split()[-1].rstrip(".") for (text,) in left} == said - {word("bob", "s1", 1)}
    assert {state for (state,) in rows(path, "select state from erasures")} == {"done"}
    report = diagnose(settings, stuck_seconds=3600.0)
    assert [check.detail for check in report.checks if not check.ok and not check.warning] == []
