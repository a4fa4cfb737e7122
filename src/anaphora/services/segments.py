"""The topics of sessions as people look at them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from anaphora.domain.keys import SeqRange, SessionKey, check_limit, check_names
from anaphora.domain.messages import Message
from anaphora.domain.topics import OPENED_AFTER, Opened, Segment, Topic
from anaphora.errors import NotFound
from anaphora.ports.rows import SessionRow
from anaphora.ports.store import Store, Unit
from anaphora.services.settings import Strategies
from anaphora.strategies.topics import Topics


@dataclass(frozen=True, slots=True, kw_only=True)
class Segments:
    """Lists topics, the open ones too."""

    store: Store
    strategies: Strategies

    async def of_session(self, key: SessionKey, *, limit: int = 50) -> Sequence[Segment]:
        """The topics of one session, newest first; none if its strategy keeps none, or there is no such session."""
        check_limit(limit)

        def read(unit: Unit) -> Sequence[Segment]:
            row = unit.sessions.find(key)
            return () if row is None else self._segments(unit, row, limit)

        return await self.store.read(key.tenant, read)

    async def list(
        self, tenant: str, *, user: str | None = None, agent: str | None = None, limit: int = 50
    ) -> Sequence[Segment]:
        """Topics of the sessions that were last used, session by session, newest first."""
        check_limit(limit)
        check_names(tenant=tenant, user=user, agent=agent)
        keeping = self._keeping()

        def read(unit: Unit) -> Sequence[Segment]:
            found: list[Segment] = []
            # each of them has a topic, so that no more are needed than topics
            for row in unit.topics.sessions(tenant, keeping, user=user, agent=agent, limit=limit):
                found += self._segments(unit, row, limit - len(found))
                if len(found) >= limit:
                    break
            return found

        return await self.store.read(tenant, read)

    async def holding(self, key: SessionKey, seq: int) -> tuple[Segment, Sequence[Message]]:
        """The topic that holds a message, and all its messages.

        Raises:
            NotFound: no such message, or the session keeps no topics.

        """

        def read(unit: Unit) -> tuple[Segment, Sequence[Message]]:
            row = unit.sessions.find(key)
            if row is None or not 0 <= seq < row.head:
                raise NotFound(f"{_named(key)} has no message {seq}")
            found = next(iter(unit.topics.between(key.tenant, row.id, SeqRange(seq, seq + 1), limit=1)), None)
            segment = self._open(unit, row) if found is None else _closed(unit, key, found)
            if segment is None or seq not in segment.range:
                raise NotFound(f"{_named(key)} keeps no topics: its strategy is not 'topics'")
            live = unit.messages.range(key.tenant, row.id, segment.range, limit=len(segment.range))
            return segment, live

        return await self.store.read(key.tenant, read)

    def _keeping(self) -> frozenset[str | None]:
        """Names of the strategies that keep topics; None among them if the default is one."""
        names = {name for name, each in self.strategies.by_name.items() if isinstance(each, Topics)}
        return frozenset(names | ({None} if self.strategies.default in names else set()))

    def _segments(self, unit: Unit, row: SessionRow, limit: int) -> Sequence[Segment]:
        opened = self._open(unit, row)
        closed = unit.topics.list(row.key.tenant, row.id, limit=limit)
        return [*([opened] if opened is not None else []), *(_closed(unit, row.key, topic) for topic in closed)][:limit]

    def _open(self, unit: Unit, row: SessionRow) -> Segment | None:
        """The open topic: whatever is behind the last that was closed."""
        if not isinstance(self.strategies.get(row.strategy), Topics):
            return None
        last = next(iter(unit.topics.list(row.key.tenant, row.id, limit=1)), None)
        start = last.range.stop if last else 0
        if start >= row.head:
            return None
        return Segment(
            key=row.key,
            range=SeqRange(start, row.head),
            opened=OPENED_AFTER[last.closed] if last else Opened.FIRST,
            continues=last.leads_to if last else None,
            topic=None,
            goes_on_from=_first_message(unit, row.key.tenant, last.leads_to if last else None),
        )


def _closed(unit: Unit, key: SessionKey, topic: Topic) -> Segment:
    return Segment(
        key=key,
        range=topic.range,
        opened=topic.opened,
        continues=topic.continues,
        topic=topic,
        goes_on_from=_first_message(unit, key.tenant, topic.continues),
    )


def _first_message(unit: Unit, tenant: str, topic: UUID | None) -> int | None:
    """Where a topic that is gone back to begins; None if it is not kept any more."""
    found = None if topic is None else unit.topics.get(tenant, topic)
    return None if found is None else found.range.start


def _named(key: SessionKey) -> str:
    return f"session {key.session!r} of user {key.user!r} with agent {key.agent!r}"
