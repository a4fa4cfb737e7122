"""The public API: a memory, its sessions, and what they give."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from datetime import datetime
from os import PathLike
from typing import Any, Self
from uuid import UUID

import anyio

from anaphora.bootstrap import Overrides, Services, open_services
from anaphora.domain.context import Context
from anaphora.domain.jobs import Job, JobState
from anaphora.domain.keys import SessionKey
from anaphora.domain.messages import Message, Part, Receipt, ReceiptState
from anaphora.domain.summaries import Summary
from anaphora.errors import InvalidInput
from anaphora.ports.models import ChatModel, Embedder
from anaphora.ports.store import SessionRow, WordHit
from anaphora.rules.admission import new_message
from anaphora.services.chat import Answer, Turn
from anaphora.settings import Settings, load

#: seconds that `close` gives work in hand
GRACE = 5.0


class Memory:
    """Everything that one database remembers. Open it with `Memory.open`."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._stopping = anyio.Event()
        self._worker: asyncio.Task[None] | None = None
        #: background work: list it, try failed jobs again
        self.jobs = JobsView(services)

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        db: str | PathLike[str] | None = None,
        *,
        settings: Settings | None = None,
        chat_model: ChatModel | None = None,
        memory_model: ChatModel | None = None,
        embedder: Embedder | str | None = None,
        worker: bool = True,
        overrides: Overrides | None = None,
        **options: Any,  # noqa: ANN401 - settings by name, checked there
    ) -> AsyncIterator[Self]:
        """Open a memory; made if it does not exist.

        Args:
            db: a path, or `:memory:`; None = the configured one.
            settings: everything that can be configured; None = from the environment, `anaphora.toml` and `options`.
            chat_model: answers in `send` and `stream`; None = the configured one, if any.
            memory_model: makes summaries; None = the configured one, or the chat model.
            embedder: local vectors: your own, or the setting (`local`, `none`); None = the configured one.
            worker: work on due jobs in the background while the memory is open.
            overrides: more adapters of your own; the arguments above come first.
            **options: single settings by name, such as `strategy="sliding_window"`.

        Raises:
            ConfigError: a setting that cannot work.
            StoreError: the database cannot be opened.

        """
        if isinstance(embedder, str):
            options["embedder"] = embedder
        if settings is None:
            settings = load(db=str(db) if db is not None else None, **options)
        elif options:
            raise InvalidInput(f"give either settings or {', '.join(sorted(options))}, not both")
        elif db is not None:
            settings = settings.model_copy(update={"db": str(db)})
        base = overrides or Overrides()
        given = Overrides(
            chat_model=chat_model or base.chat_model,
            memory_model=memory_model or base.memory_model,
            embedder=base.embedder if embedder is None or isinstance(embedder, str) else embedder,
            counter=base.counter,
            clock=base.clock,
            randomness=base.randomness,
            failpoint=base.failpoint,
        )
        async with open_services(settings, given) as services:
            memory = cls(services)
            if not worker:
                yield memory
                return
            memory._worker = asyncio.create_task(services.worker.run(memory._stopping), name="anaphora-worker")
            try:
                yield memory
            finally:
                with anyio.CancelScope(shield=True):
                    await memory.close()

    async def close(self, grace: float = GRACE) -> None:
        """Stop working on jobs: the one in hand may finish within `grace` seconds, or is released. Never drains."""
        self._stopping.set()
        worker, self._worker = self._worker, None
        if worker is None:
            return
        await asyncio.wait({worker}, timeout=grace)
        worker.cancel()
        await asyncio.wait({worker})

    def session(
        self,
        *,
        user: str,
        session: str,
        agent: str | None = None,
        tenant: str | None = None,
        subject: str | None = None,
        instructions: str | None = None,
        strategy: str | None = None,
    ) -> Session:
        """One conversation, by its name; nothing is read or written yet.

        Args:
            user: whose memory it is.
            session: which of the user's conversations.
            agent: with whom; None = the configured default.
            tenant: None = the configured default.
            subject: whom it is about; used when the session is made.
            instructions: fixed system text at the head of every context.
            strategy: the compaction; used when the session is made. None = the configured default.

        Raises:
            InvalidInput: an empty or impossible name.
            UnknownName: no such strategy.

        """
        settings = self._services.settings
        key = SessionKey(
            tenant=_tenant(self._services, tenant),
            user=user,
            agent=settings.agent if agent is None else agent,
            session=session,
        )
        if strategy is not None:
            self._services.strategies.get(strategy)
        return Session(self._services, key, subject=subject, instructions=instructions, strategy=strategy)

    async def new_session(
        self,
        *,
        user: str,
        agent: str | None = None,
        tenant: str | None = None,
        **options: Any,  # noqa: ANN401
    ) -> Session:
        """A new conversation, named by the user's next number; `options` as in `session`."""
        settings = self._services.settings
        key = await self._services.sessions.open_numbered(
            tenant=_tenant(self._services, tenant),
            user=user,
            agent=settings.agent if agent is None else agent,
            strategy=options.get("strategy"),
        )
        return self.session(user=key.user, session=key.session, agent=key.agent, tenant=key.tenant, **options)

    async def sessions(
        self, *, user: str | None = None, agent: str | None = None, tenant: str | None = None, limit: int = 50
    ) -> Sequence[SessionRow]:
        """Sessions, the last used first."""
        return await self._services.sessions.list(_tenant(self._services, tenant), user=user, agent=agent, limit=limit)

    async def search(
        self,
        query: str,
        *,
        user: str,
        agent: str | None = None,
        session: str | None = None,
        tenant: str | None = None,
        limit: int = 10,
    ) -> Sequence[WordHit]:
        """Messages of this user that share words with the query, best first."""
        settings = self._services.settings
        return await self._services.retrieve.search(
            query,
            tenant=_tenant(self._services, tenant),
            user=user,
            agent=agent or (settings.agent if session is not None else None),
            session=session,
            limit=limit,
        )

    async def receipt(self, receipt_id: UUID, *, tenant: str | None = None) -> ReceiptState:
        """What became of an append: appended, summarised, elided or erased."""
        return await self._services.sessions.receipt(_tenant(self._services, tenant), receipt_id)

    async def stats(self, *, user: str | None = None, tenant: str | None = None) -> Mapping[str, Any]:
        """How many summaries were made, by which method, and how long they took."""
        return await self._services.sessions.stats(_tenant(self._services, tenant), user=user)

    async def idle(self, timeout: float = 60.0) -> bool:
        """Wait until no job is due or running; False if that took longer than `timeout` seconds."""
        with anyio.move_on_after(timeout):
            while await self._services.jobs.due():
                await self._services.store.wait_for_work(0.05)
            return True
        return False

    async def work(self) -> int:
        """Do everything that is due, here and now; how many jobs were done. For memories without a worker."""
        return await self._services.worker.drain()


