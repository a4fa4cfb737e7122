"""`anaphora context`, `history` and `search`: look, change nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from anaphora.bootstrap import Services
from anaphora.cli.facts_view import fact_hit_json
from anaphora.cli.options import Agent, AnyAgent, AnySession, AsJson, Db, Limit, SessionName, Tenant, Then, User, moment
from anaphora.cli.output import cell, emit, note, plural, say, table
from anaphora.cli.running import Access, check_session, key_of, run, settings_from
from anaphora.cli.shapes import chunk_json, context_json, hit_json, message_json
from anaphora.domain.context import Context
from anaphora.domain.keys import SessionKey
from anaphora.domain.messages import Message
from anaphora.domain.search import FactHit, Hit, Kind, SearchResult
from anaphora.errors import InvalidInput, UnknownName
from anaphora.memory import Memory
from anaphora.rules.rerank import RERANK

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
    as_of: Then = None,
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
    key, then = key_of(settings, user, session), moment(as_of)

    async def work(services: Services) -> Context:
        await check_session(services, key)
        return await Memory(services).session(user=user, session=session).context(query, budget=budget, as_of=then)

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
    versions: Annotated[
        bool, typer.Option("--versions", help="What messages said before they were edited or deleted, too.")
    ] = False,
    as_of: Then = None,
    agent: Agent = None,
    db: Db = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Show the newest messages of a session."""
    if versions and as_of is not None:
        raise InvalidInput("give --versions or --as-of, not both")
    settings = settings_from(db, tenant=tenant, agent=agent)
    key, then = key_of(settings, user, session), moment(as_of)

    async def work(services: Services) -> Sequence[Message]:
        head = await check_session(services, key)
        if versions:
            stop = head if before is None else max(0, min(before, head))
            return await services.sessions.versions(key, start=max(0, stop - limit), stop=max(stop, 1))
        return await services.sessions.newest(key, stop=before, limit=limit, as_of=then)

    messages = run(work, settings, Access.READ)
    if as_json:
        emit({"messages": [message_json(message) for message in messages]})
        return
    for message in messages:
        say(_history_line(message, versions=versions))


