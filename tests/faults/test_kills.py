"""kill -9 at every named failpoint (F2; I1, I3, I5, I7, I9): what was acknowledged stays, what is due gets done."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.faults.failpoint_names import failpoints
from tests.faults.laws import NOT_DUE, check_covered, check_kept, check_settled, log_of, served_by
from tests.faults.nursery import Child, Nursery
from tests.faults.places import Place, as_left, few, on_a_server
from tests.faults.programs import BACKLOG, LEASE

pytestmark = pytest.mark.faults

#: seconds after the end of the dead worker's lease within which everything due must be done
GRACE = 5.0
#: messages in the database that a program starts from
BEFORE = {"library": 0, "wipe": 0, "labour": BACKLOG, "leave": BACKLOG}

#: killed at in the other tests/faults/test_killed_*.py and in test_command_kills.py
ELSEWHERE = frozenset(
    {
        "audit.noted",
        "describe.after_commit",
        "describe.after_model",
        "describe.assigned",
        "document.after_model",
        "document.changed",
        "document.claimed",
        "document.deleted",
        "document.embedded",
        "document.kept",
        "document.put_off",
        "document.released",
        "embed.after_commit",
        "embed.after_model",
        "embed.assigned",
        "erase.done",
        "erase.noted",
        "erase.step",
        "extract.after_commit",
        "extract.after_model",
        "extract.assigned",
        "fact.changed",
        "follow.after_commit",
        "follow.assigned",
        "follow.judged",
        "ingest.appended",
        "jobs.retried",
        "key.made",
        "key.replaced",
        "key.revoked",
        "key.used",
        "message.deleted",
        "message.edited",
        "notepad.changed",
        "pause.begun",
        "pause.ended",
        "reflect.after_commit",
        "reflect.after_model",
        "reflect.assigned",
        "reindex.documents_planned",
        "reindex.forgotten",
        "reindex.planned",
        "restore.after_block",
        "retention.brought_back",
        "retention.expired",
        "retention.kept",
        "retention.postponed",
        "session.ended",
        "session.numbered",
        "session.rebuild_queued",
        "subject.changed",
    }
)
_Plan = tuple[tuple[str, str, tuple[int, ...]], ...]
_EVERY_JOB: _Plan = (
    ("library", "honest", (1, 3, 7)),
    ("library", "failing", (3,)),
    ("labour", "honest", (1, 3, 7)),
    ("labour", "failing", (1, 7)),
)
_WHEN_DOWN: _Plan = (("library", "failing", (1, 3, 7)), ("labour", "failing", (1, 3, 7)))
#: the first commits of a worker one by one: claims, assignments, versions, retries, digests, rebuilds
_EVERY_COMMIT: _Plan = (
    ("library", "honest", (1, 3, 7)),
    ("labour", "honest", (1, 2, 3, 4, 5, 6, 7)),
    ("labour", "failing", tuple(range(1, 16))),
)
#: program, model and counts for each failpoint; a failpoint without an entry fails
PLAN: Mapping[str, _Plan] = {
    "append.before_commit": (("library", "honest", (1, 3, 7)), ("library", "failing", (1, 3, 7))),
    "append.after_commit": (("library", "honest", (1, 3, 7)), ("library", "failing", (1, 3, 7))),
    "write.before_commit": (*_EVERY_COMMIT, ("wipe", "honest", (1, 2))),
    "write.after_commit": (*_EVERY_COMMIT, ("wipe", "honest", (1, 2))),
    "reset.before_commit": (("wipe", "honest", (1, 3)),),
    "session.reset": (("wipe", "honest", (1, 3)),),
    "worker.claimed": _EVERY_JOB,
    "worker.done": _EVERY_JOB,
    "worker.heartbeat": (("library", "slow", (1, 3)), ("labour", "slow", (1, 3))),
    "worker.released": (("leave", "hanging", (1, 3)),),
    "worker.retry_planned": _WHEN_DOWN,
    "worker.failed": (("library", "failing", (1, 3)), ("labour", "failing", (1, 3))),
    "summarise.assigned": _EVERY_JOB,
    "summarise.after_model": _EVERY_JOB,
    "summarise.after_commit": _EVERY_JOB,
}


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    count: int
    program: str
    model: str

    def __str__(self) -> str:
        return f"{self.name}-{self.count}-{self.program}-{self.model}"


def cases(choose: Callable[[Sequence[int]], Sequence[int]] = tuple) -> Iterator[Case]:
    for name in sorted(set(failpoints()) - ELSEWHERE):
        for program, model, counts in PLAN.get(name, (("no case", "", (0,)),)):
            for count in choose(counts):
                yield Case(name=name, count=count, program=program, model=model)


@pytest.mark.sqlite_only("on a server there are fewer cases, by the next test")
@pytest.mark.parametrize("case", list(cases()), ids=str)
def test_a_kill_at_a_failpoint_loses_nothing_and_is_recovered_from_in_time(
    case: Case, nursery: Nursery, database: Callable[[int], Place], tmp_path: Path
) -> None:
    check_kill_and_recovery(case, nursery, database, tmp_path)


@on_a_server
@pytest.mark.parametrize("case", list(cases(few)), ids=str)
def test_a_client_that_is_killed_at_a_failpoint_loses_nothing_and_is_recovered_from_in_time(
    case: Case, nursery: Nursery, database: Callable[[int], Place], tmp_path: Path
) -> None:
    """The server goes on: it rolls back what its client had not committed, and keeps what it had."""
    check_kill_and_recovery(case, nursery, database, tmp_path)


def check_kill_and_recovery(case: Case, nursery: Nursery, database: Callable[[int], Place], tmp_path: Path) -> None:
    assert case.program in BEFORE, f"{case.name} is a new failpoint: say in PLAN how to reach it"
    place = database(BEFORE[case.program])
    child = nursery.start(
        case.program, db=str(place), failpoint=f"{case.name}:{case.count}", model=case.model, count=BACKLOG
    )
    code = nursery.reap(child)
    died = time.monotonic()
    check_it_happened(child, code, case)
    head = check_left(case, child, as_left(place, tmp_path / "left"))
    back = case.model != "failing" or case.count != 3
    again = nursery.run(
        "recover",
        db=str(place),
        died=died,
        head=head + unwritten(case, child, head),
        unanswered=child.unanswered if case.program == "library" else [],
        model="honest" if back else "failing",
        worker=case.count == 1,
    )
    ((done, seconds),) = again.notes("recovered")
    assert done == "True"
    assert float(seconds) <= LEASE + GRACE
    ((verbatim,),) = again.notes("verbatim")
    assert int(verbatim) <= NOT_DUE, "I9: what was due at the death was forgotten"
    assert again.notes("finished") == [["True"]]
    check_settled(place, honest=back)
    assert all(again.acked[number] == number for number in child.unanswered), "I14: a retry took another place"
    check_covered(served_by(again), head=len(log_of(place)), honest=back)


def check_it_happened(child: Child, code: int | None, case: Case) -> None:
    """The child died of SIGKILL, at that failpoint, at that count."""
    reached = child.notes("reached")
    assert code == -9, f"hollow run: it ended with {code} after {len(reached)} times: {child.errors()}"
    assert reached == [[case.name]] * case.count


def check_left(case: Case, child: Child, left: Place) -> int:
    """What lies on the disk after the death; how many messages."""
    if case.program == "wipe":
        cycle = [note for note in child.notes() if note[0] != "reached"]
        wiped = max((at for at, note in enumerate(cycle) if note == ["wiped"]), default=-1)
        acked = {int(note[1]): int(note[2]) for note in cycle[wiped + 1 :] if note[0] == "ack"}
        assert cycle[-1] == ["reset"]
        committed = case.name in {"write.after_commit", "session.reset"}
        return check_kept(left, acked={} if committed else acked, unanswered=[])
    before = BEFORE[case.program]
    head = check_kept(left, acked=child.acked, unanswered=child.unanswered, before=before)
    if case.name == "append.before_commit":
        assert head == before + len(child.acked), "a transaction that was not committed is there"
    if case.name == "append.after_commit":
        assert head == before + len(child.acked) + 1, "a transaction that was committed is not there"
    return head


def unwritten(case: Case, child: Child, head: int) -> int:
    """Messages that were sent and are not in the log: the client sends them again."""
    if case.program != "library":
        return 0
    return len(child.acked) + len(child.unanswered) - head
