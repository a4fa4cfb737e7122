"""Bodies of requests: not larger, not deeper and not slower than anybody needs them to be."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import accumulate
from typing import Final

import anyio
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from anaphora.server.problems import Refused

#: the answer to a request that is refused
Refusing = Callable[[Scope, Refused], Response]
#: lists and objects within each other
MOST_DEPTH: Final = 20
#: seconds for a body that does not come at once
_PATIENCE: Final = 30.0
#: never goes back over what it has read, whatever it is: it ends where the text does, at the latest
_STRINGS: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
#: brackets as steps down and up, which are signed bytes
_STEPS: Final = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_NO_BRACKETS: Final = bytes(byte for byte in range(256) if byte not in b"[]{}")


@dataclass(slots=True)
class Body:
    """Counts what comes, where nobody said beforehand how much it would be."""

    inner: Receive
    most: int
    _come: int = field(default=0)
    _too_large: bool = field(default=False)
    #: what was read already
    _whole: Message | None = field(default=None)

    async def read_json(self) -> None:
        """Read all of it before any route is asked.

        Raises:
            Refused: it is too large, nested too deeply, or takes too long.
            ClientDisconnect: who sent it is gone.

        """
        message = await self._next()
        text = message.get("body", b"")
        if message.get("more_body", False):
            text = await self._rest(text)
        if too_deep(text):
            raise Refused(
                HTTPStatus.UNPROCESSABLE_ENTITY, f"JSON is nested at most {MOST_DEPTH} lists and objects deep here"
            )
        self._whole = {"type": "http.request", "body": text, "more_body": False}

    async def _rest(self, text: bytes) -> bytes:
        parts = [text]
        try:
            with anyio.fail_after(_PATIENCE):
                more = True
                while more:
                    message = await self._next()
                    parts.append(message.get("body", b""))
                    more = message.get("more_body", False)
        except TimeoutError:
            raise Refused(HTTPStatus.REQUEST_TIMEOUT, f"the body did not come within {_PATIENCE:g} s") from None
        return b"".join(parts)

    async def _next(self) -> Message:
        message = await self.inner()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        self._come += len(message.get("body", b""))
        if self._come > self.most:
            raise too_large(self.most)
        return message

    async def receive(self) -> Message:
        """As ASGI asks for it."""
        if self._whole is not None:
            whole, self._whole = self._whole, None
            return whole
        message = await self.inner()
        self._come += len(message.get("body", b""))
        if self._come > self.most:
            self._too_large = True
            return {"type": "http.request", "body": b"", "more_body": False}
        return message

    def watching(self, send: Send, scope: Scope, told: Refusing) -> Send:
        """Whatever was made of half a body, the answer is that it was too large."""
        answered = False

        async def checked(message: Message) -> None:
            nonlocal answered
            if not self._too_large:
                await send(message)
            elif not answered:
                answered = True
                await told(scope, too_large(self.most))(scope, self.inner, send)

        return checked


def too_large(most: int) -> Refused:
    """What is said of a body with more than that many bytes."""
    return Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body has at most {most:,} bytes here")


def too_deep(text: bytes) -> bool:
    """Whether lists and objects stand deeper in each other than `MOST_DEPTH`.

    Linear in the size of the text, whatever it holds.
    """
    if text.count(b"[") + text.count(b"{") <= MOST_DEPTH:
        return False
    steps = _STRINGS.sub(b"", text).translate(_STEPS, _NO_BRACKETS)
    return max(accumulate(memoryview(steps).cast("b")), default=0) > MOST_DEPTH
