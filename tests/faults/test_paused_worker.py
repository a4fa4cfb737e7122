"""A worker that is stopped in its model call until others have done its work changes nothing when it wakes up (I5)."""

from __future__ import annotations

import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.databases.chosen import POSTGRES, SQLITE
from tests.faults.archiving import TURNS, word_of
from tests.faults.laws import check_covered, check_settled, served_by
from tests.faults.nursery import Child, Nursery
from tests.faults.places import Place, Places, everything, rows
from tests.faults.programs import LEASE

pytestmark = pytest.mark.faults

MESSAGES = 6
#: workers that sleep at the same time, and how often
LATE, CYCLES = 10, {SQLITE: 20, POSTGRES: 2}
#: the lease that they sleep past: long enough for all of them to claim before the first one's ends
NAP = {SQLITE: 1.0, POSTGRES: 3.0}


def paused(nursery: Nursery, place: Place, gate: Path, model: str) -> Child:
    """A worker that stands still in its model call, and whose answer is there when it goes on."""
    late = nursery.start("one_job", db=str(place), model=model, gate=str(gate))
    late.wait_for("asked")
    stop_between_writes(late, place)
    time.sleep(LEASE)
    gate.touch()
    return late


@pytest.mark.parametrize("model", ["frozen", "held"])
@pytest.mark.parametrize("number", range(5))
def test_the_result_of_a_worker_that_slept_past_its_lease_is_refused(
    number: int, model: str, nursery: Nursery, database: Callable[[int], Place], tmp_path: Path
) -> None:
    """`frozen`: the result is handed in before any heartbeat; `held`: the two race."""
    place, gate = database(MESSAGES), tmp_path / "gate"
    late = paused(nursery, place, gate, model)
    other = nursery.run("recover", db=str(place), head=MESSAGES, died=time.monotonic(), worker=number == 0)
    assert other.notes("finished") == [["True"]]
    before = everything(place)
    late.signal(signal.SIGCONT)
    assert nursery.reap(late) == 0, late.errors()
    assert late.notes("job") == [["1", "False"]], "the late worker thinks that it did the job"
    assert ["summarise.assigned"] in late.notes("reached")
    assert ["summarise.after_commit"] not in late.notes("reached")
    if model == "frozen":
        assert ["summarise.after_model"] in late.notes("reached"), "hollow run: the late result was never handed in"
    assert everything(place) == before, "I5: a late worker has changed something"
    check_settled(place)
    check_covered(served_by(other), head=MESSAGES + 4, honest=True)


def test_a_late_worker_does_not_take_its_job_back_from_the_one_that_has_it(
    nursery: Nursery, database: Callable[[int], Place], tmp_path: Path
) -> None:
    """The head has not moved yet: only the fence tells the two apart."""
    place, gate = database(MESSAGES), tmp_path / "gate"
    late = paused(nursery, place, tmp_path / "first", "frozen")
    other = nursery.start("one_job", db=str(place), model="held", gate=str(gate))
    other.wait_for("asked")
    late.signal(signal.SIGCONT)
    assert nursery.reap(late) == 0, late.errors()
    assert late.notes("job") == [["1", "False"]]
    assert ["summarise.after_model"] in late.notes("reached"), "hollow run: the late result was never handed in"
    assert rows(place, "select count(*) from summaries") == [(0,)], "I5: a late result is stored"
    gate.touch()
    assert nursery.reap(other) == 0, other.errors()
    assert other.notes("job") == [["2", "True"]]
    assert rows(place, "select count(*) from summaries") == [(1,)]


def test_a_result_about_messages_that_were_erased_meanwhile_is_refused(
    nursery: Nursery, database: Callable[[int], Place], tmp_path: Path
) -> None:
    """I5, I12: the session has as many messages again, and its head stands where it stood."""
    place = database(MESSAGES)
    late = paused(nursery, place, tmp_path / "gate", "frozen")
    nursery.run("replace_all", db=str(place), count=MESSAGES)
    late.signal(signal.SIGCONT)
    assert nursery.reap(late) == 0, late.errors()
    assert late.notes("job") == [["1", "False"]]
    assert ["summarise.after_model"] in late.notes("reached"), "hollow run: the late result was never handed in"
    assert rows(place, "select count(*) from summaries") == [(0,)], "I12: an erased message is spoken of"
    nursery.run("labour", db=str(place))
    check_settled(place)


@pytest.mark.parametrize("what", ["user", "session", "message"])
def test_a_result_of_what_was_erased_meanwhile_is_refused(
    what: str, nursery: Nursery, database: Callable[[int], Place], tmp_path: Path
) -> None:
    """I12: an erasure takes running jobs from their workers, wherever these stand still."""
    place = database(MESSAGES)
    late = paused(nursery, place, tmp_path / "gate", "frozen")
    nursery.run("erase_all", db=str(place), kind=what)
    before = everything(place)
    late.signal(signal.SIGCONT)
    assert nursery.reap(late) == 0, late.errors()
    assert late.notes("job") == [["1", "False"]]
    assert ["summarise.after_model"] in late.notes("reached"), "hollow run: the late result was never handed in"
    assert everything(place) == before, "I5: a late worker has changed something"
    assert rows(place, "select count(*) from summaries") == [(0,)], "I12: what was erased is spoken of"
    nursery.run("labour", db=str(place))
    check_settled(place)


