"""A whole turn: the user's message, the context, the model's answer, all on disk."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import anyio

from anaphora.domain.context import Context
from anaphora.domain.keys import SessionKey
from anaphora.domain.messages import Receipt, Role
from anaphora.domain.search import Hit
from anaphora.errors import ConfigError, InvalidInput, ModelOutputInvalid
from anaphora.ports.models import ChatModel
from anaphora.rules.admission import new_message
from anaphora.services.context import Contexts
from anaphora.services.ingest import Ingest
from anaphora.services.searching import Search
from anaphora.services.sessions import Sessions

#: messages in which the question of an interrupted answer is looked for
_LOOK_BACK = 8
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
        pieces = [piece async for piece in self.stream(key, content, turn=turn, **how)]
        return turn.answer("".join(pieces))

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

        Raises:
            ConfigError: no chat model is configured; nothing was stored.
            InvalidInput: the message cannot be stored, or there is nothing to answer.
            ModelError: the model failed; the user's message is stored and can be answered again.

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
                yield answer.content
                return
            answer_key = None if given else answer_key  # it is taken, though that answer was deleted
        asking, again = (content, None) if content is not None else await self._unanswered(key)
        turn.context = await self.contexts.build(
            key, again, budget=budget, instructions=instructions, strategy=strategy, asking=asking
        )
        async with aclosing(self._answer(key, talker, turn, turn.context, answer_key)) as pieces:
            async for piece in pieces:
                yield piece

    async def _answer(
        self, key: SessionKey, talker: Talker, turn: Turn, context: Context, answer_key: str | None
    ) -> AsyncGenerator[str]:
        """The model's answer in pieces; stored at its end, or where it is broken off."""
        pieces: list[str] = []
        try:
            options = talker.options
            stream = talker.model.stream(
                context.messages, max_tokens=options.max_tokens, temperature=options.temperature
            )
            async with aclosing(stream):
                async for piece in stream:
                    pieces.append(piece)
                    yield piece
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self._store(key, "".join(pieces), turn, interrupted=True)
            raise
        text = "".join(pieces)
        if not text.strip():
            raise ModelOutputInvalid("empty", "nothing was stored as the answer")
        await self._store(key, text, turn, interrupted=False, answer_key=answer_key)

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
        )

    async def _unanswered(self, key: SessionKey) -> tuple[str, str | None]:
        """The question, and what the prompt must ask again: nothing, unless an interrupted answer stands after it."""
        newest = await self.sessions.newest(key, limit=_LOOK_BACK)
        if newest and newest[-1].role is Role.USER:
            return newest[-1].content, None
        if newest and newest[-1].metadata.get("interrupted"):
            asked = [message.content for message in newest if message.role is Role.USER]
            if asked:
                return asked[-1], asked[-1]
        raise InvalidInput("there is no unanswered message to answer again")


def _answer_key(idempotency_key: str | None) -> str | None:
    """The key of the answer to a message with a key."""
    return None if idempotency_key is None else f"answer:{hashlib.sha256(idempotency_key.encode()).hexdigest()}"


@dataclass(slots=True)
class Turn:
    """What a running turn knows already."""

    context: Context | None = None
    receipt: Receipt | None = None

    def answer(self, text: str) -> Answer:
        """The finished turn."""
        if self.context is None or self.receipt is None:
            raise InvalidInput("the turn is not finished")
        return Answer(text=text, context=self.context, receipt=self.receipt)
