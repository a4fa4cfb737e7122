"""The notepad: what agents note of their sessions with the visitor."""

from __future__ import annotations

from typing import Annotated

from starlette.responses import Response

from anaphora.domain.keys import MAX_LIMIT
from anaphora.server.page.rendering import link
from anaphora.server.page.visits import Reading, Writing, pages
from anaphora.server.paths import Named

router = pages()


@router.get("/notepad")
async def notepad_page(visit: Reading, agent: Annotated[str | None, Named] = None) -> Response:
    """What it says, a form to rewrite it, and every page before."""
    chosen = agent or visit.memory.settings.agent
    sessions = await visit.memory.sessions(limit=MAX_LIMIT, **visit.whose)
    return visit.show(
        "notepad.html",
        agent=chosen,
        agents=sorted({visit.memory.settings.agent, chosen, *(row.key.agent for row in sessions)}),
        newest=await visit.memory.notepad.show(agent=chosen, **visit.whose),
        history=await visit.memory.notepad.history(agent=chosen, limit=50, **visit.whose),
    )


@router.post("/notepad")
async def edit_notepad(change: Writing) -> Response:
    """Write its next page."""
    agent = change.text("agent")
    page = await change.memory.notepad.edit(change.text("text").strip(), agent=agent, **change.whose)
    return change.back(link("notepad", agent=agent), f"Written as page {page.version}.")


@router.post("/notepad/revert")
async def revert_notepad(change: Writing) -> Response:
    """Write an earlier page again."""
    agent = change.text("agent")
    page = await change.memory.notepad.revert(change.whole("version"), agent=agent, **change.whose)
    return change.back(link("notepad", agent=agent), f"Written again as page {page.version}.")
