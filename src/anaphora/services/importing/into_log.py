"""The log as imports see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from anaphora.domain.keys import SeqRange, SessionKey
from anaphora.domain.messages import Message, NewMessage, Receipt
from anaphora.ports.clock import Clock
from anaphora.ports.store import Unit
from anaphora.rules.erasure import mark_of_import
from anaphora.services import ingest as ingesting
from anaphora.services.importing.marks import Mark

_PAGE = 50


@dataclass(frozen=True, slots=True)
class IntoLog:
    """The log as imports see it: the ingest service and its store."""

    service: ingesting.Ingest

    @property
    def clock(self) -> Clock:
        """The time for resting between large appends."""
        return self.service.clock

    async def append(
        self,
        key: SessionKey,
        messages: Sequence[NewMessage],
        *,
        turns: str,
        source: str,
        idempotency_key: str | None,
        marks: Sequence[str],
    ) -> Receipt:
        """Append through the service, with all its checks."""
        return await self.service.append(
            key, messages, turns=turns, source=source, idempotency_key=idempotency_key, marks=marks
        )

    def keyed(self, key: SessionKey, source: str, digest: str) -> str:
        """By what an imported message would be known again if it had been erased."""
        return mark_of_import(self.service.secret, key, source, digest)

    async def imported(self, key: SessionKey, source: str, *, upto: int | None = None) -> Message | None:
        """The newest such message, looked for from the end."""

        def fits(message: Message) -> bool:
            return message.source == source and (upto is None or 0 < Mark.of(message).position <= upto)

        def newest(unit: Unit) -> Message | None:
            row = unit.sessions.find(key)
            stop = row.head if row else 0
            while row and stop > 0:
                page = unit.messages.newest(key.tenant, row.id, SeqRange(0, stop), limit=_PAGE, deleted=True)
                found = next(filter(fits, page), None)
                if found is not None or not page:
                    return found
                stop = page[-1].seq
            return None

        return await self.service.store.read(key.tenant, newest)
