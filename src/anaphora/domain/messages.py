"""Messages, turns and receipts: the only truth there is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from anaphora.domain.keys import SeqRange


class Role(StrEnum):
    """Who speaks. A stored message of role `system` is data: it is never shown to a model as system text."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    SYSTEM = "system"


class Trust(StrEnum):
    """How far the source of a text can be believed, best first."""

    OWNER_CONFIRMED = "owner_confirmed"
    OWNER_SAID = "owner_said"
    ASSISTANT = "assistant"
    TOOL = "tool"
    OTHER = "other"


def least_trusted(trusts: Iterable[Trust]) -> Trust:
    """What is derived from several sources is trusted no more than the least of them (I15)."""
    order = list(Trust)
    return max(trusts, key=order.index)


#: the name in a message's metadata under which imports keep how far they came; it outlives edits and deletion
IMPORT_MARK = "imported"

#: A message part: `{"type": "text" | "tool_call" | "tool_result" | "image" | ..., ...}`.
#: `tool_call`: `id`, `name`, `arguments` (a JSON object). `tool_result`: `id` (of the call), `content` (text).
Part = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMessage:
    """A message that has not been appended yet; `services.ingest` checks it."""

    role: Role
    content: str
    name: str | None = None
    parts: tuple[Part, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    #: when it was said; None = now
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One entry of the log."""

    id: UUID
    #: dense, unique, in commit order, from 0
    seq: int
    #: seq of the first message of its turn
    turn: int
    role: Role
    content: str
    name: str | None = None
    parts: tuple[Part, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    #: what it costs in a prompt, its role and name included
    tokens: int
    #: when it was said
    created_at: datetime
    #: where it came from: "api", "chat", "import:locomo", ...
    source: str = "api"
    trust: Trust = Trust.OWNER_SAID
    #: counts up from 1 with each edit; a deletion is the last one
    version: int = 1
    #: when this version took the place of the one before; None for the first
    changed_at: datetime | None = None
    #: a tombstone: it keeps its number and its place, and says nothing
    deleted: bool = False
    #: a tombstone of which nothing is kept, no earlier version either
    erased: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What an append returns: proof that these messages are on disk."""

    id: UUID
    range: SeqRange
    #: True if the same key had already appended the same body
    repeated: bool = False

    @property
    def seq(self) -> int:
        """The first sequence number of the append."""
        return self.range.start


class ReceiptState(StrEnum):
    """What became of appended messages."""

    APPENDED = "appended"
    SUMMARISED = "summarised"
    ELIDED = "elided"
    #: every one of them was deleted
    DELETED = "deleted"
    ERASED = "erased"


def tool_calls(parts: Sequence[Part]) -> tuple[Part, ...]:
    """The tool calls among the parts, in order."""
    return tuple(part for part in parts if part.get("type") == "tool_call")


def tool_results(parts: Sequence[Part]) -> tuple[Part, ...]:
    """The tool results among the parts, in order."""
    return tuple(part for part in parts if part.get("type") == "tool_result")
