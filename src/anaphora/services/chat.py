"""A whole turn: the user's message, the context, the model's answer, all on disk."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import anyio

from anaphora.domain.context import Context
from anaphora.domain.keys import SessionKey
from anaphora.domain.messages import NewMessage, Part, Receipt, Role
from anaphora.domain.search import Hit
from anaphora.errors import ConfigError, Erased, InvalidInput, ModelOutputInvalid
from anaphora.ports.models import ChatModel
from anaphora.ports.tools import Toolbox, ToolCall, ToolCaller
from anaphora.rules.admission import new_message
from anaphora.services.context import Contexts
from anaphora.services.ingest import Ingest
from anaphora.services.searching import Search
from anaphora.services.sessions import Sessions

#: makes the prompt, as the log is now
_Build: TypeAlias = Callable[[], Awaitable[Context]]
#: messages in which the question of an interrupted answer is looked for
_LOOK_BACK = 32
#: how often a prompt is made anew because something was erased meanwhile
_TRIES = 5
#: how often a model may call tools before it must answer, and how many of them at a time
MAX_ROUNDS = 4
MAX_CALLS = 4
#: characters of the arguments of a call that are kept, and of an id and a name
_MAX_ARGUMENTS = 20_000
_MAX_NAME = 100
#: how relevant a message must be that has none of the words
_TELLING = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions:
    """How a model is asked for an answer."""

    max_tokens: int = 300
    temperature: float = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class Talker:
    """A chat model with the way it is asked."""

    model: ChatModel
    options: ChatOptions = field(default_factory=ChatOptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a turn gave."""

    text: str
    #: the prompt that it answers
    context: Context
    #: of the stored answer
    receipt: Receipt

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    """Talks in a session. The user's message is on disk before a model is asked."""

    ingest: Ingest
    contexts: Contexts
    sessions: Sessions
    search: Search
    talker: Talker | None
    talker_by_agent: Mapping[str, Talker]

    def talker_for(self, agent: str) -> Talker:
        """The model that answers for this agent.

        Raises:
            ConfigError: none is configured.

        """
        talker = self.talker_by_agent.get(agent, self.talker)
        if talker is None:
            raise ConfigError("no chat model is configured: set `model`, for example to 'openai:gpt-4.1-mini'")
        return talker

    async def send(self, key: SessionKey, content: str | None, **how: Any) -> Answer:  # noqa: ANN401 - see stream
        """The whole turn at once; see `stream`."""
        turn = Turn()
        async for _ in self.stream(key, content, turn=turn, **how):
            pass
        return turn.answer(turn.text)

    async def stream(
        self,
        key: SessionKey,
        content: str | None,
        *,
        turn: Turn | None = None,
        budget: int | None = None,
        instructions: str | None = None,
        strategy: str | None = None,
        subject: str | None = None,
        idempotency_key: str | None = None,
        tools: Toolbox | None = None,
    ) -> AsyncGenerator[str]:
        """The answer in pieces; it is stored when it is complete, or, if interrupted, marked so.

        Args:
            key: the session.
            content: the user's message; None = answer the last one again (it has no answer, or an interrupted one).
            turn: filled with the context and the receipt.
            budget: tokens of the prompt.
            instructions: fixed system text.
            strategy: for a new session.
            subject: for a new session.
            idempotency_key: of the turn: a retry after a failure does not double the user's message, and one after a
                success gives the answer that is there.
            tools: what the model may call before it answers, if it can. What it calls and what comes of it is stored as
                messages of the turn, and shown as such; what it says before a call is yielded too.

        Raises:
            ConfigError: no chat model is configured; nothing was stored.
            InvalidInput: the message cannot be stored, or there is nothing to answer.
            ModelError: the model failed; the user's message is stored and can be answered again.
            Erased: something was erased while the model answered: what it said is not stored.

        """
        talker = self.talker_for(key.agent)
        turn = turn or Turn()
        answer_key = _answer_key(idempotency_key)
        if content is not None:
            new = [new_message(Role.USER, content)]
            how: dict[str, Any] = {"idempotency_key": idempotency_key, "strategy": strategy, "subject": subject}
            asked = await self.ingest.append(key, new, source="chat", **how)
            given = await self.sessions.appended_with(key, answer_key) if asked.repeated and answer_key else None
            for answer in given[1] if given else ():
                then = answer.seq
                turn.context = await self.contexts.build(key, budget=budget, instructions=instructions, as_of=then)
                turn.receipt = given[0] if given else None
                turn.text = answer.content
                yield answer.content
                return
            answer_key = None if given else answer_key  # it is taken, though that answer was deleted
        build: _Build = partial(
            self._prompt, key, content, turn, budget=budget, instructions=instructions, strategy=strategy
        )
        async with aclosing(self._rounds(key, talker, turn, build, answer_key, tools)) as pieces:
            async for piece in pieces:
                yield piece

    async def _prompt(self, key: SessionKey, content: str | None, turn: Turn, **how: Any) -> Context:  # noqa: ANN401
        """What the model is shown: nothing that was erased while that was put together."""
        for _ in range(_TRIES):
            turn.erasures = await self.ingest.erasures(key.tenant)
            asking, again = (content, None) if content is not None else await self._unanswered(key)
            turn.context = await self.contexts.build(key, again, asking=asking, **how)
            if turn.erasures == await self.ingest.erasures(key.tenant):
                return turn.context
        raise Erased("things are erased faster than a prompt is made: try again")

    async def _rounds(
        self,
        key: SessionKey,
        talker: Talker,
        turn: Turn,
        build: _Build,
        answer_key: str | None,
        tools: Toolbox | None,
    ) -> AsyncGenerator[str]:
        """Prompt and answer, and again after each answer that calls tools."""
        for left in range(MAX_ROUNDS, -1, -1):
            turn.context = await build()
            turn.calls = []
            turn.without_tools = tools is not None and bool(tools.tools) and not isinstance(talker.model, ToolCaller)
            wanted = _pieces(talker, turn.context, tools, may_call=left > 0)
            async with aclosing(self._answer(key, wanted, turn, answer_key)) as pieces:
                async for piece in pieces:
                    yield piece
            if not turn.calls or tools is None:
                return
            said = [await tools.call(call) for call in turn.calls]
            exchange = _exchange(turn.text, turn.calls, said)
            await self.ingest.append(key, exchange, source="chat", erasures=turn.erasures)

    async def _answer(
        self, key: SessionKey, wanted: AsyncGenerator[str | ToolCall], turn: Turn, answer_key: str | None
    ) -> AsyncGenerator[str]:
        """The model's answer in pieces; stored at its end, or where it is broken off, unless it calls tools."""
        pieces: list[str] = []
        try:
            async with aclosing(wanted):
                async for piece in wanted:
                    if isinstance(piece, ToolCall):
                        turn.calls = [*turn.calls, piece][:MAX_CALLS]
                        continue
                    pieces.append(piece)
                    yield piece
        except BaseException:
            with anyio.CancelScope(shield=True), suppress(Erased):
                await self._store(key, "".join(pieces), turn, interrupted=True)
            raise
        turn.text = "".join(pieces)
        if turn.calls:
            return
        if not turn.text.strip():
            raise ModelOutputInvalid("empty", "nothing was stored as the answer")
        await self._store(key, turn.text, turn, interrupted=False, answer_key=answer_key)

    async def recall(self, key: SessionKey, content: str, *, limit: int = 5) -> tuple[Hit, ...]:
        """What this user said that has to do with the message: all that can be answered without a model."""
        hits = await self.search.search(
            content, tenant=key.tenant, user=key.user, agent=key.agent, limit=min(limit + 1, 200)
        )
        telling = (hit for hit in hits if hit.words or hit.relevance >= _TELLING)
        return tuple(hit for hit in telling if hit.message.content != content)[:limit]

    async def _store(
        self, key: SessionKey, text: str, turn: Turn, *, interrupted: bool, answer_key: str | None = None
    ) -> None:
        if not text.strip():
            return
        metadata = {"interrupted": True} if interrupted else {}
        turn.receipt = await self.ingest.append(
            key,
            [new_message(Role.ASSISTANT, text, metadata=metadata)],
            source="chat",
            idempotency_key=answer_key,
            erasures=turn.erasures,
        )

    async def _unanswered(self, key: SessionKey) -> tuple[str, str | None]:
        """The question, and what the prompt must ask again: nothing, unless an interrupted answer stands after it."""
        newest = await self.sessions.newest(key, limit=_LOOK_BACK)
        if newest and newest[-1].role is Role.USER:
            return newest[-1].content, None
        asked = [message.content for message in newest if message.role is Role.USER]
        if asked and newest[-1].role is Role.TOOL:
            return asked[-1], None
        if asked and newest[-1].metadata.get("interrupted"):
            return asked[-1], asked[-1]
        raise InvalidInput("there is no unanswered message to answer again")


