"""A memory that a service keeps: `Client` has the methods of `Memory`."""

from __future__ import annotations

from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from itertools import islice
from os import PathLike
from typing import Any, Final, Self
from uuid import UUID

import anyio
import anyio.to_thread
import httpx2
from pydantic import TypeAdapter

from anaphora.client.doorman import Keyring, Who
from anaphora.client.facts import RemoteFacts, RemoteSubjects
from anaphora.client.following import RemoteListening, RemoteResting
from anaphora.client.kept import RemoteKnowledge, RemoteNotepad, RemoteRetention, RemoteTopics
from anaphora.client.session import ROW, RemoteSession
from anaphora.client.tended import RemoteAudit, RemoteJobs, RemoteKeys
from anaphora.client.wire import Wire
from anaphora.domain.erasure import Erasure, ErasureReport
from anaphora.domain.figures import Figures
from anaphora.domain.jobs import JobState
from anaphora.domain.keys import SessionKey
from anaphora.domain.messages import ReceiptState
from anaphora.domain.search import SearchResult
from anaphora.errors import InvalidInput
from anaphora.memory import GRACE, Memory
from anaphora.memory.erasing import target_of
from anaphora.ports.rows import SessionRow
from anaphora.services.chat import Talker
from anaphora.services.defaults import Defaults
from anaphora.services.importing.run import ImportReport
from anaphora.services.importing.sources import source_of

_DEFAULTS: Final = TypeAdapter(Defaults)
_ROWS: Final = TypeAdapter(Sequence[SessionRow])
_RESULT: Final = TypeAdapter(SearchResult)
_STATE: Final = TypeAdapter(ReceiptState)
_REPORT: Final = TypeAdapter(ImportReport)
_ERASED: Final = TypeAdapter(ErasureReport)
_ERASURES: Final = TypeAdapter(Sequence[Erasure])
_STATS: Final = TypeAdapter(dict[str, Any])
#: seconds between two looks at jobs
_MOST_JOBS: Final = 1000
#: lines of an export that are sent at once
_AT_ONCE: Final = 500
_PAUSE: Final = 0.05


