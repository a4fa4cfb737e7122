"""The log of a session: append, list, correct, delete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import ConfigDict, Field, JsonValue

from anaphora.domain.messages import Message, Receipt
from anaphora.server.deps import ReadSession, WriteSession
from anaphora.server.inputs import MOST, Body, IdempotencyKey, Limit, QueryAsOf, Time

router = APIRouter(prefix="/sessions/{session}", tags=["messages"])

#: messages of one turn
_MOST_MESSAGES = 500
#: what is less than none is not there either
Number = Annotated[int, Path(ge=-MOST, le=MOST, description="Of the message in its session.")]
Place = Annotated[int | None, Query(ge=0, le=MOST)]


class MessageIn(Body):
    """A message to append: the arguments of `Session.add`."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"role": "user", "content": "I'm allergic to peanuts."}]})

    role: str = Field(description="user, assistant, tool or system; what is stored as system is shown as data")
    content: str | None = None
    name: str | None = None
    parts: list[dict[str, JsonValue]] | None = None
    metadata: dict[str, JsonValue] | None = None
    created_at: Time | None = None


class TurnIn(Body):
    """A whole turn: a question, tool calls and results, the answer."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "messages": [
                        {"role": "user", "content": "What can I cook tonight?"},
                        {"role": "assistant", "content": "A risotto, without nuts."},
                    ]
                }
            ]
        }
    )

    messages: list[MessageIn] = Field(max_length=_MOST_MESSAGES)


class MessageChange(Body):
    """A correction: what is not given stays as it was."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"content": "I'm allergic to walnuts."}]})

    content: str | None = None
    name: str | None = None
    parts: list[dict[str, JsonValue]] | None = None
    metadata: dict[str, JsonValue] | None = None


@router.post("/messages", status_code=HTTPStatus.CREATED)
async def append(session: WriteSession, message: MessageIn, idempotency_key: IdempotencyKey = None) -> Receipt:
    """Append one message; when this answers, it is on disk."""
    return await session.add(**_arguments(message), key=idempotency_key)


@router.post("/turns", status_code=HTTPStatus.CREATED)
async def append_turn(session: WriteSession, turn: TurnIn, idempotency_key: IdempotencyKey = None) -> Receipt:
    """Append a whole turn at once: all of it or nothing."""
    return await session.add_turn([_arguments(message) for message in turn.messages], key=idempotency_key)


@router.get("/messages")
async def list_messages(
    session: ReadSession, start: Place = None, stop: Place = None, limit: Limit = 100, as_of: QueryAsOf = None
) -> Sequence[Message]:
    """Messages in order: the last `limit` (before `stop`), or from `start` on the first `limit`. No deleted ones."""
    return await session.messages(start=start, stop=stop, limit=limit, as_of=as_of)


@router.get("/messages/{seq}/versions")
async def list_versions(session: ReadSession, seq: Number) -> Sequence[Message]:
    """Every version of a message, the oldest first; a tombstone says that it was deleted."""
    return await session.versions(seq)


@router.patch("/messages/{seq}")
async def edit_message(session: WriteSession, seq: Number, change: MessageChange) -> Message:
    """Correct a message; what it said before is kept, and what was made of it is made anew."""
    return await session.edit(seq, **_arguments(change))


@router.delete("/messages/{seq}")
async def delete_message(session: WriteSession, seq: Number) -> bool:
    """Delete a message: no prompt shows it, no search finds it. False if it was deleted already."""
    return await session.delete(seq)


def _arguments(given: MessageIn | MessageChange) -> Mapping[str, Any]:
    return given.model_dump(exclude_unset=True)