def _answer_key(idempotency_key: str | None) -> str | None:
    """The key of the answer to a message with a key."""
    return None if idempotency_key is None else f"answer:{hashlib.sha256(idempotency_key.encode()).hexdigest()}"


def _pieces(
    talker: Talker, context: Context, tools: Toolbox | None, *, may_call: bool
) -> AsyncGenerator[str] | AsyncGenerator[str | ToolCall]:
    """What the model says, with tools if there are any and it knows what tools are."""
    model, options = talker.model, talker.options
    asked: dict[str, Any] = {"max_tokens": options.max_tokens, "temperature": options.temperature}
    if tools is not None and tools.tools and isinstance(model, ToolCaller):
        return model.stream_with_tools(context.messages, tools=tools.tools, may_call=may_call, **asked)
    return model.stream(context.messages, **asked)


def _exchange(text: str, calls: Sequence[ToolCall], said: Sequence[str]) -> list[NewMessage]:
    """The messages of one round: what the model said and called, and what came of each call."""
    results = [
        new_message(
            Role.TOOL,
            result,
            name=_name(call.name),
            parts=[{"type": "tool_result", "id": _name(call.id), "content": result}],
        )
        for call, result in zip(calls, said, strict=True)
    ]
    return [new_message(Role.ASSISTANT, _kept(text), parts=[_called(call) for call in calls]), *results]


