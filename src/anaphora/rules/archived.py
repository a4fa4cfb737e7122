"""A compressed stretch of a session as a document of the knowledge base (seed 001). Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from anaphora.domain.documents import (
    ARCHIVE,
    CONVERSATION,
    MAX_TITLE_CHARS,
    Document,
    DocumentChunk,
    Namespace,
    conversations_of,
    hash_of,
)
from anaphora.domain.keys import SeqRange, SessionKey
from anaphora.domain.messages import Trust
from anaphora.rules.documents import Chunking, cut
from anaphora.rules.tokens import Count

#: entries of each list, and characters of each entry, that are kept in the metadata: it must stay small
_MOST_ENTRIES: Final = 20
_MOST_CHARS: Final = 160
#: of the lists in the content
_HEADINGS: Final = ("Topics", "Entities", "Decisions", "Open Questions")
#: topics that stand in the title
_TITLED: Final = 3
_CONTROLS: Final = dict.fromkeys((*range(32), 127), " ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Archived:
    """What a stretch of a session is as a document; the caller cuts it into chunks and keeps it."""

    namespace: Namespace
    #: the same for the same stretch: archived again it takes the place of what is there
    key: str
    title: str
    doc_type: str
    metadata: Mapping[str, Any]
    content: str


def archived(
    session: SessionKey,
    span: SeqRange,
    *,
    narrative: str,
    topics: Sequence[str] = (),
    entities: Sequence[str] = (),
    decisions: Sequence[str] = (),
    questions: Sequence[str] = (),
    message_count: int,
    first_at: datetime,
    last_at: datetime,
) -> Archived:
    """The document of a stretch of a session, with the headings and the metadata that seed 001 prints.

    What lists have too much is left out of the metadata, longest entries are cut; the content has all of it.

    Args:
        session: whose stretch it is.
        span: its messages.
        narrative: what was said in it.
        topics: what it was about.
        entities: whom and what it mentions.
        decisions: what was decided.
        questions: what stayed open.
        message_count: how many live messages it has.
        first_at: when the first of them was said; an aware time.
        last_at: when the last of them was said.

    """
    start, end = _moment(first_at), _moment(last_at)
    lists = {
        "conversation_topics": topics,
        "entities_mentioned": entities,
        "decisions_made": decisions,
        "open_questions": questions,
    }
    about = ", ".join(map(_line, topics[:_TITLED])) or f"session {_line(session.session)}"
    return Archived(
        namespace=conversations_of(session.user),
        key=archive_key(session, span),
        title=_short(f"Conversation of {start[:10]}: {about}", MAX_TITLE_CHARS),
        doc_type=CONVERSATION,
        metadata={
            "session_id": session.session,
            "agent_id": session.agent,
            **{
                name: [_short(_line(entry), _MOST_CHARS) for entry in entries[:_MOST_ENTRIES]]
                for name, entries in lists.items()
            },
            "message_count": message_count,
            "date_range": {"start": start, "end": end},
        },
        content=_content(f"{start} to {end}", narrative, (topics, entities, decisions, questions)),
    )


def as_document(
    told: Archived,
    span: SeqRange,
    *,
    document_id: UUID,
    session_id: UUID,
    trust: Trust,
    now: datetime,
    chunking: Chunking,
    count: Count,
) -> tuple[Document, list[DocumentChunk]]:
    """The document with its chunks, ready to be put; it goes with the messages that it was made of.

    Args:
        told: what `archived` made.
        span: the messages that it was made of.
        document_id: a new id; if the stretch was archived before, the document keeps its old one.
        session_id: the row of the session.
        trust: of the least trusted of the messages.
        now: an aware time.
        chunking: how documents are cut.
        count: how many tokens a text has.

    """
    chunks = cut(document_id, told.content, chunking, count)
    document = Document(
        id=document_id,
        namespace=told.namespace,
        key=told.key,
        title=told.title,
        doc_type=told.doc_type,
        metadata=told.metadata,
        content_hash=hash_of(told.content),
        content=told.content,
        tokens=count(told.content),
        chunks=len(chunks),
        trust=trust,
        source=ARCHIVE,
        session_id=session_id,
        range=span,
        created_at=now,
        updated_at=now,
    )
    return document, chunks


def archive_key(session: SessionKey, span: SeqRange) -> str:
    """By what an archived stretch is known among those of its user, whatever its agent and its session are called."""
    names = json.dumps([session.agent, session.session], ensure_ascii=False)
    return f"{span}:{hashlib.sha256(names.encode()).hexdigest()}"


def _content(dates: str, narrative: str, lists: Sequence[Sequence[str]]) -> str:
    """The text, with a heading for each list that has entries."""
    # a line of the narrative that looks like a heading is none
    told = "\n".join(f"\\{line}" if line.lstrip().startswith("#") else line for line in narrative.strip().splitlines())
    lines = ["# Conversation Summary", f"## Date Range: {dates}", f"## Summary: {told}"]
    for heading, entries in zip(_HEADINGS, lists, strict=True):
        if entries:
            lines += [f"## {heading}:", *(f"- {_line(entry)}" for entry in entries)]
    return "\n".join(lines)


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _line(text: str) -> str:
    return " ".join(text.translate(_CONTROLS).split())


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"
