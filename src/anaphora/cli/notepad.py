"""`anaphora notepad`: see what an agent noted of its sessions with a user, rewrite it, and go back."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, TypeVar

import typer

from anaphora.bootstrap import Services
from anaphora.cli.editor import edited
from anaphora.cli.notepad_view import page_json, show_page, show_pages, why_empty
from anaphora.cli.options import Agent, AsJson, Db, Limit, Tenant, User
from anaphora.cli.output import emit, say
from anaphora.cli.running import Access, run, settings_from
from anaphora.domain.notepad import Page
from anaphora.errors import InvalidInput
from anaphora.memory import Memory, NotepadView
from anaphora.settings import Settings

T = TypeVar("T")

Text = Annotated[
    str | None,
    typer.Argument(
        metavar="TEXT",
        show_default=False,
        help="What it should say; - reads it from stdin; without it an editor opens.",
    ),
]
Version = Annotated[int, typer.Argument(metavar="VERSION", help="Which page, as `notepad history` numbers them.")]


def show(*, user: User, agent: Agent = None, db: Db = None, tenant: Tenant = None, as_json: AsJson = False) -> None:
    """Show what the notepad says now, and where that is from."""
    settings = settings_from(db, tenant=tenant, agent=agent)
    page = _run(lambda notepad: notepad.show(user=user), Access.READ, settings)
    if as_json:
        emit({"page": page_json(page) if page is not None else None})
    else:
        show_page(page, empty=why_empty(settings))


def history(
    *,
    user: User,
    agent: Agent = None,
    limit: Limit = 20,
    db: Db = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """List the pages of the notepad, newest first."""
    settings = settings_from(db, tenant=tenant, agent=agent)
    pages: Sequence[Page] = _run(lambda notepad: notepad.history(user=user, limit=limit), Access.READ, settings)
    if as_json:
        emit({"pages": [page_json(page) for page in pages]})
    else:
        show_pages(pages, empty=why_empty(settings))


def edit(
    text: Text = None,
    *,
    user: User,
    agent: Agent = None,
    db: Db = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Rewrite the notepad: what the user writes stays, whatever becomes of the sessions."""
    settings = settings_from(db, tenant=tenant, agent=agent)
    wanted = text
    if text == "-":
        wanted = sys.stdin.read()
    elif text is None:
        wanted = _edited(_run(lambda notepad: notepad.show(user=user), Access.READ, settings))

    async def work(notepad: NotepadView) -> tuple[Page | None, Page]:
        return await notepad.show(user=user), await notepad.edit(wanted or "", user=user)

    before, page = _run(work, Access.WRITE, settings)
    if before == page:
        _tell(page, f"Nothing was changed: version {page.version} says that already.", as_json=as_json)
    else:
        _tell(page, f"The notepad of {user!r} has version {page.version} now ({page.tokens} tokens).", as_json=as_json)


def revert(
    version: Version,
    *,
    user: User,
    agent: Agent = None,
    db: Db = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Go back to an earlier page; it becomes the newest."""
    settings = settings_from(db, tenant=tenant, agent=agent)
    page = _run(lambda notepad: notepad.revert(version, user=user), Access.WRITE, settings)
    _tell(page, f"The notepad of {user!r} says again what version {version} says.", as_json=as_json)


def _edited(page: Page | None) -> str:
    """What somebody makes of the page in an editor."""
    if not sys.stdin.isatty():
        raise InvalidInput("say what the notepad should say: give a text, or - to read it from stdin")
    text = edited(page.text if page is not None else "")
    if text is None:
        raise typer.Abort
    return text


def _tell(page: Page, text: str, *, as_json: bool) -> None:
    if as_json:
        emit(page_json(page))
    else:
        say(text)


def _run(work: Callable[[NotepadView], Awaitable[T]], access: Access, settings: Settings) -> T:
    async def with_services(services: Services) -> T:
        return await work(Memory(services).notepad)

    return run(with_services, settings, access)
