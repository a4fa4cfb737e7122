"""Several queues as one: nobody is lost, nobody waits longer than their turn."""

from __future__ import annotations

from collections import Counter
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from anaphora.storage.routed.queue import Due, merged


@st.composite
def fair_queues(draw: st.DrawFn) -> list[list[Due]]:
    """Up to three queues, each fair between its own tenants."""
    ids = iter(range(10_000))
    queues = []
    for server in draw(st.lists(st.sampled_from("abc"), unique=True, max_size=3)):
        counts = draw(st.lists(st.integers(1, 4), max_size=4))
        rounds = max(counts, default=0)
        queues.append(
            [
                (f"{server}{tenant}", UUID(int=next(ids)))
                for place in range(rounds)
                for tenant, count in enumerate(counts)
                if place < count
            ]
        )
    return queues


@given(fair_queues())
def test_every_tenants_first_job_comes_before_anybodys_second(queues: list[list[Due]]) -> None:
    place: Counter[str] = Counter()
    rounds = []
    for tenant, _ in merged(queues, limit=1000):
        place[tenant] += 1
        rounds.append(place[tenant])
    assert rounds == sorted(rounds)


@given(fair_queues(), st.integers(0, 30))
def test_nothing_is_lost_and_every_queue_keeps_its_order(queues: list[list[Due]], limit: int) -> None:
    everything = merged(queues, limit=1000)
    assert sorted(everything) == sorted(due for queue in queues for due in queue)
    for queue in queues:
        assert [due for due in everything if due in queue] == queue
    assert merged(queues, limit=limit) == everything[:limit]


@given(fair_queues())
def test_the_queue_that_is_given_first_goes_first(queues: list[list[Due]]) -> None:
    heads = [queue[0] for queue in queues if queue]
    assert merged(queues, limit=len(heads)) == heads
