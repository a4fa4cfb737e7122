"""Lists that are appended to and read by processes that die (F11; I2, I7, I14): one order, nothing lost or twice."""

from __future__ import annotations

import json
import random
import signal
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from tests.faults.histories import Append, Glimpse, Read, anomalies
from tests.faults.laws import check_settled, log_of
from tests.faults.nursery import Child, Nursery
from tests.faults.places import Place

pytestmark = pytest.mark.faults

SECONDS = 60.0
LISTS = ("v", "w", "x", "y", "z")
WRITERS, WORKERS = 3, 2
#: seconds between two deaths, and between two looks by the command line
DEATHS, LOOKS = (0.5, 1.2), 4.0


@dataclass(kw_only=True)
class Member:
    """One process after the other in the same role."""

    program: str
    number: int
    lives: list[Child] = field(default_factory=list)

    def appends(self) -> Iterable[tuple[str, str, float, tuple[float, int] | None]]:
        """List, value, when it was begun, and when and where it was acknowledged."""
        for life in self.lives:
            acked = {value: (float(at), int(seq)) for at, _, value, seq in life.notes("appended")}
            for at, name, value in life.notes("append"):
                yield name, value, float(at), acked.get(value)

    def pending(self) -> list[tuple[str, str]]:
        """What no process of this role has got an answer to."""
        appends = list(self.appends())
        acked = {value for _, value, _, answer in appends if answer is not None}
        return sorted({(name, value) for name, value, _, _ in appends if value not in acked})

    def following(self) -> int:
        """The number of the next value."""
        numbers = [int(value.partition(".")[2]) for _, value, _, _ in self.appends()]
        return max(numbers, default=-1) + 1


class Town:
    """All processes on one database."""

    def __init__(self, nursery: Nursery, folder: Path, place: Place) -> None:
        self.place = place
        self.gate = folder / "gate"
        self.deaths = 0
        #: looks by the command line: when it was begun and when it had ended
        self.looks: list[Read] = []
        self._nursery = nursery
        nursery.run("populate", db=str(self.place), count=0)
        self.members = [Member(program="lists", number=number) for number in range(WRITERS)]
        self.members += [Member(program="toil", number=number) for number in range(WORKERS)]
        self.onlooker = nursery.start("onlooker", db=str(self.place), gate=str(self.gate), words=LISTS)
        for member in self.members:
            self.bear(member)

    def bear(self, member: Member, *, count: int = 10_000) -> None:
        """The next process of that role goes on where the last one died."""
        told: dict[str, Any] = {
            "db": str(self.place),
            "words": LISTS,
            "writer": member.number,
            "count": count,
            "batch": 20,
        }
        pending, head = member.pending(), member.following()
        member.lives.append(self._nursery.start(member.program, pending=pending, head=head, **told))

    def kill(self, member: Member) -> None:
        """End its process without a warning."""
        life = member.lives[-1]
        life.signal(signal.SIGKILL)
        assert self._nursery.reap(life) == -9, f"it had ended before: {life.errors()}"
        self.deaths += 1

    def look(self, name: str) -> None:
        """Read a list as a person would."""
        begun = time.monotonic()
        words = ["history", "--user", "u", "--session", name, "--limit", "1000", "--json"]
        child = self._nursery.run("anaphora", db=str(self.place), words=words)
        values = [message["content"] for message in json.loads(child.out.read_text(encoding="utf-8"))["messages"]]
        self.looks.append(Read(key=name, values=values, begun=begun, ended=time.monotonic()))

    def end(self) -> None:
        """Everybody dies; what was under way is tried again; the rest of the work is done."""
        Path(f"{self.gate}.end").touch()
        assert self._nursery.reap(self.onlooker) == 0, self.onlooker.errors()
        for member in self.members:
            self.kill(member)
            if member.program == "lists":
                self.bear(member, count=0)
                assert self._nursery.reap(member.lives[-1]) == 0, member.lives[-1].errors()
                assert member.pending() == []
        assert self._nursery.run("labour", db=str(self.place), batch=20).notes("quiet") == [["True"]]

    def appends(self) -> list[Append]:
        """All appends; one that was tried again began with its first attempt."""
        found: dict[str, Append] = {}
        for member in self.members:
            for name, value, begun, answer in member.appends():
                first = found.get(value) or Append(key=name, value=value, begun=begun)
                ended, seq = answer or (first.ended, first.seq)
                found[value] = replace(first, ended=ended, seq=seq)
        return list(found.values())

    def reads(self) -> list[Read]:
        """All reads of whole lists, by whomever."""
        lives = [self.onlooker, *(life for member in self.members for life in member.lives)]
        return self.looks + [
            Read(key=name, values=tuple(filter(None, values.split(","))), begun=float(begun), ended=float(ended))
            for life in lives
            for begun, ended, name, values in life.notes("read")
        ]

    def glimpses(self) -> list[Glimpse]:
        """All lengths that contexts told."""
        return [
            Glimpse(key=name, length=int(length), begun=float(begun), ended=float(ended))
            for member in self.members
            for life in member.lives
            for begun, ended, name, length in life.notes("saw")
        ]


def test_lists_that_are_written_and_read_amid_deaths_have_no_anomaly(
    nursery: Nursery, new: Callable[..., Place], tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    chance = random.Random(11)
    town = Town(nursery, tmp_path, new())
    end, look = time.monotonic() + SECONDS, time.monotonic()
    while time.monotonic() < end:
        time.sleep(chance.uniform(*DEATHS))
        victim = chance.choice(town.members)
        town.kill(victim)
        town.bear(victim)
        if time.monotonic() > look:
            town.look(chance.choice(LISTS))
            look = time.monotonic() + LOOKS
    town.end()
    appends, reads, glimpses = town.appends(), town.reads(), town.glimpses()
    found = anomalies(appends, reads, glimpses)
    again = sum(len(life.notes("append")) for member in town.members for life in member.lives) - len(appends)
    figures = f"{len(appends)} appends, {again} of them tried again, {len(reads)} reads, {len(glimpses)} glimpses"
    figures += f", {town.deaths} deaths, {len(found)} anomalies"
    print(figures)
    record_property("list_append", figures)
    assert max(len(log_of(town.place, name)) for name in LISTS) <= 1000, "a list is longer than what one read takes"
    assert found == []
    assert again > 0, "hollow run: nobody died while appending"
    assert town.deaths > SECONDS / DEATHS[1] / 2, "hollow run: hardly anybody died"
    for name in LISTS:
        begun = {append.value for append in appends if append.key == name}
        log = log_of(town.place, name)
        assert len(log) == len(set(log)), "I14: something is there twice"
        assert set(log) == begun
    check_settled(town.place)
