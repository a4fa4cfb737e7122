"""The checker of list-append histories finds each anomaly in a history that has it, and none in one that has none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.faults.histories import Append, Glimpse, Read, anomalies

#: `a` and `b` are acknowledged one after the other, `c` never
GOOD = (
    Append(key="x", value="a", begun=0, ended=1, seq=0),
    Append(key="x", value="b", begun=2, ended=3, seq=1),
    Append(key="x", value="c", begun=4),
)


def read(*values: str, begun: float = 5, ended: float = 6, key: str = "x") -> Read:
    return Read(key=key, values=values, begun=begun, ended=ended)


def seen(length: int, *, begun: float, ended: float) -> Glimpse:
    return Glimpse(key="x", length=length, begun=begun, ended=ended)


@pytest.mark.parametrize(
    "reads",
    [
        [],
        [read("a", "b")],
        [read("a", "b", "c")],
        [read(begun=0, ended=0.5), read("a", begun=0, ended=1), read("a", "b", begun=2, ended=2.5)],
        # neither of two reads at the same time is later
        [read("a", "b", "c", begun=5, ended=7), read("a", "b", begun=6, ended=8)],
        [read("a", "b", "c", begun=5, ended=6), read("a", "b", "c", begun=7, ended=8)],
    ],
)
def test_what_can_be_is_no_anomaly(reads: Sequence[Read]) -> None:
    assert anomalies(GOOD, reads) == []


def test_lists_do_not_mix() -> None:
    other = [replace(append, key="y") for append in GOOD]
    assert anomalies([*GOOD, *other], [read("a", "b"), read("a", "b", "c", key="y")]) == []
    assert anomalies(GOOD, [read("a", key="y")]) == ["y: from nowhere: a"]


@pytest.mark.parametrize(
    ("reads", "found"),
    [
        ([read("a")], {"x: lost: b", "x: stale: 1 where 2 were known"}),
        ([read()], {"x: lost: a", "x: lost: b", "x: stale: 0 where 2 were known"}),
        ([read("a", "b", "c", "b")], {"x: doubled: b"}),
        ([read("b", "a")], {"x: misplaced: a is not at 0", "x: misplaced: b is not at 1"}),
        (
            [read("a", "b", "c"), read("a", "c", "b")],
            {"x: reordered: c and b are both at 1"},
        ),
        (
            [read("a", "b", "c", begun=5, ended=6), read("a", "b", begun=7, ended=8)],
            {"x: stale: 2 where 3 were known"},
        ),
        ([read("a", "b", "d")], {"x: from nowhere: d"}),
        ([read("a", "b", begun=1.2, ended=1.5)], {"x: from nowhere: b"}),
    ],
)
def test_each_anomaly_is_found(reads: Sequence[Read], found: set[str]) -> None:
    assert set(anomalies(GOOD, reads)) == found


def test_an_acknowledged_value_that_is_gone_from_the_last_read_only_is_lost() -> None:
    reads = [read("a", "b", begun=5, ended=6), read("a", begun=7, ended=8)]
    assert "x: lost: b" in anomalies(GOOD, reads)


@pytest.mark.parametrize(
    ("glimpses", "found"),
    [
        ([seen(2, begun=5, ended=6)], []),
        ([seen(1, begun=2, ended=6)], []),
        ([seen(1, begun=4, ended=6)], ["x: stale: 1 where 2 were known"]),
        ([seen(3, begun=5, ended=6), seen(2, begun=7, ended=8)], ["x: stale: 2 where 3 were known"]),
    ],
)
def test_a_length_that_is_too_short_is_found(glimpses: Sequence[Glimpse], found: list[str]) -> None:
    assert anomalies(GOOD, [], glimpses) == found
