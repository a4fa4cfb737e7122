"""Which job a worker tries next: in order while it is alone, spread out where many meet."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import pytest

from anaphora.worker.queue import LOOK, Due, Queue

#: of two tenants, in turn
DUE: list[Due] = [("tu"[number % 2], UUID(int=number)) for number in range(LOOK)]
#: of as many tenants
OF_MANY: list[Due] = [(f"{number:03}", UUID(int=number)) for number in range(LOOK)]


def looked(due: Sequence[Due] = DUE, *, now: float = 0.0) -> Queue:
    queue = Queue()
    queue.looked(due, now)
    return queue


def served(queue: Queue, chance: int = 0) -> list[UUID]:
    """What it gets while it always gets the first that it asks for."""
    found: list[UUID] = []
    while (wanted := queue.next(chance)) is not None:
        found.append(wanted[1][0])
        queue.won(wanted, wanted[1][0])
    return found


@pytest.mark.parametrize("chance", [0, 1, 7, 255])
def test_alone_a_worker_takes_jobs_in_their_order_whatever_chance_says(chance: int) -> None:
    assert served(looked(), chance) == [job_id for _, job_id in DUE]


def test_a_worker_asks_for_all_that_it_saw_of_a_tenant_the_first_of_them_first() -> None:
    assert looked().next(0) == ("t", [job_id for tenant, job_id in DUE if tenant == "t"])


def test_what_was_not_free_before_the_job_that_was_is_not_asked_for_again() -> None:
    queue = looked()
    wanted = queue.next(0)
    assert wanted is not None
    queue.won(wanted, wanted[1][3])
    assert served(queue) == [job_id for _, job_id in DUE if job_id not in wanted[1][:4]]


def test_every_tenant_is_asked_for_once_however_often_the_worker_is_beaten() -> None:
    queue = looked(OF_MANY)
    tried: list[str] = []
    while (wanted := queue.next(chance=11 * len(tried))) is not None:
        tried.append(wanted[0])
        queue.beaten(wanted)
    assert sorted(tried) == [tenant for tenant, _ in OF_MANY]


def test_workers_that_were_beaten_at_the_same_tenant_do_not_meet_at_the_next_one() -> None:
    """The more often they are beaten, the further they spread."""
    reached = []
    for losses in range(9):
        last = []
        for chance in range(256):
            queue = looked(OF_MANY)
            for _ in range(losses):
                queue.beaten(("another", ()))
            wanted = queue.next(chance)
            last.append(wanted[0] if wanted is not None else "")
        reached.append(len(set(last)))
    assert reached == [1, 2, 4, 8, 16, 32, 64, 128, 128]


def test_a_worker_that_is_served_again_comes_back_to_the_order() -> None:
    queue = looked(OF_MANY)
    for _ in range(3):
        queue.beaten(("another", ()))
    for _ in range(7):
        queue.won(("another", [UUID(int=99)]), UUID(int=99))
    assert served(queue, 255) == [job_id for _, job_id in OF_MANY]


@pytest.mark.parametrize(
    ("now", "fresh"), [(100.0, True), (100.249, True), (100.25, False), (99.9, False), (1000.0, False)]
)
def test_a_look_is_good_for_a_quarter_of_a_second(now: float, *, fresh: bool) -> None:
    assert looked(now=100.0).is_fresh(now) is fresh


def test_a_look_is_good_for_eight_jobs_and_for_none_when_nothing_is_left() -> None:
    queue = looked(now=100.0)
    served = 0
    while queue.is_fresh(100.0):
        wanted = queue.next(0)
        assert wanted is not None
        queue.won(wanted, wanted[1][0])
        served += 1
    assert served == 8
    assert not looked([], now=100.0).is_fresh(100.0)
    assert not Queue().is_fresh(0.0)
