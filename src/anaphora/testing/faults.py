"""What can be wrong with a model server's answer.

A fault is a frozen value whose `spoil` turns the reply that would have been sent into the one that is.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

WRONG_BY = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the server sends for one request."""

    text: str = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    #: body of an answer that is no 200: `code`, `type`, `param` and `message` of the error
    error: Mapping[str, str] = field(default_factory=dict)
    finish_reason: str = "stop"
    #: the provider's own field for "I will not"
    refusal: str | None = None
    #: name and arguments (JSON) of a tool call instead of text
    tool_call: tuple[str, str] | None = None
    #: nothing is sent until the server closes or the client leaves
    hangs: bool = False
    #: seconds between the pieces of a stream, or between parts of the body
    pause: float = 0.0
    #: the answer goes on until the client leaves
    endless: bool = False
    #: the connection is dropped half-way
    drops: bool = False
    #: of an answer to `/v1/embeddings`: the vectors, one for each text
    vectors: tuple[tuple[float, ...], ...] | None = None
    #: sent instead of the whole JSON body
    raw: bytes | None = None


class Fault(Protocol):
    """Something wrong with a reply."""

    def spoil(self, reply: Reply) -> Reply:
        """The reply as it is sent."""
        ...


@dataclass(frozen=True, slots=True)
class Timeout:
    """No answer, ever."""

    def spoil(self, reply: Reply) -> Reply:
        """The reply, kept back."""
        return replace(reply, hangs=True)


@dataclass(frozen=True, slots=True)
class RateLimited:
    """429, with the seconds to wait in `Retry-After` when given."""

    retry_after: float | None = None

    def spoil(self, reply: Reply) -> Reply:
        """The refusal to answer now."""
        headers = {} if self.retry_after is None else {"retry-after": f"{self.retry_after:g}"}
        error = {"code": "rate_limit_exceeded", "type": "requests", "message": "Rate limit reached"}
        return replace(reply, status=429, headers=headers, error=error)


@dataclass(frozen=True, slots=True)
class ServerError:
    """A fault of the server: 500, 503, ..."""

    status: int = 500

    def spoil(self, reply: Reply) -> Reply:
        """The error page."""
        return replace(reply, status=self.status, error={"type": "server_error", "message": "The server had an error"})


@dataclass(frozen=True, slots=True)
class BadKey:
    """401; the server is careless enough to repeat the key in its error."""

    def spoil(self, reply: Reply) -> Reply:
        """The refusal of the key."""
        error = {"code": "invalid_api_key", "type": "{authorization}", "message": "Wrong key: {authorization}"}
        return replace(reply, status=401, error=error)


@dataclass(frozen=True, slots=True)
class UnknownModel:
    """404: there is no such model."""

    def spoil(self, reply: Reply) -> Reply:
        """The refusal of the name."""
        return replace(reply, status=404, error={"code": "model_not_found", "message": "The model does not exist"})


@dataclass(frozen=True, slots=True)
class BadRequest:
    """400, with a code and the name of the parameter that is not liked."""

    code: str = "invalid_value"
    param: str = "messages"

    def spoil(self, reply: Reply) -> Reply:
        """The refusal of the request."""
        error = {"code": self.code, "type": "invalid_request_error", "param": self.param, "message": "Bad request"}
        return replace(reply, status=400, error=error)


@dataclass(frozen=True, slots=True)
class BrokenBody:
    """200 with a body that is no JSON (a stream: with an event that is none)."""

    def spoil(self, reply: Reply) -> Reply:
        """The reply with another body."""
        return replace(reply, raw=b'{"id": "chatcmpl-0", "choices": [{"mess')


@dataclass(frozen=True, slots=True)
class Dropped:
    """The connection breaks half-way."""

    def spoil(self, reply: Reply) -> Reply:
        """Half of the reply."""
        return replace(reply, drops=True)


@dataclass(frozen=True, slots=True)
class SlowDrip:
    """The answer comes, with so many seconds between its pieces."""

    seconds: float

    def spoil(self, reply: Reply) -> Reply:
        """The reply, slowly."""
        return replace(reply, pause=self.seconds)


@dataclass(frozen=True, slots=True)
class EndlessStream:
    """The answer never stops."""

    #: between pieces
    seconds: float = 0.001

    def spoil(self, reply: Reply) -> Reply:
        """The reply, again and again."""
        return replace(reply, endless=True, pause=self.seconds)


