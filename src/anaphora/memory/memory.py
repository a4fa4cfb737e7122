"""A memory: everything that one database remembers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from os import PathLike
from typing import Any, Self
from uuid import UUID

import anyio

from anaphora.bootstrap import Overrides, Services, open_services
from anaphora.domain.figures import Figures
from anaphora.domain.keys import SessionKey
from anaphora.domain.messages import ReceiptState
from anaphora.domain.search import SearchResult
from anaphora.errors import InvalidInput
from anaphora.memory.access import AuditView, KeysView
from anaphora.memory.erasing import Erasing
from anaphora.memory.facts import FactsView, SubjectsView
from anaphora.memory.jobs import JobsView
from anaphora.memory.knowledge import KnowledgeView
from anaphora.memory.listening import Listening
from anaphora.memory.notepad import NotepadView
from anaphora.memory.resting import Resting
from anaphora.memory.retention import RetentionView
from anaphora.memory.scope import tenant_of
from anaphora.memory.session import Session
from anaphora.memory.topics import TopicsView
from anaphora.ports.exchange import Scope
from anaphora.ports.models import ChatModel, Embedder
from anaphora.ports.rows import SessionRow
from anaphora.services.chat import Talker
from anaphora.services.importing.run import ImportReport
from anaphora.services.importing.sources import source_of
from anaphora.settings import Settings, load

#: seconds that `close` gives work in hand: a process that is told to stop has ended within five
GRACE = 4.0


class Memory(Listening, Resting, Erasing):
    """Everything that one database remembers. Open it with `Memory.open`."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._stopping = anyio.Event()
        self._worker: asyncio.Task[None] | None = None
        #: what it was opened with
        self.settings = services.settings
        #: background work: list it, try failed jobs again
        self.jobs = JobsView(services)
        #: what is known of users: see, add, correct, share, delete it
        self.facts = FactsView(services)
        #: whom or what facts are about, and with whom they are shared
        self.subjects = SubjectsView(services)
        #: what sessions of the strategy `topics` are cut into
        self.topics = TopicsView(services)
        #: documents beside the log: add, find, change, take out
        self.knowledge = KnowledgeView(services)
        #: what agents note of their sessions with users: see, rewrite, go back
        self.notepad = NotepadView(services)
        #: how long sessions are kept that nobody uses
        self.retention = RetentionView(services)
        #: keys with which a service lets people in
        self.keys = KeysView(services)
        #: what was changed through a service, and in whose name
        self.audit = AuditView(services)

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
            db: a path, `:memory:`, `postgresql://user@host/database`, or `:servers:`; None = the configured one.
            settings: everything that can be configured; None = from the environment, `anaphora.toml` and `options`.
            chat_model: answers in `send` and `stream`; None = the configured one, if any.
            memory_model: makes summaries; None = the configured one, or the chat model.
            embedder: your own, or the setting (`local`, `none`, `provider:model`); None = the configured one.
            worker: work on due jobs in the background while the memory is open, when the event loop has little to do.
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
            reranker=base.reranker,
            counter=base.counter,
            clock=base.clock,
            randomness=base.randomness,
            failpoint=base.failpoint,
        )
        async with open_services(settings, given) as services:
            memory = cls(services)
            if worker:
                memory._worker = asyncio.create_task(
                    services.worker.run(memory._stopping, makes_way=True), name="anaphora-worker"
                )
            try:
                yield memory
            finally:
                with anyio.CancelScope(shield=True):
                    await memory.close()

    async def close(self, grace: float = GRACE) -> None:
        """Stop working on jobs: the one in hand may finish within `grace` seconds, or is released. Never drains.

        Whoever waits for `changes` waits no more.
        """
        self._stopping.set()
        self._services.changes.close()
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
            tenant=tenant_of(self._services, tenant),
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
            tenant=tenant_of(self._services, tenant),
            user=user,
            agent=settings.agent if agent is None else agent,
            strategy=options.get("strategy"),
        )
        return self.session(user=key.user, session=key.session, agent=key.agent, tenant=key.tenant, **options)

    async def sessions(
        self,
        *,
        user: str | None = None,
        agent: str | None = None,
        tenant: str | None = None,
        limit: int = 50,
        before: UUID | None = None,
    ) -> Sequence[SessionRow]:
        """Sessions, the last used first.

        Args:
            user: only theirs.
            agent: only conversations with this agent.
            tenant: None = the configured default.
            limit: 1 to 1000.
            before: those behind the one with this id (`SessionRow.id`), for the next page.

        Raises:
            InvalidInput: a limit out of range, or a name that cannot be.
            NotFound: `before` is no session of the user.

        """
        return await self._services.sessions.list(
            tenant_of(self._services, tenant), user=user, agent=agent, limit=limit, before=before
        )

    async def search(
        self,
        query: str,
        *,
        user: str,
        agent: str | None = None,
        session: str | None = None,
        tenant: str | None = None,
        limit: int = 10,
        kinds: Collection[str] = ("messages",),
    ) -> SearchResult:
        """What answers the query, by its words and by what it means, best first.

        Args:
            query: free text; nothing in it is search syntax.
            user: who asks: own messages and chunks, own facts and what others share.
            agent: only conversations with this agent, and what it learned.
            session: only this session.
            tenant: None = the configured default.
            limit: of each kind; 1 to 200.
            kinds: some of "messages", "facts" and "chunks".

        Raises:
            InvalidInput: an over-long query, a limit out of range, or a kind that there is not.

        """
        settings = self._services.settings
        return await self._services.search.search(
            query,
            tenant=tenant_of(self._services, tenant),
            user=user,
            agent=agent or (settings.agent if session is not None else None),
            session=session,
            limit=limit,
            kinds=kinds,
        )

    async def receipt(self, receipt_id: UUID, *, user: str | None = None, tenant: str | None = None) -> ReceiptState:
        """What became of an append: appended, summarised, elided or erased.

        Raises:
            NotFound: no such receipt; with `user`, none of theirs, or of a session that was erased as a whole.

        """
        return await self._services.sessions.receipt(tenant_of(self._services, tenant), receipt_id, user=user)

    async def export(
        self,
        *,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        tenant: str | None = None,
    ) -> AsyncGenerator[str]:
        """Everything that is remembered, as lines of JSON that `restore` reads; each ends with its line feed.

        Every session is one moment of its past, whatever happens meanwhile. The same data gives the same lines.

        Args:
            user: only this user's; None = everybody's.
            agent: only with this agent.
            session: only conversations of this name.
            tenant: None = the configured default.

        """
        scope = Scope(tenant=tenant_of(self._services, tenant), user=user, agent=agent, session=session)
        async with aclosing(self._services.export.lines(scope)) as lines:
            async for line in lines:
                yield line

    async def restore(
        self,
        source: str | PathLike[str] | Iterable[str] | AsyncIterable[str],
        *,
        user: str | None = None,
        tenant: str | None = None,
    ) -> ImportReport:
        """Put an export back: sessions, messages and summaries with their ids and times; again brings nothing.

        Args:
            source: the path of a file, or the lines, such as those of another memory's `export`.
            user: another name for the only user of the export.
            tenant: None = the configured default.

        Returns:
            How many `sessions` the export holds, how many `messages` were new, and how many were `held` already.

        Raises:
            InvalidInput: the export is not whole, was altered, or is of a later version (then nothing was written); or
                a session here holds something else (then all others are in).
            StoreError: the database failed; what was written stays, and restoring again goes on there.

        """
        async with source_of(source) as found:
            return await self._services.restore.restore(found, tenant=tenant_of(self._services, tenant), user=user)

    def talker(self, agent: str | None = None) -> Talker | None:
        """The chat model that answers for an agent, and how it is asked; None: none is configured.

        Args:
            agent: None = the configured default.

        """
        chat = self._services.chat
        return chat.talker_by_agent.get(self._services.settings.agent if agent is None else agent, chat.talker)

    async def stats(self, *, user: str | None = None, tenant: str | None = None) -> Mapping[str, Any]:
        """How many summaries were made, by which method, and how long they took."""
        return await self._services.sessions.stats(tenant_of(self._services, tenant), user=user)

    async def figures(self, *, stuck_seconds: float = 300.0) -> Figures:
        """How much there is of everything, of all tenants together: for monitoring, and nothing of anybody.

        Args:
            stuck_seconds: jobs that should have moved that long ago are stuck.

        """
        return await self._services.jobs.figures(stuck_seconds=stuck_seconds)

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
