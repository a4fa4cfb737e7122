"""kill -9 at the N-th system call of a kind (F3; I1, I2, I7): the file is whole, and short of no acknowledged message.

One file is written by one process after another; each is killed at another place and leaves the file to the next.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.faults.laws import check_covered, check_kept, check_settled, check_sound, check_whole, log_of, served_by
from tests.faults.nursery import Child, Nursery
from tests.faults.places import as_left
from tests.faults.programs import text_of
from tests.faults.tracing import CUT, REMOVE, SYNC, WRITE, traced

pytestmark = [
    pytest.mark.faults,
    pytest.mark.sqlite_only("it is its own calls that write its file; those of a server are not ours"),
]

CALLS = (WRITE, SYNC, CUT, REMOVE)
#: what a process would write that is not killed
ENOUGH = 200
#: messages between two resets
CYCLE = 6


class File:
    """A database that is written by processes that are killed."""

    def __init__(self, nursery: Nursery, path: Path, folder: Path) -> None:
        self.path = path
        self.folder = folder
        #: messages in it
        self.head = 0
        self.lives = 0
        self._nursery = nursery
        self._acked = 0

    def kill(self, program: str, call: str, number: int, *, only: bool = False) -> Child:
        """One life: a process goes on where the one before died, and is killed at its N-th call of that kind.

        `only`: calls on the file itself count, not those on what lies beside it.
        """
        self.lives += 1
        go, log = self.folder / f"go{self.lives}", self.folder / f"{self.lives}.strace"
        child = self._nursery.start(program, hold=go, db=str(self.path), count=ENOUGH, head=self._acked)
        inject = [f"{call}:signal=SIGKILL:when={number}"]
        with traced(child, log, calls=CALLS, inject=inject, file=self.path if only else None) as trace:
            go.touch()
            code = self._nursery.reap(child)
        assert code == -9, f"hollow run: it ended with {code} before {call} {number}: {child.errors()}"
        assert trace.killed_at(call) == number, f"hollow run: {trace.lines()[-3:]}"
        return child

    def check(self, child: Child) -> None:
        """What it left is whole: all that was acknowledged, and at most the one message under way (I7)."""
        left = as_left(self.path, self.folder / f"left{self.lives}")
        check_whole(left)
        log = log_of(left)
        assert log == [text_of(number) for number in range(len(log))]
        assert all(number == seq for number, seq in child.acked.items())
        assert len(child.unanswered) <= 1
        self._acked = max([self._acked, *(number + 1 for number in child.acked)])
        assert self._acked <= len(log) <= self._acked + 1, f"I7: {len(log)} messages, {self._acked} acknowledged"
        assert self.head <= len(log), "I7: what was there at a death is not there at the next"
        self.head = len(log)
        check_sound(left)

    def check_wiped(self, child: Child) -> None:
        """The same, where a reset under way has taken all or nothing."""
        left = as_left(self.path, self.folder / f"left{self.lives}")
        check_whole(left)
        log = log_of(left)
        assert log == [text_of(number) for number in range(len(log))]
        notes = child.notes()
        wiped = max((at for at, said in enumerate(notes) if said == ["wiped"]), default=None)
        last = notes[0 if wiped is None else wiped + 1 :]
        acked = [int(said[1]) + 1 for said in last if said[0] == "ack"]
        least = max([self.head if wiped is None else 0, *acked])
        if last and last[-1] == ["reset"]:
            assert len(log) in {0, CYCLE}, "half a reset"
        else:
            assert least <= len(log) <= least + 1, f"I7: {len(log)} messages, {least} acknowledged"
        self.head = len(log)
        check_sound(left)

    def recover(self) -> None:
        """The last one is not killed: it goes on without help, and all that is due gets done."""
        again = self._nursery.run("recover", db=str(self.path), died=time.monotonic(), head=self.head, batch=40)
        assert again.notes("finished") == [["True"]]
        assert again.acked == {number: number for number in range(self.head, self.head + 4)}
        check_settled(self.path)
        served = served_by(again)
        check_covered(served, head=len(log_of(self.path)), honest=False)
        assert served["degraded"] == []


@pytest.mark.parametrize(
    ("call", "numbers"),
    [
        (WRITE, range(1, 500, 11)),
        (SYNC, (1, 2, 3, 5, 8, 21, 34)),
    ],
)
def test_a_kill_at_a_system_call_of_an_append_loses_at_most_the_message_under_way(
    call: str, numbers: Sequence[int], nursery: Nursery, database: Callable[[int], Path], tmp_path: Path
) -> None:
    file = File(nursery, database(0), tmp_path)
    for number in numbers:
        file.check(file.kill("go_on", call, number))
    assert file.head > 0
    file.recover()


@pytest.mark.parametrize(("call", "numbers"), [(WRITE, (1, 2, 3, 5, 8, 13, 21)), (SYNC, (1, 2)), (CUT, (1,))])
def test_a_kill_while_the_log_is_written_back_into_the_file_loses_at_most_the_message_under_way(
    call: str, numbers: Sequence[int], nursery: Nursery, database: Callable[[int], Path], tmp_path: Path
) -> None:
    file = File(nursery, database(0), tmp_path)
    for number in numbers:
        file.check(file.kill("go_on", call, number, only=True))
    file.recover()


@pytest.mark.parametrize(
    ("call", "numbers"),
    [
        (WRITE, range(1, 100, 7)),
        (SYNC, range(1, 6)),
        (CUT, range(1, 6)),
        (REMOVE, range(1, 6)),
    ],
)
def test_a_kill_while_a_file_is_opened_or_closed_loses_at_most_the_message_under_way(
    call: str, numbers: Sequence[int], nursery: Nursery, database: Callable[[int], Path], tmp_path: Path
) -> None:
    """REMOVE: the last to close takes the write-ahead log away."""
    file = File(nursery, database(0), tmp_path)
    for number in numbers:
        file.check(file.kill("come_back", call, number))
    file.recover()


@pytest.mark.parametrize(
    ("call", "numbers"),
    [
        (WRITE, range(1, 480, 31)),
        (SYNC, range(1, 25, 2)),
        (CUT, range(1, 7)),
    ],
)
def test_a_kill_while_a_session_is_wiped_leaves_all_of_it_or_nothing(
    call: str, numbers: Sequence[int], nursery: Nursery, database: Callable[[int], Path], tmp_path: Path
) -> None:
    """A reset writes the log back into the file and cuts it off, so that no byte of what was erased stays."""
    file = File(nursery, database(0), tmp_path)
    for number in numbers:
        file.check_wiped(file.kill("wipe", call, number))
    file.recover()


@pytest.mark.parametrize(
    ("call", "numbers"),
    [
        (WRITE, range(1, 100, 9)),
        (SYNC, range(1, 8)),
        (REMOVE, (1,)),
    ],
)
def test_a_kill_while_a_file_is_made_leaves_one_that_can_be_opened(
    call: str, numbers: Sequence[int], nursery: Nursery, tmp_path: Path
) -> None:
    for number in numbers:
        folder = tmp_path / str(number)
        folder.mkdir()
        path = folder / "m.db"
        file = File(nursery, path, folder)
        child = file.kill("go_on", call, number)
        assert child.notes() == [], "hollow run: the file was made"
        nursery.run("go_on", db=str(path), count=3)
        check_kept(path, acked={0: 0, 1: 1, 2: 2}, unanswered=[])
        check_sound(path)
