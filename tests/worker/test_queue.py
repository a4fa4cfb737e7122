"""Which job a worker tries next: in order while it is alone, spread out where many meet."""

from __future__ import annotations

from uuid import UUID

import pytest

from anaphora.worker.queue import LOOK, Due, Queue

DUE: list[Due] = [("t", UUID(int=number)) for number in range(LOOK)]


def looked(count: int = LOOK, *, now: float = 0.0) -> Queue:
    queue = Queue()
    queue.looked(DUE[:count], now)
    return queue


def rest(queue: Queue, chance: int = 0) -> list[Due]:
    """What it would try, were it never served."""
    found: list[Due] = []
    while (due := queue.next(chance)) is not None:
        found.append(due)
    return found


@pytest.mark.parametrize("chance", [0, 1, 7, 255])
def test_alone_a_worker_takes_jobs_in_their_order_whatever_chance_says(chance: int) -> None:
    assert rest(looked(), chance) == DUE


def test_every_job_is_tried_once_however_often_the_worker_is_beaten() -> None:
    queue = looked()
    tried: list[Due] = []
    while (due := queue.next(chance=11 * len(tried))) is not None:
        tried.append(due)
        queue.beaten()
    assert sorted(tried) == DUE


def test_workers_that_were_beaten_to_the_same_job_do_not_meet_at_the_next_one() -> None:
    """The more often they are beaten, the further they spread."""
    reached = []
    for losses in range(7):
        last = []
        for chance in range(256):
            queue = looked()
            for _ in range(losses):
                queue.beaten()
            last.append(queue.next(chance))
        reached.append(len(set(last)))
    assert reached == [1, 2, 4, 8, 16, 32, 32]


def test_a_worker_that_is_served_again_comes_back_to_the_order() -> None:
    queue = looked()
    for _ in range(3):
        queue.beaten()
    for _ in range(7):
        queue.won()
    assert rest(queue, 255) == DUE


@pytest.mark.parametrize(
    ("now", "fresh"), [(100.0, True), (100.249, True), (100.25, False), (99.9, False), (1000.0, False)]
)
def test_a_look_is_good_for_a_quarter_of_a_second(now: float, *, fresh: bool) -> None:
    assert looked(now=100.0).is_fresh(now) is fresh


def test_a_look_is_good_for_four_jobs_and_for_none_when_nothing_is_left() -> None:
    queue = looked(now=100.0)
    served = 0
    while queue.is_fresh(100.0):
        queue.next(0)
        queue.won()
        served += 1
    assert served == 4
    assert not looked(0, now=100.0).is_fresh(100.0)
    assert not Queue().is_fresh(0.0)
