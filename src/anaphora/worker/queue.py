"""Which of the jobs that are due a worker tries next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

#: a tenant and the id of a job of it
Due = tuple[str, UUID]

#: jobs that one look gives
LOOK: Final = 32
#: of which so many may be taken, within so many seconds, before the worker looks again: others come meanwhile
_USES, _SECONDS = 4, 0.25


@dataclass(slots=True)
class Queue:
    """What a worker saw when it last looked.

    Workers that look at the same time see the same jobs. One that is alone takes them in their order; one that is
    beaten to a job goes on anywhere among the next, further away the more often it is beaten, so that many workers
    do not all wait for the same one.
    """

    _due: list[Due] = field(default_factory=list)
    _looked_at: float = 0.0
    _uses: int = 0
    _width: int = 1

    def is_fresh(self, now: float) -> bool:
        """Whether the last look still tells what is due; `now` is monotonic, in seconds."""
        return bool(self._due) and self._uses > 0 and 0 <= now - self._looked_at < _SECONDS

    def looked(self, due: Sequence[Due], now: float) -> None:
        """What was seen, the most urgent first."""
        self._due, self._looked_at, self._uses = list(due), now, _USES

    def next(self, chance: int) -> Due | None:
        """The job to try, each once; `chance` is any number: alone it does not count."""
        return self._due.pop(chance % min(self._width, len(self._due))) if self._due else None

    def won(self) -> None:
        """The job is ours."""
        self._uses -= 1
        self._width = max(1, self._width - 1)

    def beaten(self) -> None:
        """Somebody else has it."""
        self._width = min(LOOK, 2 * self._width)
