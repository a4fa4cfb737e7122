"""The knowledge base: documents are added, found, changed and taken out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from os import PathLike
from typing import Final
from uuid import UUID

import anyio
import anyio.to_thread

from anaphora.domain.documents import (
    Document,
    DocumentChunk,
    Metadata,
    Namespace,
    checked_metadata,
    checked_namespace,
    checked_title,
    checked_type,
    hash_of,
)
from anaphora.domain.filters import checked_filter
from anaphora.domain.keys import SessionKey, check_limit, checked_id, checked_text, uuid7
from anaphora.domain.messages import Trust
from anaphora.domain.search import DocumentHit, DocumentResult
from anaphora.errors import InvalidInput, NotFound, StoreError
from anaphora.ports.clock import Clock, Failpoint, Randomness
from anaphora.ports.documents import ChunkMatches, KeptDocument, NearChunk, Shelf
from anaphora.ports.models import TokenCounter
from anaphora.ports.parsing import Parser
from anaphora.ports.rows import VectorMatch, WordMatch, WordMatches
from anaphora.ports.store import Store, Unit
from anaphora.rules.documents import Chunking, cut
from anaphora.rules.evidence import Evidence, weigh
from anaphora.services.retrieve import MAX_LIMIT, Asked, Retrieve, relevance, space_of

#: candidates that each of the two searches names
_BY_WORDS: Final = 300
_BY_MEANING: Final = 300
#: characters of a title that is taken from the text
_TITLE: Final = 80
_MOST_NAMESPACES: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDocument:
    """What is said of a document that is added."""

    #: None: what the file calls itself, its name, or the beginning of the text
    title: str | None = None
    doc_type: str = "document"
    metadata: Metadata | None = None
    #: a name by which it is replaced when it is added again; None: it is known by its content
    key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What becomes of a document; None leaves as it is."""

    text: str | None = None
    title: str | None = None
    doc_type: str | None = None
    metadata: Metadata | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Text:
    """A text to be kept."""

    content: str
    title: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Documents:
    """Documents in their namespaces. Every change is one transaction; files are read before it begins."""

    store: Store
    retrieve: Retrieve
    parser: Parser
    counter: TokenCounter
    clock: Clock
    randomness: Randomness
    failpoint: Failpoint
    chunking: Chunking
    #: bytes that a text may have
    max_text_bytes: int
    #: seconds that reading a file may take
    max_seconds: float

    async def add_text(self, tenant: str, namespace: Namespace, text: str, new: NewDocument) -> KeptDocument:
        """Keep a text.

        Raises:
            InvalidInput: it is empty, too long or no valid text; or something that is said of it cannot be kept.

        """
        if not checked_text(text, "the text").strip():
            raise InvalidInput("the text is empty")
        return await self._add(tenant, namespace, _Text(content=text, title=_beginning(text), source="api"), new)

    async def add_file(
        self, tenant: str, namespace: Namespace, path: str | PathLike[str], new: NewDocument
    ) -> KeptDocument:
        """Keep the text of a file on this machine: plain text, Markdown, HTML or PDF.

        Raises:
            InvalidInput: it cannot be read, or is too large, broken, encrypted, binary or empty; nothing was written.
            MissingExtra: the packages for its kind are not installed.

        """
        checked_namespace(namespace)
        read = partial(self.parser.read, path)
        parsed = None
        # the parser looks at the clock itself; this is for a disk that does not answer
        with anyio.move_on_after(self.max_seconds * 1.2):
            parsed = await anyio.to_thread.run_sync(read, abandon_on_cancel=True)
        if parsed is None:
            raise InvalidInput("the file takes too long to read (the setting knowledge.max_seconds)")
        title = parsed.title or _beginning(parsed.text)
        return await self._add(tenant, namespace, _Text(content=parsed.text, title=title, source="file"), new)

    async def _add(self, tenant: str, namespace: Namespace, text: _Text, new: NewDocument) -> KeptDocument:
        checked_namespace(namespace)
        now = self.clock.now()
        document, chunks = await self._made(
            Document(
                id=uuid7(now, self.randomness(10)),
                namespace=namespace,
                key=None if new.key is None else checked_id(new.key, "the key"),
                title=checked_title(text.title if new.title is None else new.title),
                doc_type=checked_type(new.doc_type),
                metadata=checked_metadata({} if new.metadata is None else new.metadata),
                content_hash="",
                content=text.content,
                tokens=0,
                chunks=0,
                trust=Trust.OTHER,
                source=text.source,
                created_at=now,
                updated_at=now,
            )
        )
        kept = await self.store.write(tenant, lambda unit: unit.documents.put(tenant, document, chunks))
        self.failpoint("document.kept")
        return kept

    async def _made(self, document: Document) -> tuple[Document, Sequence[DocumentChunk]]:
        """The document with what follows from its content, and its chunks."""
        content = document.content or ""
        if not content.strip():
            raise InvalidInput("the document is empty")
        if len(content.encode()) > self.max_text_bytes:
            raise InvalidInput(
                f"the text is too long: it may have {self.max_text_bytes} bytes (the setting knowledge.max_text_bytes)"
            )
        count = self.counter.count
        chunks = await anyio.to_thread.run_sync(cut, document.id, content, self.chunking, count)
        made = replace(
            document,
            content_hash=hash_of(content),
            tokens=_tokens(content, chunks, count),
            chunks=len(chunks),
        )
        return made, chunks

    async def update(self, tenant: str, namespace: Namespace, document_id: UUID, change: Change) -> Document:
        """Change what a document says, or what is said of it.

        Raises:
            NotFound: there is no such document in the namespace.
            InvalidInput: it cannot be kept so, or another document of the namespace says the same.
            StoreError: somebody else changed it at the same time.

        """
        old = await self.get(tenant, namespace, document_id)
        wanted = replace(
            old,
            content=old.content if change.text is None else checked_text(change.text, "the text"),
            title=old.title if change.title is None else checked_title(change.title),
            doc_type=old.doc_type if change.doc_type is None else checked_type(change.doc_type),
            metadata=old.metadata if change.metadata is None else checked_metadata(change.metadata),
        )
        if wanted == old:
            return old
        new, chunks = await self._made(replace(wanted, updated_at=self.clock.now()))
        found = await self.store.write(tenant, lambda unit: unit.documents.replace(tenant, old, new, chunks))
        self.failpoint("document.changed")
        if found is None:
            raise StoreError("somebody else changed the document at the same time: try again")
        return found

    async def delete(self, tenant: str, namespace: Namespace, document_id: UUID) -> bool:
        """Leave nothing of a document; False if it is not there."""
        checked_namespace(namespace)
        gone = await self.store.write(tenant, lambda unit: unit.documents.delete(tenant, namespace, document_id))
        self.failpoint("document.deleted")
        return gone

    async def get(self, tenant: str, namespace: Namespace, document_id: UUID) -> Document:
        """A document with its content.

        Raises:
            NotFound: there is no such document in the namespace.

        """
        checked_namespace(namespace)
        found = await self.store.read(tenant, lambda unit: unit.documents.get(tenant, namespace, document_id))
        if found is None:
            raise NotFound(f"there is no document {document_id} in this namespace")
        return found

    async def list(self, shelf: Shelf, *, limit: int = 50, before: UUID | None = None) -> Sequence[Document]:
        """Documents without their contents, the newest first; with `before`, those that came before that one.

        Raises:
            InvalidInput: a limit out of range, or a filter that cannot be asked.

        """
        check_limit(limit)
        _check(shelf)
        return await self.store.read(shelf.tenant, lambda unit: unit.documents.list(shelf, limit=limit, before=before))

    async def search(self, shelf: Shelf, query: str, *, limit: int = 10) -> DocumentResult:
        """The chunks that answer a question, best first; whoever reranks is asked when the transaction is over.

        Raises:
            InvalidInput: an over-long query, a limit out of range, or a filter that cannot be asked.

        """
        check_limit(limit, MAX_LIMIT)
        _check(shelf)
        asked, reranking = await self.retrieve.ask(query), self.retrieve.reranking
        most = max(limit, reranking.looks_at)
        found = await self.store.read(shelf.tenant, lambda unit: self.look(unit, asked, shelf, most))
        hits, late = await reranking.in_order(asked.text, found.hits)
        return replace(found, hits=hits[:limit], degraded=(*found.degraded, *late))

    def look(self, unit: Unit, asked: Asked, shelf: Shelf, limit: int) -> DocumentResult:
        """The answer, from one snapshot."""
        words, embedder = asked.words, self.retrieve.embedder
        found = unit.documents.by_words(shelf, terms=words.terms, pieces=words.trigrams, limit=_BY_WORDS)
        near: Sequence[NearChunk] = ()
        degraded = asked.degraded
        if asked.vector is not None and embedder is not None:
            space = space_of(embedder)
            near = unit.documents.nearest(shelf, space=space, vector=asked.vector, limit=_BY_MEANING)
            if not degraded and self.retrieve.by_meaning and unit.documents.is_behind(shelf, space):
                degraded = ("vectors",)
        scale = embedder.profile.scale if embedder is not None else None
        evidence = weigh(_as_words(shelf.tenant, found), _as_vectors(shelf.tenant, near), scale=scale)
        hits = self._hits(unit, shelf, evidence, (*words.terms, *words.trigrams), limit)
        return DocumentResult(hits=tuple(hits), degraded=degraded)

    def _hits(
        self, unit: Unit, shelf: Shelf, evidence: Evidence, terms: Sequence[str], limit: int
    ) -> Sequence[DocumentHit]:
        # sorting is stable: of equals those that the searches found first stay first
        best = sorted(evidence.candidates, key=lambda candidate: -candidate.weight)[:limit]
        places = [(evidence.sessions[candidate.session][0], candidate.seq) for candidate in best]
        chunks = unit.documents.chunks(shelf.tenant, places)
        documents = unit.documents.described(shelf, list(dict.fromkeys(document_id for document_id, _ in places)))
        whole = math.fsum(evidence.rarities) or 1.0
        hits: list[DocumentHit] = []
        for candidate, place in zip(best, places, strict=True):
            chunk, document = chunks.get(place), documents.get(place[0])
            if chunk is None or document is None:
                continue
            passage = evidence.passage(candidate)
            share = math.fsum([evidence.rarities[word] for word in passage.words]) / whole
            scores = {
                "words": candidate.words,
                "meaning": candidate.meaning if evidence.compared else None,
                "document": evidence.supports[candidate.session],
            }
            hits.append(
                DocumentHit(
                    document=document,
                    chunk=chunk,
                    score=candidate.weight,
                    scores={name: value for name, value in scores.items() if value is not None},
                    words=tuple(terms[word] for word in passage.words),
                    similarity=passage.similarity,
                    relevance=relevance(passage.similarity, share, self.retrieve.embedder),
                )
            )
        return hits


