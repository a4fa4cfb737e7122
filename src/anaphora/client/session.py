"""One conversation of a memory that a service keeps."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import Any, Final, TypeVar
from uuid import uuid4

import anyio
from pydantic import TypeAdapter

from anaphora.client.doorman import Who
from anaphora.client.events import Event, events
from anaphora.client.problems import error_from
from anaphora.client.wire import Wire
from anaphora.domain.context import Context
from anaphora.domain.differences import Difference
from anaphora.domain.keys import SessionKey
from anaphora.domain.messages import Message, Part, Receipt
from anaphora.domain.moments import AsOf
from anaphora.domain.search import Hit
from anaphora.domain.summaries import Summary
from anaphora.domain.topics import Segment
from anaphora.errors import InvalidInput, StoreError
from anaphora.memory import Session
from anaphora.ports.rows import SessionRow
from anaphora.ports.tools import Toolbox
from anaphora.rules.admission import new_message
from anaphora.services.chat import Answer, Turn

T = TypeVar("T")

RECEIPT: Final = TypeAdapter(Receipt)
MESSAGE: Final = TypeAdapter(Message)
MESSAGES: Final = TypeAdapter(Sequence[Message])
CONTEXT: Final = TypeAdapter(Context)
ANSWER: Final = TypeAdapter(Answer)
HITS: Final = TypeAdapter(Sequence[Hit])
SUMMARY: Final = TypeAdapter(Summary)
SUMMARIES: Final = TypeAdapter(Sequence[Summary])
DIFFERENCE: Final = TypeAdapter(Difference)
SEGMENTS: Final = TypeAdapter(Sequence[Segment])
ROW: Final = TypeAdapter(SessionRow)
YES: Final = TypeAdapter(bool)
COUNT: Final = TypeAdapter(int)
_PROBLEM: Final = TypeAdapter(dict[str, Any])
_PIECE: Final = TypeAdapter(dict[str, str])
_TAKEN: Final = frozenset({"role", "content", "name", "parts", "metadata", "created_at"})


class RemoteSession(Session):
    """One conversation, with the methods of `Session`.

    An append that names no key gets one: where the connection is lost, it is sent again, and stored once.
    """

    def __init__(self, wire: Wire, key: SessionKey, *, subject: str | None, strategy: str | None) -> None:
        self.key = key
        self._wire = wire
        self._who = Who(user=key.user, tenant=key.tenant)
        self._params = {"agent": key.agent, "subject": subject, "strategy": strategy}
        self._talking = anyio.Semaphore(1, max_value=1)

    async def add(
        self,
        role: str,
        content: str | None = None,
        *,
        name: str | None = None,
        parts: Sequence[Part] | None = None,
        metadata: Mapping[str, Any] | None = None,
        created_at: datetime | None = None,
        key: str | None = None,
    ) -> Receipt:
        """Append one message; when this returns, it is on the service's disk."""
        # what no store takes is refused in the words of the memory itself
        new_message(role, content, name=name, parts=parts, metadata=metadata, created_at=created_at)
        body = _given(role=role, content=content, name=name, parts=parts, metadata=metadata, created_at=created_at)
        return await self._ask(RECEIPT, "POST", "messages", body=body, once=_key(key))

    async def add_turn(self, messages: Sequence[Mapping[str, Any]], *, key: str | None = None) -> Receipt:
        """Append a whole turn at once: all of it or nothing."""
        for message in messages:
            unknown = set(message) - _TAKEN
            if unknown or "role" not in message:
                raise InvalidInput(f"a message takes {', '.join(sorted(_TAKEN))}: {sorted(unknown)}")
            new_message(**{"content": None, **message})
        made = [_given(**message) for message in messages]
        return await self._ask(RECEIPT, "POST", "turns", body={"messages": made}, once=_key(key))

    async def edit(
        self,
        seq: int,
        content: str | None = None,
        *,
        name: str | None = None,
        parts: Sequence[Part] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Message:
        """Correct a message: what is not given stays as it was."""
        body = _given(content=content, name=name, parts=parts, metadata=metadata)
        return await self._ask(MESSAGE, "PATCH", "messages", seq, body=body)

    async def delete(self, seq: int) -> bool:
        """Delete a message; False if it was deleted already."""
        return await self._ask(YES, "DELETE", "messages", seq)

    async def messages(
        self, *, start: int | None = None, stop: int | None = None, limit: int = 100, as_of: AsOf | None = None
    ) -> Sequence[Message]:
        """Messages in order: the last `limit` (before `stop`), or from `start` on the first `limit`."""
        params = {"start": start, "stop": stop, "limit": limit, "as_of": as_of}
        return await self._ask(MESSAGES, "GET", "messages", params=params)

    async def versions(self, seq: int) -> Sequence[Message]:
        """Every version of a message, the oldest first."""
        return await self._ask(MESSAGES, "GET", "messages", seq, "versions")

    async def context(
        self, query: str | None = None, *, budget: int | None = None, as_of: AsOf | None = None
    ) -> Context:
        """What a model should be shown before it answers `query`."""
        body = _given(query=query, budget=budget, as_of=as_of)
        return await self._ask(CONTEXT, "POST", "context", body=body, harmless=True)

    async def send(
        self, content: str | None, *, budget: int | None = None, key: str | None = None, tools: Toolbox | None = None
    ) -> Answer:
        """The whole turn: store the message, ask the service's chat model, store its answer."""
        _no_tools(tools)
        async with self._talking:
            return await self._ask(
                ANSWER, "POST", "send", body=_given(content=content, budget=budget), headers=_idempotent(key)
            )

    async def stream(
        self,
        content: str | None,
        *,
        budget: int | None = None,
        key: str | None = None,
        turn: Turn | None = None,
        tools: Toolbox | None = None,
    ) -> AsyncGenerator[str]:
        """As `send`, in pieces. `turn` is filled when the answer is there."""
        _no_tools(tools)
        async with self._talking:
            opened = self._wire.stream(
                "POST",
                *("sessions", self.key.session, "stream"),
                who=self._who,
                params=self._params,
                body=_given(content=content, budget=budget),
                headers=_idempotent(key),
            )
            async with opened as lines, aclosing(events(lines)) as told:
                async for event in told:
                    if event.kind == "piece":
                        yield _PIECE.validate_json(event.data)["text"]
                    else:
                        _ended(event, turn)
                        return
                raise StoreError("the service ended before the answer did: what came is stored")

    async def recall(self, content: str, *, limit: int = 5) -> Sequence[Hit]:
        """What was said before that shares words with a message."""
        body = {"content": content, "limit": limit}
        return await self._ask(HITS, "POST", "recall", body=body, harmless=True)

    async def summaries(
        self,
        *,
        limit: int = 20,
        before: int | None = None,
        as_of: AsOf | None = None,
        topic: str | None = None,
        entity: str | None = None,
    ) -> Sequence[Summary]:
        """Versions of the summary, newest first."""
        params = {"limit": limit, "before": before, "as_of": as_of, "topic": topic, "entity": entity}
        return await self._ask(SUMMARIES, "GET", "summaries", params=params)

    async def summary(self, version: int, *, as_of: AsOf | None = None) -> Summary:
        """One version of the summary."""
        return await self._ask(SUMMARY, "GET", "summaries", version, params={"as_of": as_of})

    async def diff(self, before: int, after: int) -> Difference:
        """What changed from one version of the summary to another."""
        return await self._ask(DIFFERENCE, "GET", "summaries", after, "diff", params={"since": before})

    async def topics(self, *, limit: int = 50) -> Sequence[Segment]:
        """The topics of a session of the strategy `topics`, newest first."""
        return await self._ask(SEGMENTS, "GET", "topics", params={"limit": limit})

    async def row(self) -> SessionRow:
        """The session as it is kept."""
        return await self._ask(ROW, "GET")

    async def rebuild(self, *, from_seq: int = 0) -> bool:
        """Queue making the summaries anew from a message on; False if that is under way already."""
        return await self._ask(YES, "POST", "rebuild", body={"from_seq": from_seq})

    async def end(self) -> bool:
        """Plan what is due at the end of a session; twice is harmless."""
        return await self._ask(YES, "POST", "end")

    async def reset(self) -> int:
        """Delete every message of the session and everything made of them; how many messages went."""
        return await self._ask(COUNT, "POST", "reset")

    async def _ask(
        self,
        shape: TypeAdapter[T],
        method: str,
        *path: str | int,
        params: Mapping[str, Any] | None = None,
        **more: Any,  # noqa: ANN401 - as `Wire.ask` has it
    ) -> T:
        whole = ("sessions", self.key.session, *path)
        params = {**self._params, **(params or {})}
        return await self._wire.ask(shape, method, *whole, who=self._who, params=params, **more)


def _given(**values: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON, or what becomes it
    """What was said; what is None goes without saying."""
    return {name: value for name, value in values.items() if value is not None}


def _key(key: str | None) -> str:
    return uuid4().hex if key is None else key


def _idempotent(key: str | None) -> dict[str, str]:
    """For what may be stored once, but is not asked for twice."""
    return {} if key is None else {"Idempotency-Key": key}


def _no_tools(tools: Toolbox | None) -> None:
    if tools is not None:
        raise InvalidInput(
            "tools are called where the service runs: give them to its agents, or open the memory itself"
        )


def _ended(event: Event, turn: Turn | None) -> None:
    """What came after the last piece."""
    if event.kind == "problem":
        problem = _PROBLEM.validate_json(event.data)
        raise error_from(problem, int(problem.get("status", 0)))
    if turn is not None:
        answer = ANSWER.validate_json(event.data)
        turn.text, turn.context, turn.receipt = answer.text, answer.context, answer.receipt
