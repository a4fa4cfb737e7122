"""Give chunks of documents the vectors by which they are found by meaning: in the background, batch by batch."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID

import anyio
import anyio.to_thread

from anaphora.domain.documents import ChunkVector, Document, DocumentChunk
from anaphora.domain.vectors import Space
from anaphora.errors import AnaphoraError, LeaseLost
from anaphora.ports.clock import Clock, Failpoint, Randomness
from anaphora.ports.documents import DocumentLease
from anaphora.ports.models import Embedder
from anaphora.ports.store import Store, Unit
from anaphora.rules.documents import chunk_passages
from anaphora.services.meanings import vectors_of
from anaphora.services.retrieve import space_of
from anaphora.services.settings import Work

log = logging.getLogger("anaphora.documents")

#: chunks that one claim takes on
BATCH: Final = 16
#: documents that are looked at for one that nobody else takes
_LOOKS: Final = 8
#: a batch may take longer than a job goes without a sign of life
_LEASES: Final = 4
_MAX_REASON: Final = 300
#: seconds that pass at least before a document is tried again: it is tried for as long as it takes
_LEAST_PAUSE: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Assignment:
    document: Document
    chunks: Sequence[DocumentChunk]


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentVectors:
    """Takes documents that wait for vectors, one after another. Any number of workers may share a database."""

    store: Store
    embedder: Embedder
    clock: Clock
    randomness: Randomness
    failpoint: Failpoint
    work: Work
    #: who holds the leases; unique to this worker
    owner: str

    async def step(self) -> bool | None:
        """Take one document on and embed some of it; whether that succeeded, None if none waits."""
        lease_seconds = _LEASES * self.work.lease_seconds
        due = await self.store.due_documents(now=None, lease_seconds=lease_seconds, limit=_LOOKS)
        for tenant, document_id in due:
            # a claim on disk must come back to be released: cancelled between, it would hold its lease for nobody
            with anyio.CancelScope(shield=True):
                lease = await self._claim(tenant, document_id, lease_seconds)
            if lease is not None:
                return await self._do(tenant, lease)
        return None

    async def _claim(self, tenant: str, document_id: UUID, lease_seconds: float) -> DocumentLease | None:
        lease = await self.store.write(
            tenant,
            lambda unit: unit.documents.claim(
                tenant, document_id, owner=self.owner, now=unit.now(), lease_seconds=lease_seconds
            ),
        )
        self.failpoint("document.claimed")
        return lease

    async def _do(self, tenant: str, lease: DocumentLease) -> bool:
        """Embed some of a document; False if it did not work. What is unexpected leaves the lease to run out."""
        try:
            await self._embed(tenant, lease)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                now = self.clock.now()
                await self.store.write(
                    tenant, lambda unit: unit.documents.later(tenant, lease, run_at=now, reason="the worker stopped")
                )
                self.failpoint("document.released")
            raise
        except LeaseLost:
            extra = {"event": "lease_lost", "document_id": str(lease.document_id)}
            log.info("Document %s is not ours any more", lease.document_id, extra=extra)
        except AnaphoraError as error:
            await self._put_off(tenant, lease, error)
        else:
            return True
        return False

    async def _embed(self, tenant: str, lease: DocumentLease) -> None:
        # how long its vectors are may have to be asked for: that blocks, and whoever stops need not wait for it
        space = await anyio.to_thread.run_sync(space_of, self.embedder, abandon_on_cancel=True)
        assignment = await self.store.read(tenant, lambda unit: self._assigned(unit, tenant, lease, space))
        made = await self._vectors(assignment)
        self.failpoint("document.after_model")
        await self.store.write(tenant, lambda unit: self._commit(unit, tenant, lease, assignment, space, made))
        self.failpoint("document.embedded")
        extra = {"event": "document_embedded", "document_id": str(lease.document_id), "chunks": len(assignment.chunks)}
        log.info("Embedded %d chunks of document %s", len(assignment.chunks), lease.document_id, extra=extra)

    def _assigned(self, unit: Unit, tenant: str, lease: DocumentLease, space: Space) -> _Assignment:
        document = unit.documents.taken(tenant, lease)
        if document is None:
            raise LeaseLost(f"document {lease.document_id} is not ours any more")
        chunks = unit.documents.without_vectors(tenant, document.id, space, limit=BATCH)
        return _Assignment(document=document, chunks=chunks)

    async def _vectors(self, assignment: _Assignment) -> Sequence[ChunkVector]:
        """The vectors of all passages."""
        title = assignment.document.title
        wanted = [
            (chunk.number, part, text)
            for chunk in assignment.chunks
            for part, text in enumerate(chunk_passages(title, chunk.text))
        ]
        vectors = await vectors_of(self.embedder, [text for _, _, text in wanted])
        return [
            ChunkVector(number=number, part=part, vector=vector)
            for (number, part, _), vector in zip(wanted, vectors, strict=True)
        ]

    def _commit(
        self,
        unit: Unit,
        tenant: str,
        lease: DocumentLease,
        assignment: _Assignment,
        space: Space,
        made: Sequence[ChunkVector],
    ) -> None:
        """Vectors and the end of the waiting together, or nothing (I8); what is left waits again."""
        if not unit.documents.holds(tenant, lease):
            raise LeaseLost(f"document {lease.document_id} is not ours any more")
        unit.documents.put_vectors(tenant, space, assignment.document, made)
        unit.documents.done(tenant, lease)
        if len(assignment.chunks) == BATCH:
            unit.documents.plan(tenant, lease.document_id, now=self.clock.now())

    async def _put_off(self, tenant: str, lease: DocumentLease, error: AnaphoraError) -> None:
        """It did not work: the pauses grow; until then the document is found by its words."""
        chance = int.from_bytes(self.randomness(4), "big") / 2**32
        delay = self.work.retry.delay(lease.attempt, chance=chance, retry_after=None)
        delay = max(_LEAST_PAUSE, delay)
        run_at = self.clock.now() + timedelta(seconds=delay)
        await self.store.write(
            tenant, lambda unit: unit.documents.later(tenant, lease, run_at=run_at, reason=str(error)[:_MAX_REASON])
        )
        self.failpoint("document.put_off")
        extra = {"event": "document_put_off", "document_id": str(lease.document_id)}
        log.info("Document %s waits %.0f s for its vectors", lease.document_id, delay, extra=extra)
