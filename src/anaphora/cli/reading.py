"""`anaphora context`, `history` and `search`: look, change nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from anaphora.bootstrap import Services
from anaphora.cli.options import Agent, AnyAgent, AnySession, AsJson, Db, Limit, SessionName, Tenant, User
from anaphora.cli.output import cell, emit, note, plural, say, table
from anaphora.cli.running import Access, check_session, key_of, run, settings_from
from anaphora.cli.shapes import context_json, hit_json, message_json
from anaphora.domain.context import Context
from anaphora.domain.messages import Message
from anaphora.errors import UnknownName
from anaphora.memory import Memory
from anaphora.ports.store import WordHit

FORMATS = ("text", "openai", "anthropic")


def context(
    *,
    user: User,
    session: SessionName,
    query: Annotated[str | None, typer.Option("--query", metavar="TEXT", help="The next user message.")] = None,
    budget: Annotated[
        int | None, typer.Option("--budget", metavar="TOKENS", help="Size of the prompt.", show_default="4000")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say of each line why it is there, or is not.")] = False,
    wire: Annotated[
        str, typer.Option("--format", metavar="NAME", help="text, or messages for openai or anthropic.")
    ] = "text",
    agent: Agent = None,
    db: Db = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Show the prompt that a model would get, and what it leaves out.

    With --format openai or anthropic the messages are printed as JSON, ready to be sent; with --json so are tokens,
    coverage and, with --explain, the reasons.
    """
    if wire not in FORMATS:
        raise UnknownName("format", wire, FORMATS)
    settings = settings_from(db, tenant=tenant, agent=agent)
    key = key_of(settings, user, session)

    async def work(services: Services) -> Context:
        await check_session(services, key)
        return await Memory(services).session(user=user, session=session).context(query, budget=budget)

    made = run(work, settings, Access.READ)
    if as_json:
        emit(context_json(made, wire=wire, explain=explain))
    elif wire == "openai":
        emit({"messages": made.to_openai()})
    elif wire == "anthropic":
        emit(made.to_anthropic())
    elif explain:
        _explain(made)
    else:
        _show(made)


def history(
    *,
    user: User,
    session: SessionName,
    limit: Limit = 50,
    before: Annotated[
        int | None, typer.Option("--before", metavar="SEQ", help="Only messages before this one: page through all.")
    ] = None,
    agent: Agent = None,
    db: Db = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Show the newest messages of a session."""
    settings = settings_from(db, tenant=tenant, agent=agent)
    key = key_of(settings, user, session)

    async def work(services: Services) -> Sequence[Message]:
        await check_session(services, key)
        chat = Memory(services).session(user=user, session=session)
        if before is None:
            return await chat.messages(limit=limit)
        return await chat.messages(start=max(0, before - limit), stop=max(0, before), limit=limit)

    messages = run(work, settings, Access.READ)
    if as_json:
        emit({"messages": [message_json(message) for message in messages]})
        return
    for message in messages:
        say(f"{message.seq:>5}  {cell(message.created_at)}  {_speaker(message.role, message.name)}: {message.content}")


def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Words; nothing in them is search syntax.")],
    *,
    user: User,
    agent: AnyAgent = None,
    session: AnySession = None,
    limit: Limit = 10,
    db: Db = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Find messages of a user by their words, best first."""
    settings = settings_from(db, tenant=tenant)

    async def work(services: Services) -> Sequence[WordHit]:
        return await Memory(services).search(query, user=user, agent=agent, session=session, limit=limit)

    hits = run(work, settings, Access.READ)
    if as_json:
        emit({"hits": [hit_json(hit) for hit in hits]})
        return
    table(
        ("session", "seq", "said at", "by", "score", "content"),
        (
            (
                hit.key.session,
                hit.message.seq,
                hit.message.created_at,
                _speaker(hit.message.role, hit.message.name),
                round(hit.score, 1),
                hit.message.content,
            )
            for hit in hits
        ),
        empty="Nothing was found.",
    )


def _show(made: Context) -> None:
    for message in made.messages:
        seq = "" if message.seq is None else f" {message.seq}"
        cut = ", shortened" if message.shortened else ""
        say(f"[{message.section}{seq}] {_speaker(message.role, message.name)} ({message.tokens} tokens{cut})")
        say(message.content)
        say()
    _account(made)


def _explain(made: Context) -> None:
    table(
        ("section", "source", "range", "tokens", "in", "why"),
        ((line.section, line.source, line.range, line.tokens, line.included, line.why) for line in made.explain()),
        empty="The prompt is empty.",
    )
    _account(made)


def _account(made: Context) -> None:
    whole, counts = made.tokens_full_history, made.coverage.counts()
    saved = f", {100 * (1 - made.tokens / whole):.0f} % less than the {whole:,} of everything" if whole else ""
    note(f"{made.tokens:,} of {plural(made.budget, 'token')}{saved}.")
    note(
        f"{plural(made.coverage.head, 'message')}: {counts['summarised']:,} summarised, {counts['verbatim']:,} word by "
        f"word, {counts['elided']:,} elided (search finds them)."
    )
    if made.degraded:
        note(f"Degraded: {', '.join(made.degraded)}.")


def _speaker(role: str, name: str | None) -> str:
    return f"{role} ({name})" if name else str(role)
