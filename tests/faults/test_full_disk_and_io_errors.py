"""Full disks and disks that fail (F4; I7, I17): refused, never lost, and the same process goes on afterwards."""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.faults.disks import MIB
from tests.faults.laws import check_kept, check_settled, check_sound, check_whole, log_of
from tests.faults.nursery import Child, Nursery
from tests.faults.places import as_left, rows
from tests.faults.tracing import CUT, READ, SYNC, WRITE, traced
from tests.faults.writers import FULL

pytestmark = [
    pytest.mark.faults,
    pytest.mark.sqlite_only("it is its own files that run full and fail; a server looks after its own"),
]

CALLS = (WRITE, READ, SYNC, CUT)
MESSAGES = 150
#: messages of each imported session
IMPORTED = 600
_NO_ROOM = "anaphora: no room left on the disk of the database: free some space, then try again"
IN_ONE_LINE = {
    "disk": {_NO_ROOM},
    "files": {_NO_ROOM, "anaphora: the database failed, nothing was written (disk I/O error)"},
}


@dataclass(frozen=True)
class Trouble:
    """System calls of some kinds that fail: which, how, and when."""

    calls: str
    error: str
    when: str

    def __str__(self) -> str:
        return f"{self.calls.replace(',', '_')}-{self.error}-{self.when}"

    @property
    def inject(self) -> str:
        """As strace takes it."""
        return f"{self.calls}:error={self.error}:when={self.when}"


def refusals(child: Child) -> Counter[str]:
    """How often each kind of error was met."""
    return Counter(words[1] for word in ("refused", "unreadable") for words in child.notes(word))


def check_went_on(child: Child, code: int | None, *, count: int) -> None:
    """It ended well, and everything that it wanted to say was taken in the end."""
    assert code == 0, f"it ended with {code}: {child.errors()[-2000:]}"
    assert child.acked == {number: number for number in range(count)}
    assert set(refusals(child)) <= {"StoreFull", "StoreError"}


def check_kept_by(child: Child, path: Path, *, worker: bool) -> None:
    """Nothing that was acknowledged is lost, and the worker's jobs are done."""
    check_kept(path, acked=child.acked, unanswered=[])
    check_sound(path)
    if worker:
        assert child.notes("quiet") == [["True"]]
        check_settled(path, refused=True)


@pytest.mark.parametrize("worker", [False, True], ids=["alone", "with_worker"])
@pytest.mark.parametrize(
    "trouble",
    [
        Trouble(WRITE, "ENOSPC", "3..4000+53"),
        Trouble(WRITE, "EIO", "5..4000+59"),
        Trouble(SYNC, "EIO", "2..200+3"),
        Trouble(SYNC, "ENOSPC", "2..200+5"),
        Trouble(READ, "EIO", "3..400+7"),
    ],
    ids=str,
)
def test_a_call_that_fails_now_and_then_loses_no_message_and_stops_nobody(
    trouble: Trouble,
    worker: bool,
    nursery: Nursery,
    database: Callable[[int], Path],
    tmp_path: Path,
) -> None:
    path, go = database(0), tmp_path / "go"
    child = nursery.start("insist", hold=go, db=str(path), count=MESSAGES, worker=worker)
    with traced(child, tmp_path / "log", calls=CALLS, inject=[trouble.inject]) as trace:
        go.touch()
        code = nursery.reap(child)
    print(f"{trace.failed(trouble.error)} calls failed, {dict(refusals(child))}")
    check_went_on(child, code, count=MESSAGES)
    assert trace.failed(trouble.error) > 0, "hollow run: no call failed"
    assert refusals(child).total() > 0
    check_kept_by(child, path, worker=worker)