class Client(RemoteListening, RemoteResting, Memory):
    """Everything that a service remembers. Open it with `Client.open`; it has the methods of `Memory`."""

    def __init__(self, wire: Wire, agent: str, defaults: Defaults | None) -> None:
        self._wire = wire
        self._agent = agent
        self._closed = anyio.Event()
        #: background work: list it, try failed jobs again
        self.jobs = RemoteJobs(wire)
        #: what is known of users: see, add, correct, share, delete it
        self.facts = RemoteFacts(wire)
        #: whom or what facts are about, and with whom they are shared
        self.subjects = RemoteSubjects(wire)
        #: what sessions of the strategy `topics` are cut into
        self.topics = RemoteTopics(wire)
        #: documents beside the log: add, find, change, take out
        self.knowledge = RemoteKnowledge(wire)
        #: what agents note of their sessions with users: see, rewrite, go back
        self.notepad = RemoteNotepad(wire)
        #: how long sessions are kept that nobody uses
        self.retention = RemoteRetention(wire, defaults)
        #: keys with which the service lets people in
        self.keys = RemoteKeys(wire)
        #: what was changed through the service, and in whose name
        self.audit = RemoteAudit(wire)

    @classmethod
    @asynccontextmanager
    async def open(  # type: ignore[override]  # what a file needs, a service does not, and the other way round
        cls,
        url: str,
        *,
        key: str | Keyring | None = None,
        tenant: str = "default",
        agent: str | None = None,
        timeout: float = 30.0,
        patience: float = 10.0,
        connections: int = 20,
        http: httpx2.AsyncClient | None = None,
    ) -> AsyncIterator[Self]:
        """Talk to a service.

        Args:
            url: where it is, such as `https://memory.example.org`; a path before `/v1` belongs to it.
            key: a key (`anaphora keys create`) or a JWT, which acts for one user; or a function that gives the one of
                a user and a tenant, for programs that talk to many users; None: the service wants none.
            tenant: of users whose tenant nobody names; with one key it is that of the key.
            agent: with whom conversations are that name nobody; None: the service's default, or with a function for
                `key`, "default".
            timeout: seconds for an answer to begin, or to go on; answers of models may take longer.
            patience: seconds for which a request is tried again that the service could not answer.
            connections: how many there are at most.
            http: sends the requests instead, with your own proxies and certificates; it is closed at the end.

        Raises:
            ConfigError: the key lets nobody in.
            StoreError: there is no service at the URL.
            InvalidInput: that is no URL.

        """
        base = _checked(url)
        if http is None:
            http = httpx2.AsyncClient(
                limits=httpx2.Limits(max_connections=connections), timeout=httpx2.Timeout(timeout, pool=None)
            )
        http.base_url = base
        async with http:
            wire = Wire(http, key, tenant=tenant, patience=patience)
            await wire.doorman.open()
            defaults = None
            if wire.doorman.only is not None:
                defaults = await wire.ask(_DEFAULTS, "GET", "defaults", who=Who())
            named = agent or (defaults.agent if defaults is not None else "default")
            memory = cls(wire, named, defaults)
            try:
                yield memory
            finally:
                with anyio.CancelScope(shield=True):
                    await memory.close()

    async def close(self, grace: float = GRACE) -> None:
        """Let go of the connections; who waits for `changes` waits no more. The service goes on working."""
        del grace
        self._closed.set()
        await self._wire.close()

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
    ) -> RemoteSession:
        """One conversation, by its name; nothing is read or written yet.

        Raises:
            InvalidInput: an empty or impossible name, or `instructions`, which are set where the service runs.

        """
        if instructions is not None:
            raise InvalidInput("instructions are system text of whoever runs the service: set them there, by agent")
        key = SessionKey(
            tenant=self._wire.doorman.tenant if tenant is None else tenant,
            user=user,
            agent=self._agent if agent is None else agent,
            session=session,
        )
        return RemoteSession(self._wire, key, subject=subject, strategy=strategy)

    async def new_session(
        self,
        *,
        user: str,
        agent: str | None = None,
        tenant: str | None = None,
        **options: Any,  # noqa: ANN401
    ) -> RemoteSession:
        """A new conversation, named by the user's next number; `options` as in `session`."""
        if options.get("instructions") is not None:
            raise InvalidInput("instructions are system text of whoever runs the service: set them there, by agent")
        params = {"agent": self._agent if agent is None else agent}
        body = {"strategy": options.get("strategy")}
        row = await self._wire.ask(ROW, "POST", "sessions", who=Who(user=user, tenant=tenant), params=params, body=body)
        key = row.key
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
        """Sessions of the user, or of the one whose key there is, the last used first; `before` as in `Memory`."""
        params = {"agent": agent, "limit": limit, "before": before}
        return await self._wire.ask(_ROWS, "GET", "sessions", who=Who(user=user, tenant=tenant), params=params)

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
        """What answers the query, by its words and by what it means, best first."""
        params = {"q": query, "agent": agent, "session": session, "limit": limit, "kinds": [*kinds]}
        return await self._wire.ask(_RESULT, "GET", "search", who=Who(user=user, tenant=tenant), params=params)

    async def receipt(self, receipt_id: UUID, *, user: str | None = None, tenant: str | None = None) -> ReceiptState:
        """What became of an append."""
        return await self._wire.ask(_STATE, "GET", "receipts", receipt_id, who=Who(user=user, tenant=tenant))

    async def export(
        self,
        *,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        tenant: str | None = None,
    ) -> AsyncGenerator[str]:
        """Everything that is remembered of a user, as lines of JSON that `restore` reads."""
        params = {"agent": agent, "session": session}
        opened = self._wire.stream("GET", "export", who=Who(user=user, tenant=tenant), params=params)
        async with opened as lines:
            async for line in lines:
                yield line + "\n"

    async def restore(
        self,
        source: str | PathLike[str] | Iterable[str] | AsyncIterable[str],
        *,
        user: str | None = None,
        tenant: str | None = None,
    ) -> ImportReport:
        """Put an export of one user back; again brings nothing."""
        async with source_of(source) as found:
            with found.open() as lines:
                return await self._wire.ask(
                    _REPORT,
                    "POST",
                    "restore",
                    who=Who(user=user, tenant=tenant),
                    content=_sent(lines),
                    headers={"Content-Type": "application/x-ndjson"},
                )

    async def erase(
        self,
        *,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        message: int | UUID | str | None = None,
        fact: UUID | str | None = None,
        source: str | None = None,
        dry_run: bool = False,
        asked_by: str = "library",
        tenant: str | None = None,
    ) -> ErasureReport:
        """Erase for good. The account names the key with which it was asked, and not `asked_by`."""
        del asked_by
        only = self._wire.doorman.only
        target = target_of(
            user=only.user if user is None and only is not None else user,
            agent=self._agent if agent is None else agent,
            session=session,
            message=message,
            fact=fact,
            source=source,
        )
        body = {
            "session": target.session,
            "agent": None if target.session is None else target.agent,
            "message": target.id if message is not None and target.seq is None else target.seq,
            "fact": target.id if fact is not None else None,
            "source": source,
            "everything": session is None and message is None and fact is None and source is None,
            "dry_run": dry_run,
        }
        return await self._wire.ask(
            _ERASED, "POST", "erase", who=Who(user=user, tenant=tenant), body=body, harmless=dry_run
        )

    async def erasures(self, *, limit: int = 50, tenant: str | None = None) -> Sequence[Erasure]:
        """The account of erasures, newest first; for operators."""
        return await self._wire.ask(_ERASURES, "GET", "erasures", who=Who(tenant=tenant), params={"limit": limit})

    def talker(self, agent: str | None = None) -> Talker | None:
        """Not offered.

        Raises:
            InvalidInput: always.

        """
        del agent
        raise InvalidInput("models are asked where the service runs: `send` and `stream` do that")

    async def stats(self, *, user: str | None = None, tenant: str | None = None) -> Mapping[str, Any]:
        """How many summaries were made, by which method, and how long they took."""
        return await self._wire.ask(_STATS, "GET", "stats", who=Who(user=user, tenant=tenant))

    async def figures(self, *, stuck_seconds: float = 300.0) -> Figures:
        """Not offered.

        Raises:
            InvalidInput: always.

        """
        del stuck_seconds
        raise InvalidInput("the service tells its figures to Prometheus, under /metrics")

    async def idle(self, timeout: float = 60.0) -> bool:
        """Wait until no job is due or running, as far as this key shows them; False after `timeout` seconds."""
        with anyio.move_on_after(timeout):
            while await self._busy():
                with anyio.move_on_after(_PAUSE):
                    await self._closed.wait()
            return True
        return False

    async def work(self) -> int:
        """Not offered.

        Raises:
            InvalidInput: always.

        """
        raise InvalidInput("the service works by itself: `idle` waits until it is done")

    async def _busy(self) -> bool:
        live = await self.jobs.list(states=(JobState.QUEUED, JobState.RUNNING), limit=_MOST_JOBS)
        return any(job.run_at <= datetime.now(UTC) for job in live)


async def _sent(lines: Iterator[str]) -> AsyncIterator[bytes]:
    """Pieces of a file that is read in another thread."""
    while piece := await anyio.to_thread.run_sync(_some, lines):
        yield piece


def _some(lines: Iterator[str]) -> bytes:
    return "".join(line if line.endswith("\n") else line + "\n" for line in islice(lines, _AT_ONCE)).encode()


def _checked(url: str) -> httpx2.URL:
    try:
        base = httpx2.URL(url)
    except (httpx2.InvalidURL, TypeError):
        base = None
    if base is None or base.scheme not in {"http", "https"} or not base.host:
        raise InvalidInput(f"no URL of a service: {url!r}; such as http://127.0.0.1:8765")
    return base