def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A question; nothing in it is search syntax.")],
    *,
    user: User,
    agent: AnyAgent = None,
    session: AnySession = None,
    limit: Limit = 10,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            "--kind", metavar="KIND", help="messages, facts or chunks; may be repeated.", show_default="messages"
        ),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say what each score is made of, and what was found beside.")
    ] = False,
    db: Db = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Find messages of a user by their words and by what they mean, best first; facts and chunks if they are named."""
    settings = settings_from(db, tenant=tenant)
    kinds = kind or [Kind.MESSAGES.value]

    async def work(services: Services) -> SearchResult:
        if session is not None:
            await check_session(
                services, SessionKey(tenant=settings.tenant, user=user, agent=agent or settings.agent, session=session)
            )
        memory = Memory(services)
        return await memory.search(query, user=user, agent=agent, session=session, limit=limit, kinds=kinds)

    found = run(work, settings, Access.READ)
    if as_json:
        dropped = {"dropped": [hit_json(hit) for hit in found.dropped]} if explain else {}
        hits = [hit_json(hit) for hit in found.hits]
        emit({"hits": hits, "degraded": list(found.degraded), **dropped, **_also(found, kinds)})
        return
    if Kind.MESSAGES in kinds and explain:
        _why(found)
    elif Kind.MESSAGES in kinds:
        table(
            ("session", "seq", "said at", "by", "score", "content"),
            ((*_place(hit), round(hit.score, 1), hit.message.content) for hit in found),
            empty="Nothing was found.",
        )
    _show_others(found, kinds, explain=explain)
    for missing in found.degraded:
        note(_MISSING.get(missing, f"Degraded: {missing}."))


def _also(found: SearchResult, kinds: Sequence[str]) -> dict[str, object]:
    """What was asked for beside messages, though it were nothing."""
    also: dict[str, object] = {}
    if Kind.FACTS in kinds:
        also["facts"] = [fact_hit_json(hit) for hit in found.facts]
    if Kind.CHUNKS in kinds:
        also["chunks"] = [chunk_json(hit) for hit in found.chunks]
    return also


def _show_others(found: SearchResult, kinds: Sequence[str], *, explain: bool) -> None:
    """Facts and chunks; explained, with what they were found by, and where facts were learned."""
    if Kind.FACTS in kinds:
        why = (*_FACT_SCORES, "has", "found by", "learned from") if explain else ()
        table(
            ("category", "relevance", *why, "fact"),
            (
                (
                    hit.fact.category,
                    round(hit.relevance, 2),
                    *(_why_fact(hit) if explain else ()),
                    hit.fact.content,
                )
                for hit in found.facts
            ),
            empty="No fact was found.",
        )
    if Kind.CHUNKS in kinds:
        table(
            ("session", "messages", "relevance", *(("found by", "score") if explain else ()), "chunk"),
            (
                (
                    hit.key.session,
                    str(hit.chunk.range),
                    round(hit.relevance, 2),
                    *((_spot(hit.hit), round(hit.hit.score, 2)) if explain else ()),
                    hit.chunk.text,
                )
                for hit in found.chunks
            ),
            empty="No chunk was found.",
        )


#: what the relevance of a fact is the highest of
_FACT_SCORES = ("words", "message")


def _why_fact(hit: FactHit) -> tuple[object, ...]:
    learned = ", ".join(f"{source.key.session} {source.seq}" for source in hit.fact.sources)
    return (
        *(round(hit.scores.get(name, 0.0), 2) for name in _FACT_SCORES),
        " ".join(hit.words),
        "" if hit.hit is None else _spot(hit.hit),
        learned,
    )


def _spot(hit: Hit) -> str:
    """The message that was found, by session and number."""
    return f"{hit.key.session} {hit.message.seq}"


_MISSING = {
    "embedder": "Words alone were compared: the embedder is not here or did not answer, see `anaphora models list`.",
    "vectors": "Some messages were compared by their words alone: their vectors are not made yet.",
    "rerank": "The order is that of the search alone: what is set as rerank_provider did not answer, see -v.",
}


def _place(hit: Hit) -> tuple[object, ...]:
    return (
        hit.key.session,
        hit.message.seq,
        hit.message.created_at,
        _speaker(hit.message.role, hit.message.name),
    )


def _why(found: SearchResult) -> None:
    """Hits with what their scores are made of, then what there was no place for."""
    looked_again = any(RERANK in hit.scores for hit in found)
    kinds = ("words", "meaning", "session", "speaker", "user", *((RERANK,) if looked_again else ()))
    table(
        ("in", "session", "seq", "said at", "by", "score", *kinds, "relevance", "has", "passage"),
        (
            (
                included,
                *_place(hit),
                round(hit.score, 2),
                *(round(hit.scores.get(kind, 0.0), 2) for kind in kinds),
                round(hit.relevance, 2),
                " ".join(hit.words),
                hit.passage,
            )
            for hits, included in ((found.hits, True), (found.dropped, False))
            for hit in hits
        ),
        empty="Nothing was found.",
    )


def _history_line(message: Message, *, versions: bool) -> str:
    said = "(deleted)" if message.deleted else message.content
    line = f"{cell(message.created_at)}  {_speaker(message.role, message.name)}: {said}"
    if not versions:
        return f"{message.seq:>5}  {line}"
    changed = f" ({cell(message.changed_at)})" if message.changed_at else ""
    return f"{message.seq:>5}.{message.version}{changed}  {line}"


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
    note(f"{made.tokens:,} of {plural(made.budget, 'token')}{_beside(made.tokens, whole)}.")
    note(
        f"{plural(made.coverage.head, 'message')}: {counts['summarised']:,} summarised, {counts['verbatim']:,} word by "
        f"word, {counts['elided']:,} elided (search finds them)"
        + (f", {counts['deleted']:,} deleted." if counts["deleted"] else ".")
    )
    if made.degraded:
        note(f"Degraded: {', '.join(made.degraded)}.")


def _beside(tokens: int, whole: int) -> str:
    """What a prompt costs beside the whole history; a short one costs less than what is remembered beside it."""
    if not whole:
        return ""
    if tokens > whole:
        return f", more than the {whole:,} of everything said here: with what is known from elsewhere"
    return f", {100 * (1 - tokens / whole):.0f} % less than the {whole:,} of everything"


def _speaker(role: str, name: str | None) -> str:
    return f"{role} ({name})" if name else str(role)
