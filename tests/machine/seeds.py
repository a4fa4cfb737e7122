"""The oracle check: the algorithms of two seeds as they are printed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.machine.subjects import Served

from anaphora.testing.summaries import canaries


class Seed004:
    """`RollingSummaryMemory` as seed 004 prints it: reuse while the count is close, an excuse on failure."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.cached: tuple[str, int] | None = None
        self.mode = "ok"

    @property
    def head(self) -> int:
        return len(self.log)

    def append(self, roles: Sequence[str]) -> None:
        self.log += roles

    def work(self, mode: str) -> bool:
        self.mode = mode
        return False

    def close(self) -> None:
        pass

    def serve(self) -> Served:
        if len(self.log) <= 8:
            return Served(set(), set(range(len(self.log))), set())
        old = len(self.log) - 8
        if self.cached is None or abs(self.cached[1] - old) >= 8:
            text = f"#0-{old - 1}#" if self.mode == "ok" else f"Previous conversation: {old} messages."
            self.cached = (text, old)
        return Served(canaries(self.cached[0]), set(range(old, len(self.log))), set())


class Seed000:
    """The sliding window as seed 000 prints it: a status row as the lock, no lease, what leaves the window is gone."""

    def __init__(self) -> None:
        self.head = 0
        self.rows: list[dict[str, Any]] = []

    def append(self, roles: Sequence[str]) -> None:
        self.head += len(roles)
        last = self.head - 1
        if last < 5 or any(row["status"] == "processing" for row in self.rows):
            return
        start = max(0, last - 13)
        start += start % 2
        base = self._latest()
        self.rows.append({"start": start, "end": last, "base": base, "status": "processing"})

    def work(self, mode: str) -> bool:
        for row in self.rows:
            if row["status"] == "processing":
                row["status"] = "completed" if mode == "ok" else "failed"
                base = row["base"]
                covered = set(range(base["end"] + 1 if base else row["start"], row["end"] + 1))
                if base:
                    covered |= base["covered"]
                row["covered"] = {n for n in covered if n >= row["start"]}
        return False

    def close(self) -> None:
        pass

    def _latest(self) -> dict[str, Any] | None:
        done = [row for row in self.rows if row["status"] == "completed"]
        return max(done, key=lambda row: row["end"]) if done else None

    def serve(self) -> Served:
        latest = self._latest()
        if latest is None:
            return Served(set(), set(range(self.head)), set())
        return Served(latest["covered"], set(range(latest["end"] + 1, self.head)), set())