def _called(call: ToolCall) -> Part:
    """The call as the log takes it: its arguments as the object that they are, or what was written instead."""
    part = {"type": "tool_call", "id": _name(call.id), "name": _name(call.name)}
    if len(call.arguments) <= _MAX_ARGUMENTS:
        with suppress(ValueError, RecursionError):  # no JSON, or none that the log takes
            whole = {**part, "arguments": json.loads(call.arguments)}
            if isinstance(whole["arguments"], dict):
                return new_message(Role.ASSISTANT, None, parts=[whole]).parts[0]
    return {**part, "arguments": {"text": _kept(call.arguments[:_MAX_ARGUMENTS])}}


def _kept(text: str) -> str:
    """Text that the log takes."""
    return text.replace("\x00", "")


def _name(text: str) -> str:
    return _kept(text).strip()[:_MAX_NAME] or "unnamed"


@dataclass(slots=True)
class Turn:
    """What a running turn knows already."""

    context: Context | None = None
    receipt: Receipt | None = None
    #: the erasure epoch in which the prompt was made
    erasures: int | None = None
    #: the answer, or what was said before the last calls
    text: str = ""
    #: the tools that were called last, if the answer is not there yet
    calls: list[ToolCall] = field(default_factory=list)
    #: there were tools, and the model does not know what tools are: it was asked without them
    without_tools: bool = False

    def answer(self, text: str) -> Answer:
        """The finished turn."""
        if self.context is None or self.receipt is None:
            raise InvalidInput("the turn is not finished")
        return Answer(text=text, context=self.context, receipt=self.receipt)
