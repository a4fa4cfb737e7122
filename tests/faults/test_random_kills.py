"""kill -9 at any moment, and signals that ask politely (I7, I9)."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.faults.laws import check_settled, check_whole, log_of
from tests.faults.nursery import Child, Nursery, copied, rows
from tests.faults.programs import BACKLOG, CROWD, LEASE

pytestmark = pytest.mark.faults

#: longest life of a child, in seconds
LIFE = 0.4
ENOUGH = 10_000


@pytest.mark.parametrize("seed", range(20))
def test_a_kill_at_any_moment_loses_no_acknowledged_turn(
    seed: int, nursery: Nursery, database: Callable[[int], Path], tmp_path: Path
) -> None:
    """Eight tasks and a worker; even seeds begin without a file, so that the kill may hit its making."""
    chance = random.Random(seed)
    path = database(0) if seed % 2 else tmp_path / "m.db"
    child = nursery.start("crowd", db=str(path), count=ENOUGH, batch=40)
    if seed % 2:
        child.wait_for("open")
    life = LIFE * chance.random()
    time.sleep(life)
    child.signal(signal.SIGKILL)
    assert nursery.reap(child) == -9, child.errors()
    print(f"seed {seed}: killed after {life:.3f} s, {len(child.acked)} turns acknowledged")
    if not path.exists():
        assert child.notes("open") == []
        path.touch()
    if child.notes("open"):
        check_turns(copied(path, tmp_path / "left"), child)
    else:
        assert child.acked == {}
    died = time.monotonic()
    again = nursery.run("recover", db=str(path), died=died, batch=40)
    ((done, seconds),) = again.notes("recovered")
    assert done == "True"
    assert float(seconds) <= LEASE + 5
    check_settled(path)
    check_turns(path, child)


def check_turns(path: Path, child: Child) -> None:
    """Turns are there as a whole or not at all, each in its place, and each once."""
    check_whole(path)
    written: set[int] = set()
    for session in range(2):
        log = log_of(path, f"s{session}")
        for seq in range(0, len(log), 2):
            number = int(log[seq].split()[1])
            assert log[seq : seq + 2] == [f"question {number}", f"answer {number}"], "half a turn"
            assert child.acked.get(number, seq) == seq, "I7: an acknowledged turn is in another place"
            assert number not in written, "I14: a turn is there twice"
            written.add(number)
    assert set(child.acked) <= written, "I7: acknowledged turns are lost"
    assert written <= set(child.acked) | set(child.unanswered)
    assert len(written) <= len(child.acked) + CROWD


#: the numbers of `settings_for`, as a person would set them
ENVIRONMENT = {
    "ANAPHORA_EMBEDDER": "none",
    "ANAPHORA_ROLLING_PAIRS__WINDOW_PAIRS": "1",
    "ANAPHORA_ROLLING_PAIRS__MIN_MESSAGES_FOR_SUMMARY": "4",
    "ANAPHORA_ROLLING_PAIRS__SUMMARISE_AFTER": "2",
    "ANAPHORA_WORKER__LEASE_SECONDS": str(LEASE),
    "ANAPHORA_WORKER__BATCH_MESSAGES": "4",
    "ANAPHORA_WORKER__REDO_SECONDS": "0",
}
COMMAND = "from anaphora.cli import main; raise SystemExit(main())"


def work(path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """`anaphora worker --drain`."""
    command = [sys.executable, "-c", COMMAND, "worker", "--drain", "--db", str(path), "--timeout", "20"]
    given = {**os.environ, **ENVIRONMENT, **environment}
    return subprocess.run(command, env=given, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("name", ["worker.claimed", "summarise.after_model", "write.before_commit"])
def test_the_command_dies_at_the_failpoint_of_its_environment_and_the_next_one_takes_over(
    name: str, nursery: Nursery, database: Callable[[int], Path], tmp_path: Path
) -> None:
    path = database(BACKLOG)
    killed = work(path, ANAPHORA_FAILPOINT=f"{name}:2")
    assert killed.returncode == -9, f"hollow run: {killed.stderr}"
    left = rows(copied(path, tmp_path / "left"), "select sum(state = 'running'), sum(state = 'done') from jobs")
    assert left == ([(1, 0)] if name == "write.before_commit" else [(1, 1)])
    following = work(path)
    assert following.returncode == 0, following.stderr
    waiting = rows(path, "select kind, needs_model from jobs where state <> 'done'")
    assert waiting == [("rebuild", 1)], "without a model all is done but what waits for one"
    nursery.run("labour", db=str(path))
    check_settled(path)
    assert len(log_of(path)) == BACKLOG


def test_a_worker_that_is_told_to_end_gives_its_job_back_at_once(
    nursery: Nursery, database: Callable[[int], Path]
) -> None:
    """The first SIGTERM waits for the job in hand, the second does not; the attempt is not counted."""
    path = database(BACKLOG)
    child = nursery.start("command", db=str(path), model="hanging")
    child.wait_for("asked")
    child.signal(signal.SIGTERM)
    time.sleep(0.1)
    child.signal(signal.SIGTERM)
    told = time.monotonic()
    assert nursery.reap(child) == 0, child.errors()
    assert time.monotonic() - told < LEASE + 5
    assert rows(path, "select state, attempt, lease_owner from jobs") == [("queued", 0, None)]


def test_a_job_that_kills_every_worker_ends_without_its_model(
    nursery: Nursery, database: Callable[[int], Path]
) -> None:
    """I9: crashes count as attempts; when they are used up, the range gets a digest and the log goes on."""
    path = database(6)
    deaths = 0
    for _ in range(8):
        child = nursery.start("labour", db=str(path), model="deadly")
        if nursery.reap(child) == 0:
            assert child.notes("quiet") == [["True"]]
            break
        assert child.notes("asked"), child.errors()
        deaths += 1
        time.sleep(LEASE)
    assert deaths == 4, "two for the summary, two for making it again"
    check_settled(path, honest=False)
    assert rows(path, "select method from summaries where status = 'completed'") == [("digest",)]
