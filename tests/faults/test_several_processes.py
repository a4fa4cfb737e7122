"""Several processes that write to one file (F10): nobody is turned away, nobody starves, nothing is lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import quantiles
from typing import Any

import pytest
from tests.faults.laws import check_sound, check_whole, log_of
from tests.faults.nursery import Nursery
from tests.faults.programs import text_of

pytestmark = [
    pytest.mark.faults,
    pytest.mark.sqlite_only("who gets its lock next is decided by SQLite; a server has many writers"),
]

WRITERS = 4
SECONDS = 10.0
#: of an equal share, what the slowest writer must get at least
LEAST = 0.1


def test_four_writers_on_one_file_are_all_served_and_none_is_told_that_it_is_locked(
    nursery: Nursery, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    path, gate = tmp_path / "m.db", tmp_path / "gate"
    nursery.run("populate", db=str(path), count=0)
    told: dict[str, Any] = {"db": str(path), "gate": str(gate), "seconds": SECONDS}
    children = [nursery.start("steady", writer=number, **told) for number in range(WRITERS)]
    for child in children:
        child.wait_for("open")
    Path(f"{gate}.go").touch()
    for child in children:
        assert nursery.reap(child, timeout=SECONDS + 20) == 0, child.errors()
        assert child.notes("busy") == [], "a writer was turned away"
    check_whole(path)
    counts = []
    for number, child in enumerate(children):
        took = [(int(message), int(seq)) for message, seq, _ in child.notes("took")]
        assert took == [(message, message) for message in range(len(took))], "I2: the places are not in order"
        assert log_of(path, f"s{number}") == [text_of(message) for message in range(len(took))], "I7"
        counts.append(len(took))
    waits = sorted(float(seconds) * 1000 for child in children for *_, seconds in child.notes("took"))
    cuts = quantiles(waits, n=100)
    figures = f"{sum(counts) / SECONDS:.0f}/s, p50 {cuts[49]:.1f} ms, p99 {cuts[98]:.1f} ms, max {waits[-1]:.1f} ms"
    print(f"{WRITERS} writers: {figures}, shares {counts}")
    record_property("appends", figures)
    assert min(counts) >= LEAST * sum(counts) / WRITERS, f"a writer starves: {counts}"
    check_sound(path)
