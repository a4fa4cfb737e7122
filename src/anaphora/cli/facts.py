"""`anaphora facts`: see, add, correct, share and delete what is known of a user."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Final, TypeVar
from uuid import UUID

import typer

from anaphora.bootstrap import Services
from anaphora.cli.facts_view import (
    aside_json,
    aside_line,
    fact_json,
    show_doubts,
    show_fact,
    show_facts,
    show_history,
    version_json,
)
from anaphora.cli.ids import fact_id, short_id
from anaphora.cli.options import AnyAgent, AsJson, Db, Limit, Tenant, User, named, named_or_empty
from anaphora.cli.output import clean, emit, say
from anaphora.cli.running import Access, run, settings_from
from anaphora.domain.facts import DEFAULT_IMPORTANCE, Fact, FactState, FactVersion
from anaphora.domain.keeping import FactCounts
from anaphora.errors import InvalidInput, UnknownName
from anaphora.memory import FactsView, Memory

T = TypeVar("T")

ALL: Final = "all"

FactArgument = Annotated[
    str, typer.Argument(metavar="ID", help="Its id, or at least six digits of it, as `facts list` shows them.")
]
Text = Annotated[str, typer.Argument(metavar="TEXT", help="One statement; - reads it from stdin.")]
Category = Annotated[
    str | None,
    typer.Option("--category", metavar="NAME", help="What kind of fact it is; else `other`, or the last one."),
]
Importance = Annotated[int, typer.Option("--importance", metavar="N", help="1 to 10.")]
AnyCategory = Annotated[str | None, typer.Option("--category", metavar="NAME", help="Only of this category.")]
AnySubject = Annotated[
    str | None,
    typer.Option(
        "--subject", metavar="ID", help='Only about this subject; "" for the user alone.', callback=named_or_empty
    ),
]


def list_facts(
    *,
    user: User,
    subject: AnySubject = None,
    category: AnyCategory = None,
    state: Annotated[
        str, typer.Option("--state", metavar="NAME", help="active, review, closed, aside, or all.")
    ] = FactState.ACTIVE.value,
    agent: AnyAgent = None,
    limit: Limit = 50,
    db: Db = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """List what is known of a user, newest first, and what others share with the user."""
    states = _states(state)

    async def work(facts: FactsView) -> tuple[Sequence[Fact], FactCounts]:
        found = await facts.list(user=user, agent=agent, subject=subject, states=states, category=category, limit=limit)
        return found, await facts.counts(user=user, subject=subject)

    found, counts = _run(work, Access.READ, db, tenant)
    if as_json:
        emit({"facts": [fact_json(fact) for fact in found], "aside": aside_json(counts)})
        return
    show_facts(found, user=user, empty="There are no such facts.")
    if counts.aside:
        say(f"{aside_line(counts)}. `facts list --state aside` lists them, `facts take-up ID` brings one back.")


def show(fact: FactArgument, *, user: User, db: Db = None, tenant: Tenant = None, as_json: AsJson = False) -> None:
    """Show everything about a fact: what it was learned from, and what became of it."""

    async def work(facts: FactsView) -> tuple[Fact, Sequence[FactVersion]]:
        found = await facts.get(await fact_id(facts, fact, user=user), user=user)
        return found, await facts.history(found.id, user=user) if found.owner == user else ()

    found, history = _run(work, Access.READ, db, tenant)
    if as_json:
        emit({**fact_json(found), "history": [version_json(version) for version in history]})
    else:
        show_fact(found, history)


def history(fact: FactArgument, *, user: User, db: Db = None, tenant: Tenant = None, as_json: AsJson = False) -> None:
    """Show every version of a fact, the oldest first."""

    async def work(facts: FactsView) -> Sequence[FactVersion]:
        return await facts.history(await fact_id(facts, fact, user=user), user=user)

    versions = _run(work, Access.READ, db, tenant)
    if as_json:
        emit({"history": [version_json(version) for version in versions]})
    else:
        show_history(versions)


def review(
    *,
    user: User,
    subject: AnySubject = None,
    limit: Limit = 50,
    db: Db = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """List doubtful facts: they stand in no prompt until they are confirmed."""
    found = _run(lambda facts: facts.review(user=user, subject=subject, limit=limit), Access.READ, db, tenant)
    if as_json:
        emit({"facts": [fact_json(fact) for fact in found]})
    else:
        show_doubts(found)


def add(
    text: Text,
    *,
    user: User,
    category: Category = None,
    importance: Importance = DEFAULT_IMPORTANCE,
    subject: Annotated[
        str | None,
        typer.Option("--subject", metavar="ID", help="Whom or what it is about; else the user.", callback=named),
    ] = None,
    pin: Annotated[bool, typer.Option("--pin", help="Want it in every prompt.")] = False,
    db: Db = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Add what the user says: it needs no source, and what it contradicts is closed."""
    content = _content(text)

    async def work(facts: FactsView) -> Fact:
        return await facts.add(
            content, user=user, category=category, importance=importance, subject=subject, pinned=pin
        )

    fact = _run(work, Access.WRITE, db, tenant)
    known = fact.version > 1
    _tell(fact, f"{short_id(fact.id)} {'was known and is confirmed' if known else 'is added'}.", as_json=as_json)


