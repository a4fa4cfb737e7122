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
from tests.faults.nursery import Child, Nursery
from tests.faults.places import Place, as_left, on_a_server, rows
from tests.faults.programs import BACKLOG, CROWD, LEASE

pytestmark = pytest.mark.faults

ENOUGH = 10_000


@pytest.mark.sqlite_only("on a server there are fewer seeds, by the next test")
@pytest.mark.parametrize("seed", range(20))
def test_a_kill_at_any_moment_loses_no_acknowledged_turn(
    seed: int, nursery: Nursery, database: Callable[[int], Place], tmp_path: Path
) -> None:
    """Even seeds begin without a file, so that the kill may hit its making."""
    check_kill_at_any_moment(seed, database(0) if seed % 2 else tmp_path / "m.db", 0.4, nursery, tmp_path)


@on_a_server
@pytest.mark.parametrize("seed", range(8))
def test_a_client_that_is_killed_at_any_moment_loses_no_acknowledged_turn(
    seed: int, nursery: Nursery, new: Callable[..., Place], tmp_path: Path
) -> None:
    """Even seeds begin without tables, so that the kill may hit their making."""
    check_kill_at_any_moment(seed, new(bare=seed % 2 == 0), 1.2, nursery, tmp_path)


def check_kill_at_any_moment(seed: int, place: Place, longest: float, nursery: Nursery, tmp_path: Path) -> None:
    """Eight tasks and a worker live for so many seconds at most."""
    chance = random.Random(seed)
    child = nursery.start("crowd", db=str(place), count=ENOUGH, batch=40)
    if seed % 2:
        child.wait_for("open")
    life = longest * chance.random()
    time.sleep(life)
    child.signal(signal.SIGKILL)
    assert nursery.reap(child) == -9, child.errors()
    print(f"seed {seed}: killed after {life:.3f} s, {len(child.acked)} turns acknowledged")
    if isinstance(place, Path) and not place.exists():
        assert child.notes("open") == []
        place.touch()
    if child.notes("open"):
        check_turns(as_left(place, tmp_path / "left"), child)
    else:
        assert child.acked == {}
    died = time.monotonic()
    again = nursery.run("recover", db=str(place), died=died, batch=40)
    ((done, seconds),) = again.notes("recovered")
    assert done == "True"
    assert float(seconds) <= LEASE + 5
    check_settled(place)
    check_turns(place, child)


def check_turns(place: Place, child: Child) -> None:
    """Turns are there as a whole or not at all, each in its place, and each once."""
    check_whole(place)
    written: set[int] = set()
    for session in range(2):
        log = log_of(place, f"s{session}")
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
_COUNTS = "select count(case state when 'running' then 1 end), count(case state when 'done' then 1 end) from jobs"
COMMAND = "from anaphora.cli import main; raise SystemExit(main())"


def work(place: Place, **environment: str) -> subprocess.CompletedProcess[str]:
    """`anaphora worker --drain`."""
    command = [sys.executable, "-c", COMMAND, "worker", "--drain", "--db", str(place), "--timeout", "20"]
    given = {**os.environ, **ENVIRONMENT, **environment}
    return subprocess.run(command, env=given, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("name", ["worker.claimed", "summarise.after_model", "write.before_commit"])
def test_the_command_dies_at_the_failpoint_of_its_environment_and_the_next_one_takes_over(
    name: str, nursery: Nursery, database: Callable[[int], Place], tmp_path: Path
) -> None:
    place = database(BACKLOG)
    killed = work(place, ANAPHORA_FAILPOINT=f"{name}:2")
    assert killed.returncode == -9, f"hollow run: {killed.stderr}"
    left = rows(as_left(place, tmp_path / "left"), _COUNTS)
    assert left == ([(1, 0)] if name == "write.before_commit" else [(1, 1)])
    following = work(place)
    assert following.returncode == 0, following.stderr
    waiting = rows(place, "select kind, needs_model from jobs where state <> 'done'")
    assert waiting == [("rebuild", 1)], "without a model all is done but what waits for one"
    nursery.run("labour", db=str(place))
    check_settled(place)
    assert len(log_of(place)) == BACKLOG


def test_a_worker_that_is_told_to_end_gives_its_job_back_at_once(
    nursery: Nursery, database: Callable[[int], Place]
) -> None:
    """The first SIGTERM waits for the job in hand, the second does not; the attempt is not counted."""
    place = database(BACKLOG)
    child = nursery.start("command", db=str(place), model="hanging")
    child.wait_for("asked")
    child.signal(signal.SIGTERM)
    time.sleep(0.1)
    child.signal(signal.SIGTERM)
    told = time.monotonic()
    assert nursery.reap(child) == 0, child.errors()
    assert time.monotonic() - told < LEASE + 5
    assert rows(place, "select state, attempt, lease_owner from jobs") == [("queued", 0, None)]


def test_a_job_that_kills_every_worker_ends_without_its_model(
    nursery: Nursery, database: Callable[[int], Place]
) -> None:
    """I9: crashes count as attempts; when they are used up, the range gets a digest and the log goes on."""
    place = database(6)
    deaths = 0
    for _ in range(8):
        child = nursery.start("labour", db=str(place), model="deadly")
        if nursery.reap(child) == 0:
            assert child.notes("quiet") == [["True"]]
            break
        assert child.notes("asked"), child.errors()
        deaths += 1
        time.sleep(LEASE)
    assert deaths == 4, "two for the summary, two for making it again"
    check_settled(place, honest=False)
    assert rows(place, "select method from summaries where status = 'completed'") == [("digest",)]
