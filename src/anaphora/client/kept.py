"""What is kept beside the log, of a memory that a service keeps: documents, notepads, topics, and for how long."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Final
from uuid import UUID

import anyio
from pydantic import TypeAdapter

from anaphora.client.doorman import Who
from anaphora.client.wire import Wire
from anaphora.domain.documents import Document
from anaphora.domain.filters import Filter
from anaphora.domain.messages import Message
from anaphora.domain.notepad import Page
from anaphora.domain.search import DocumentResult
from anaphora.domain.topics import Segment
from anaphora.errors import InvalidInput, NotFound
from anaphora.memory import KnowledgeView, NotepadView, RetentionView, TopicsView
from anaphora.ports.rows import SessionRow
from anaphora.rules.filters import filter_text
from anaphora.rules.retention import Retention
from anaphora.services.defaults import Defaults
from anaphora.services.retention import Swept

_DOCUMENT: Final = TypeAdapter(Document)
_DOCUMENTS: Final = TypeAdapter(Sequence[Document])
_FOUND: Final = TypeAdapter(DocumentResult)
_PAGE: Final = TypeAdapter(Page)
_MAYBE: Final = TypeAdapter(Page | None)
_PAGES: Final = TypeAdapter(Sequence[Page])
_SEGMENTS: Final = TypeAdapter(Sequence[Segment])
_TOPIC: Final = TypeAdapter(tuple[Segment, Sequence[Message]])
_ROWS: Final = TypeAdapter(Sequence[SessionRow])
_NOTHING: Final = TypeAdapter[None](None)


class RemoteKnowledge(KnowledgeView):
    """Documents beside the log, with the methods of `KnowledgeView`; namespaces are not reached from afar."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def add(
        self,
        text: str | None = None,
        *,
        path: str | PathLike[str] | None = None,
        user: str | None = None,
        namespace: Sequence[str] | None = None,
        title: str | None = None,
        doc_type: str = "document",
        metadata: Mapping[str, Any] | None = None,
        key: str | None = None,
        tenant: str | None = None,
    ) -> Document:
        """Keep a text, or the text of a file of this machine; what is there already is not kept twice."""
        who = _whose(user, namespace, tenant)
        if (text is None) == (path is None):
            raise InvalidInput("give either a text or a path")
        said = {"title": title, "doc_type": doc_type, "metadata": metadata, "key": key}
        if path is None:
            body = {"text": text, **said}
            return await self._wire.ask(_DOCUMENT, "POST", "knowledge", who=who, body=body, harmless=True)
        file = anyio.Path(path)
        fields = {name: value for name, value in said.items() if isinstance(value, str)}
        if metadata is not None:
            fields["metadata"] = json.dumps(metadata)
        files = {"file": (file.name, await file.read_bytes())}
        return await self._wire.ask(_DOCUMENT, "POST", "knowledge", "files", who=who, files=files, data=fields)

    async def search(
        self,
        query: str,
        *,
        user: str | None = None,
        namespace: Sequence[str] | None = None,
        doc_type: str | None = None,
        where: Filter | str | None = None,
        limit: int = 10,
        tenant: str | None = None,
    ) -> DocumentResult:
        """The chunks of documents that answer the query, best first."""
        who = _whose(user, namespace, tenant)
        body = {"query": query, "doc_type": doc_type, "where": _text(where), "limit": limit}
        return await self._wire.ask(_FOUND, "POST", "knowledge", "search", who=who, body=body, harmless=True)

    async def list(
        self,
        *,
        user: str | None = None,
        namespace: Sequence[str] | None = None,
        doc_type: str | None = None,
        where: Filter | str | None = None,
        limit: int = 50,
        before: UUID | str | None = None,
        tenant: str | None = None,
    ) -> Sequence[Document]:
        """Documents without their contents, the last that were added first."""
        who = _whose(user, namespace, tenant)
        params = {"doc_type": doc_type, "where": _text(where), "limit": limit, "before": before}
        return await self._wire.ask(_DOCUMENTS, "GET", "knowledge", who=who, params=params)

    async def get(
        self,
        document_id: UUID | str,
        *,
        user: str | None = None,
        namespace: Sequence[str] | None = None,
        tenant: str | None = None,
    ) -> Document:
        """A document with its content."""
        return await self._wire.ask(_DOCUMENT, "GET", "knowledge", document_id, who=_whose(user, namespace, tenant))

    async def update(
        self,
        document_id: UUID | str,
        *,
        text: str | None = None,
        title: str | None = None,
        doc_type: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        user: str | None = None,
        namespace: Sequence[str] | None = None,
        tenant: str | None = None,
    ) -> Document:
        """Change what a document says, or what is said of it; what is None stays as it is."""
        who = _whose(user, namespace, tenant)
        body = {"text": text, "title": title, "doc_type": doc_type, "metadata": metadata}
        return await self._wire.ask(_DOCUMENT, "PATCH", "knowledge", document_id, who=who, body=body)

    async def delete(
        self,
        document_id: UUID | str,
        *,
        user: str | None = None,
        namespace: Sequence[str] | None = None,
        tenant: str | None = None,
    ) -> bool:
        """Leave nothing of a document. False if it is not there."""
        who = _whose(user, namespace, tenant)
        try:
            await self._wire.ask(_NOTHING, "DELETE", "knowledge", document_id, who=who)
        except NotFound:
            return False
        return True


