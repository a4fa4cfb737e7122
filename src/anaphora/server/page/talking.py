"""Talk with the configured model: in a conversation that is kept, or in one that leaves nothing."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Annotated, Final

from starlette.responses import Response, StreamingResponse

from anaphora.domain.keys import checked_id, checked_text
from anaphora.domain.messages import Role
from anaphora.domain.wire import PromptMessage, SectionName
from anaphora.errors import AnaphoraError, ConfigError, InvalidInput, ModelOutputInvalid
from anaphora.server.page.rendering import session_link
from anaphora.server.page.visits import Change, Reading, Writing, pages
from anaphora.server.paths import Name, Named

router = pages()

#: messages of a conversation that is not kept, and characters of each
_MOST: Final = 40
_LONGEST: Final = 20_000
_NO_MODEL: Final = "no chat model is configured: set `model`, for example to 'openai:gpt-4.1-mini'"

Said = tuple[Role, str]


@router.post("/sessions")
async def start_session(change: Writing) -> Response:
    """Begin a conversation with its first message."""
    agent = change.some("agent") or change.memory.settings.agent
    name = change.some("session")
    if name is None:
        chat = await change.memory.new_session(agent=agent, **change.whose)
    else:
        chat = change.session(agent, name)
    await chat.send(change.text("content"))
    return change.back(f"{session_link(chat.key)}#end")


@router.post("/sessions/{agent}/{session}/send")
async def send(change: Writing, agent: Name, session: Name) -> Response:
    """Say something, and come back when it is answered."""
    chat = change.session(agent, session)
    await chat.send(change.text("content"))
    return change.back(f"{session_link(chat.key)}#end")


@router.post("/sessions/{agent}/{session}/stream")
async def stream(change: Writing, agent: Name, session: Name) -> Response:
    """Say something, and see the answer come."""
    chat = change.session(agent, session)
    if change.memory.talker(agent) is None:
        raise ConfigError(_NO_MODEL)
    pieces = chat.stream(change.text("content"))
    # what is wrong with the question is answered with its status, not in the middle of an answer
    first = await anext(pieces, "")

    async def answer() -> AsyncGenerator[str]:
        async with aclosing(pieces):
            yield first
            try:
                async for piece in pieces:
                    yield piece
            except AnaphoraError as error:
                yield f"\n[the answer ended: {error}]"

    return StreamingResponse(answer(), media_type="text/plain")


@router.get("/temporary")
async def temporary_page(visit: Reading, agent: Annotated[str | None, Named] = None) -> Response:
    """A conversation that leaves nothing."""
    chosen = agent or visit.memory.settings.agent
    return visit.show("temporary.html", agent=chosen, said=[], talks=visit.memory.talker(chosen) is not None, kept="[]")


@router.post("/temporary")
async def ask_without_memory(change: Writing) -> Response:
    """Ask the model without memory. What was said stands in the form alone, and is nowhere kept."""
    agent = checked_id(change.text("agent"), "agent")
    said = [*_said(change), (Role.USER, _asked(change))]
    talker = change.memory.talker(agent)
    if talker is None:
        raise ConfigError(_NO_MODEL)
    prompt = [PromptMessage(section=SectionName.RECENT, role=role, content=content, tokens=0) for role, content in said]
    answer = await talker.model.complete(
        prompt, max_tokens=talker.options.max_tokens, temperature=talker.options.temperature
    )
    if not answer.text.strip():
        raise ModelOutputInvalid("the model's answer was empty: ask again")
    said.append((Role.ASSISTANT, answer.text))
    kept = json.dumps([[role.value, content] for role, content in said], ensure_ascii=False)
    return change.show("temporary.html", agent=agent, said=said, talks=True, kept=kept)


def _asked(change: Change) -> str:
    content = change.text("content").strip()
    if not content or len(content) > _LONGEST:
        raise InvalidInput(f"write 1 to {_LONGEST:,} characters")
    return content


def _said(change: Change) -> Sequence[Said]:
    """What was said before, as the form holds it."""
    try:
        entries = json.loads(change.text("said", "[]"))
        said = [(Role(role), checked_text(content, "said")) for role, content in entries]
    except (ValueError, TypeError, RecursionError, InvalidInput):
        raise InvalidInput("the conversation in this form was altered: begin anew") from None
    right = all(role in {Role.USER, Role.ASSISTANT} and len(content) <= _LONGEST for role, content in said)
    if not right:
        raise InvalidInput("the conversation in this form was altered: begin anew")
    return said[-_MOST:]
