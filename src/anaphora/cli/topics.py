"""`anaphora topics list | show`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, TypeVar

import typer

from anaphora.bootstrap import Services
from anaphora.cli.options import Agent, AnyAgent, AnySession, AnyUser, AsJson, Db, Limit, SessionName, Tenant, User
from anaphora.cli.output import emit, say, table
from anaphora.cli.running import Access, run, settings_from
from anaphora.domain.messages import Message
from anaphora.domain.topics import Segment
from anaphora.errors import InvalidInput
from anaphora.memory import Memory, TopicsView

T = TypeVar("T")


def list_topics(
    *,
    user: AnyUser = None,
    session: AnySession = None,
    agent: AnyAgent = None,
    limit: Limit = 50,
    db: Db = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """List what sessions of the strategy `topics` are cut into, newest first, the open topics too."""
    if session is not None and user is None:
        raise InvalidInput("--session needs --user: whose conversation is it?")

    async def work(topics: TopicsView) -> Sequence[Segment]:
        return await topics.list(user=user, agent=agent, session=session, limit=limit)

    found = _run(work, db, tenant)
    if as_json:
        emit({"topics": [segment_json(segment) for segment in found]})
        return
    table(
        ("user", "agent", "session", "messages", "state", "begins with", "continues", "name"),
        (
            (
                segment.key.user,
                segment.key.agent,
                segment.key.session,
                span(segment),
                segment.state,
                segment.opened.value,
                segment.goes_on_from,
                (segment.topic.name if segment.topic else None) or "",
            )
            for segment in found
        ),
        empty="There are no topics: only sessions of the strategy `topics` keep them.",
    )


def show(
    seq: Annotated[int, typer.Argument(metavar="MESSAGE", help="The number of any of its messages.")],
    *,
    user: User,
    session: SessionName,
    agent: Agent = None,
    db: Db = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Show the topic that holds a message: its name, its summary, and its messages word by word."""

    async def work(topics: TopicsView) -> tuple[Segment, Sequence[Message]]:
        return await topics.show(seq, user=user, agent=agent, session=session)

    segment, messages = _run(work, db, tenant)
    if as_json:
        said = [{"seq": m.seq, "role": m.role.value, "content": m.content} for m in messages]
        emit({**segment_json(segment), "said": said})
        return
    topic = segment.topic
    again = "" if segment.goes_on_from is None else f", continues {segment.goes_on_from}"
    say(f"{(topic.name if topic else None) or 'No name yet'}: messages {span(segment)}, {segment.state}{again}")
    if topic is not None and topic.summary is not None:
        say(topic.summary)
    say("")
    for message in messages:
        say(f"{message.seq:>4} {message.name or message.role.value}: {message.content}")


def span(segment: Segment) -> str:
    """First and last message of a topic."""
    first, last = segment.range.start, segment.range.stop - 1
    return str(first) if first == last else f"{first}-{last}"


def segment_json(segment: Segment) -> dict[str, Any]:
    """A topic as JSON types."""
    topic = segment.topic
    return {
        "user": segment.key.user,
        "agent": segment.key.agent,
        "session": segment.key.session,
        "range": [segment.range.start, segment.range.stop],
        "state": segment.state,
        "opened": segment.opened.value,
        "continues": str(segment.continues) if segment.continues else None,
        "goes_on_from": segment.goes_on_from,
        "id": str(topic.id) if topic else None,
        "closed": topic.closed.value if topic else None,
        "name": topic.name if topic else None,
        "summary": topic.summary if topic else None,
        "tokens": topic.tokens if topic else 0,
        "method": topic.method.value if topic and topic.method else None,
        "model": topic.model if topic else None,
        "first_at": topic.first_at.isoformat() if topic else None,
        "last_at": topic.last_at.isoformat() if topic else None,
    }


def _run(work: Callable[[TopicsView], Awaitable[T]], db: str | None, tenant: str | None) -> T:
    async def with_services(services: Services) -> T:
        return await work(Memory(services).topics)

    return run(with_services, settings_from(db, tenant=tenant), Access.READ)