def _check(shelf: Shelf) -> None:
    if not 1 <= len(shelf.namespaces) <= _MOST_NAMESPACES:
        raise InvalidInput(f"name 1 to {_MOST_NAMESPACES} namespaces")
    for namespace in shelf.namespaces:
        checked_namespace(namespace)
    for doc_type in shelf.doc_types or ():
        checked_type(doc_type)
    if shelf.where is not None:
        checked_filter(shelf.where)


def _beginning(text: str) -> str:
    """The first line that says something, without the marks of a heading."""
    line = next((line for line in text.splitlines() if line.strip(" \t#*=-_>")), "")
    words = " ".join(line.strip(" \t#*=-_>").split())
    return words if len(words) <= _TITLE else f"{words[: _TITLE - 1].rstrip()}…"


def _tokens(content: str, chunks: Sequence[DocumentChunk], count: Callable[[str], int]) -> int:
    """Tokens of a text: of its chunks, without what they share."""
    shared = sum(
        count(content[later.start : earlier.stop]) for earlier, later in pairwise(chunks) if later.start < earlier.stop
    )
    return max(0, sum(chunk.tokens for chunk in chunks) - shared)


def _stand_in(tenant: str) -> SessionKey:
    """Documents are weighed as sessions are, chunks as messages; whose they are says nothing."""
    return SessionKey(tenant=tenant, user="-", agent="-", session="-")


def _as_words(tenant: str, found: ChunkMatches) -> WordMatches:
    key = _stand_in(tenant)
    return WordMatches(
        messages=found.chunks,
        having=found.having,
        found=[WordMatch(match.document_id, key, match.number, 0, 1, match.words) for match in found.found],
    )


def _as_vectors(tenant: str, near: Sequence[NearChunk]) -> Sequence[VectorMatch]:
    key = _stand_in(tenant)
    return [VectorMatch(match.document_id, key, match.number, 0, match.similarity) for match in near]
