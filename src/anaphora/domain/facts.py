"""Facts: single statements about a person or a thing, each with what it was learned from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from anaphora.domain.keys import SeqRange, SessionKey, checked_id, checked_text
from anaphora.domain.messages import Trust
from anaphora.errors import InvalidInput, UnknownName

#: seed 002's, and standing instructions; a configuration may name others
CATEGORIES: Final = (
    "personality",
    "hobby",
    "relationship",
    "milestone",
    "occupation",
    "preference",
    "habit",
    "instruction",
    "other",
)
#: what is of no other category, where the configuration names it
FALLBACK: Final = "other"
#: of these categories a prompt has all that it has room for, whatever is asked
ALWAYS: Final = ("instruction", "preference")
#: what of a fact a change may change: each version says it whole
CHANGEABLE: Final = (
    "category",
    "content",
    "importance",
    "visibility",
    "state",
    "pinned",
    "trust",
    "doubt",
    "valid_to",
    "superseded_by",
)
#: characters of the name of a category
MAX_CATEGORY: Final = 64
#: characters of a fact: one sentence, not an essay
MAX_CONTENT: Final = 500
LEAST_IMPORTANT, MOST_IMPORTANT = 1, 10
DEFAULT_IMPORTANCE: Final = 5


class Visibility(StrEnum):
    """Who may read a fact. Only its owner may change it."""

    PRIVATE = "private"
    #: the members of its subject too
    SHARED = "shared"


class FactState(StrEnum):
    """Where a fact stands. One that was deleted is not there any more."""

    #: believed: it may stand in a prompt
    ACTIVE = "active"
    #: doubtful: it waits for somebody to confirm it, and stands in no prompt
    REVIEW = "review"
    #: no longer true: kept for its history, and stands in no prompt
    CLOSED = "closed"
    #: less important than is asked for, or more than are kept: listed, and stands in no prompt
    ASIDE = "aside"


class FactAction(StrEnum):
    """What happened to a fact."""

    LEARNED = "learned"
    ADDED = "added"
    EDITED = "edited"
    PINNED = "pinned"
    UNPINNED = "unpinned"
    CONFIRMED = "confirmed"
    SHARED = "shared"
    UNSHARED = "unshared"
    #: another fact took its place
    SUPERSEDED = "superseded"
    #: what had taken its place is gone
    REOPENED = "reopened"
    UNDONE = "undone"
    #: it was less important than is asked for, or there were more than are kept
    SET_ASIDE = "set_aside"
    #: it was set aside, and is believed again
    TAKEN_UP = "taken_up"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A message that says what a fact says."""

    session_id: UUID
    key: SessionKey
    seq: int
    message_id: UUID
    #: verbatim, of that message
    quote: str
    #: what was read when the fact was learned
    range: SeqRange
    trust: Trust
    #: which model said so, and how it was asked; None: a rule found it
    model: str | None
    prompt_version: str | None
    learned_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One statement.

    What it was learned from is its owner's alone to see: to the other members of its subject `sources` is empty.
    """

    id: UUID
    #: the user whose memory it is
    owner: str
    #: the agent that learned it; None: the owner added it
    agent: str | None
    #: whom or what it is about; None: its owner
    subject: str | None = None
    category: str
    content: str
    #: 1 to 10
    importance: int = DEFAULT_IMPORTANCE
    visibility: Visibility = Visibility.PRIVATE
    state: FactState = FactState.ACTIVE
    #: the owner wants it in every prompt
    pinned: bool = False
    trust: Trust
    #: why it waits for a review, or was set aside
    doubt: str | None = None
    #: since when it is true as far as is known; until when, if it is no longer
    valid_from: datetime
    valid_to: datetime | None = None
    #: the fact that took its place
    superseded_by: UUID | None = None
    #: counts up from 1 with each change
    version: int = 1
    created_at: datetime
    updated_at: datetime
    sources: tuple[Source, ...] = ()

    def __post_init__(self) -> None:
        checked_content(self.content)
        checked_importance(self.importance)

    @property
    def kept_by_owner(self) -> bool:
        """The owner stands for it: it needs no source."""
        return self.trust is Trust.OWNER_CONFIRMED

    @property
    def standing(self) -> int:
        """How much a prompt wants it when nothing is asked: pinned, of a category that always counts, important."""
        always = self.category in ALWAYS
        return 1000 * self.pinned + 100 * always + 10 * self.importance + self.kept_by_owner


@dataclass(frozen=True, slots=True, kw_only=True)
class FactVersion:
    """A fact as it was after a change."""

    version: int
    action: FactAction
    at: datetime
    category: str
    content: str
    importance: int
    visibility: Visibility
    state: FactState
    pinned: bool
    trust: Trust
    doubt: str | None
    valid_to: datetime | None
    superseded_by: UUID | None
    #: an undo: the version that it brought back
    restores: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """What a model or a rule proposes: nothing is believed of it yet."""

    category: str
    content: str
    #: verbatim, of the message with this number
    quote: str
    seq: int
    importance: int = DEFAULT_IMPORTANCE
    #: a known fact that this one takes the place of
    replaces: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Whom or what facts are about, and with whom they may be shared."""

    #: as applications name it
    id: str
    #: as people read it: "Known facts about NAME"
    name: str
    #: who made it: may rename it, and say who its members are
    owner: str
    created_at: datetime
    members: tuple[str, ...] = ()


