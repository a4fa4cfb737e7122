"""What a scripted server was asked, and how its replies go over the wire."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import struct
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from anaphora.models.prompted import json_text
from anaphora.testing.faults import Reply

#: created, in every answer: a fixed moment, so that answers can be compared
CREATED = 1_767_600_000

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One chat completion, or the vectors of some texts, that were asked for."""

    #: `time.monotonic()` at its arrival
    at: float
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def messages(self) -> Sequence[Mapping[str, Any]]:
        """The messages as they came."""
        return tuple(self.body.get("messages", ()))

    @property
    def texts(self) -> Sequence[str]:
        """The texts whose vectors are wanted."""
        wanted = self.body.get("input", ())
        return (wanted,) if isinstance(wanted, str) else tuple(wanted)

    @property
    def stream(self) -> bool:
        """Whether the answer is wanted in pieces."""
        return bool(self.body.get("stream"))

    @property
    def last_user_text(self) -> str:
        """The content of the last user message."""
        texts = [str(m.get("content") or "") for m in self.messages if m.get("role") == "user"]
        return texts[-1] if texts else ""

    @property
    def native_schema(self) -> Mapping[str, Any] | None:
        """What `response_format` says, with `name` and `schema`."""
        wanted = (self.body.get("response_format") or {}).get("json_schema")
        return wanted if isinstance(wanted, dict) else None

    @property
    def schema_title(self) -> str | None:
        """The title of the wanted JSON schema, whether it came natively or in the system text."""
        if self.native_schema is not None:
            return str(self.native_schema.get("name"))
        for message in self.messages:
            if message.get("role") == "system" and "JSON schema" in str(message.get("content")):
                with suppress(ValueError):
                    schema = json.loads(json_text(str(message["content"]).rpartition("JSON schema")[2]))
                    return str(schema.get("title"))
        return None


class Out:
    """Sends one reply, and notices when the client leaves or the server closes."""

    def __init__(self, receive: Receive, send: Send, closing: asyncio.Event) -> None:
        self._receive = receive
        self._send = send
        self._closing = closing
        self._begun = False

    async def json(self, body: object, *, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        """Send a JSON document."""
        await self._head(status, "application/json", headers or {})
        await self._send({"type": "http.response.body", "body": json.dumps(body).encode()})

    async def reply(self, request: Request, reply: Reply) -> bool:
        """Send it; False if the client left before the end."""
        gone = asyncio.ensure_future(self._gone())
        sending = asyncio.ensure_future(self._reply(request, reply))
        await asyncio.wait({gone, sending}, return_when=asyncio.FIRST_COMPLETED)
        whole = sending.done()
        for task in (gone, sending):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        if self._closing.is_set() and not whole:
            await self._hang_up()
        return whole

    async def _hang_up(self) -> None:
        """End what was begun, so that the server stops without a complaint."""
        if self._begun:
            await self._send({"type": "http.response.body", "body": b""})
        else:
            await self.json({"error": {"message": "the server closes"}}, status=503)

    async def _gone(self) -> None:
        closing = asyncio.ensure_future(self._closing.wait())
        leaving = asyncio.ensure_future(self._receive())
        try:
            await asyncio.wait({closing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            closing.cancel()
            leaving.cancel()

    async def _reply(self, request: Request, reply: Reply) -> None:
        if reply.hangs:
            await asyncio.Event().wait()
        if reply.status != 200:
            key = request.headers.get("authorization", "").removeprefix("Bearer ")
            error = {name: text.replace("{authorization}", key) for name, text in reply.error.items()}
            await self.json({"error": error}, status=reply.status, headers=reply.headers)
            return
        if reply.vectors is not None:
            parts = _pieces(_vectors(request, reply.vectors), reply)
        else:
            parts = _events(request, reply) if request.stream else _body(request, reply)
        await self._head(200, "text/event-stream" if request.stream else "application/json", reply.headers)
        for at, part in enumerate(parts):
            if at:
                await asyncio.sleep(reply.pause)
            if at and reply.drops:
                # to end without a last part makes the server cut the connection
                return
            await self._send({"type": "http.response.body", "body": part, "more_body": True})
        await self._send({"type": "http.response.body", "body": b""})

    async def _head(self, status: int, kind: str, headers: Mapping[str, str]) -> None:
        self._begun = True
        pairs = [(b"content-type", kind.encode()), *((k.encode(), v.encode()) for k, v in headers.items())]
        await self._send({"type": "http.response.start", "status": status, "headers": pairs})


def _usage(request: Request, reply: Reply) -> dict[str, int]:
    asked = sum(len(str(message.get("content") or "")) for message in request.messages) // 4 + 1
    said = len(reply.text) // 4 + 1
    return {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}


def _message(reply: Reply) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.refusal is not None:
        message |= {"content": None, "refusal": reply.refusal}
    if reply.tool_call is not None:
        name, arguments = reply.tool_call
        call = {"id": "call_0", "type": "function", "function": {"name": name, "arguments": arguments}}
        message |= {"content": None, "tool_calls": [call]}
    return message


def _frame(request: Request, kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-0", "object": kind, "created": CREATED, "model": str(request.body.get("model"))}


def _body(request: Request, reply: Reply) -> Iterator[bytes]:
    """The JSON of a plain answer."""
    choice = {"index": 0, "message": _message(reply), "finish_reason": reply.finish_reason}
    whole = _frame(request, "chat.completion") | {"choices": [choice], "usage": _usage(request, reply)}
    return _pieces(whole, reply)


def _vectors(request: Request, vectors: Sequence[Sequence[float]]) -> dict[str, Any]:
    """The vectors as they are wanted: numbers, or float32 in base64."""
    packed = request.body.get("encoding_format") == "base64"
    data = [
        {
            "object": "embedding",
            "index": at,
            "embedding": base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode() if packed else [*vector],
        }
        for at, vector in enumerate(vectors)
    ]
    asked = sum(map(len, request.texts)) // 4 + 1
    usage = {"prompt_tokens": asked, "total_tokens": asked}
    return {"object": "list", "data": data, "model": str(request.body.get("model")), "usage": usage}


def _pieces(whole: Mapping[str, Any], reply: Reply) -> Iterator[bytes]:
    """A JSON body in parts; an endless one goes on with blanks, as gateways do that keep alive."""
    body = json.dumps(whole).encode() if reply.raw is None else reply.raw
    while reply.endless:
        yield b" "
    size = max(1, len(body) // 8)
    yield from (body[at : at + size] for at in range(0, len(body), size))


def _events(request: Request, reply: Reply) -> Iterator[bytes]:
    """Server-sent events, a word each."""

    def event(delta: Mapping[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        chunk = _frame(request, "chat.completion.chunk") | {"choices": [choice]}
        return b"data: " + json.dumps(chunk).encode() + b"\n\n"

    message = _message(reply)
    pieces = re.findall(r"\s*\S+|\s+$", message.pop("content") or "")
    for call in message.get("tool_calls", ()):
        call["index"] = 0
    yield event(message)
    if reply.raw is not None:
        yield b"data: " + reply.raw + b"\n\n"
    while reply.endless:
        yield from (event({"content": piece}) for piece in pieces or [" "])
    yield from (event({"content": piece}) for piece in pieces)
    yield event({}, reply.finish_reason)
    if (request.body.get("stream_options") or {}).get("include_usage"):
        last = _frame(request, "chat.completion.chunk") | {"choices": [], "usage": _usage(request, reply)}
        yield b"data: " + json.dumps(last).encode() + b"\n\n"
    yield b"data: [DONE]\n\n"
