"""`anaphora edit` and `delete`: correct what was said."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from anaphora.bootstrap import Services
from anaphora.cli.options import Agent, AsJson, Db, SessionName, Tenant, User
from anaphora.cli.output import emit, say
from anaphora.cli.running import Access, key_of, run, settings_from
from anaphora.cli.shapes import message_json
from anaphora.domain.messages import Message
from anaphora.domain.summaries import SummaryStatus
from anaphora.errors import InvalidInput
from anaphora.memory import Memory, Session

Seq = Annotated[int, typer.Argument(metavar="SEQ", help="Its number; `anaphora history` shows it.", min=0)]


def edit(
    seq: Seq,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What it should say; - reads it from stdin.")],
    *,
    user: User,
    session: SessionName,
    agent: Agent = None,
    db: Db = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Correct a message. What it said before is kept; summaries that speak of it are made anew."""
    settings = settings_from(db, tenant=tenant, agent=agent)
    key_of(settings, user, session)
    content = sys.stdin.read().removesuffix("\n") if text == "-" else text

    async def work(services: Services) -> tuple[Message, bool]:
        chat = Memory(services).session(user=user, session=session)
        return await chat.edit(seq, content), await _is_stale(chat)

    message, stale = run(work, settings, Access.WRITE)
    if as_json:
        emit(message_json(message))
        return
    say(f"Message {seq} is at version {message.version} now.")
    _tell(stale=stale)


def delete(
    seq: Seq,
    *,
    user: User,
    session: SessionName,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    agent: Agent = None,
    db: Db = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Delete a message: no prompt shows it, no search finds it, and summaries are made anew without it.

    What it said is kept for `history --versions` and `--as-of`; `erase` leaves nothing at all.
    """
    settings = settings_from(db, tenant=tenant, agent=agent)
    key_of(settings, user, session)
    if not yes:
        if not sys.stdin.isatty():
            raise InvalidInput("delete cannot be undone: add --yes where nobody can be asked")
        typer.confirm(f"Delete message {seq} of session {session!r} of {user!r}?", abort=True, err=True)

    async def work(services: Services) -> tuple[bool, bool]:
        chat = Memory(services).session(user=user, session=session)
        return await chat.delete(seq), await _is_stale(chat)

    deleted, stale = run(work, settings, Access.WRITE)
    if as_json:
        emit({"deleted": deleted})
        return
    say(f"Message {seq} is deleted." if deleted else f"Message {seq} was deleted before.")
    _tell(stale=stale)


async def _is_stale(chat: Session) -> bool:
    return any(summary.status is SummaryStatus.STALE for summary in await chat.summaries())


def _tell(*, stale: bool) -> None:
    if stale:
        say("Summaries that spoke of it are made anew by `anaphora worker`, or while you chat.")
