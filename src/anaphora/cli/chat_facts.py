"""What is learned while somebody talks: noticed after a turn, taken back when it is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

import anyio

from anaphora.domain.facts import Fact, FactState
from anaphora.domain.jobs import JobKind, JobState
from anaphora.domain.keys import SessionKey
from anaphora.errors import InvalidInput, NotFound
from anaphora.memory import Memory

#: seconds that rules may take to read a turn before the talk goes on
PATIENCE: Final = 2.0
_LOOKS: Final = 100
#: newest facts that are looked at after a turn, and newest jobs
_NEWEST: Final = 100
#: facts that are looked through for what a memory knows
_MOST: Final = 1000
_BELIEVED: Final = (FactState.ACTIVE, FactState.REVIEW)


@dataclass(slots=True, kw_only=True)
class Remembered:
    """The facts that are learned of one session."""

    memory: Memory
    key: SessionKey
    #: facts up to this one are of before; ids grow with time
    _before: UUID = field(default=UUID(int=0), init=False)
    _seen: set[UUID] = field(default_factory=set, init=False)
    #: those that were shown and may be taken back, the newest last
    _shown: list[Fact] = field(default_factory=list, init=False)

    async def begin(self) -> None:
        """From now on: what is known already is not news."""
        newest = await self._facts(states=tuple(FactState), limit=1)
        if newest:
            self._before = newest[0].id

    async def look(self) -> Sequence[Fact]:
        """What was learned of this session since the last look, the oldest first."""
        news = [
            fact
            for fact in await self._facts(limit=_NEWEST)
            if fact.id > self._before and fact.id not in self._seen and self._is_of_here(fact)
        ]
        news.sort(key=lambda fact: (fact.created_at, fact.sources[0].seq))
        self._seen.update(fact.id for fact in news)
        self._shown += news
        return news

    async def wait(self) -> None:
        """Wait until what was said has been read, but not for long."""
        with anyio.move_on_after(PATIENCE):
            for _ in range(_LOOKS):
                if not await self._is_unread():
                    return
                await anyio.sleep(PATIENCE / _LOOKS)

    async def undo(self) -> tuple[Fact, Fact | None]:
        """Take back the newest fact that was shown; a fact that was changed since loses its last change.

        Returns:
            The fact, and what is left of it: None if it is gone.

        Raises:
            InvalidInput: none was shown that is still there.

        """
        while self._shown:
            fact = self._shown.pop()
            try:
                left = await self.memory.facts.undo(fact.id, user=self.key.user, tenant=self.key.tenant)
            except NotFound:
                continue  # somebody deleted it, or what it was learned from
            if left is not None:
                self._shown.append(left)
            return fact, left
        raise InvalidInput("nothing was remembered in this talk: /memory shows what is known")

    async def known(self) -> Sequence[Fact]:
        """What is known of the user and not closed: pinned first, then the newest."""
        return sorted(await self._facts(limit=_MOST), key=lambda fact: not fact.pinned)

    async def _facts(self, *, states: Sequence[FactState] = _BELIEVED, limit: int) -> Sequence[Fact]:
        return await self.memory.facts.list(user=self.key.user, states=states, limit=limit, tenant=self.key.tenant)

    def _is_of_here(self, fact: Fact) -> bool:
        return any(source.key == self.key for source in fact.sources)

    async def _is_unread(self) -> bool:
        """Whether the session is about to be read for the first time; what failed is tried again later."""
        live = [JobState.QUEUED, JobState.RUNNING]
        jobs = await self.memory.jobs.list(states=live, limit=_NEWEST, tenant=self.key.tenant)
        return any(
            job.kind is JobKind.EXTRACT and job.key == self.key and (job.state is JobState.RUNNING or not job.attempt)
            for job in jobs
        )
