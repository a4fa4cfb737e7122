"""Prompts and answers: what a model should be shown, whole turns, what was said before.

No request sets the instructions of a prompt. They are system text of whoever runs the service, by agent and in its
settings: who holds the key of a person speaks as that person, and is heard in the user's role.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from enum import StrEnum
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import ConfigDict, Field, JsonValue

from anaphora.domain.context import Context
from anaphora.domain.keys import MAX_LIMIT
from anaphora.domain.search import Hit
from anaphora.errors import AnaphoraError
from anaphora.server.deps import ReadSession, WriteSession
from anaphora.server.inputs import MOST_CHARS, MOST_TOKENS, AsOf, Body, IdempotencyKey, Text, Whole
from anaphora.server.problems import problem_of
from anaphora.server.sse import EventStream, event
from anaphora.services.chat import Answer, Turn

router = APIRouter(prefix="/sessions/{session}", tags=["talk"])

Budget = Annotated[Whole | None, Field(ge=-MOST_TOKENS, le=MOST_TOKENS, description="Tokens of the prompt.")]


class Format(StrEnum):
    """Whose shape a prompt has."""

    #: messages of a chat completion, as many providers take them
    OPENAI = "openai"
    #: `system` and `messages` of the Messages API
    ANTHROPIC = "anthropic"


class ContextIn(Body):
    """What a prompt is made for: the arguments of `Session.context`."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"query": "What can I cook tonight?", "budget": 2000}, {"as_of": 12}]}
    )

    query: Text | None = Field(None, description="The next user message, not yet appended.")
    budget: Budget = None
    as_of: AsOf = Field(None, description="A moment of the past: a number of messages, or a time with its zone.")


class Said(Body):
    """What the user says."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"content": "What can I cook tonight?"}]})

    content: Text | None = Field(None, description="None: answer the last message again.")
    budget: Budget = None


class RecallIn(Body):
    """What is looked for: the arguments of `Session.recall`."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"content": "What am I allergic to?", "limit": 3}]})

    content: Text = Field(min_length=1, max_length=MOST_CHARS)
    limit: Annotated[Whole, Field(ge=1, le=MAX_LIMIT)] = 5


#: the first that fits is meant
Prompt = Annotated[
    Context | list[dict[str, JsonValue]] | dict[str, JsonValue],
    Field(union_mode="left_to_right"),
]


@router.post("/context", response_model=Prompt)
async def build_context(
    session: ReadSession,
    asked: ContextIn,
    shape: Annotated[
        Format | None, Query(alias="format", description="Only the messages, as a provider takes them.")
    ] = None,
) -> Any:  # noqa: ANN401 - see `Prompt`
    """What a model should be shown before it answers `query`, with the account of the whole conversation."""
    context = await session.context(asked.query, budget=asked.budget, as_of=asked.as_of)
    if shape is None:
        return context
    return context.to_openai() if shape is Format.OPENAI else context.to_anthropic()


@router.post("/send")
async def send(session: WriteSession, said: Said, idempotency_key: IdempotencyKey = None) -> Answer:
    """The whole turn: store the message, ask the chat model, store its answer. 409 if no chat model is configured."""
    return await session.send(said.content, budget=said.budget, key=idempotency_key)


@router.post("/stream", response_class=EventStream)
async def stream(session: WriteSession, said: Said, idempotency_key: IdempotencyKey = None) -> EventStream:
    """As `send`, as events: `piece` (`text`), then `answer`, or `problem` if the model failed on the way.

    An answer that nobody waits for to the end is stored as far as it came.
    """
    turn = Turn()
    pieces = session.stream(said.content, budget=said.budget, key=idempotency_key, turn=turn)
    first = await anext(pieces, None)  # what cannot begin is no stream
    return EventStream(_told(pieces, first, turn))


@router.post("/recall")
async def recall(session: ReadSession, asked: RecallIn) -> Sequence[Hit]:
    """What was said before that answers a message, best first: what can be answered without a model."""
    return await session.recall(asked.content, limit=asked.limit)


async def _told(pieces: AsyncGenerator[str], first: str | None, turn: Turn) -> AsyncIterator[str]:
    async with aclosing(pieces):
        try:
            if first is not None:
                yield event("piece", {"text": first})
            async for piece in pieces:
                yield event("piece", {"text": piece})
        except AnaphoraError as error:
            yield event("problem", problem_of(error))
            return
    yield event("answer", turn.answer(turn.text))