@pytest.mark.parametrize("worker", [False, True], ids=["alone", "with_worker"])
@pytest.mark.parametrize(
    "trouble",
    [
        Trouble(WRITE, "ENOSPC", "400+"),
        Trouble(WRITE, "EIO", "300+"),
        Trouble(SYNC, "EIO", "15+"),
        Trouble(READ, "EIO", "40+"),
    ],
    ids=str,
)
def test_a_disk_that_fails_for_a_while_refuses_meanwhile_and_the_process_goes_on_when_it_is_back(
    trouble: Trouble,
    worker: bool,
    nursery: Nursery,
    database: Callable[[int], Path],
    tmp_path: Path,
) -> None:
    path, go = database(0), tmp_path / "go"
    child = nursery.start("insist", hold=go, db=str(path), count=MESSAGES, worker=worker)
    with traced(child, tmp_path / "log", calls=CALLS, inject=[trouble.inject]) as trace:
        go.touch()
        child.wait_for("unreadable" if trouble.calls == READ else "refused", count=20)
        before = len(child.acked)
        trace.stop()
        code = nursery.reap(child)
    print(f"{trace.failed(trouble.error)} calls failed, {dict(refusals(child))}")
    assert 0 < before < MESSAGES, "hollow run: it did not fail in the middle"
    check_went_on(child, code, count=MESSAGES)
    check_kept_by(child, path, worker=worker)


@pytest.mark.parametrize("trouble", [Trouble(WRITE, "ENOSPC", "400+"), Trouble(SYNC, "EIO", "15+")], ids=str)
def test_a_process_that_dies_while_its_disk_fails_leaves_what_was_acknowledged_and_at_most_the_refused_one(
    trouble: Trouble, nursery: Nursery, database: Callable[[int], Path], tmp_path: Path
) -> None:
    path, go = database(0), tmp_path / "go"
    child = nursery.start("insist", hold=go, db=str(path), count=MESSAGES, worker=False)
    with traced(child, tmp_path / "log", calls=CALLS, inject=[trouble.inject]) as trace:
        go.touch()
        child.wait_for("refused", count=5)
        child.signal(signal.SIGKILL)
        assert nursery.reap(child) == -9
    assert trace.failed(trouble.error) > 0
    left = as_left(path, tmp_path / "left")
    head = check_kept(left, acked=child.acked, unanswered=child.unanswered)
    check_sound(left)
    again = nursery.run("go_on", db=str(path), head=len(child.acked), count=5)
    assert again.acked == {number: number for number in range(len(child.acked), len(child.acked) + 5)}
    assert len(log_of(path)) >= head


@pytest.mark.parametrize(
    "trouble",
    [
        Trouble(WRITE, "ENOSPC", "1+7"),
        Trouble(WRITE, "ENOSPC", "3+31"),
        Trouble(WRITE, "EIO", "5+67"),
        Trouble(WRITE, "EIO", "2+97"),
        Trouble(SYNC, "EIO", "1+2"),
        Trouble(SYNC, "EIO", "2+3"),
        Trouble(READ, "EIO", "1+3"),
        Trouble(CUT, "EIO", "1+2"),
    ],
    ids=str,
)
def test_a_file_that_cannot_be_made_is_refused_and_made_by_the_same_process_later(
    trouble: Trouble, nursery: Nursery, tmp_path: Path
) -> None:
    """What a failed opening has opened is closed again: no descriptor is lost."""
    path, go = tmp_path / "m.db", tmp_path / "go"
    child = nursery.start("found", hold=go, db=str(path), count=8)
    with traced(child, tmp_path / "log", calls=CALLS, inject=[trouble.inject]) as trace:
        go.touch()
        child.wait_for("refused", count=6)
        trace.stop()
        code = nursery.reap(child)
    print(f"{trace.failed(trouble.error)} calls failed, {dict(refusals(child))}")
    assert code == 0, child.errors()[-2000:]
    assert set(refusals(child)) <= {"StoreFull", "StoreError"}
    assert trace.failed(trouble.error) > 0, "hollow run: no call failed"
    before, *after = [int(count) for (count,) in child.notes("files")]
    assert after == [before] * 8, "descriptors are lost"
    for number in range(8):
        check_kept(Path(f"{path}{number}"), acked={0: 0}, unanswered=[])
        check_sound(Path(f"{path}{number}"))


