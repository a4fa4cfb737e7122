"""What the assembly of a prompt is given: values that were read before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import Message
from anaphora.domain.notepad import Page
from anaphora.domain.plans import Selection
from anaphora.domain.search import DocumentHit, Hit
from anaphora.rules.conversations import Wanted
from anaphora.rules.facts.shown import Known
from anaphora.rules.relevant import Thresholds
from anaphora.rules.topics.shown import Past, Thread


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """Everything that may stand in the prompt."""

    instructions: str | None
    query: str | None
    #: messages ever appended, and their tokens together
    head: int
    history_tokens: int
    summary_id: UUID | None
    mark: str
    selection: Selection
    #: the newest live messages of `selection.verbatim`, in order; there may be older ones that were not read
    messages: Sequence[Message]
    #: messages that were deleted: sorted, disjoint
    deleted: tuple[SeqRange, ...] = ()
    degraded: tuple[str, ...] = ()
    #: what was found for the query, best first; and this session, which the hits may be of
    hits: tuple[Hit, ...] = ()
    session_id: UUID | None = None
    #: the delimiter of what was found, and how much of it there may be
    hits_mark: str = ""
    hits_tokens: int = 0
    thresholds: Thresholds = field(default_factory=Thresholds)
    #: what is known, of whom it is, its delimiter, and how much of it there may be
    known: tuple[Known, ...] = ()
    user: str = ""
    facts_mark: str = ""
    facts_tokens: int = 0
    #: topics of other sessions, and closed ones of this session with their messages, best first; their delimiter
    past: tuple[Past, ...] = ()
    threads: tuple[Thread, ...] = ()
    topics_mark: str = ""
    #: chunks of archived conversations, best first, how much of them is wanted, and their delimiter
    told: tuple[DocumentHit, ...] = ()
    told_wanted: Wanted = field(default_factory=Wanted)
    told_mark: str = ""
    #: what the notepad says, its delimiter, and how much of it there may be
    page: Page | None = None
    page_mark: str = ""
    page_tokens: int = 0
