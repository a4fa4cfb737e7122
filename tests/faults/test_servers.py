"""Servers that end connections, stop, and die, under load (F7; I2, I7, I9, I14): nobody is lost, all goes on."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.faults.laws import check_kept, check_settled, check_whole, log_of
from tests.faults.nursery import Nursery
from tests.faults.persisting import EACH
from tests.faults.places import Place, Served, on_a_server, rows
from tests.faults.programs import CROWD, end_connections, text_of

from anaphora.storage.postgres.embedded import Server

pytestmark = [pytest.mark.faults, on_a_server]

PROCESSES = 2
#: messages of the process whose connections end at a failpoint
FEW = 24
#: failpoint, count and model: in the middle of appends, claims, assignments, results, heartbeats
CUTS: Sequence[tuple[str, int, str]] = (
    ("append.before_commit", 1, "honest"),
    ("append.before_commit", 7, "honest"),
    ("append.after_commit", 7, "honest"),
    *(("write.before_commit", count, "honest") for count in range(1, 10)),
    ("write.after_commit", 3, "honest"),
    ("worker.claimed", 2, "honest"),
    ("summarise.assigned", 2, "honest"),
    ("summarise.after_model", 2, "honest"),
    ("summarise.after_commit", 2, "honest"),
    ("worker.heartbeat", 1, "slow"),
    ("worker.retry_planned", 1, "failing"),
)
_STARTED = "select pg_postmaster_start_time()"


@pytest.mark.parametrize(("name", "count", "model"), CUTS)
def test_connections_that_end_at_a_failpoint_are_not_noticed(
    name: str, count: int, model: str, nursery: Nursery, new: Callable[..., Place]
) -> None:
    """What was not committed is done again, what was is not; neither a caller nor the worker gets an error."""
    place = new()
    child = nursery.run("library", db=str(place), cut=f"{name}:{count}", model=model, count=FEW)
    ((at, ended),) = child.notes("cut")
    assert at == name
    assert int(ended) > 0, "hollow run: there were no connections"
    assert "The store failed" not in child.errors()
    assert child.notes("quiet") == [["True"]]
    assert check_kept(place, acked=child.acked, unanswered=[]) == FEW
    check_settled(place, honest=model != "failing")
    again = rows(place, "select 1 from jobs where reason is null and attempt > 1")
    assert again == [], "a job was claimed twice"


class Load:
    """Processes with workers, whose tasks each append to a session of their own while their server has trouble."""

    def __init__(self, nursery: Nursery, place: Place, gate: Path, **how: Any) -> None:
        self.place = place
        self._nursery = nursery
        self._end = Path(f"{gate}.end")
        told: dict[str, Any] = {"db": str(place), "gate": str(gate), "batch": 60, **how}
        self.children = [nursery.start("persist", writer=number, **told) for number in range(PROCESSES)]
        for child in self.children:
            child.wait_for("ack")

    def wait_for_more(self) -> None:
        """Until every process has got an answer to several more."""
        for child in self.children:
            child.wait_for("ack", count=len(child.acked) + 10, timeout=60)

    def refusals(self) -> list[str]:
        """Each with its kind."""
        return [f"{kind} {' '.join(said)}" for child in self.children for kind, _, *said in child.notes("refused")]

    def end(self) -> int:
        """Nobody says anything new; what is due is done. All that was sent is there, once; how much."""
        self._end.touch()
        for child in self.children:
            assert self._nursery.reap(child, timeout=60) == 0, child.errors()
            assert child.notes("quiet") == [["True"]]
            assert child.unanswered == []
        self._check()
        return sum(len(child.acked) for child in self.children)

    def _check(self) -> None:
        check_whole(self.place)
        acked = {number: seq for child in self.children for number, seq in child.acked.items()}
        for task in range(PROCESSES * CROWD):
            numbers = [number for number in sorted(acked) if number // EACH == task]
            assert [acked[number] for number in numbers] == list(range(len(numbers))), "I2"
            assert log_of(self.place, f"s{task}") == [text_of(number) for number in numbers], "I7, I14"
        check_settled(self.place, refused=True)


@pytest.fixture
def load(nursery: Nursery, new: Callable[..., Place], tmp_path: Path) -> Callable[..., Load]:
    return lambda **how: Load(nursery, new(), tmp_path / "gate", **how)


def test_connections_that_end_all_the_time_are_not_noticed(
    load: Callable[..., Load], record_property: Callable[[str, object], None]
) -> None:
    chance = random.Random(7)
    running, ended = load(), 0
    for _ in range(20):
        time.sleep(chance.uniform(0.05, 0.2))
        ended += end_connections(str(running.place))
    running.wait_for_more()
    sent = running.end()
    figures = f"{ended} connections ended, {sent} appends acknowledged, {len(running.refusals())} refused"
    print(figures)
    record_property("connections_ended", figures)
    assert ended > 40, "hollow run: there were hardly any connections"
    assert running.refusals() == []


@pytest.mark.parametrize("how", ["kill", "immediate", "fast"])
def test_a_server_that_restarts_under_load_keeps_what_it_acknowledged(
    how: str, own_server: Server, load: Callable[..., Load], record_property: Callable[[str, object], None]
) -> None:
    chance = random.Random(how)
    running, starts = load(), set(rows(Served(own_server.dsn()), _STARTED))
    for _ in range(4):
        time.sleep(chance.uniform(0.1, 0.6))
        down(own_server, how)
        assert not own_server.is_running()
        own_server.start()
        starts |= set(rows(Served(own_server.dsn()), _STARTED))
        running.wait_for_more()
    sent = running.end()
    figures = f"4 times {how}: {sent} appends acknowledged, {len(running.refusals())} refused"
    print(figures)
    record_property("server_restarts", figures)
    assert len(starts) == 5, "hollow run: it was one and the same server"
    check_clear(running.refusals())


def test_a_server_that_is_away_for_longer_than_anybody_waits_is_told_of_and_found_again(
    own_server: Server, load: Callable[..., Load]
) -> None:
    """No process has to be restarted: the pool makes new connections by itself."""
    running = load(patience=0.3)
    own_server.kill()
    time.sleep(1.5)
    for child in running.children:
        child.wait_for("refused")
    own_server.start()
    running.wait_for_more()
    running.end()
    assert all(child.notes("refused") for child in running.children), "hollow run: nobody missed it"
    check_clear(running.refusals())


def down(server: Server, how: str) -> None:
    """End it: all its processes killed, or by its own ways of stopping."""
    if how == "kill":
        server.kill()
    else:
        server.stop(mode="immediate" if how == "immediate" else "fast")


def check_clear(refusals: Sequence[str]) -> None:
    """Whoever was refused was told what was wrong with the server."""
    for refusal in refusals:
        kind, _, said = refusal.partition(" ")
        assert kind in {"StoreError", "StoreBusy"}, refusal
        assert "server" in said, refusal