def test_a_job_whose_result_the_disk_does_not_take_is_done_when_it_does(
    nursery: Nursery, database: Callable[[int], Path], tmp_path: Path
) -> None:
    """I9: that the store failed is no fault of the job's: no message has to come for its work to be done."""
    path, go = database(6), tmp_path / "go"
    child = nursery.start("labour", hold=go, db=str(path))
    # the commits of a job: its claim, its range, its result
    with traced(child, tmp_path / "log", calls=CALLS, inject=[f"{SYNC}:error=EIO:when=3..11+4"]) as trace:
        go.touch()
        assert nursery.reap(child) == 0, child.errors()
    assert trace.failed("EIO") > 0, "hollow run: no call failed"
    nursery.run("labour", db=str(path))
    check_settled(path, refused=True)


@pytest.mark.parametrize(("small", "kinds"), [("disk", {"StoreFull"}), ("files", {"StoreFull", "StoreError"})])
def test_a_full_disk_refuses_and_the_process_goes_on_when_there_is_room(
    small: str, kinds: set[str], nursery: Nursery, tmp_path: Path
) -> None:
    folder = tmp_path / "small"
    folder.mkdir()
    child = nursery.start("crammed", db=str(folder / "m.db"), small=small, keep=str(tmp_path), count=60)
    code = nursery.reap(child)
    assert code == 0, child.errors()[-2000:]
    assert refusals(child).total() >= FULL
    assert set(refusals(child)) <= kinds
    notes = child.notes()
    full = notes.index(["room"])
    acked = {int(words[1]): int(words[2]) for words in notes[:full] if words[0] == "ack"}
    assert len(acked) > 5, "hollow run: it was full from the start"
    check_kept(tmp_path / "full" / "m.db", acked=acked, unanswered=[])
    check_sound(tmp_path / "full" / "m.db")
    check_kept(tmp_path / "room" / "m.db", acked=child.acked, unanswered=[])
    assert len(child.acked) == len(acked) + 60
    check_sound(tmp_path / "room" / "m.db")


def test_too_little_memory_refuses_and_the_process_goes_on_when_there_is_enough(
    nursery: Nursery, tmp_path: Path
) -> None:
    path = tmp_path / "m.db"
    child = nursery.run("starved", db=str(path), count=4)
    assert child.notes("refused") == [[str(FULL)]]
    check_whole(path)
    assert rows(path, "select count(*) from messages") == [(4,)]
    check_sound(path)


@pytest.mark.parametrize(
    ("small", "room"), [("disk", 0), ("disk", 100_000), ("disk", 2 * MIB), ("files", 100_000), ("files", 2 * MIB)]
)
def test_an_import_onto_a_full_disk_says_so_in_one_line_and_the_next_one_completes_it(
    small: str, room: int, nursery: Nursery, tmp_path: Path
) -> None:
    folder, chats = tmp_path / "small", tmp_path / "chats.jsonl"
    folder.mkdir()
    with chats.open("w", encoding="utf-8") as lines:
        for session in range(2):
            said = [{"role": "user", "content": f"{number} {'word ' * 300}"} for number in range(IMPORTED)]
            lines.write(json.dumps({"session": f"s{session}", "messages": said}) + "\n")
    words = ["import", str(chats), "--user", "u"]
    told = {"small": small, "count": room, "keep": str(tmp_path), "words": words}
    child = nursery.run("import_when_full", db=str(folder / "m.db"), **told)
    assert child.notes("code") == [["1"], ["0"]]
    (line,) = child.errors().splitlines()
    assert line in IN_ONE_LINE[small]
    path = tmp_path / "room" / "m.db"
    for session in range(2):
        numbers = [int(text.partition(" ")[0]) for text in log_of(path, f"s{session}")]
        assert numbers == list(range(IMPORTED))
    check_sound(path)
