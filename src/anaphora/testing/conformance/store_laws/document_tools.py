"""What the laws of documents share: documents to keep, and how they are asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from anaphora.domain.documents import (
    ChunkVector,
    Document,
    DocumentChunk,
    Namespace,
    Outcome,
    hash_of,
    user_namespace,
)
from anaphora.domain.keys import SeqRange
from anaphora.domain.vectors import Space
from anaphora.ports.documents import KeptDocument, Shelf
from anaphora.ports.store import Store
from anaphora.testing.conformance.store_laws.fact_tools import id_of
from anaphora.testing.conformance.store_laws.tools import TENANT, after

SPACE = Space(profile="plain", dimensions=2)
OTHER = Space(profile="other", dimensions=2)
MINE = user_namespace("alice")


def document(number: int = 1, *texts: str, namespace: Namespace = MINE, **how: Any) -> Document:
    """A document of these chunks, one behind the other."""
    content = "\n".join(texts or (f"Text {number}.",))
    made: dict[str, Any] = {
        "id": id_of(number),
        "namespace": namespace,
        "title": "Notes",
        "metadata": {},
        "content_hash": hash_of(content),
        "content": content,
        "tokens": max(1, len(content) // 4),
        "chunks": len(texts) or 1,
        "created_at": after(number),
        "updated_at": after(number),
    }
    return Document(**{**made, **how})


def chunks_of(item: Document) -> list[DocumentChunk]:
    """A chunk for each line of the document."""
    made: list[DocumentChunk] = []
    start = 0
    for number, text in enumerate((item.content or "").split("\n")):
        stop = start + len(text)
        made.append(
            DocumentChunk(document_id=item.id, number=number, text=text, tokens=len(text) // 4, start=start, stop=stop)
        )
        start = stop + 1
    return made


async def put(store: Store, item: Document, *, tenant: str = TENANT) -> KeptDocument:
    """Hand the document in."""
    return await store.write(tenant, lambda unit: unit.documents.put(tenant, item, chunks_of(item)))


async def kept(store: Store, *items: Document, tenant: str = TENANT) -> list[Document]:
    """Documents that are all new."""
    found = [await put(store, item, tenant=tenant) for item in items]
    assert [outcome for _, outcome in found] == [Outcome.NEW] * len(items)
    return [item for item, _ in found]


def shelf(*namespaces: Namespace, tenant: str = TENANT, **how: Any) -> Shelf:
    """The documents of the namespaces, or of alice's own."""
    return Shelf(tenant=tenant, namespaces=namespaces or (MINE,), **how)


async def listed(store: Store, where: Shelf | None = None, *, limit: int = 99, before: UUID | None = None) -> list[int]:
    """The numbers of the documents, as they are listed."""
    asked = where or shelf()
    found = await store.read(asked.tenant, lambda unit: unit.documents.list(asked, limit=limit, before=before))
    assert all(item.content is None for item in found), "a list tells no contents"
    return [item.id.int & 0xFFFF for item in found]


async def got(store: Store, number: int, *, namespace: Namespace = MINE, tenant: str = TENANT) -> Document | None:
    """The document with this number, if it is in the namespace."""
    return await store.read(tenant, lambda unit: unit.documents.get(tenant, namespace, id_of(number)))


async def named(store: Store, key: str) -> Document | None:
    """The document of alice with this key."""
    return await store.read(TENANT, lambda unit: unit.documents.find(TENANT, MINE, key))


async def made_of(store: Store, session_id: UUID, span: SeqRange | None = None, *, tenant: str = TENANT) -> list[int]:
    """The numbers of the documents that were made of messages of a session."""
    found = await store.read(tenant, lambda unit: unit.documents.of_session(tenant, session_id, span))
    return [item.id.int & 0xFFFF for item in found]


async def with_words(
    store: Store, *terms: str, where: Shelf | None = None, pieces: Sequence[str] = (), limit: int = 99
) -> list[tuple[int, int]]:
    """Numbers of documents and chunks that have any of the words, best first."""
    asked = where or shelf()
    found = await store.read(
        asked.tenant, lambda unit: unit.documents.by_words(asked, terms=terms, pieces=pieces, limit=limit)
    )
    return [(match.document_id.int & 0xFFFF, match.number) for match in found.found]


async def near(
    store: Store, *vector: float, where: Shelf | None = None, space: Space = SPACE, limit: int = 99
) -> list[tuple[int, int]]:
    """Numbers of documents and chunks by how close they are."""
    asked = where or shelf()
    found = await store.read(
        asked.tenant, lambda unit: unit.documents.nearest(asked, space=space, vector=vector, limit=limit)
    )
    return [(match.document_id.int & 0xFFFF, match.number) for match in found]


async def meant(
    store: Store, item: Document, vectors: Mapping[int, Sequence[float]], *, space: Space = SPACE, tenant: str = TENANT
) -> int:
    """Say what chunks of the document mean; how many were kept."""
    made = [ChunkVector(number=number, vector=vector) for number, vector in vectors.items()]
    return await store.write(tenant, lambda unit: unit.documents.put_vectors(tenant, space, item, made))


async def bare(store: Store, number: int, *, space: Space = SPACE, tenant: str = TENANT) -> list[int]:
    """The chunks of the document that have no vectors."""
    found = await store.read(
        tenant, lambda unit: unit.documents.without_vectors(tenant, id_of(number), space, limit=99)
    )
    return [chunk.number for chunk in found]
