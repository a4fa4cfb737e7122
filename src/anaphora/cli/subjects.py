"""`anaphora subjects`: whom or what facts are about, and with whom they are shared."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, TypeVar

import typer

from anaphora.bootstrap import Services
from anaphora.cli.facts_view import subject_json
from anaphora.cli.options import AsJson, Db, Limit, Tenant, User, named
from anaphora.cli.output import emit, say, table
from anaphora.cli.running import Access, run, settings_from
from anaphora.domain.facts import Subject
from anaphora.memory import Memory, SubjectsView

T = TypeVar("T")

SubjectId = Annotated[
    str, typer.Argument(metavar="ID", help="Which subject; `subjects list` shows them.", callback=named)
]
Member = Annotated[str, typer.Argument(metavar="MEMBER", help="Which user.", callback=named)]


def create(
    subject: Annotated[
        str, typer.Argument(metavar="ID", help="An id for it, as applications name it.", callback=named)
    ],
    *,
    user: User,
    name: Annotated[str | None, typer.Option("--name", metavar="TEXT", help="As people read it; else its id.")] = None,
    members: Annotated[
        list[str] | None, typer.Option("--member", metavar="NAME", help="Who reads what is shared; may be repeated.")
    ] = None,
    db: Db = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Make a subject; the user owns it and is its first member."""

    async def work(subjects: SubjectsView) -> Subject:
        return await subjects.create(subject, user=user, name=name, members=members or ())

    made = _run(work, Access.WRITE, db, tenant)
    _tell(made, f"Subject {made.id!r} is made; its members: {', '.join(made.members)}.", as_json=as_json)


def list_subjects(
    *, user: User, limit: Limit = 100, db: Db = None, tenant: Tenant = None, as_json: AsJson = False
) -> None:
    """List the subjects that the user is a member of."""

    async def work(subjects: SubjectsView) -> Sequence[Subject]:
        return await subjects.list(user=user, limit=limit)

    found = _run(work, Access.READ, db, tenant)
    if as_json:
        emit({"subjects": [subject_json(subject) for subject in found]})
        return
    table(
        ("subject", "name", "owner", "members"),
        ((subject.id, subject.name, subject.owner, ", ".join(subject.members)) for subject in found),
        empty="There are no subjects.",
    )


def list_members(
    subject: SubjectId, *, user: User, db: Db = None, tenant: Tenant = None, as_json: AsJson = False
) -> None:
    """List who reads what is shared with a subject."""
    found = _run(lambda subjects: subjects.members(subject, user=user), Access.READ, db, tenant)
    if as_json:
        emit({"members": list(found)})
        return
    for member in found:
        say(member)


def rename(
    subject: SubjectId,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Another name for people to read.")],
    *,
    user: User,
    db: Db = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Give a subject another name for people to read; its id stays."""
    changed = _run(lambda subjects: subjects.rename(subject, name, user=user), Access.WRITE, db, tenant)
    _tell(changed, f"Subject {changed.id!r} is called {changed.name!r} now.", as_json=as_json)


def add_member(
    subject: SubjectId, member: Member, *, user: User, db: Db = None, tenant: Tenant = None, as_json: AsJson = False
) -> None:
    """Let somebody read what is shared with a subject; only its owner may do that."""
    changed = _run(lambda subjects: subjects.add_member(subject, member, user=user), Access.WRITE, db, tenant)
    _tell(changed, f"{member!r} reads what is shared with subject {subject!r}.", as_json=as_json)


def remove_member(
    subject: SubjectId, member: Member, *, user: User, db: Db = None, tenant: Tenant = None, as_json: AsJson = False
) -> None:
    """From now on somebody reads nothing that others share; its owner removes anybody, members may leave."""
    removed = _run(lambda subjects: subjects.remove_member(subject, member, user=user), Access.WRITE, db, tenant)
    if as_json:
        emit({"removed": removed})
    elif removed:
        say(f"{member!r} is no member of subject {subject!r} any more.")
    else:
        say(f"{member!r} was no member of subject {subject!r}.")


def _tell(subject: Subject, text: str, *, as_json: bool) -> None:
    if as_json:
        emit(subject_json(subject))
    else:
        say(text)


def _run(work: Callable[[SubjectsView], Awaitable[T]], access: Access, db: str | None, tenant: str | None) -> T:
    async def with_services(services: Services) -> T:
        return await work(Memory(services).subjects)

    return run(with_services, settings_from(db, tenant=tenant), access)
