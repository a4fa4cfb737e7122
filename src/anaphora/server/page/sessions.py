"""Conversations: a timeline, and of each its messages, topics, and what became of them."""

from __future__ import annotations

from itertools import groupby
from typing import Annotated, Final
from uuid import UUID

from fastapi import Path, Query
from starlette.responses import Response

from anaphora.domain.keys import MAX_LIMIT, SessionKey
from anaphora.domain.topics import Segment
from anaphora.server.inputs import MOST
from anaphora.server.page.drawing import stretch
from anaphora.server.page.rendering import place, session_link
from anaphora.server.page.visits import Erasing, Reading, Writing, pages
from anaphora.server.paths import Name

router = pages()

#: sessions of the timeline, and messages of a page of one
_MANY: Final = 100
_MESSAGES: Final = 60
#: messages before the one that somebody wants to see
_BEFORE: Final = 10
_VERSIONS: Final = 24

Seq = Annotated[int | None, Query(ge=0, le=MOST)]
Number = Annotated[int, Path(ge=0, le=MOST)]


@router.get("/sessions")
async def sessions_page(visit: Reading, before: UUID | None = None) -> Response:
    """The timeline, by days of last use."""
    found = await visit.memory.sessions(limit=_MANY, before=before, **visit.whose)
    topics = await visit.memory.topics.list(limit=MAX_LIMIT, **visit.whose)
    by_session: dict[SessionKey, list[Segment]] = {}
    for segment in reversed(topics):
        if segment.topic is not None and segment.topic.name is not None:
            by_session.setdefault(segment.key, []).append(segment)
    days = [(day, list(rows)) for day, rows in groupby(found, key=lambda row: row.updated_at.date())]
    return visit.show(
        "sessions.html",
        days=days,
        topics=by_session,
        agent=visit.memory.settings.agent,
        talks=visit.memory.talker() is not None,
        newest=before is None,
        older=found[-1].id if len(found) == _MANY else None,
    )


@router.get("/sessions/{agent}/{session}")
async def session_page(visit: Reading, agent: Name, session: Name, at: Seq = None, start: Seq = None) -> Response:
    """One conversation: what was said, and beside it what was made of it."""
    chat = visit.session(agent, session)
    row = await chat.row()
    if at is not None:
        start = max(0, at - _BEFORE)
    messages = await chat.messages(start=start, limit=_MESSAGES)
    summaries = await chat.summaries(limit=_VERSIONS)
    return visit.show(
        "session.html",
        row=row,
        messages=messages,
        summaries=summaries,
        bars=[stretch(summary.range, row.head) for summary in summaries],
        topics=[*reversed(await chat.topics(limit=200))],
        first=messages[0].seq if messages else 0,
        last=messages[-1].seq if messages else 0,
        at=at,
        page_size=_MESSAGES,
        talks=visit.memory.talker(agent) is not None,
    )


@router.get("/sessions/{agent}/{session}/messages/{seq}")
async def message_page(visit: Reading, agent: Name, session: Name, seq: Number) -> Response:
    """One message: its versions, and forms to correct and delete it."""
    versions = await visit.session(agent, session).versions(seq)
    row = await visit.session(agent, session).row()
    return visit.show("message.html", row=row, seq=seq, versions=versions, newest=versions[-1])


@router.post("/sessions/{agent}/{session}/messages/{seq}")
async def edit_message(change: Writing, agent: Name, session: Name, seq: Number) -> Response:
    """Correct a message."""
    chat = change.session(agent, session)
    await chat.edit(seq, change.text("content"))
    return change.back(place(chat.key, seq), "Corrected. Summaries that speak of it are made anew.")


@router.post("/sessions/{agent}/{session}/messages/{seq}/delete")
async def delete_message(change: Writing, agent: Name, session: Name, seq: Number) -> Response:
    """Delete a message."""
    chat = change.session(agent, session)
    await chat.delete(seq)
    told = f"Message {seq} is deleted: no prompt shows it, no search finds it."
    return change.back(place(chat.key, seq), told)


@router.post("/sessions/{agent}/{session}/end")
async def end_session(change: Writing, agent: Name, session: Name) -> Response:
    """End a conversation."""
    chat = change.session(agent, session)
    await chat.row()
    await chat.end()
    return change.back(session_link(chat.key), "Ended. Writing again takes it up.")


@router.get("/sessions/{agent}/{session}/erase")
async def erase_session_preview(visit: Reading, agent: Name, session: Name) -> Response:
    """What erasing a conversation would take."""
    await visit.session(agent, session).row()
    plan = await visit.memory.erase(agent=agent, session=session, dry_run=True, **visit.whose)
    key = visit.session(agent, session).key
    return visit.show(
        "erase.html",
        what=f"the session {session}",
        plan=plan,
        typed=session,
        action=session_link(key, "erase"),
        back=session_link(key),
    )


@router.post("/sessions/{agent}/{session}/erase")
async def erase_session(change: Erasing, agent: Name, session: Name) -> Response:
    """Erase a conversation for good, once its name was typed."""
    if change.text("typed", "") != session:
        return change.back(
            session_link(change.session(agent, session).key, "erase"), "Nothing was erased: the name was not typed."
        )
    report = await change.memory.erase(agent=agent, session=session, asked_by="page", **change.whose)
    told = f"Erased, with {sum(report.counts.values()):,} entries of what was made of it."
    return change.back("/sessions", told)
