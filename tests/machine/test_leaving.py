"""Erasing and expiring under the machine: 10 runs of 30 steps (2,000 in `make test-deep`), on a server fewer."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import seed, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.databases.chosen import POSTGRES, SQLITE, on
from tests.machine.leaving import Leaving
from tests.machine.test_machine import TEN

#: what never happened proves nothing
WANTED = frozenset(
    {"expired", "erased in the end", "brought back", "written to while out of sight", "erased while out of sight"}
    | {"kept because it is to be read", "looked for what is out of sight", "erased what was summarised", "compressed"}
    | {"archived", "a fact erased", "the user erased", "put back", "late", "in time"}
)
#: what comes about in any ten runs; the deep runs want all of it
WANTED_OF_FEW = frozenset({"expired", "erased in the end", "compressed", "archived", "put back"})
#: on a server every day, where each erasure takes longer
TWO = settings(TEN, max_examples=2)


def drive(seeds: Iterable[int], *, on_a: str = SQLITE, runs: settings = TEN) -> set[str]:
    """Some runs for each seed; what did not come about."""
    Leaving.seen.clear()
    with on(on_a):
        for number in seeds:
            try:
                run_state_machine_as_test(seed(f"Leaving {number}")(Leaving), settings=runs)
            except Exception as error:
                error.add_note(f"seed {number}")
                raise
    return {what for what in WANTED if not Leaving.seen[what]}


@pytest.mark.timeout(600)
def test_what_is_to_be_gone_is_gone_and_nothing_else() -> None:
    assert not drive(range(1)) & WANTED_OF_FEW


@pytest.mark.timeout(600)
def test_what_is_to_be_gone_is_gone_and_nothing_else_on_a_server() -> None:
    # the laws alone: which steps a few runs take varies with the server, what should come about is counted on a file
    drive(range(1), on_a=POSTGRES, runs=TWO)
    assert Leaving.seen


@pytest.mark.deep
@pytest.mark.timeout(0)
@pytest.mark.parametrize("kind", [SQLITE, POSTGRES])
def test_what_is_to_be_gone_is_gone_in_thousands_of_runs(kind: str) -> None:
    assert not drive(range(1000, 1200), on_a=kind)
