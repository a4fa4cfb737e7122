"""What a model was shown: the prompt of any turn as it was then, summaries and their differences, tokens saved."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Query
from starlette.responses import Response

from anaphora.domain.messages import Role
from anaphora.memory import Session
from anaphora.server.page.drawing import Sample, bar, moments, plot, stretch
from anaphora.server.page.visits import Reading, pages
from anaphora.server.paths import Name, Named
from anaphora.server.routes.summaries import Version

router = pages()

#: moments of a plot, and sessions that are compared
_SAMPLES: Final = 16
_SESSIONS: Final = 8

At = Annotated[int | None, Query(ge=0, le=10**9)]
Chosen = Annotated[str | None, Named]


@router.get("/sessions/{agent}/{session}/context")
async def context_page(visit: Reading, agent: Name, session: Name, at: At = None) -> Response:
    """The exact prompt before a message came, and where every earlier message was in it."""
    chat = visit.session(agent, session)
    row = await chat.row()
    moment = row.head if at is None else min(at, row.head)
    asked = await chat.messages(start=moment, limit=1)
    query = asked[0].content if asked and asked[0].seq == moment and asked[0].role is Role.USER else None
    context = await chat.context(query or None, as_of=moment)
    return visit.show("context.html", row=row, moment=moment, query=query, context=context, bar=bar(context.coverage))


@router.get("/sessions/{agent}/{session}/summaries/{version}")
async def summary_page(visit: Reading, agent: Name, session: Name, version: Version, against: At = None) -> Response:
    """One version of the summary: its points, and what changed since another."""
    chat = visit.session(agent, session)
    row = await chat.row()
    summary = await chat.summary(version)
    others = [each for each in await chat.summaries(limit=50) if each.version != version]
    base = next((each for each in others if each.id == summary.base_id), None)
    before = base if against is None else await chat.summary(against)
    return visit.show(
        "summary.html",
        row=row,
        summary=summary,
        before=before,
        others=others,
        window=stretch(summary.range, row.head),
        change=None if before is None else await chat.diff(before.version, version),
    )


@router.get("/tokens")
async def tokens_page(visit: Reading, agent: Chosen = None, session: Chosen = None) -> Response:
    """What prompts cost with memory and without: over one conversation, and in the newest ones."""
    rows = [row for row in await visit.memory.sessions(limit=_SESSIONS, **visit.whose) if row.head]
    chosen = None
    if agent is not None and session is not None:
        chosen = await visit.session(agent, session).row()
    elif rows:
        chosen = max(rows, key=lambda row: row.tokens)
    samples = []
    if chosen is not None:
        chat = visit.session(chosen.key.agent, chosen.key.session)
        samples = [await _sample(chat, moment) for moment in moments(chosen.head, _SAMPLES)]
    now = [(row, await _sample(visit.session(row.key.agent, row.key.session), row.head)) for row in rows]
    return visit.show("tokens.html", chosen=chosen, samples=samples, plot=plot(samples) if samples else None, now=now)


async def _sample(chat: Session, moment: int) -> Sample:
    context = await chat.context(as_of=moment)
    return Sample(head=moment, tokens=context.tokens, full=context.tokens_full_history)
