"""A worker that is stopped in its model call until others have done its work changes nothing when it wakes up (I5)."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.faults.crowds import NAP
from tests.faults.laws import check_covered, check_settled, served_by
from tests.faults.nursery import Child, Nursery, copied, everything, rows
from tests.faults.programs import LEASE

pytestmark = pytest.mark.faults

MESSAGES = 6
#: workers that sleep at the same time, and how often
LATE, CYCLES = 10, 20


def paused(nursery: Nursery, path: Path, gate: Path, model: str) -> Child:
    """A worker that stands still in its model call, and whose answer is there when it goes on."""
    late = nursery.start("one_job", db=str(path), model=model, gate=str(gate))
    late.wait_for("asked")
    late.signal(signal.SIGSTOP)
    time.sleep(LEASE)
    gate.touch()
    return late


@pytest.mark.parametrize("model", ["frozen", "held"])
@pytest.mark.parametrize("number", range(5))
def test_the_result_of_a_worker_that_slept_past_its_lease_is_refused(
    number: int, model: str, nursery: Nursery, database: Callable[[int], Path], tmp_path: Path
) -> None:
    """`frozen`: the result is handed in before any heartbeat; `held`: the two race."""
    path, gate = database(MESSAGES), tmp_path / "gate"
    late = paused(nursery, path, gate, model)
    other = nursery.run("recover", db=str(path), head=MESSAGES, died=time.monotonic(), worker=number == 0)
    assert other.notes("finished") == [["True"]]
    before = everything(copied(path, tmp_path / "before"))
    late.signal(signal.SIGCONT)
    assert nursery.reap(late) == 0, late.errors()
    assert late.notes("job") == [["1", "False"]], "the late worker thinks that it did the job"
    assert ["summarise.assigned"] in late.notes("reached")
    assert ["summarise.after_commit"] not in late.notes("reached")
    if model == "frozen":
        assert ["summarise.after_model"] in late.notes("reached"), "hollow run: the late result was never handed in"
    assert everything(path) == before, "I5: a late worker has changed something"
    check_settled(path)
    check_covered(served_by(other), head=MESSAGES + 4, honest=True)


def test_a_late_worker_does_not_take_its_job_back_from_the_one_that_has_it(
    nursery: Nursery, database: Callable[[int], Path], tmp_path: Path
) -> None:
    """The head has not moved yet: only the fence tells the two apart."""
    path, gate = database(MESSAGES), tmp_path / "gate"
    late = paused(nursery, path, tmp_path / "first", "frozen")
    other = nursery.start("one_job", db=str(path), model="held", gate=str(gate))
    other.wait_for("asked")
    late.signal(signal.SIGCONT)
    assert nursery.reap(late) == 0, late.errors()
    assert late.notes("job") == [["1", "False"]]
    assert ["summarise.after_model"] in late.notes("reached"), "hollow run: the late result was never handed in"
    assert rows(path, "select count(*) from summaries") == [(0,)], "I5: a late result is stored"
    gate.touch()
    assert nursery.reap(other) == 0, other.errors()
    assert other.notes("job") == [["2", "True"]]
    assert rows(path, "select count(*) from summaries") == [(1,)]


def test_a_result_about_messages_that_were_erased_meanwhile_is_refused(
    nursery: Nursery, database: Callable[[int], Path], tmp_path: Path
) -> None:
    """I5, I12: the session has as many messages again, and its head stands where it stood."""
    path = database(MESSAGES)
    late = paused(nursery, path, tmp_path / "gate", "frozen")
    nursery.run("replace_all", db=str(path), count=MESSAGES)
    late.signal(signal.SIGCONT)
    assert nursery.reap(late) == 0, late.errors()
    assert late.notes("job") == [["1", "False"]]
    assert ["summarise.after_model"] in late.notes("reached"), "hollow run: the late result was never handed in"
    assert rows(path, "select count(*) from summaries") == [(0,)], "I12: an erased message is spoken of"
    nursery.run("labour", db=str(path))
    check_settled(path)


def test_a_worker_that_slept_within_its_lease_keeps_its_job(
    nursery: Nursery, database: Callable[[int], Path], tmp_path: Path
) -> None:
    """What the tests above would see if the fence were not needed."""
    path, gate = database(MESSAGES), tmp_path / "gate"
    late = paused(nursery, path, gate, "frozen")
    late.signal(signal.SIGCONT)
    assert nursery.reap(late) == 0, late.errors()
    assert late.notes("job") == [["1", "True"]]
    assert rows(path, "select state, attempt from jobs order by created_at")[0] == ("done", 1)


def test_of_200_results_that_come_late_none_changes_anything(
    nursery: Nursery, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Ten workers at a time sleep past their leases, another does their jobs, and then they wake up."""
    path, gate = tmp_path / "m.db", tmp_path / "gate"
    nursery.run("populate", db=str(path), count=LATE * CYCLES, head=MESSAGES)
    told: dict[str, Any] = {"db": str(path), "gate": str(gate), "count": CYCLES}
    sleepers = [nursery.start("late", model="held" if number % 2 else "frozen", **told) for number in range(LATE)]
    helper = nursery.start("helper", head=LATE, **told)
    accepted, rounds = 0, 0
    for number in range(CYCLES):
        Path(f"{gate}.go{number}").touch()
        for late in sleepers:
            late.wait_for("asked", count=number + 1)
            late.signal(signal.SIGSTOP)
        time.sleep(NAP)
        Path(f"{gate}.help{number}").touch()
        helper.wait_for("round", count=number + 1)
        before = everything(path)
        Path(f"{gate}.answer{number}").touch()
        for late in sleepers:
            late.signal(signal.SIGCONT)
        for late in sleepers:
            late.wait_for("round", count=number + 1)
        assert everything(path) == before, "I5: a late worker has changed something"
        reports = [late.notes("job")[number] for late in sleepers]
        helped = helper.notes("job")[number * LATE :]
        assert {job for job, *_ in reports} == {job for job, *_ in helped}, "hollow run: others did other jobs"
        assert {attempt for _, attempt, _ in reports} == {"1"}
        assert [words[1:] for words in helped] == [["2", "True"]] * LATE
        accepted += sum(ok == "True" for *_, ok in reports)
        rounds += len(reports)
    for child in (*sleepers, helper):
        assert nursery.reap(child) == 0, child.errors()
    handed_in = sum(late.notes("reached").count(["summarise.after_model"]) for late in sleepers)
    print(f"{rounds} rounds, {handed_in} late results handed in, {accepted} accepted")
    record_property("late_results_accepted", f"{accepted} of {handed_in} in {rounds} rounds")
    assert (rounds, accepted) == (LATE * CYCLES, 0)
    assert handed_in >= rounds // 2, "hollow run: the results were not handed in"
    assert ["summarise.after_commit"] not in [note for late in sleepers for note in late.notes("reached")]
    check_settled(path)
    assert rows(path, "select count(*) from summaries") == [(rounds,)], "one version a range"