@pytest.mark.parametrize("seq", [0, 2 * TURNS], ids=["of the old summary", "of what is read"])
def test_a_compression_that_slept_through_an_erasure_archives_nothing_that_was_erased(
    seq: int, nursery: Nursery, new: Callable[..., Place], tmp_path: Path
) -> None:
    """I5, I12: its answer repeats the message, be it that of the old summary or one that it was to read."""
    place, gate = new(), tmp_path / "gate"
    nursery.run("archive_first", db=str(place))
    assert rows(place, "select start, stop from documents") == [(0, 2 * TURNS)]
    late = nursery.start("archive_next", db=str(place), model="frozen", gate=str(gate))
    late.wait_for("asked")
    stop_between_writes(late, place)
    assert word_of(seq) in str(everything(place)), "hollow run: there is nothing to erase"
    nursery.run("erase_one", db=str(place), count=seq)
    before = everything(place)
    assert word_of(seq) not in str(before)
    gate.touch()
    late.signal(signal.SIGCONT)
    assert nursery.reap(late) == 0, late.errors()
    assert late.notes("job") == [["1", "False"]], "the late worker thinks that it did the job"
    assert ["summarise.after_model"] in late.notes("reached"), "hollow run: the late result was never handed in"
    assert everything(place) == before, "I5: a late worker has changed something"
    nursery.run("archive_all", db=str(place))
    assert rows(place, "select 1 from jobs where state in ('queued', 'running')") == []
    stored = everything(place)
    assert word_of(seq) not in str(stored), "I12: what was erased came back"
    spans = rows(place, "select start, stop from documents order by start")
    assert (spans[0][0], spans[-1][1]) == (0, 4 * TURNS), "hollow run: nothing was archived again"
    assert word_of(2) in str(rows(place, "select content from documents"))


def test_a_worker_that_slept_within_its_lease_keeps_its_job(
    nursery: Nursery, database: Callable[[int], Place], tmp_path: Path
) -> None:
    """What the tests above would see if the fence were not needed."""
    place, gate = database(MESSAGES), tmp_path / "gate"
    late = paused(nursery, place, gate, "frozen")
    late.signal(signal.SIGCONT)
    assert nursery.reap(late) == 0, late.errors()
    assert late.notes("job") == [["1", "True"]]
    assert rows(place, "select state, attempt from jobs order by created_at")[0] == ("done", 1)


def stop_between_writes(late: Child, place: Place) -> None:
    """Stopped in the middle of a heartbeat, it would hold the file for as long as it sleeps."""
    late.signal(signal.SIGSTOP)
    time.sleep(0.002)
    while isinstance(place, Path) and not is_free(place):
        late.signal(signal.SIGCONT)
        time.sleep(0.01)
        late.signal(signal.SIGSTOP)


def is_free(path: Path) -> bool:
    """Whether somebody could write into the file."""
    with closing(sqlite3.connect(path, timeout=0.5, isolation_level=None)) as connection:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return False
        connection.execute("ROLLBACK")
        return True


def test_of_many_results_that_come_late_none_changes_anything(
    places: Places,
    nursery: Nursery,
    new: Callable[..., Place],
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    """Ten workers at a time sleep past their leases, another does their jobs, and then they wake up."""
    place, gate, cycles = new(), tmp_path / "gate", CYCLES[places.kind]
    told: dict[str, Any] = {"db": str(place), "gate": str(gate), "count": cycles, "lease": NAP[places.kind]}
    # on a server, one that is stopped in the middle of a heartbeat holds the row of its job
    models = ("frozen", "held") if places.kind == SQLITE else ("frozen", "frozen")
    sleepers = [nursery.start("late", model=models[number % 2], **told) for number in range(LATE)]
    helper = nursery.start("helper", head=LATE, **told)
    accepted, rounds = 0, 0
    for number in range(cycles):
        # no more jobs than workers: who finds some taken goes on anywhere among the rest
        nursery.run("populate", db=str(place), count=LATE, head=MESSAGES, writer=number)
        Path(f"{gate}.go{number}").touch()
        for late in sleepers:
            late.wait_for("asked", count=number + 1)
            stop_between_writes(late, place)
        time.sleep(NAP[places.kind])
        Path(f"{gate}.help{number}").touch()
        helper.wait_for("round", count=number + 1)
        before = everything(place)
        Path(f"{gate}.answer{number}").touch()
        for late in sleepers:
            late.signal(signal.SIGCONT)
        for late in sleepers:
            late.wait_for("round", count=number + 1)
        assert everything(place) == before, "I5: a late worker has changed something"
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
    assert (rounds, accepted) == (LATE * cycles, 0)
    assert handed_in >= rounds // 2, "hollow run: the results were not handed in"
    assert ["summarise.after_commit"] not in [note for late in sleepers for note in late.notes("reached")]
    check_settled(place)
    assert rows(place, "select count(*) from summaries") == [(rounds,)], "one version a range"