def _tenant(services: Services, tenant: str | None) -> str:
    """The configured tenant, unless one is named; an empty name is a name."""
    return services.settings.tenant if tenant is None else tenant


class JobsView:
    """Background work of a memory."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def list(
        self,
        *,
        states: Sequence[JobState] | None = None,
        stuck_seconds: float | None = None,
        tenant: str | None = None,
        limit: int = 50,
    ) -> Sequence[Job]:
        """Jobs, newest first; with `stuck_seconds`, those that should have moved that long ago."""
        tenant = _tenant(self._services, tenant)
        return await self._services.jobs.list(tenant, states=states, stuck_seconds=stuck_seconds, limit=limit)

    async def retry(self, job_id: UUID | None = None, *, tenant: str | None = None) -> int:
        """Queue failed jobs again (all of them, or one); how many."""
        return await self._services.jobs.retry(_tenant(self._services, tenant), job_id)

    async def live(self) -> int:
        """How many jobs are queued or running."""
        return await self._services.jobs.live()


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
        self._strategy = strategy or (agent.strategy if agent else None)
        self._budget = agent.context_budget if agent else None
        self._talking = anyio.Lock()

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

    async def messages(
        self, *, start: int | None = None, stop: int | None = None, limit: int = 100
    ) -> Sequence[Message]:
        """Messages in order: the last `limit`, or from `start` on the first `limit`."""
        if start is None and stop is None:
            return await self._services.sessions.newest(self.key, limit=limit)
        return await self._services.sessions.messages(self.key, start=start or 0, stop=stop, limit=limit)

    async def context(self, query: str | None = None, *, budget: int | None = None) -> Context:
        """What a model should be shown before it answers `query`, the next user message, not yet appended.

        Raises:
            BudgetTooSmall: less than the instructions and 64 tokens.
            StoreError: the store is down; an empty history is never served instead.

        """
        return await self._services.contexts.build(
            self.key,
            query,
            budget=self._budget if budget is None else budget,
            instructions=self._instructions,
            strategy=self._strategy,
        )

    async def send(self, content: str | None, *, budget: int | None = None, key: str | None = None) -> Answer:
        """The whole turn: store the message, ask the chat model, store its answer.

        Args:
            content: the user's message; None = answer the last one again.
            budget: tokens of the prompt.
            key: makes a retry harmless: the message is not stored twice.

        Raises:
            ConfigError: no chat model is configured; nothing was stored.
            ModelError: the model failed; the message is stored, `send(None)` tries again.

        """
        async with self._talking:
            return await self._services.chat.send(self.key, content, **self._how(budget, key))

    async def stream(
        self, content: str | None, *, budget: int | None = None, key: str | None = None, turn: Turn | None = None
    ) -> AsyncGenerator[str]:
        """As `send`, in pieces. An answer that is interrupted is stored as far as it came, marked as such.

        `turn` is filled with the prompt that is sent and the receipt of the stored answer.
        """
        async with self._talking:
            pieces = self._services.chat.stream(self.key, content, turn=turn, **self._how(budget, key))
            async with aclosing(pieces):
                async for piece in pieces:
                    yield piece

    async def recall(self, content: str, *, limit: int = 5) -> Sequence[WordHit]:
        """What was said before that shares words with a message: what can be answered without a model."""
        return await self._services.chat.recall(self.key, content, limit=limit)

    async def summaries(self, *, limit: int = 20, before: int | None = None) -> Sequence[Summary]:
        """Versions of the summary, newest first; with `before`, those with a smaller version number."""
        return await self._services.sessions.summaries(self.key, limit=limit, before=before)

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