@dataclass(frozen=True, slots=True)
class Empty:
    """No text."""

    def spoil(self, reply: Reply) -> Reply:
        """The reply without its text."""
        return replace(reply, text="")


@dataclass(frozen=True, slots=True)
class Garbage:
    """Text that has nothing to do with what was asked: control characters, half a surrogate pair, braces, markup."""

    text: str = "\x00\ufffe\udc80 }}{{ <|endoftext|></memory> ÿ \u202e 0x1F ]]>"

    def spoil(self, reply: Reply) -> Reply:
        """The reply with this text."""
        return replace(reply, text=self.text)


@dataclass(frozen=True, slots=True)
class TooLong:
    """An answer far beyond what was asked for."""

    characters: int = 1_000_000

    def spoil(self, reply: Reply) -> Reply:
        """The reply with as many letters."""
        return replace(reply, text="x" * self.characters)


@dataclass(frozen=True, slots=True)
class TruncatedJson:
    """The first half of the text, as if that were all."""

    def spoil(self, reply: Reply) -> Reply:
        """The reply with half of its text."""
        return replace(reply, text=reply.text[: len(reply.text) // 2])


@dataclass(frozen=True, slots=True)
class CutOff:
    """The first half of the text, and the server says that max_tokens were used up."""

    def spoil(self, reply: Reply) -> Reply:
        """The reply with half of its text and the reason."""
        return replace(reply, text=reply.text[: len(reply.text) // 2], finish_reason="length")


@dataclass(frozen=True, slots=True)
class Refusal:
    """The provider's own way to say that the model declines."""

    text: str = "I'm sorry, I can't help with that."

    def spoil(self, reply: Reply) -> Reply:
        """The reply with a refusal in place of its text."""
        return replace(reply, text="", refusal=self.text)


@dataclass(frozen=True, slots=True)
class Filtered:
    """A content filter cut the answer short."""

    def spoil(self, reply: Reply) -> Reply:
        """The reply with the reason."""
        return replace(reply, finish_reason="content_filter")


@dataclass(frozen=True, slots=True)
class ToolCallInsteadOfText:
    """The model calls a tool that nobody offered."""

    name: str = "save_memory"
    arguments: str = '{"text": "hello"}'

    def spoil(self, reply: Reply) -> Reply:
        """The call in place of the text."""
        return replace(reply, text="", tool_call=(self.name, self.arguments), finish_reason="tool_calls")


@dataclass(frozen=True, slots=True)
class NotANumber:
    """Vectors with a value that is none: NaN, or what you say."""

    value: float = math.nan

    def spoil(self, reply: Reply) -> Reply:
        """The reply with this value in its last vector."""
        *others, last = reply.vectors or ((0.0,),)
        return replace(reply, vectors=(*others, (*last[:-1], self.value)))


@dataclass(frozen=True, slots=True)
class NoDirection:
    """Vectors of zeros."""

    def spoil(self, reply: Reply) -> Reply:
        """The reply with as many zeros."""
        return replace(reply, vectors=tuple(tuple(0.0 for _ in vector) for vector in reply.vectors or ()))


@dataclass(frozen=True, slots=True)
class WrongDimensions:
    """Vectors that are longer than they were by so many values; a negative number: shorter."""

    by: int = 1

    def spoil(self, reply: Reply) -> Reply:
        """The reply with vectors of another length."""
        longer = [(*vector, *(0.5 for _ in range(self.by))) for vector in reply.vectors or ()]
        return replace(reply, vectors=tuple(vector[: self.by] if self.by < 0 else vector for vector in longer))


@dataclass(frozen=True, slots=True)
class MissingVector:
    """A vector less than texts."""

    def spoil(self, reply: Reply) -> Reply:
        """The reply without its last vector."""
        return replace(reply, vectors=(reply.vectors or ())[:-1])


def beyond_reach(text: str) -> str:
    """The JSON with every whole number raised by a million: ids that cannot be; text that is no JSON stays."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return json.dumps(_raised(value), ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class WrongIds:
    """Valid JSON that cites what does not exist."""

    transform: Callable[[str], str] = beyond_reach

    def spoil(self, reply: Reply) -> Reply:
        """The reply with its text transformed."""
        return replace(reply, text=self.transform(reply.text))


def _raised(value: object) -> object:
    if isinstance(value, dict):
        return {key: _raised(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_raised(inner) for inner in value]
    return value + WRONG_BY if isinstance(value, int) and not isinstance(value, bool) else value
