"""Subjects: whom or what facts are about, and who reads what is shared."""

from __future__ import annotations

from starlette.responses import Response

from anaphora.server.page.visits import Reading, Writing, pages
from anaphora.server.paths import Name

router = pages()


@router.get("/subjects")
async def subjects_page(visit: Reading) -> Response:
    """Those that the visitor is a member of."""
    return visit.show("subjects.html", subjects=await visit.memory.subjects.list(**visit.whose))


@router.post("/subjects")
async def create_subject(change: Writing) -> Response:
    """Make one."""
    made = await change.memory.subjects.create(change.text("subject").strip(), name=change.some("name"), **change.whose)
    return change.back("/subjects", f"{made.name} is there: facts about it can be shared with its members.")


@router.post("/subjects/{subject}/rename")
async def rename_subject(change: Writing, subject: Name) -> Response:
    """Another name for people to read."""
    made = await change.memory.subjects.rename(subject, change.text("name").strip(), **change.whose)
    return change.back("/subjects", f"It is called {made.name} now.")


@router.post("/subjects/{subject}/members")
async def add_member(change: Writing, subject: Name) -> Response:
    """Let somebody read what is shared."""
    member = change.text("member").strip()
    await change.memory.subjects.add_member(subject, member, **change.whose)
    return change.back("/subjects", f"{member} reads what is shared now.")


@router.post("/subjects/{subject}/members/remove")
async def remove_member(change: Writing, subject: Name) -> Response:
    """From now on that user reads nothing that others share."""
    member = change.text("member")
    await change.memory.subjects.remove_member(subject, member, **change.whose)
    return change.back("/subjects", f"{member} reads nothing of what is shared any more.")
