"""Many at the same moment on one database (F10; I2, I4, I5): one job, one claim, and a place for each message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.faults.crowds import TASKS
from tests.faults.laws import check_sound, check_whole, log_of
from tests.faults.nursery import Child, Nursery
from tests.faults.places import Place, rows

pytestmark = pytest.mark.faults

PROCESSES = 8
ROUNDS = 6


@pytest.fixture
def crowd(nursery: Nursery, tmp_path: Path) -> Callable[..., list[Child]]:
    """Runs rounds of one kind in many processes at once."""

    def run(place: Place, kind: str, *, rounds: int = ROUNDS) -> list[Child]:
        gate = tmp_path / "gate"
        told: dict[str, Any] = {"db": str(place), "gate": str(gate), "kind": kind, "count": rounds}
        children = [nursery.start("burst", writer=number, **told) for number in range(PROCESSES)]
        for child in children:
            child.wait_for("open")
        for number in range(rounds):
            Path(f"{gate}.go{number}").touch()
            for child in children:
                child.wait_for("round", count=number + 1)
        for child in children:
            assert nursery.reap(child) == 0, child.errors()
        return children

    return run


def outcomes(children: Sequence[Child], number: int) -> Counter[str]:
    """What came of the calls of a round, which really were made at the same time."""
    calls = [words[1:] for child in children for words in child.notes("did") if words[0] == str(number)]
    assert len(calls) == PROCESSES * TASKS
    by_process = [[words[1:] for words in child.notes("did") if words[0] == str(number)] for child in children]
    spans = [(min(float(begun) for begun, *_ in its), max(float(end) for _, end, _ in its)) for its in by_process]
    together = max(sum(begun <= at < end for begun, end in spans) for at, _ in spans)
    print(f"round {number}: {together} of {PROCESSES} processes at the same time")
    assert together > PROCESSES // 2, "hollow run: they did not meet"
    return Counter(came for _, _, came in calls)


def jobs_of(place: Place, number: int, states: str) -> list[tuple[str, str]]:
    """Kind and state of the jobs of a session."""
    query = "select s.session_id, j.kind, j.state from jobs j join sessions s on s.id = j.session_uid"
    return [
        (kind, state) for name, kind, state in rows(place, query) if name == f"s{number}" and state in states.split()
    ]


def test_of_64_appends_that_each_make_a_summary_due_one_plans_it(
    crowd: Callable[..., list[Child]], nursery: Nursery, new: Callable[..., Place]
) -> None:
    place = new()
    nursery.run("populate", db=str(place), count=ROUNDS, head=3)
    children = crowd(place, "append")
    check_whole(place)
    for number in range(ROUNDS):
        seqs = outcomes(children, number)
        assert seqs == Counter(str(seq) for seq in range(3, 3 + PROCESSES * TASKS)), "I2"
        assert jobs_of(place, number, "queued running done failed") == [("summarise", "queued")], "I4"
    check_sound(place)


def test_of_64_that_ask_for_a_rebuild_one_gets_it(
    crowd: Callable[..., list[Child]], nursery: Nursery, new: Callable[..., Place]
) -> None:
    place = new()
    nursery.run("populate", db=str(place), count=ROUNDS, head=8)
    nursery.run("labour", db=str(place))
    children = crowd(place, "rebuild")
    for number in range(ROUNDS):
        assert outcomes(children, number) == {"True": 1, "False": PROCESSES * TASKS - 1}
        assert jobs_of(place, number, "queued running") == [("rebuild", "queued")], "I4"
    check_sound(place)


def test_of_64_workers_that_want_6_jobs_6_get_one_each(
    crowd: Callable[..., list[Child]], nursery: Nursery, new: Callable[..., Place]
) -> None:
    place = new()
    nursery.run("populate", db=str(place), count=6, head=6)
    children = crowd(place, "claim", rounds=1)
    assert outcomes(children, 0) == {"True": 6, "False": PROCESSES * TASKS - 6}
    claimed = rows(place, "select state, attempt, lease_owner from jobs")
    assert [(state, attempt) for state, attempt, _ in claimed] == [("running", 1)] * 6
    assert len({owner for *_, owner in claimed}) == 6


def test_32_appenders_to_one_session_each_get_their_places_in_their_order(
    nursery: Nursery, new: Callable[..., Place], tmp_path: Path
) -> None:
    place, gate, processes, messages = new(), tmp_path / "gate", 4, 20
    nursery.run("populate", db=str(place), count=0)
    told: dict[str, Any] = {"db": str(place), "gate": str(gate), "count": messages}
    children = [nursery.start("appenders", writer=number, **told) for number in range(processes)]
    for child in children:
        child.wait_for("open")
    Path(f"{gate}.go").touch()
    for child in children:
        assert nursery.reap(child) == 0, child.errors()
    check_whole(place)
    log = log_of(place)
    took = {f"{writer} {number}": int(seq) for child in children for writer, number, seq in child.notes("took")}
    assert len(took) == processes * TASKS * messages
    assert log == sorted(took, key=took.__getitem__), "I7: a message is not where its receipt says"
    turns = [text.partition(" ")[0] for text in log]
    for writer in set(turns):
        seqs = [took[f"{writer} {number}"] for number in range(messages)]
        assert seqs == sorted(seqs), "I2: one writer's messages are not in its order"
    changes = sum(one != other for one, other in pairwise(turns))
    print(f"the writer changes {changes} times in {len(log)} messages")
    assert changes > len(log) // 4, "hollow run: they wrote one after the other"
    check_sound(place)
