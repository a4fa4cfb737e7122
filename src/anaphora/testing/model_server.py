"""An OpenAI-compatible server on 127.0.0.1 that says what a test tells it to, and fails as told."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

import anyio.to_thread
import uvicorn

from anaphora.errors import InvalidInput
from anaphora.models.prompted import json_text
from anaphora.testing.clock import SeededRandom
from anaphora.testing.faults import BadRequest, Fault, Reply

START_TIMEOUT = 10.0
STOP_TIMEOUT = 5.0
#: created, in every answer: a fixed moment, so that answers can be compared
CREATED = 1_767_600_000

_Message = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[_Message]]
_Send = Callable[[_Message], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One chat completion that was asked for."""

    #: `time.monotonic()` at its arrival
    at: float
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def messages(self) -> Sequence[Mapping[str, Any]]:
        """The messages as they came."""
        return tuple(self.body.get("messages", ()))

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


#: what to answer: text, a whole reply, or a fault that spoils an empty one
Script = Callable[[Request], "str | Reply | Fault"]
Responder = Callable[[Request], str]


class ScriptedModelServer:
    """A real HTTP server in a thread: `POST /v1/chat/completions` (plain and streamed) and `GET /v1/models`.

    Use it as a context manager, sync or async. Scripts run on the server's event loop: they must not block.

    Args:
        script: what to answer; None = the responder of the wanted schema, or a sentence that names the last message.
        responders: schema title to function; a schema without one is answered by a 400 with code `no_responder`.
        models: the names in `GET /v1/models`.

    """

    def __init__(
        self,
        script: Script | None = None,
        *,
        responders: Mapping[str, Responder] | None = None,
        models: Sequence[str] = ("scripted",),
    ) -> None:
        self.responders: dict[str, Responder] = dict(responders or {})
        self._script = script
        self._models = tuple(models)
        self._lock = threading.Condition()
        self._requests: list[Request] = []
        self._left = 0
        self._queue: deque[Fault] = deque()
        self._fault: Fault | None = None
        self._chance: tuple[Fault, float, SeededRandom] | None = None
        self._port: int | None = None
        self._thread: threading.Thread | None = None
        self._server: uvicorn.Server | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closing = asyncio.Event()

    @property
    def base_url(self) -> str:
        """Where it answers, with `/v1`."""
        if self._port is None:
            raise InvalidInput("the server does not run: use it in a with block")
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def requests(self) -> Sequence[Request]:
        """Every chat completion that was asked for, in order."""
        with self._lock:
            return tuple(self._requests)

    @property
    def fault(self) -> Fault | None:
        """What is wrong with every answer, when nothing else was queued."""
        with self._lock:
            return self._fault

    @fault.setter
    def fault(self, fault: Fault | None) -> None:
        with self._lock:
            self._fault = fault

    def fail_next(self, fault: Fault, *, times: int = 1) -> None:
        """Spoil the next answers, before any other fault."""
        with self._lock:
            self._queue.extend([fault] * times)

    def fail_sometimes(self, fault: Fault, *, probability: float, seed: int) -> None:
        """Spoil answers at random, the same ones for the same seed."""
        with self._lock:
            self._chance = (fault, probability, SeededRandom(seed))

    def reset(self) -> None:
        """Forget requests and faults."""
        with self._lock:
            self._requests.clear()
            self._queue.clear()
            self._left = 0
            self._fault = self._chance = None

    def wait_for_leavers(self, count: int, *, timeout: float = 2.0) -> bool:
        """Whether, within that time, as many clients had gone before their answer was complete."""
        with self._lock:
            return self._lock.wait_for(lambda: self._left >= count, timeout)

    def start(self) -> None:
        """Listen; returns when it answers."""
        if self._thread is not None:
            raise InvalidInput("the server runs already")
        # with its protocol named, asyncio turns Nagle's algorithm off: 40 ms less an answer
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.bind(("127.0.0.1", 0))
        self._port = listener.getsockname()[1]
        config = uvicorn.Config(
            self._app,
            http="h11",
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        serving = self._serve(self._server, listener)
        self._thread = threading.Thread(target=asyncio.run, args=(serving,), name="scripted-model")
        self._thread.start()
        give_up = time.monotonic() + START_TIMEOUT
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > give_up:
                raise OSError("the scripted model server did not start")
            time.sleep(0.002)

    def stop(self) -> None:
        """Let go of hanging requests and end the thread. Twice is harmless."""
        if self._thread is None or self._server is None or self._loop is None:
            return
        self._server.should_exit = True
        with suppress(RuntimeError):  # the loop may be closed already
            self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join(STOP_TIMEOUT)
        self._thread = self._server = self._loop = self._port = None
        self._closing = asyncio.Event()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        await anyio.to_thread.run_sync(self.start)
        return self

    async def __aexit__(self, *_: object) -> None:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self.stop)

    async def _serve(self, server: uvicorn.Server, listener: socket.socket) -> None:
        self._loop = asyncio.get_running_loop()
        await server.serve(sockets=[listener])

    async def _app(self, scope: Mapping[str, Any], receive: _Receive, send: _Send) -> None:
        """The ASGI application: by hand, so that a reply may hang, drip, break off or be no HTTP at all."""
        body = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":  # whoever asked left while asking
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
        route = (scope["method"], scope["path"])
        out = _Out(receive, send, self._closing)
        if route == ("GET", "/v1/models"):
            await out.json({"object": "list", "data": [{"id": n, "object": "model"} for n in self._models]})
        elif route != ("POST", "/v1/chat/completions"):
            await out.json({"error": {"message": f"no route {route[0]} {route[1]}"}}, status=404)
        else:
            headers = {k.decode("latin-1"): v.decode("latin-1") for k, v in scope["headers"]}
            request = Request(at=time.monotonic(), headers=headers, body=json.loads(body))
            with self._lock:
                self._requests.append(request)
                fault = self._next_fault()
            whole = await out.reply(request, self._reply(request, fault))
            if not whole and not self._closing.is_set():
                with self._lock:
                    self._left += 1
                    self._lock.notify_all()

    def _next_fault(self) -> Fault | None:
        if self._queue:
            return self._queue.popleft()
        if self._chance is not None:
            fault, probability, random = self._chance
            if random.chance() < probability:
                return fault
        return self._fault

    def _reply(self, request: Request, fault: Fault | None) -> Reply:
        said = self._default(request) if self._script is None else self._script(request)
        if isinstance(said, str):
            said = Reply(text=said)
        elif not isinstance(said, Reply):
            said = said.spoil(Reply())
        return said if fault is None else fault.spoil(said)

    def _default(self, request: Request) -> str | Fault:
        title = request.schema_title
        if title is None:
            return f"You said: {request.last_user_text[:200]}"
        if title not in self.responders:
            return BadRequest(code="no_responder", param=title)
        return self.responders[title](request)


class _Out:
    """Sends one reply, and notices when the client leaves or the server closes."""

    def __init__(self, receive: _Receive, send: _Send, closing: asyncio.Event) -> None:
        self._receive = receive
        self._send = send
        self._closing = closing
        self._begun = False

    async def json(self, body: object, *, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
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
    """The JSON of a plain answer in parts; an endless one goes on with blanks, as gateways do that keep alive."""
    choice = {"index": 0, "message": _message(reply), "finish_reason": reply.finish_reason}
    whole = _frame(request, "chat.completion") | {"choices": [choice], "usage": _usage(request, reply)}
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
