"""An OpenAI-compatible server on 127.0.0.1 that says what a test tells it to, and fails as told."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Self

import anyio.to_thread
import uvicorn

from anaphora.errors import InvalidInput
from anaphora.testing.clock import SeededRandom
from anaphora.testing.embeddings import Embed, by_words
from anaphora.testing.faults import BadRequest, Fault, Reply
from anaphora.testing.wire import CREATED, Out, Receive, Request, Send

__all__ = ["CREATED", "Request", "Responder", "Route", "Script", "ScriptedModelServer"]

START_TIMEOUT = 10.0
STOP_TIMEOUT = 5.0

#: what to answer: text, a whole reply, or a fault that spoils an empty one
Script = Callable[[Request], "str | Reply | Fault"]
Responder = Callable[[Request], str]


class Route:
    """What one route was asked, and how it fails as told."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: list[Request] = []
        self._queue: deque[Fault] = deque()
        self._fault: Fault | None = None
        self._chance: tuple[Fault, float, SeededRandom] | None = None

    @property
    def requests(self) -> Sequence[Request]:
        """Every request, in order."""
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
            self._fault = self._chance = None

    def asked(self, request: Request) -> Fault | None:
        """Keep the request; what is to be wrong with its answer."""
        with self._lock:
            self._requests.append(request)
            if self._queue:
                return self._queue.popleft()
            if self._chance is not None:
                fault, probability, random = self._chance
                if random.chance() < probability:
                    return fault
            return self._fault


class ScriptedModelServer:
    """A real HTTP server in a thread: `POST /v1/chat/completions` (plain and streamed) and `/v1/embeddings`.

    `GET /v1/models` names its models.

    Use it as a context manager, sync or async. Scripts run on the server's event loop: they must not block.

    Args:
        script: what to answer; None = the responder of the wanted schema, or a sentence that names the last message.
        responders: schema title to function; a schema without one is answered by a 400 with code `no_responder`.
        embed: the vector of a text, for `/v1/embeddings`; None = texts are as close as they share words.
        models: the names in `GET /v1/models`.

    """

    def __init__(
        self,
        script: Script | None = None,
        *,
        responders: Mapping[str, Responder] | None = None,
        embed: Embed | None = None,
        models: Sequence[str] = ("scripted",),
    ) -> None:
        self.responders: dict[str, Responder] = dict(responders or {})
        self._script = script
        self._embed = embed or by_words()
        self._models = tuple(models)
        #: chat completions, and vectors: each has its own requests and faults
        self.chat, self.embeddings = Route(), Route()
        self._lock = threading.Condition()
        self._left = 0
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
        return self.chat.requests

    @property
    def fault(self) -> Fault | None:
        """What is wrong with every chat completion, when nothing else was queued."""
        return self.chat.fault

    @fault.setter
    def fault(self, fault: Fault | None) -> None:
        self.chat.fault = fault

    def fail_next(self, fault: Fault, *, times: int = 1) -> None:
        """Spoil the next chat completions, before any other fault."""
        self.chat.fail_next(fault, times=times)

    def fail_sometimes(self, fault: Fault, *, probability: float, seed: int) -> None:
        """Spoil chat completions at random, the same ones for the same seed."""
        self.chat.fail_sometimes(fault, probability=probability, seed=seed)

    def reset(self) -> None:
        """Forget requests and faults, of vectors too."""
        self.chat.reset()
        self.embeddings.reset()
        with self._lock:
            self._left = 0

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

    async def _app(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
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
        out = Out(receive, send, self._closing)
        asked = {"/v1/chat/completions": self.chat, "/v1/embeddings": self.embeddings}.get(scope["path"])
        if route == ("GET", "/v1/models"):
            await out.json({"object": "list", "data": [{"id": n, "object": "model"} for n in self._models]})
        elif scope["method"] != "POST" or asked is None:
            await out.json({"error": {"message": f"no route {route[0]} {route[1]}"}}, status=404)
        else:
            headers = {k.decode("latin-1"): v.decode("latin-1") for k, v in scope["headers"]}
            request = Request(at=time.monotonic(), headers=headers, body=json.loads(body))
            fault = asked.asked(request)
            reply = self._reply(request, fault) if asked is self.chat else self._embedded(request, fault)
            if not await out.reply(request, reply) and not self._closing.is_set():
                with self._lock:
                    self._left += 1
                    self._lock.notify_all()

    def _reply(self, request: Request, fault: Fault | None) -> Reply:
        said = self._default(request) if self._script is None else self._script(request)
        if isinstance(said, str):
            said = Reply(text=said)
        elif not isinstance(said, Reply):
            said = said.spoil(Reply())
        return said if fault is None else fault.spoil(said)

    def _embedded(self, request: Request, fault: Fault | None) -> Reply:
        """The vectors; shortened if that is wanted, as models do that were trained for it."""
        made = [tuple(self._embed(text)) for text in request.texts]
        wanted = request.body.get("dimensions")
        if wanted is not None and any(len(vector) < wanted for vector in made):
            return BadRequest(param="dimensions").spoil(Reply())
        said = Reply(vectors=tuple(vector[:wanted] for vector in made))
        return said if fault is None else fault.spoil(said)

    def _default(self, request: Request) -> str | Fault:
        title = request.schema_title
        if title is None:
            return f"You said: {request.last_user_text[:200]}"
        if title not in self.responders:
            return BadRequest(code="no_responder", param=title)
        return self.responders[title](request)