def checked_content(content: str) -> str:
    """The statement as given, if it can be kept: 1 to 500 characters.

    Raises:
        InvalidInput: it is empty, too long, or no text that can be stored.

    """
    checked_text(content, "a fact")
    if not content.strip():
        raise InvalidInput("a fact must not be empty")
    if len(content) > MAX_CONTENT:
        raise InvalidInput(f"a fact has at most {MAX_CONTENT} characters, not {len(content):,}: say it in a sentence")
    return content


def checked_importance(importance: int) -> int:
    """The importance as given: 1 to 10.

    Raises:
        InvalidInput: it is not.

    """
    if type(importance) is not int or not LEAST_IMPORTANT <= importance <= MOST_IMPORTANT:
        raise InvalidInput(f"importance must be a whole number from {LEAST_IMPORTANT} to {MOST_IMPORTANT}")
    return importance


def checked_category(category: str, known: tuple[str, ...]) -> str:
    """The category as given, if it is one of the configured ones.

    Raises:
        UnknownName: it is not.

    """
    if checked_text(category, "a category") not in known:
        raise UnknownName("category", category, known)
    return category


def checked_categories(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names of categories as given, if each can be told from the others.

    Raises:
        InvalidInput: one is empty, too long, not one line, or stands there twice.

    """
    seen: set[str] = set()
    for name in names:
        checked_id(name, "the name of a category")
        if len(name) > MAX_CATEGORY:
            raise InvalidInput(f"the name of a category is longer than {MAX_CATEGORY} characters")
        if not name.isprintable():
            raise InvalidInput(f"{name!r} is not one line of text")
        if name != name.strip():
            raise InvalidInput(f"{name!r} begins or ends with a space")
        if name.casefold() in seen:
            raise InvalidInput(f"{name!r} stands there twice")
        seen.add(name.casefold())
    return names


def fallback_category(known: tuple[str, ...]) -> str:
    """Of what category a fact is that nobody named one for: `other`, or the last one."""
    return FALLBACK if FALLBACK in known else known[-1]


def fact_dict(fact: Fact) -> Mapping[str, Any]:
    """The fact as JSON types."""
    return {
        "id": str(fact.id),
        "owner": fact.owner,
        "agent": fact.agent,
        "subject": fact.subject,
        "category": fact.category,
        "content": fact.content,
        "importance": fact.importance,
        "visibility": fact.visibility.value,
        "state": fact.state.value,
        "pinned": fact.pinned,
        "trust": fact.trust.value,
        "doubt": fact.doubt,
        "valid_from": fact.valid_from.isoformat(),
        "valid_to": fact.valid_to.isoformat() if fact.valid_to else None,
        "superseded_by": str(fact.superseded_by) if fact.superseded_by else None,
        "version": fact.version,
        "created_at": fact.created_at.isoformat(),
        "updated_at": fact.updated_at.isoformat(),
        "sources": [
            {
                "agent": source.key.agent,
                "session": source.key.session,
                "seq": source.seq,
                "quote": source.quote,
                "trust": source.trust.value,
                "model": source.model,
                "learned_at": source.learned_at.isoformat(),
            }
            for source in fact.sources
        ],
    }
