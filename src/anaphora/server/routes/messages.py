"""The log of a session: append, list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, JsonValue

from anaphora.domain.keys import MAX_ID_CHARS, MAX_LIMIT
from anaphora.domain.messages import Message, Receipt
from anaphora.server.deps import ReadSession, WriteSession

router = APIRouter(prefix="/sessions/{session}/messages", tags=["messages"])

IdempotencyKey = Annotated[
    str | None,
    Header(min_length=1, max_length=MAX_ID_CHARS, description="Makes a retry harmless: the same receipt comes back."),
]


class MessageIn(BaseModel):
    """A message to append: the arguments of `Session.add`."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"role": "user", "content": "I'm allergic to peanuts."}]}
    )

    role: str = Field(description="user, assistant, tool or system")
    content: str | None = None
    name: str | None = None
    parts: list[dict[str, JsonValue]] | None = None
    metadata: dict[str, JsonValue] | None = None
    created_at: AwareDatetime | None = None


@router.post("", status_code=HTTPStatus.CREATED)
async def append(session: WriteSession, message: MessageIn, idempotency_key: IdempotencyKey = None) -> Receipt:
    """Append one message; when this answers, it is on disk."""
    return await session.add(**_arguments(message), key=idempotency_key)


@router.get("")
async def list_messages(
    session: ReadSession,
    start: Annotated[int | None, Query(ge=0)] = None,
    stop: Annotated[int | None, Query(ge=0)] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = 100,
) -> Sequence[Message]:
    """Messages in order: the last `limit` (before `stop`), or from `start` on the first `limit`."""
    return await session.messages(start=start, stop=stop, limit=limit)


def _arguments(message: MessageIn) -> Mapping[str, Any]:
    return message.model_dump(exclude_unset=True)
