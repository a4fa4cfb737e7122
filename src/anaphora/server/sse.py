"""Server-sent events."""

from __future__ import annotations

from collections.abc import AsyncIterable
from http import HTTPStatus

from fastapi.responses import StreamingResponse
from pydantic import TypeAdapter


class EventStream(StreamingResponse):
    """An answer that goes on as events come; no proxy should hold it back."""

    media_type = "text/event-stream"

    def __init__(self, content: AsyncIterable[str], status_code: int = HTTPStatus.OK) -> None:
        super().__init__(content, status_code, headers={"cache-control": "no-store", "x-accel-buffering": "no"})


def event(kind: str, data: object, *, mark: str | None = None) -> str:
    """One event; its data are JSON, which has no line feed."""
    written = TypeAdapter[object](type(data)).dump_json(data).decode()
    head = "" if mark is None else f"id: {mark}\n"
    return f"{head}event: {kind}\ndata: {written}\n\n"


def remark(text: str) -> str:
    """A line that says nothing to anybody, and keeps the connection open."""
    return f": {text}\n\n"
