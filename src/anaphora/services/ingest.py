"""Append to the log: checked, counted, and planned for in one transaction."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

import anyio.to_thread

from anaphora.domain.keys import SessionKey, checked_id, uuid7
from anaphora.domain.messages import NewMessage, Receipt
from anaphora.errors import InvalidInput
from anaphora.ports.clock import Clock, Failpoint, Randomness
from anaphora.ports.models import TokenCounter
from anaphora.ports.rows import Append
from anaphora.ports.store import Store, Unit
from anaphora.rules.admission import check_size, trust_of
from anaphora.rules.tokens import message_tokens

#: messages of one append; longer imports come in blocks
MAX_BATCH = 500
#: texts longer than this are counted in a thread
_SLOW_CHARS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingest:
    """Appends messages. Everything is checked before anything is written."""

    store: Store
    counter: TokenCounter
    clock: Clock
    randomness: Randomness
    failpoint: Failpoint
    secret: bytes
    max_message_bytes: int = 1 << 20

    async def append(
        self,
        key: SessionKey,
        messages: Sequence[NewMessage],
        *,
        turns: str = "single",
        source: str = "api",
        idempotency_key: str | None = None,
        strategy: str | None = None,
        subject: str | None = None,
        erasures: int | None = None,
        marks: Sequence[str] = (),
    ) -> Receipt:
        """Append in order; when this returns, the messages are on disk and due work is planned.

        Args:
            key: the session; made if it does not exist.
            messages: 1 to 500 of them.
            turns: "single" places each message by its role; "turn": together they are one turn; "own": one turn each.
            source: where they come from.
            idempotency_key: the same key with the same body returns the same receipt and writes nothing.
            strategy: the compaction of a new session; None = the configured default.
            subject: whom a new session is about.
            erasures: the erasure epoch when this was made of what was there; None: it is new.
            marks: by which the messages would be known again if they had been erased.

        Raises:
            Erased: the messages were erased, or something that they were made of.
            InvalidInput: a message cannot be stored.
            KeyReused: the key came with another body before.
            StoreError: nothing was written.

        """
        self._check(messages, idempotency_key)
        now = self.clock.now()
        session_id, receipt_id, *ids = self._ids(now, 2 + len(messages))
        receipt = await self.store.append(
            Append(
                key=key,
                session_id=session_id,
                receipt_id=receipt_id,
                messages=tuple(messages),
                ids=tuple(ids),
                tokens=await self._tokens(messages),
                trusts=tuple(trust_of(message) for message in messages),
                turns=turns,
                source=source,
                idempotency_key=idempotency_key,
                body_hash=body_hash(self.secret, messages) if idempotency_key is not None else "",
                strategy=strategy,
                subject=subject,
                now=now,
                erasures=erasures,
                marks=tuple(marks),
            )
        )
        self.failpoint("ingest.appended")
        return receipt

    def _check(self, messages: Sequence[NewMessage], idempotency_key: str | None) -> None:
        if not 1 <= len(messages) <= MAX_BATCH:
            raise InvalidInput(f"an append takes 1 to {MAX_BATCH} messages, not {len(messages)}")
        for message in messages:
            check_size(message, self.max_message_bytes)
        if idempotency_key is not None:
            checked_id(idempotency_key, "key")

    async def erasures(self, tenant: str) -> int:
        """The tenant's erasure epoch: what was read before it was raised may be gone."""
        return await self.store.read(tenant, lambda unit: unit.erasures.epoch(tenant))

    async def head(self, key: SessionKey) -> int:
        """How many messages the session holds."""

        def head(unit: Unit) -> int:
            row = unit.sessions.find(key)
            return row.head if row else 0

        return await self.store.read(key.tenant, head)

    def _ids(self, now: datetime, count: int) -> list[UUID]:
        # drawn at once: each draw is a call of the system
        drawn = self.randomness(10 * count)
        return [uuid7(now, drawn[at : at + 10]) for at in range(0, len(drawn), 10)]

    async def _tokens(self, messages: Sequence[NewMessage]) -> tuple[int, ...]:
        def count() -> tuple[int, ...]:
            return tuple(
                message_tokens(self.counter.count, message.content, name=message.name, parts=message.parts)
                for message in messages
            )

        if sum(len(message.content) for message in messages) > _SLOW_CHARS:
            return await anyio.to_thread.run_sync(count)
        return count()


def body_hash(secret: bytes, messages: Sequence[NewMessage]) -> str:
    """A keyed digest of what was asked to be appended: tells retries from other bodies, reveals nothing."""
    body = [
        [m.role, m.content, m.name, [dict(p) for p in m.parts], dict(m.metadata), _time(m.created_at)] for m in messages
    ]
    text = json.dumps(body, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hmac.new(secret, text.encode(), hashlib.sha256).hexdigest()


def _time(value: datetime | None) -> str | None:
    return value.astimezone(UTC).isoformat() if value else None
