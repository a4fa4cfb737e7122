"""One conversation: the part of the API that is used all the time."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import Any

import anyio

from anaphora.bootstrap import Services
from anaphora.domain.context import Context
from anaphora.domain.differences import Difference
from anaphora.domain.keys import SessionKey
from anaphora.domain.messages import Message, Part, Receipt
from anaphora.domain.moments import AsOf
from anaphora.domain.search import Hit
from anaphora.domain.summaries import Summary
from anaphora.domain.topics import Segment
from anaphora.errors import InvalidInput, NotFound
from anaphora.ports.rows import SessionRow
from anaphora.ports.tools import Toolbox
from anaphora.rules.admission import new_message
from anaphora.rules.summary_diff import difference
from anaphora.services.chat import Answer, Turn
from anaphora.services.editing import Change
from anaphora.services.overview import Listing


class Session:
    """One conversation."""

    def __init__(
        self,
        services: Services,
        key: SessionKey,
        *,
        subject: str | None,
        instructions: str | None,
        strategy: str | None,
    ) -> None:
        agent = services.settings.agents.get(key.agent)
        self._services = services
        self.key = key
        self._subject = subject
        self._instructions = instructions or (agent.instructions if agent else None) or services.settings.instructions
        self._strategy = services.strategies.own(strategy or (agent.strategy if agent else None), key.agent)
        self._budget = agent.context_budget if agent else None
        # no lock, which only its own task may open: a stream that is walked away from is closed by another
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
        """Append one message; when this returns, it is on disk.

        Args:
            role: user, assistant, tool or system. A stored `system` message is data: shown in the user role.
            content: the text.
            name: who speaks, where there are several.
            parts: tool calls `{"type": "tool_call", "id", "name", "arguments"}`, tool results
                `{"type": "tool_result", "id", "content"}`, and others, kept as given.
            metadata: JSON of your own; never shown to a model.
            created_at: when it was said, with a time zone; None = now. The order of the log is that of appends.
            key: makes a retry harmless: the same key with the same message returns the same receipt.

        Raises:
            InvalidInput: the message cannot be stored as it is; nothing was written.
            KeyReused: the key came with another message before.
            StoreError: nothing was written.

        """
        message = new_message(role, content, name=name, parts=parts, metadata=metadata, created_at=created_at)
        return await self._services.ingest.append(
            self.key, [message], idempotency_key=key, strategy=self._strategy, subject=self._subject
        )

    async def add_turn(self, messages: Sequence[Mapping[str, Any]], *, key: str | None = None) -> Receipt:
        """Append a whole turn at once: a question, tool calls and results, the answer. All of it or nothing.

        Args:
            messages: the arguments of `add` as mappings, `role` and `content` among them.
            key: as in `add`, for the turn as a whole.

        """
        made = []
        for message in messages:
            unknown = set(message) - {"role", "content", "name", "parts", "metadata", "created_at"}
            if unknown or "role" not in message:
                raise InvalidInput(
                    f"a message takes role, content, name, parts, metadata, created_at: {sorted(unknown)}"
                )
            made.append(new_message(**{"content": None, **message}))
        return await self._services.ingest.append(
            self.key, made, turns="turn", idempotency_key=key, strategy=self._strategy, subject=self._subject
        )

    async def edit(
        self,
        seq: int,
        content: str | None = None,
        *,
        name: str | None = None,
        parts: Sequence[Part] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Message:
        """Correct a message: what is not given stays as it was, and so do its number, role and time.

        What it said before is kept: `versions` shows it, and so does `as_of`. A summary that speaks of it is `stale`
        from now on; it is served until it is made anew in the background.

        Returns:
            The message as it is now; it has no new version if it said that already.

        Raises:
            NotFound: no such message.
            InvalidInput: it was deleted, or cannot be stored so; nothing was changed.

        """
        change = Change(content=content, name=name, parts=parts, metadata=metadata)
        return await self._services.editing.edit(self.key, seq, change)

    async def delete(self, seq: int) -> bool:
        """Delete a message: no prompt shows it, no search finds it, summaries are made anew without it.

        Its number stays, and what it said is kept for `versions` and `as_of`; `reset` leaves nothing at all.

        Returns:
            False if it was deleted already.

        Raises:
            NotFound: no such message.

        """
        return await self._services.editing.delete(self.key, seq)

    async def messages(
        self, *, start: int | None = None, stop: int | None = None, limit: int = 100, as_of: AsOf | None = None
    ) -> Sequence[Message]:
        """Messages in order: the last `limit` (before `stop`), or from `start` on the first `limit`. No deleted ones.

        With `as_of`, which goes with `stop` but not with `start`, as they were at that moment (see `context`).
        """
        if start is None:
            return await self._services.sessions.newest(self.key, stop=stop, limit=limit, as_of=as_of)
        if as_of is not None:
            raise InvalidInput("give either start or as_of, not both")
        return await self._services.sessions.messages(self.key, start=start, stop=stop, limit=limit)

    async def versions(self, seq: int) -> Sequence[Message]:
        """Every version of a message, the oldest first; a tombstone says that it was deleted.

        Raises:
            NotFound: no such message.

        """
        found = await self._services.sessions.versions(self.key, start=seq, stop=seq + 1)
        if not found:
            raise NotFound(f"there is no message {seq} in session {self.key.session!r} of user {self.key.user!r}")
        return found

    async def context(
        self, query: str | None = None, *, budget: int | None = None, as_of: AsOf | None = None
    ) -> Context:
        """What a model should be shown before it answers `query`, the next user message, not yet appended.

        Args:
            query: the next user message.
            budget: tokens of the prompt.
            as_of: a moment of the past instead of now: a number of messages (when the log held so many, before the
                next came) or a time with a zone. With the same query and budget it is what was served then.

        Raises:
            InvalidInput: an `as_of` that is not in the session's past.
            BudgetTooSmall: less than the instructions and 64 tokens.
            StoreError: the store is down; an empty history is never served instead.

        """
        return await self._services.contexts.build(
            self.key,
            query,
            budget=self._budget if budget is None else budget,
            instructions=self._instructions,
            strategy=self._strategy,
            subject=self._subject,
            as_of=as_of,
        )

    async def send(
        self, content: str | None, *, budget: int | None = None, key: str | None = None, tools: Toolbox | None = None
    ) -> Answer:
        """The whole turn: store the message, ask the chat model, store its answer.

        Args:
            content: the user's message; None = answer the last one again.
            budget: tokens of the prompt.
            key: makes a retry harmless: the message is not stored twice.
            tools: what the model may call before it answers; the calls and what comes of them are stored, too.

        Raises:
            ConfigError: no chat model is configured; nothing was stored.
            ModelError: the model failed; the message is stored, `send(None)` tries again.

        """
        async with self._talking:
            return await self._services.chat.send(self.key, content, tools=tools, **self._how(budget, key))

    async def stream(
        self,
        content: str | None,
        *,
        budget: int | None = None,
        key: str | None = None,
        turn: Turn | None = None,
        tools: Toolbox | None = None,
    ) -> AsyncGenerator[str]:
        """As `send`, in pieces. An answer that is interrupted is stored as far as it came, marked as such.

        `turn` is filled with the prompt that is sent, the text and the receipt of the stored answer. What a model says
        before it calls one of the `tools` is yielded too; it is no part of that text.
        """
        async with self._talking:
            pieces = self._services.chat.stream(self.key, content, turn=turn, tools=tools, **self._how(budget, key))
            async with aclosing(pieces):
                async for piece in pieces:
                    yield piece

    async def recall(self, content: str, *, limit: int = 5) -> Sequence[Hit]:
        """What was said before that shares words with a message: what can be answered without a model."""
        return await self._services.chat.recall(self.key, content, limit=limit)

    async def summaries(
        self,
        *,
        limit: int = 20,
        before: int | None = None,
        as_of: AsOf | None = None,
        topic: str | None = None,
        entity: str | None = None,
    ) -> Sequence[Summary]:
        """Versions of the summary, newest first; with `before`, those with a smaller version number.

        With `topic` or `entity`, of these only those that list it (`Summary.structure`, strategy `token_budget`).
        With `as_of`, those that there were at that moment, with the status that they had (see `context`).
        """
        found = await self._services.sessions.summaries(self.key, limit=limit, before=before, as_of=as_of)
        wanted = Listing(topic=topic, entity=entity)
        return [summary for summary in found if wanted.has(summary)]

    async def summary(self, version: int, *, as_of: AsOf | None = None) -> Summary:
        """One version of the summary; with `as_of`, with the status that it had then.

        Raises:
            NotFound: there is none of that number.

        """
        found = await self.summaries(limit=1, before=version + 1, as_of=as_of)
        if not found or found[0].version != version:
            raise NotFound(f"session {self.key.session!r} has no version {version} of its summary")
        return found[0]

    async def diff(self, before: int, after: int) -> Difference:
        """What changed from one version of the summary to another: points, and words inside of points.

        Raises:
            NotFound: there is none of one of these numbers.

        """
        return difference(await self.summary(before), await self.summary(after))

    async def topics(self, *, limit: int = 50) -> Sequence[Segment]:
        """The topics of a session of the strategy `topics`, newest first, the open one too."""
        return await self._services.segments.of_session(self.key, limit=limit)

    async def row(self) -> SessionRow:
        """The session as it is kept: its length, its times, its strategy.

        Raises:
            NotFound: nothing was ever said in it.

        """
        found = await self._services.sessions.find(self.key)
        if found is None:
            raise NotFound(f"there is no session {self.key.session!r} of user {self.key.user!r}")
        return found

    async def rebuild(self, *, from_seq: int = 0) -> bool:
        """Queue making the summaries anew from a message on; False if that is under way already."""
        return await self._services.sessions.rebuild(self.key, from_seq=from_seq)

    async def end(self) -> bool:
        """Plan what is due at the end of a session; twice is harmless, and writing again reopens it."""
        return await self._services.sessions.end(self.key)

    async def reset(self) -> int:
        """Delete every message of the session and everything made of them; how many messages went."""
        return await self._services.sessions.reset(self.key)

    def _how(self, budget: int | None, key: str | None) -> dict[str, Any]:
        return {
            "budget": self._budget if budget is None else budget,
            "instructions": self._instructions,
            "strategy": self._strategy,
            "subject": self._subject,
            "idempotency_key": key,
        }
