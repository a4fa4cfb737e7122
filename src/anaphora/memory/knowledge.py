"""The knowledge base as the public API shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any
from uuid import UUID

from anaphora.bootstrap import Services
from anaphora.domain.documents import Document, Namespace, checked_namespace, conversations_of, user_namespace
from anaphora.domain.filters import Filter
from anaphora.domain.search import DocumentResult
from anaphora.errors import InvalidInput, NotFound
from anaphora.memory.scope import tenant_of
from anaphora.ports.documents import Shelf
from anaphora.rules.filters import parse_filter
from anaphora.services.documents import Change, NewDocument


class KnowledgeView:
    """Documents beside the log. Each is in a namespace: that of a user, or any list of names.

    Every method takes either `user` or `namespace`. With `user`, what is added goes to `("user", user)`; what is asked
    for is looked for there and among the archived sessions of the user, `("conversations", user)`.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._documents = services.documents

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
        """Keep a text, or the text of a file; what is there already, word for word, is not kept twice.

        It is found by its words at once, and by what it means as soon as the worker has embedded it.

        Args:
            text: what it says.
            path: instead of a text, a file on this machine: plain text, Markdown, HTML or PDF.
            user: whose document it is.
            namespace: instead of a user, 1 to 8 names.
            title: None = what the file calls itself, or how it begins.
            doc_type: what kind of document it is, to list and to search by.
            metadata: a flat JSON object, to filter by; see docs/how-to/knowledge.md.
            key: a name: added again under it, the document is replaced. Without one it is known by its content.
            tenant: None = the configured default.

        Raises:
            InvalidInput: a file that cannot be read as text, or something that cannot be kept; nothing was written.
            MissingExtra: the packages for the kind of file are not installed.

        """
        where, (place, *_) = tenant_of(self._services, tenant), _places(user, namespace)
        new = NewDocument(title=title, doc_type=doc_type, metadata=metadata, key=key)
        if (text is None) == (path is None):
            raise InvalidInput("give either a text or a path")
        if path is not None:
            kept = await self._documents.add_file(where, place, path, new)
        else:
            kept = await self._documents.add_text(where, place, text or "", new)
        return kept.document

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
        """The chunks of documents that answer the query, by their words and by what they mean, best first.

        Args:
            query: free text; nothing in it is search syntax.
            user: whose documents and archived sessions.
            namespace: instead of a user, the documents of this namespace.
            doc_type: only of this kind, such as "conversation".
            where: only documents whose metadata it holds for, such as `author = "Ann" and tags contains "api"`.
            limit: 1 to 200.
            tenant: None = the configured default.

        Raises:
            InvalidInput: an over-long query, a filter that cannot be read, or a limit out of range.

        """
        return await self._documents.search(self._shelf(tenant, user, namespace, doc_type, where), query, limit=limit)

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
        """Documents without their contents, the last that were added first.

        Args:
            user: whose documents and archived sessions.
            namespace: instead of a user, the documents of this namespace.
            doc_type: only of this kind.
            where: only those whose metadata it holds for.
            limit: 1 to 1,000.
            before: those that came before this document, for the next page.
            tenant: None = the configured default.

        Raises:
            InvalidInput: a filter that cannot be read, or a limit out of range.

        """
        shelf = self._shelf(tenant, user, namespace, doc_type, where)
        return await self._documents.list(shelf, limit=limit, before=None if before is None else _id(before))

    async def get(
        self,
        document_id: UUID | str,
        *,
        user: str | None = None,
        namespace: Sequence[str] | None = None,
        tenant: str | None = None,
    ) -> Document:
        """A document with its content.

        Raises:
            NotFound: there is no such document in the namespace, or none of the user.
            InvalidInput: a text that is no id.

        """
        where, wanted = tenant_of(self._services, tenant), _id(document_id)
        *first, last = _places(user, namespace)
        for place in first:
            try:
                return await self._documents.get(where, place, wanted)
            except NotFound:
                continue
        return await self._documents.get(where, last, wanted)

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
        """Change what a document says, or what is said of it; what is None stays as it is. Metadata is replaced whole.

        Raises:
            NotFound: there is no such document in the namespace, or none of the user.
            InvalidInput: it cannot be kept so, or another document of the namespace says the same.
            StoreError: somebody else changed it at the same time.

        """
        old = await self.get(document_id, user=user, namespace=namespace, tenant=tenant)
        change = Change(text=text, title=title, doc_type=doc_type, metadata=metadata)
        return await self._documents.update(tenant_of(self._services, tenant), old.namespace, old.id, change)

    async def delete(
        self,
        document_id: UUID | str,
        *,
        user: str | None = None,
        namespace: Sequence[str] | None = None,
        tenant: str | None = None,
    ) -> bool:
        """Leave nothing of a document: not its text, its words, nor what it means. False if it is not there."""
        where, wanted = tenant_of(self._services, tenant), _id(document_id)
        gone = [await self._documents.delete(where, place, wanted) for place in _places(user, namespace)]
        return any(gone)

    def _shelf(
        self,
        tenant: str | None,
        user: str | None,
        namespace: Sequence[str] | None,
        doc_type: str | None,
        where: Filter | str | None,
    ) -> Shelf:
        return Shelf(
            tenant=tenant_of(self._services, tenant),
            namespaces=_places(user, namespace),
            doc_types=None if doc_type is None else (doc_type,),
            where=parse_filter(where) if isinstance(where, str) else where,
        )


def _places(user: str | None, namespace: Sequence[str] | None) -> tuple[Namespace, ...]:
    """Where documents are; what is added goes to the first."""
    if (user is None) == (namespace is None):
        raise InvalidInput("say whose documents are meant: give either a user or a namespace")
    if namespace is not None:
        return (checked_namespace(namespace),)
    return user_namespace(user or ""), conversations_of(user or "")


def _id(given: UUID | str) -> UUID:
    """The id, which tools hand out as text."""
    if isinstance(given, UUID):
        return given
    try:
        return UUID(given)
    except (ValueError, AttributeError, TypeError):
        raise InvalidInput(f"{given!r} is no id of a document") from None
