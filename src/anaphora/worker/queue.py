"""Which of the jobs that are due a worker tries next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

#: a tenant and the id of a job of it
Due = tuple[str, UUID]
#: a tenant and some of its jobs: the first of them that nobody has is wanted
Wanted = tuple[str, Sequence[UUID]]

#: jobs that one look gives
LOOK: Final = 128
#: of which so many may be taken, within so many seconds, before the worker looks again: others come meanwhile
_USES, _SECONDS = 8, 0.25


@dataclass(slots=True)
class Queue:
    """What a worker saw when it last looked.

    Workers that look at the same time see the same jobs, and each asks for the first of a tenant's that is free. One
    that is alone takes jobs in their order; one that finds none of a tenant's free goes on anywhere among the next,
    further away the more often it is beaten, so that many workers do not all ask for the same ones.
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

    def next(self, chance: int) -> Wanted | None:
        """The jobs to ask for; `chance` is any number: alone it does not count. Say what came of it."""
        if not self._due:
            return None
        at = chance % min(self._width, len(self._due))
        tenant = self._due[at][0]
        return tenant, [job_id for of, job_id in self._due[at:] if of == tenant]

    def won(self, wanted: Wanted, job_id: UUID) -> None:
        """The job is ours; those that were asked for before it were not free."""
        self._forget(wanted[0], wanted[1][: wanted[1].index(job_id) + 1])
        self._uses -= 1
        self._width = max(1, self._width - 1)

    def beaten(self, wanted: Wanted) -> None:
        """Others have them all."""
        self._forget(*wanted)
        self._width = min(LOOK, 2 * self._width)

    def _forget(self, tenant: str, gone: Sequence[UUID]) -> None:
        self._due = [due for due in self._due if due[0] != tenant or due[1] not in gone]
