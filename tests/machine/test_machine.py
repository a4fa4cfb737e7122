"""20 runs of 30 steps for each strategy (2,000 in `make test-deep`); the seeds' own algorithms must fail them.

On PostgreSQL there are four, but for `make test-deep`: each of its runs takes as long as several on SQLite.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.databases.chosen import POSTGRES, SQLITE, on
from tests.machine.machine import CoverageMachine
from tests.machine.seeds import Seed000, Seed004
from tests.machine.subjects import Subject
from tests.machine.working import Working

#: runs of one seed. In its first ten Hypothesis makes each of them anew; later it mostly varies those that it has
TEN = settings(
    max_examples=10,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    phases=[Phase.explicit, Phase.generate],
    print_blob=True,
)
#: on a server every day, where each of them takes as long as several on a file
FEW = settings(TEN, max_examples=4)
CI = range(2)
DEEP = range(1000, 1200)

WHILE_ASKED = {"edit", "delete", "reset", "lease", "append", "rebuild", "others"}
#: a fault that never happened proves nothing
WANTED = frozenset(
    {f"{what} meanwhile" for what in WHILE_ASKED}
    | {"edited and made stale", "deleted and made stale", "deleted for good", "reset", "caught up", "rebuilt"}
    | {"a worker in time", "a late worker", "a job changed hands", "a result was refused"}
    | {"served stale", "served degraded", "elided and found"}
    | {"looked back by number past a change", "looked back by time past a change"}
)
#: what comes about in any ten runs; the deep runs want all of it
WANTED_OF_FEW = frozenset(
    {"a worker in time", "a late worker", "a job changed hands", "edited and made stale", "deleted and made stale"}
    | {"caught up", "rebuilt", "looked back by time past a change"}
)
BY_STEPS = frozenset({"half a rebuild", "edited while a rebuild went on", "deleted while a rebuild went on"})


def drive(machine: type[Working], seeds: Iterable[int], *, on_a: str = SQLITE, runs: settings = TEN) -> set[str]:
    """Some runs for each seed on such a database; what should have come about, and did not."""
    machine.seen.clear()
    with on(on_a):
        check(machine, seeds, runs)
    return machine.hollow()


def check(machine: type[CoverageMachine], seeds: Iterable[int], runs: settings = TEN) -> None:
    """Some runs for each seed."""
    for number in seeds:
        try:
            run_state_machine_as_test(seed(f"{machine.__name__} {number}")(machine), settings=runs)
        except Exception as error:
            error.add_note(f"seed {number}")
            raise


class RollingPairsMachine(Working):
    """The default strategy, with room for everything that an honest model says."""

    options = {"rolling_pairs": {"summary_max_tokens": 600}, "worker": {"batch_messages": 10}}  # noqa: RUF012 - read only
    wanted = WANTED | BY_STEPS | {"kept whole", "failed jobs tried again"}


class TightSummariesMachine(Working):
    """The default strategy, with summaries so small that points are merged and dropped all the time."""

    options = {"rolling_pairs": {"summary_max_tokens": 160}, "worker": {"batch_messages": 10}}  # noqa: RUF012 - read only
    roomy = False
    wanted = WANTED | BY_STEPS | {"failed jobs tried again"}


class SlidingWindowMachine(Working):
    """The other strategy."""

    options = {"strategy": "sliding_window", "sliding_window": {"summary_max_tokens": 600}}  # noqa: RUF012 - read only
    wanted = WANTED | {"kept whole", "failed jobs tried again"}


class TokenBudgetMachine(Working):
    """Compression by tokens, with documents of what was compressed; its summaries are small."""

    options = {  # noqa: RUF012 - read only
        "strategy": "token_budget",
        "token_budget": {"threshold_tokens": 192, "recent_messages_to_keep": 3, "archive_conversations": True},
        "worker": {"batch_messages": 10},
    }
    roomy = False
    wanted = WANTED | BY_STEPS | {"failed jobs tried again"}


class NoModelMachine(Working):
    """The default strategy without any language model: chosen sentences are all there is."""

    options = {"rolling_pairs": {"summary_max_tokens": 300}, "worker": {"batch_messages": 10}}  # noqa: RUF012 - read only
    with_model = False
    roomy = False
    wanted = WANTED | BY_STEPS


MACHINES = [RollingPairsMachine, TightSummariesMachine, SlidingWindowMachine, TokenBudgetMachine, NoModelMachine]
#: on a server, where each statement takes longer, every day; `make test-deep` runs thousands of all of them there too
ON_A_SERVER = [RollingPairsMachine, TokenBudgetMachine]


class Seed000Machine(CoverageMachine):
    """The oracle check: seed 000 as printed."""

    def make(self) -> Subject:
        return Seed000()


class Seed004Machine(CoverageMachine):
    """The oracle check: seed 004 as printed."""

    def make(self) -> Subject:
        return Seed004()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("machine", MACHINES)
def test_nothing_is_ever_silently_forgotten(machine: type[Working]) -> None:
    assert not drive(machine, CI) & WANTED_OF_FEW


@pytest.mark.timeout(600)
@pytest.mark.parametrize("machine", ON_A_SERVER)
def test_nothing_is_ever_silently_forgotten_on_a_server(machine: type[Working]) -> None:
    # the laws alone: which steps a few runs take varies with the server, what should come about is counted on a file
    drive(machine, range(1), on_a=POSTGRES, runs=FEW)
    assert machine.seen


@pytest.mark.deep
@pytest.mark.timeout(0)
@pytest.mark.parametrize("kind", [SQLITE, POSTGRES])
@pytest.mark.parametrize("machine", MACHINES)
def test_nothing_is_forgotten_in_thousands_of_runs(machine: type[Working], kind: str) -> None:
    assert not drive(machine, DEEP, on_a=kind)


@pytest.mark.parametrize("machine", [Seed000Machine, Seed004Machine])
def test_the_seeds_own_algorithms_fail_the_same_machine(machine: type[CoverageMachine]) -> None:
    with pytest.raises(AssertionError, match="are nowhere"):
        check(machine, range(20))