class RemoteNotepad(NotepadView):
    """What agents note of their sessions with users, with the methods of `NotepadView`."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def show(self, *, user: str, agent: str | None = None, tenant: str | None = None) -> Page | None:
        """What the notepad says: its newest page."""
        who = Who(user=user, tenant=tenant)
        return await self._wire.ask(_MAYBE, "GET", "notepad", who=who, params={"agent": agent})

    async def history(
        self,
        *,
        user: str,
        agent: str | None = None,
        limit: int = 20,
        before: int | None = None,
        tenant: str | None = None,
    ) -> Sequence[Page]:
        """Every page, newest first."""
        who, params = Who(user=user, tenant=tenant), {"agent": agent, "limit": limit, "before": before}
        return await self._wire.ask(_PAGES, "GET", "notepad", "history", who=who, params=params)

    async def edit(self, text: str, *, user: str, agent: str | None = None, tenant: str | None = None) -> Page:
        """Write the next page as the user wants it; an empty text takes everything out."""
        who, params = Who(user=user, tenant=tenant), {"agent": agent}
        return await self._wire.ask(_PAGE, "PUT", "notepad", who=who, params=params, body={"text": text})

    async def revert(self, version: int, *, user: str, agent: str | None = None, tenant: str | None = None) -> Page:
        """Write an earlier page again, as the next one."""
        who, params = Who(user=user, tenant=tenant), {"agent": agent}
        return await self._wire.ask(
            _PAGE, "POST", "notepad", "revert", who=who, params=params, body={"version": version}
        )


class RemoteTopics(TopicsView):
    """What sessions of the strategy `topics` are cut into, with the methods of `TopicsView`."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def list(
        self,
        *,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        tenant: str | None = None,
        limit: int = 50,
    ) -> Sequence[Segment]:
        """Topics, newest first: of one session, or of the sessions that were last used."""
        path = ("topics",) if session is None else ("sessions", session, "topics")
        params = {"agent": agent, "limit": limit}
        return await self._wire.ask(_SEGMENTS, "GET", *path, who=Who(user=user, tenant=tenant), params=params)

    async def show(
        self, seq: int, *, user: str, session: str, agent: str | None = None, tenant: str | None = None
    ) -> tuple[Segment, Sequence[Message]]:
        """The topic that holds a message of the session, and all messages of it that are not deleted."""
        path = ("sessions", session, "topics", seq)
        return await self._wire.ask(_TOPIC, "GET", *path, who=Who(user=user, tenant=tenant), params={"agent": agent})


class RemoteRetention(RetentionView):
    """How long sessions are kept that nobody uses, with the methods of `RetentionView` but for `run`."""

    def __init__(self, wire: Wire, defaults: Defaults | None) -> None:
        self._wire = wire
        self._defaults = defaults

    def policy(self) -> Retention:
        """What was configured when the client was opened.

        Raises:
            InvalidInput: it was opened for many users, each with a key of their own.

        """
        if self._defaults is None:
            raise InvalidInput("what is configured is told to one key alone: open a client with the key of a user")
        return self._defaults.retention

    async def expired(
        self, *, user: str | None = None, limit: int = 50, tenant: str | None = None
    ) -> Sequence[SessionRow]:
        """Sessions that are out of sight and can be brought back, the last that expired first."""
        who = Who(user=user, tenant=tenant)
        return await self._wire.ask(_ROWS, "GET", "retention", "expired", who=who, params={"limit": limit})

    async def keep(
        self, days: float | None, *, user: str, session: str, agent: str | None = None, tenant: str | None = None
    ) -> None:
        """Keep one session for so many silent days; None: for as long as its agent's are kept."""
        path, who = ("retention", "sessions", session), Who(user=user, tenant=tenant)
        await self._wire.ask(_NOTHING, "PUT", *path, who=who, params={"agent": agent}, body={"days": days})

    async def restore(self, *, user: str, session: str, agent: str | None = None, tenant: str | None = None) -> None:
        """Bring an expired session back, as if it had been used now."""
        path, who = ("retention", "sessions", session, "restore"), Who(user=user, tenant=tenant)
        await self._wire.ask(_NOTHING, "POST", *path, who=who, params={"agent": agent})

    async def run(self, *, tenant: str | None = None) -> Swept:
        """Not offered.

        Raises:
            InvalidInput: always.

        """
        del tenant
        raise InvalidInput("the service lets sessions expire by itself, every minute: there is nothing to run")


def _whose(user: str | None, namespace: Sequence[str] | None, tenant: str | None) -> Who:
    if namespace is not None:
        raise InvalidInput("a service shows documents of persons: give a user, or open the memory itself")
    return Who(user=user, tenant=tenant)


def _text(where: Filter | str | None) -> str | None:
    return where if where is None or isinstance(where, str) else filter_text(where)
