"""Topics under the machine: 30 runs of 30 steps (2,000 in `make test-deep`), on a server fewer."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import seed, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.databases.chosen import POSTGRES, SQLITE, on
from tests.machine.shifting import Shifting
from tests.machine.test_machine import FEW, TEN


class ShiftingWithoutModel(Shifting):
    """Rules decide and describe."""

    with_model = False


#: a fault that never happened proves nothing
WANTED = frozenset(
    {"closed by shift", "closed by return", "closed by ended", "described by model", "described by digest", "stale"}
    | {"served a summary", "served a thread", "served stale", "late", "in time", "a job changed hands", "reset"}
    | {"a result was refused", "looked back: the same", "looked back: described again since"}
    | {f"{what} while to {kind}" for what in ("edit", "delete", "end", "append") for kind in ("follow", "describe")}
)
#: what comes about in any thirty runs; the deep runs want all of it
WANTED_OF_FEW = frozenset(
    {"closed by shift", "closed by ended", "described by model", "stale", "in time", "served a thread"}
)
WANTED_WITHOUT_MODEL = frozenset({"closed by shift", "described by extractive", "stale", "late"})


def missed(machine: type[Shifting]) -> set[str]:
    """What should have come about, and did not."""
    wanted = WANTED if machine.with_model else WANTED_WITHOUT_MODEL
    return {what for what in wanted if not machine.seen[what]}


def drive(machine: type[Shifting], seeds: Iterable[int], *, on_a: str = SQLITE, runs: settings = TEN) -> set[str]:
    """Some runs for each seed; what did not come about."""
    machine.seen.clear()
    with on(on_a):
        for number in seeds:
            try:
                run_state_machine_as_test(seed(f"{machine.__name__} {number}")(machine), settings=runs)
            except Exception as error:
                error.add_note(f"seed {number}")
                raise
    return missed(machine)


@pytest.mark.timeout(600)
def test_topics_hold_what_is_said() -> None:
    assert not drive(Shifting, range(3)) & WANTED_OF_FEW


@pytest.mark.timeout(600)
def test_topics_hold_what_is_said_without_a_model() -> None:
    assert not drive(ShiftingWithoutModel, range(1))


@pytest.mark.timeout(600)
def test_topics_hold_what_is_said_on_a_server() -> None:
    # the laws alone: which steps a few runs take varies with the server, what should come about is counted on a file
    drive(Shifting, range(1), on_a=POSTGRES, runs=FEW)
    assert Shifting.seen


@pytest.mark.deep
@pytest.mark.timeout(0)
@pytest.mark.parametrize("kind", [SQLITE, POSTGRES])
@pytest.mark.parametrize("machine", [Shifting, ShiftingWithoutModel])
def test_topics_hold_what_is_said_in_thousands_of_runs(machine: type[Shifting], kind: str) -> None:
    assert not drive(machine, range(1000, 1200), on_a=kind)
