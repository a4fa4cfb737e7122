"""kill -9 while the topics of a session are followed and described: they tile it, and each is described, once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.faults.places import rows
from tests.faults.topics_program import CHANGED, EACH, MATTERS

from anaphora.bootstrap.maintenance import diagnose
from anaphora.settings import Settings

pytestmark = pytest.mark.faults

ROOT = Path(__file__).parents[2]
#: counts for each failpoint that the program reaches: a turn is followed once, and the end; a topic is described once,
#: and again where it was changed
TOPICS: Mapping[str, tuple[int, ...]] = {
    "follow.assigned": (1, 4, 7),
    "follow.judged": (1, 4, 7),
    "follow.after_commit": (1, 4, 7),
    "describe.assigned": (1, 4),
    "describe.after_model": (1, 4),
    "describe.after_commit": (1, 4),
}
#: where topics end, and at the end, with what is said of them in the same commit
TOGETHER = (("follow.judged", 3), ("follow.judged", 7), ("follow.after_commit", 5), ("describe.after_model", 1))


def run(path: Path, how: str, failpoint: str | None = None) -> int:
    """The program's exit code."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")]),
        "ANAPHORA_WORKER__LEASE_SECONDS": "0.5",
        **({"ANAPHORA_FAILPOINT": failpoint} if failpoint else {}),
    }
    words = [sys.executable, "-m", "tests.faults.topics_program", str(path), how]
    return subprocess.run(words, env=environment, cwd=ROOT, capture_output=True, check=False).returncode


def broken(path: Path) -> list[str]:
    """What the doctor finds wrong."""
    report = diagnose(Settings(db=str(path), embedder="none"), stuck_seconds=3600.0)
    return [check.detail for check in report.checks if not check.ok and not check.warning]


def tiles(path: Path) -> bool:
    """Whether topics follow each other from the first message on, as far as they go."""
    spans = [tuple(span) for span in rows(path, "select start, stop from topics order by start")]
    return [start for start, _ in spans] == [0, *(stop for _, stop in spans)][: len(spans)]


@pytest.mark.sqlite_only("the program is the same on a server, and so are its commits")
@pytest.mark.parametrize(
    ("how", "name", "count"),
    [
        *(("apart", name, count) for name, counts in TOPICS.items() for count in counts),
        *(("together", name, count) for name, count in TOGETHER),
    ],
)
def test_a_kill_around_topics_loses_none_and_makes_none_twice(how: str, name: str, count: int, tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    assert run(path, how, f"{name}:{count}") == -signal.SIGKILL, "hollow run: it was not killed"
    assert broken(path) == []
    assert tiles(path)
    assert run(path, how) == 0
    assert broken(path) == []
    topics = rows(path, "select start, stop, summary, method, stale from topics order by start")
    assert [(start, stop) for start, stop, *_ in topics] == [(n * EACH, (n + 1) * EACH) for n in range(len(MATTERS))]
    assert [(method, stale) for *_, method, stale in topics] == [("model", 0)] * len(MATTERS)
    said = [(CHANGED, *MATTERS[0][1:]), *MATTERS[1:]]
    for (_, _, summary, _, _), texts in zip(topics, said, strict=True):
        assert summary.startswith(texts[0])
    assert "pear trees in our orchard" not in topics[0][2].replace(f"I heard: {MATTERS[0][0]}", "")
    assert rows(path, "select position from heads where reader = 'live:topics'") == [(EACH * len(MATTERS),)]
    described = rows(path, "select start, stop from jobs where kind = 'describe' and start is not null order by start")
    spans = [tuple(span) for span in described]
    each = [(n * EACH, (n + 1) * EACH) for n in range(len(MATTERS))] if how == "apart" else []
    assert spans == [(0, EACH), *each], "each once, the first again"
    assert rows(path, "select count(*) from jobs where state in ('queued', 'running')") == [(0,)]
