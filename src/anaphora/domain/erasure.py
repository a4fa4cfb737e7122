"""What is to be erased, what was, and what is kept of that: numbers and keyed hashes, never content."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

from anaphora.domain.keys import checked_id
from anaphora.errors import InvalidInput

#: how sources begin that name an agent instead of where messages came from
AGENT: Final = "agent:"
#: characters of who asked
_MOST_ASKER: Final = 200


class ErasureKind(StrEnum):
    """How much is to go."""

    USER = "user"
    SESSION = "session"
    MESSAGE = "message"
    FACT = "fact"
    SOURCE = "source"


class ErasureState(StrEnum):
    """How far an erasure is."""

    RUNNING = "running"
    DONE = "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What is to be erased.

    A user; one session of a user with an agent; one message of it, or one by its id; one fact by its id; or all that
    came from a source, of one user or of all. Beside an id, a user is whose it must be.

    Raises:
        InvalidInput: nothing, or more than one thing is named.

    """

    kind: ErasureKind
    user: str | None = None
    agent: str | None = None
    session: str | None = None
    #: number of the message in its session
    seq: int | None = None
    #: of the message or the fact
    id: UUID | None = None
    source: str | None = None

    def __post_init__(self) -> None:
        named = {
            ErasureKind.USER: self.user is not None,
            ErasureKind.SESSION: None not in {self.user, self.agent, self.session},
            ErasureKind.MESSAGE: self.id is not None
            or (None not in {self.user, self.agent, self.session} and self.seq is not None),
            ErasureKind.FACT: self.id is not None,
            ErasureKind.SOURCE: bool(self.source) and self.source != AGENT,
        }
        if not named[self.kind]:
            raise InvalidInput(f"it is not said which {self.kind.value} is to be erased")
        for name, value in (("user", self.user), ("agent", self.agent), ("session", self.session)):
            if value is not None:
                checked_id(value, name)
        if self.source is not None:
            checked_id(self.source, "source")

    @property
    def source_agent(self) -> str | None:
        """The agent that the source names, if it names one."""
        if self.source is None or not self.source.startswith(AGENT):
            return None
        return self.source.removeprefix(AGENT)

    def to_text(self) -> str:
        """As it is kept until the erasure is done."""
        named = {
            "kind": self.kind.value,
            "user": self.user,
            "agent": self.agent,
            "session": self.session,
            "seq": self.seq,
            "id": None if self.id is None else self.id.hex,
            "source": self.source,
        }
        return json.dumps({name: value for name, value in named.items() if value is not None}, sort_keys=True)

    @classmethod
    def from_text(cls, text: str) -> Target:
        """The target that was kept."""
        named = json.loads(text)
        uid = named.pop("id", None)
        return cls(kind=ErasureKind(named.pop("kind")), id=None if uid is None else UUID(uid), **named)


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """One entry of the account of erasures. Once it is done, it names nobody and holds no content."""

    id: UUID
    #: counts up from 1 in its tenant: the tenant's erasure epoch
    number: int
    kind: ErasureKind
    #: keyed hash of what was named: tells only who has the store's secret and the name whether it is the same
    mark: str
    asked_by: str
    asked_at: datetime
    state: ErasureState
    done_at: datetime | None = None
    #: how many of what went
    counts: Mapping[str, int] = field(default_factory=dict)
    #: None once it is done
    target: Target | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureReport:
    """What an erasure did, or would do."""

    #: None: nothing was done, it was only asked what would go
    id: UUID | None
    kind: ErasureKind
    #: how many of each kind
    counts: Mapping[str, int]
    #: their ids, of the kinds that have one, at most a thousand each
    ids: Mapping[str, tuple[UUID, ...]] = field(default_factory=dict)
    #: whether the file may still hold bytes because somebody is reading what was there before
    residue: bool = False


def checked_asker(asked_by: str) -> str:
    """Who asked, if that can be kept.

    Raises:
        InvalidInput: empty, too long, or no text that can be stored.

    """
    if len(asked_by) > _MOST_ASKER:
        raise InvalidInput(f"asked_by takes at most {_MOST_ASKER} characters")
    return checked_id(asked_by, "asked_by")
