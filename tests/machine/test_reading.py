"""Reading for facts under the machine: 20 to 60 runs of 30 steps (2,000 in `make test-deep`), on a server fewer."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import seed, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.databases.chosen import POSTGRES, SQLITE, on
from tests.machine.reading import Reading
from tests.machine.test_machine import FEW, TEN

#: a fault that never happened proves nothing
WANTED = frozenset({"edited what was read", "reset", "late", "in time", "pin", "confirm", "share", "delete", "undo"})


def missed() -> set[str]:
    """What should have come about, and did not."""
    return {what for what in WANTED if not Reading.seen[what]}


def drive(seeds: Iterable[int], *, on_a: str = SQLITE, enough: int | None = None, runs: settings = TEN) -> set[str]:
    """Some runs for each seed; what did not come about. After `enough` seeds no more once all of it has."""
    Reading.seen.clear()
    with on(on_a):
        for done, number in enumerate(seeds):
            if enough is not None and done >= enough and not missed():
                break
            try:
                run_state_machine_as_test(seed(f"Reading {number}")(Reading), settings=runs)
            except Exception as error:
                error.add_note(f"seed {number}")
                raise
    return missed()


@pytest.mark.timeout(600)
def test_what_is_known_is_what_is_said() -> None:
    assert not drive(range(6), enough=2)


@pytest.mark.timeout(600)
def test_what_is_known_is_what_is_said_on_a_server() -> None:
    # the laws alone: which steps a few runs take varies with the server, what should come about is counted on a file
    drive(range(1), on_a=POSTGRES, runs=FEW)
    assert Reading.seen


@pytest.mark.deep
@pytest.mark.timeout(0)
@pytest.mark.parametrize("kind", [SQLITE, POSTGRES])
def test_what_is_known_is_what_is_said_in_thousands_of_runs(kind: str) -> None:
    assert not drive(range(1000, 1200), on_a=kind)