def edit(
    fact: FactArgument,
    *,
    user: User,
    content: Annotated[
        str | None, typer.Option("--content", metavar="TEXT", help="What it should say; - reads it from stdin.")
    ] = None,
    category: Annotated[str | None, typer.Option("--category", metavar="NAME", help="Another category.")] = None,
    importance: Annotated[int | None, typer.Option("--importance", metavar="N", help="1 to 10.")] = None,
    db: Db = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Correct a fact; what is not given stays. The user stands for it from now on."""
    if content is None and category is None and importance is None:
        raise InvalidInput("say what to change: --content, --category or --importance")
    text = None if content is None else _content(content)

    async def change(facts: FactsView, fact_id: UUID) -> Fact:
        return await facts.edit(fact_id, user=user, content=text, category=category, importance=importance)

    changed = _change(fact, change, user, db, tenant)
    says = f"says now ({changed.category}, importance {changed.importance}): {changed.content}"
    _tell(changed, f"{short_id(changed.id)} {says}", as_json=as_json)


def pin(fact: FactArgument, *, user: User, db: Db = None, tenant: Tenant = None, as_json: AsJson = False) -> None:
    """Want a fact in every prompt."""
    changed = _change(fact, lambda facts, fact_id: facts.pin(fact_id, user=user), user, db, tenant)
    _tell(changed, f"{short_id(changed.id)} is pinned: it is wanted in every prompt.", as_json=as_json)


def unpin(fact: FactArgument, *, user: User, db: Db = None, tenant: Tenant = None, as_json: AsJson = False) -> None:
    """Want a fact in a prompt only where it matters."""
    changed = _change(fact, lambda facts, fact_id: facts.unpin(fact_id, user=user), user, db, tenant)
    _tell(changed, f"{short_id(changed.id)} is not pinned: it is wanted where it matters.", as_json=as_json)


def confirm(fact: FactArgument, *, user: User, db: Db = None, tenant: Tenant = None, as_json: AsJson = False) -> None:
    """Stand for a fact: it leaves the review, and nothing that is learned closes it."""
    changed = _change(fact, lambda facts, fact_id: facts.confirm(fact_id, user=user), user, db, tenant)
    _tell(changed, f"{short_id(changed.id)} is confirmed.", as_json=as_json)


def take_up(fact: FactArgument, *, user: User, db: Db = None, tenant: Tenant = None, as_json: AsJson = False) -> None:
    """Believe a fact again that was set aside; it has the user's word, and is not set aside again."""
    changed = _change(fact, lambda facts, fact_id: facts.take_up(fact_id, user=user), user, db, tenant)
    _tell(changed, f"{short_id(changed.id)} is taken up: it is believed, and has your word.", as_json=as_json)


def share(fact: FactArgument, *, user: User, db: Db = None, tenant: Tenant = None, as_json: AsJson = False) -> None:
    """Let the members of its subject read a fact, but not what it was learned from."""
    changed = _change(fact, lambda facts, fact_id: facts.share(fact_id, user=user), user, db, tenant)
    _tell(
        changed,
        f"{short_id(changed.id)} is shared: the members of subject {changed.subject!r} read it.",
        as_json=as_json,
    )


def unshare(fact: FactArgument, *, user: User, db: Db = None, tenant: Tenant = None, as_json: AsJson = False) -> None:
    """From now on only its owner reads a fact."""
    changed = _change(fact, lambda facts, fact_id: facts.unshare(fact_id, user=user), user, db, tenant)
    _tell(changed, f"{short_id(changed.id)} is private: only {user!r} reads it.", as_json=as_json)


def delete(
    fact: FactArgument,
    *,
    user: User,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    db: Db = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Delete a fact with its history and quotes; what says the same is not learned again."""
    if not yes:
        if not sys.stdin.isatty():
            raise InvalidInput("delete leaves nothing of a fact: add --yes where nobody can be asked")
        found = _change(fact, lambda facts, fact_id: facts.get(fact_id, user=user), user, db, tenant, Access.READ)
        typer.confirm(clean(f"Delete {found.content!r} of {found.owner!r} for good?"), abort=True, err=True)

    async def change(facts: FactsView, fact_id: UUID) -> UUID:
        await facts.delete(fact_id, user=user)
        return fact_id

    fact_id = _change(fact, change, user, db, tenant)
    if as_json:
        emit({"id": fact_id, "deleted": True})
    else:
        say(f"{short_id(fact_id)} is deleted: nothing of it is left, and what says the same is not learned again.")


def undo(fact: FactArgument, *, user: User, db: Db = None, tenant: Tenant = None, as_json: AsJson = False) -> None:
    """Take the last change of a fact back; again, the one before. Without its beginning it is gone."""

    async def change(facts: FactsView, fact_id: UUID) -> tuple[UUID, Fact | None]:
        return fact_id, await facts.undo(fact_id, user=user)

    fact_id, left = _change(fact, change, user, db, tenant)
    if as_json:
        emit({"id": fact_id, "deleted": left is None, "fact": fact_json(left) if left else None})
    elif left is None:
        say(f"{short_id(fact_id)} is gone: that was its beginning. What says the same is not learned again.")
    else:
        shown = f"({left.category}, importance {left.importance}, {left.state}): {left.content}"
        say(f"The last change of {short_id(fact_id)} is taken back {shown}")


def _states(state: str) -> tuple[FactState, ...]:
    if state == ALL:
        return tuple(FactState)
    if state not in set(FactState):
        raise UnknownName("state", state, [*FactState, ALL])
    return (FactState(state),)


def _content(text: str) -> str:
    return sys.stdin.read().removesuffix("\n") if text == "-" else text


def _tell(fact: Fact, text: str, *, as_json: bool) -> None:
    if as_json:
        emit(fact_json(fact))
    else:
        say(text)


def _change(
    given: str,
    change: Callable[[FactsView, UUID], Awaitable[T]],
    user: str,
    db: str | None,
    tenant: str | None,
    access: Access = Access.WRITE,
) -> T:
    """What becomes of the fact that the command line names."""

    async def work(facts: FactsView) -> T:
        return await change(facts, await fact_id(facts, given, user=user))

    return _run(work, access, db, tenant)


def _run(work: Callable[[FactsView], Awaitable[T]], access: Access, db: str | None, tenant: str | None) -> T:
    async def with_services(services: Services) -> T:
        return await work(Memory(services).facts)

    return run(with_services, settings_from(db, tenant=tenant), access)
