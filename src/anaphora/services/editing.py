"""Edits and deletions: new versions and tombstones. What was said before is kept; the log itself never shrinks.

Whatever was made of the old text becomes stale, is served until it is made anew, and is made anew from what remains.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from anaphora.domain.keys import SeqRange, SessionKey
from anaphora.domain.messages import IMPORT_MARK, Message, NewMessage, Part
from anaphora.errors import InvalidInput, NotFound
from anaphora.ports.clock import Clock, Failpoint
from anaphora.ports.models import TokenCounter
from anaphora.ports.rows import SessionRow
from anaphora.ports.store import Store, Unit
from anaphora.rules.admission import check_size, new_message
from anaphora.rules.tokens import message_tokens
from anaphora.services.learning import Learning
from anaphora.services.planning import Planning


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What an edit says; None leaves it as it was."""

    content: str | None = None
    name: str | None = None
    parts: Sequence[Part] | None = None
    metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Editing:
    """Changes messages of the log. Each change is one transaction with all that follows from it."""

    store: Store
    planning: Planning
    learning: Learning
    counter: TokenCounter
    clock: Clock
    failpoint: Failpoint
    max_message_bytes: int = 1 << 20

    async def edit(self, key: SessionKey, seq: int, change: Change) -> Message:
        """Put another text in the place of a message; role, number, turn and time stay.

        A change to what it says already makes no version.

        Returns:
            The message as it is now.

        Raises:
            NotFound: no such session or message.
            InvalidInput: the message was deleted, or the new one cannot be stored; nothing was changed.

        """

        def new_version(old: Message) -> Message:
            if old.deleted:
                raise InvalidInput(f"message {seq} was deleted: what is deleted cannot be edited")
            wanted = new_message(
                old.role,
                old.content if change.content is None else change.content,
                name=old.name if change.name is None else change.name,
                parts=old.parts if change.parts is None else change.parts,
                metadata=old.metadata if change.metadata is None else change.metadata,
                created_at=old.created_at,
            )
            check_size(wanted, self.max_message_bytes)
            return self._as_message(old, wanted)

        message = await self.store.write(key.tenant, lambda unit: self._amend(unit, key, seq, new_version))
        self.failpoint("message.edited")
        return message

    async def delete(self, key: SessionKey, seq: int) -> bool:
        """Put a tombstone in the place of a message: no prompt shows it, no search finds it; its number stays.

        What it said is kept for `history` and `as_of`; to leave no byte of it, erase it.

        Returns:
            False if it was deleted already.

        Raises:
            NotFound: no such session or message.

        """

        def tombstone(old: Message) -> Message:
            return replace(
                old, name=None, content="", parts=(), metadata=_import_mark(old.metadata), tokens=0, deleted=True
            )

        def delete(unit: Unit) -> bool:
            before = _message(unit, unit.sessions.lock(key), seq)
            self._amend(unit, key, seq, tombstone)
            return before is not None and not before.deleted

        was_there = await self.store.write(key.tenant, delete)
        self.failpoint("message.deleted")
        return was_there

    def _as_message(self, old: Message, wanted: NewMessage) -> Message:
        counted = message_tokens(self.counter.count, wanted.content, name=wanted.name, parts=wanted.parts)
        return replace(
            old,
            name=wanted.name,
            content=wanted.content,
            parts=wanted.parts,
            metadata={**wanted.metadata, **_import_mark(old.metadata)},
            tokens=counted,
        )

    def _amend(self, unit: Unit, key: SessionKey, seq: int, change: Callable[[Message], Message]) -> Message:
        row = unit.sessions.lock(key)
        old = _message(unit, row, seq)
        if row is None or old is None:
            raise NotFound(f"there is no message {seq} in session {key.session!r} of user {key.user!r}")
        new = change(old)
        if new == old:
            return old
        now = self.clock.now()
        new = replace(new, version=old.version + 1, changed_at=now)
        after = unit.messages.amend(row, old, new, now=now)
        self.learning.unsay(unit, after, seq, now=now)
        self.planning.changed(unit, after, seq, now=now)
        return new


def _message(unit: Unit, row: SessionRow | None, seq: int) -> Message | None:
    if row is None or row.expired_at is not None or not 0 <= seq < row.head:
        return None
    span = SeqRange(seq, seq + 1)
    return next(iter(unit.messages.range(row.key.tenant, row.id, span, limit=1, deleted=True)), None)


def _import_mark(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """How far an import had come here: without it, importing again would bring the message back."""
    return {IMPORT_MARK: metadata[IMPORT_MARK]} if IMPORT_MARK in metadata else {}
