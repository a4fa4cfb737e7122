"""What is remembered: facts by subject, each with where it came from; the doubtful ones first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any, Final
from uuid import UUID

from starlette.responses import RedirectResponse, Response

from anaphora.domain.facts import LEAST_IMPORTANT, MAX_CONTENT, MOST_IMPORTANT, Fact, FactState, Visibility
from anaphora.server.page.visits import Change, Reading, Visit, Visitor, Writing, pages
from anaphora.server.paths import Named

router = pages()

#: facts on a page
_MANY: Final = 100
_MOST_DOUBTS: Final = 20
#: how addresses of single facts begin
_OF_FACTS: Final = "/facts/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """What is known of one subject."""

    #: None: the visitor
    subject: str | None
    name: str
    facts: Sequence[Fact]


@router.get("/")
async def facts_page(
    visit: Visitor,
    state: FactState = FactState.ACTIVE,
    subject: Annotated[str | None, Named] = None,
    after: UUID | None = None,
) -> Response:
    """What is remembered; for operators, the way to what is theirs."""
    if visit.principal.user is None:
        return RedirectResponse("/operator", status_code=int(HTTPStatus.SEE_OTHER))
    return await _facts(visit, state, subject, after)


async def _facts(visit: Visit, state: FactState, subject: str | None, after: UUID | None) -> Response:
    memory = visit.memory
    found = await memory.facts.list(states=(state,), subject=subject, after=after, limit=_MANY, **visit.whose)
    subjects = {each.id: each.name for each in await memory.subjects.list(**visit.whose)}
    counts = await memory.facts.counts(**visit.whose)
    doubtful = await memory.facts.review(limit=_MOST_DOUBTS, **visit.whose) if after is None else ()
    return visit.show(
        "facts.html",
        state=state,
        subject=subject,
        groups=grouped(found, subjects),
        subjects=subjects,
        counts=counts,
        doubtful=doubtful if state is FactState.ACTIVE and subject is None else (),
        older=found[-1].id if len(found) == _MANY else None,
        categories=memory.settings.facts.categories,
        most=MAX_CONTENT,
        importances=range(LEAST_IMPORTANT, MOST_IMPORTANT + 1),
        resting=await memory.paused(**visit.whose),
    )


def grouped(facts: Iterable[Fact], names: Mapping[str, str]) -> Sequence[Group]:
    """Facts by subject, what is about the visitor first; pinned ones first among them."""
    by_subject: dict[str | None, list[Fact]] = {}
    for fact in facts:
        by_subject.setdefault(fact.subject, []).append(fact)
    groups = [
        Group(
            subject=subject,
            name="You" if subject is None else names.get(subject, subject),
            facts=sorted(found, key=lambda fact: not fact.pinned),
        )
        for subject, found in by_subject.items()
    ]
    return sorted(groups, key=lambda group: (group.subject is not None, group.name.casefold()))


@router.get("/facts/{fact_id}")
async def fact_page(visit: Reading, fact_id: UUID) -> Response:
    """One fact: where it came from, its history, and a form to correct it."""
    fact = await visit.memory.facts.get(fact_id, **visit.whose)
    own = fact.owner == visit.user
    return visit.show(
        "fact.html",
        fact=fact,
        own=own,
        history=await visit.memory.facts.history(fact_id, **visit.whose) if own else (),
        categories=visit.memory.settings.facts.categories,
        most=MAX_CONTENT,
        importances=range(LEAST_IMPORTANT, MOST_IMPORTANT + 1),
    )


@router.post("/facts")
async def add_fact(change: Writing) -> Response:
    """Keep what the visitor says."""
    fact = await change.memory.facts.add(
        change.text("content").strip(),
        category=change.text("category", "other"),
        importance=change.whole("importance"),
        subject=change.some("subject"),
        pinned=change.some("pinned") is not None,
        **change.whose,
    )
    return change.back("/", f"Kept: {fact.content}", undo={"fact": str(fact.id), "label": "Undo"})


@router.post("/facts/restore")
async def restore_fact(change: Writing) -> Response:
    """Add what was just deleted again."""
    fact = await change.memory.facts.add(
        change.text("content"),
        category=change.text("category"),
        importance=change.whole("importance"),
        subject=change.some("subject"),
        pinned=change.some("pinned") is not None,
        **change.whose,
    )
    if change.some("shared") is not None:
        fact = await change.memory.facts.share(fact.id, **change.whose)
    return change.back("/", "It is kept again, in your name.")


@router.post("/facts/{fact_id}")
async def edit_fact(change: Writing, fact_id: UUID) -> Response:
    """Correct a fact."""
    fact = await change.memory.facts.edit(
        fact_id,
        content=change.text("content").strip(),
        category=change.text("category"),
        importance=change.whole("importance"),
        **change.whose,
    )
    return _told(change, fact, "Corrected")


@router.post("/facts/{fact_id}/pin")
async def pin_fact(change: Writing, fact_id: UUID) -> Response:
    """Want it in every prompt."""
    return _told(change, await change.memory.facts.pin(fact_id, **change.whose), "Pinned: it stands in every prompt")


@router.post("/facts/{fact_id}/unpin")
async def unpin_fact(change: Writing, fact_id: UUID) -> Response:
    """Want it where it matters."""
    return _told(change, await change.memory.facts.unpin(fact_id, **change.whose), "No longer pinned")


@router.post("/facts/{fact_id}/confirm")
async def confirm_fact(change: Writing, fact_id: UUID) -> Response:
    """Stand for it."""
    return _told(change, await change.memory.facts.confirm(fact_id, **change.whose), "Confirmed")


@router.post("/facts/{fact_id}/take-up")
async def take_up_fact(change: Writing, fact_id: UUID) -> Response:
    """Believe it again."""
    return _told(change, await change.memory.facts.take_up(fact_id, **change.whose), "Taken up again")


@router.post("/facts/{fact_id}/share")
async def share_fact(change: Writing, fact_id: UUID) -> Response:
    """Let the members of its subject read it."""
    fact = await change.memory.facts.share(fact_id, **change.whose)
    return _told(change, fact, f"Shared with the members of {fact.subject}")


@router.post("/facts/{fact_id}/unshare")
async def unshare_fact(change: Writing, fact_id: UUID) -> Response:
    """Read it alone from now on."""
    return _told(change, await change.memory.facts.unshare(fact_id, **change.whose), "No longer shared")


@router.post("/facts/{fact_id}/delete")
async def delete_fact(change: Writing, fact_id: UUID) -> Response:
    """Leave nothing of it. Its undo adds it again, in the visitor's name."""
    fact = await change.memory.facts.get(fact_id, **change.whose)
    await change.memory.facts.delete(fact_id, **change.whose)
    again = {
        "content": fact.content,
        "category": fact.category,
        "importance": fact.importance,
        "subject": fact.subject or "",
        "pinned": "yes" if fact.pinned else "",
        "shared": "yes" if fact.visibility is Visibility.SHARED else "",
    }
    undo = {"add": again, "label": "Undo: add it again"}
    return change.back("/", "Deleted: nothing is left of it.", undo=undo, gone=_OF_FACTS)


@router.post("/facts/{fact_id}/undo")
async def undo_fact(change: Writing, fact_id: UUID) -> Response:
    """Take its last change back."""
    fact = await change.memory.facts.undo(fact_id, **change.whose)
    if fact is None:
        return change.back("/", "Undone: it is not kept.", gone=_OF_FACTS)
    return change.back("/", "Undone: it is as it was before.")


def _told(change: Change, fact: Fact, done: str) -> Response:
    undo: Mapping[str, Any] = {"fact": str(fact.id), "label": "Undo"}
    return change.back("/", f"{done}.", undo=undo)
