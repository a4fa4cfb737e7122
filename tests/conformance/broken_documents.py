"""Stores that break the laws of documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from tests.conformance.broken import Broken, caught_by

from anaphora.domain.documents import Document, DocumentChunk, Namespace
from anaphora.domain.keys import SeqRange
from anaphora.ports.documents import ChunkMatches, DocumentLease, KeptDocument, NearChunk, Shelf
from anaphora.ports.rows import SessionRow
from anaphora.ports.store import Unit
from anaphora.testing.conformance.store_laws.tools import TENANT


@caught_by("test_documents_come_back_as_they_were_put_the_newest_first")
class ListsTheOldestDocumentFirst(Broken):
    def documents_list(self, unit: Unit, shelf: Shelf, **how: Any) -> Sequence[Document]:
        return unit.documents.list(shelf, **how)[::-1]


@caught_by("test_documents_come_back_as_they_were_put_the_newest_first")
class ForgetsTheMetadata(Broken):
    def documents_put(self, unit: Unit, tenant: str, item: Document, chunks: Sequence[DocumentChunk]) -> KeptDocument:
        return unit.documents.put(tenant, replace(item, metadata={}), chunks)


@caught_by("test_a_document_that_is_there_is_not_kept_twice")
class KeepsADocumentTwice(Broken):
    def documents_put(self, unit: Unit, tenant: str, item: Document, chunks: Sequence[DocumentChunk]) -> KeptDocument:
        return unit.documents.put(tenant, replace(item, key=item.key or str(item.id)), chunks)


@caught_by("test_another_content_under_the_same_key_takes_the_place_of_the_old_one")
class GivesAReplacedDocumentAnotherId(Broken):
    def documents_put(self, unit: Unit, tenant: str, item: Document, chunks: Sequence[DocumentChunk]) -> KeptDocument:
        old = None if item.key is None else unit.documents.find(tenant, item.namespace, item.key)
        if old is not None:
            unit.documents.delete(tenant, old.namespace, old.id)
        return unit.documents.put(tenant, item, chunks)


@caught_by("test_a_document_is_replaced_only_as_it_was_read")
class ReplacesWhateverIsThere(Broken):
    def documents_replace(
        self, unit: Unit, tenant: str, old: Document, new: Document, chunks: Sequence[DocumentChunk]
    ) -> Document | None:
        there = unit.documents.get(tenant, old.namespace, old.id)
        return unit.documents.replace(tenant, there or old, new, chunks)


@caught_by("test_no_namespace_is_another")
class TakesNamespacesForTheirFirstNames(Broken):
    def documents_get(self, unit: Unit, tenant: str, namespace: Namespace, document_id: UUID) -> Document | None:
        found = unit.documents.get(tenant, namespace, document_id)
        return found or unit.documents.get(tenant, namespace[:1], document_id)


@caught_by("test_no_namespace_is_another")
class ListsDocumentsForAnybody(Broken):
    def documents_list(self, unit: Unit, shelf: Shelf, **how: Any) -> Sequence[Document]:
        return unit.documents.list(replace(shelf, tenant=TENANT), **how)


@caught_by("test_a_deleted_document_leaves_nothing")
class HidesDeletedDocuments(Broken):
    gone: set[UUID]

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.gone = set()

    def documents_delete(self, unit: Unit, tenant: str, namespace: Namespace, document_id: UUID) -> bool:
        there = unit.documents.get(tenant, namespace, document_id) is not None and document_id not in self.gone
        self.gone.add(document_id)
        return there


@caught_by("test_documents_go_with_the_messages_that_they_were_made_of")
class ForgetsAllDocumentsOfASession(Broken):
    def documents_forget(self, unit: Unit, row: SessionRow, _seq: int | None) -> int:
        return unit.documents.forget(row, None)


@caught_by("test_documents_of_a_session_that_is_out_of_sight_are_out_of_sight")
class ListsWhatIsOutOfSight(Broken):
    def documents_list(self, unit: Unit, shelf: Shelf, **how: Any) -> Sequence[Document]:
        hidden = unit.sessions.expired(shelf.tenant, limit=9)
        more = [item for row in hidden for item in unit.documents.of_session(shelf.tenant, row.id)]
        return [*unit.documents.list(shelf, **how), *more]


@caught_by("test_archived_documents_go_with_every_earlier_message_of_their_session")
class KeepsLaterDocumentsOfTheArchive(Broken):
    def documents_forget(self, unit: Unit, row: SessionRow, seq: int | None) -> int:
        span = None if seq is None else SeqRange(seq, seq + 1)
        gone = unit.documents.of_session(row.key.tenant, row.id, span)
        return sum(unit.documents.delete(row.key.tenant, item.namespace, item.id) for item in gone)


@caught_by("test_chunks_are_found_by_their_words_the_rarest_first")
class FindsCommonWordsFirst(Broken):
    def documents_by_words(self, unit: Unit, shelf: Shelf, **how: Any) -> ChunkMatches:
        found = unit.documents.by_words(shelf, **{**how, "limit": 99})
        return replace(found, found=found.found[::-1][: how["limit"]])


@caught_by("test_filters_ask_for_values_and_for_nothing_else")
class IgnoresFilters(Broken):
    def documents_list(self, unit: Unit, shelf: Shelf, **how: Any) -> Sequence[Document]:
        return unit.documents.list(replace(shelf, where=None), **how)


@caught_by("test_chunks_are_found_by_what_they_mean_the_closest_first")
class FindsTheFarthestFirst(Broken):
    def documents_nearest(self, unit: Unit, shelf: Shelf, **how: Any) -> Sequence[NearChunk]:
        return unit.documents.nearest(shelf, **{**how, "limit": 99})[::-1][: how["limit"]]


@caught_by("test_it_is_known_which_documents_have_no_vectors")
class TakesVectorsOfAnySpace(Broken):
    def documents_behind(self, unit: Unit, tenant: str, _space: Any, **how: Any) -> Sequence[UUID]:
        return unit.documents.behind(tenant, replace(_space, profile="nobody's"), **how)


@caught_by("test_a_document_that_waits_is_taken_on_by_one")
class KeepsALeaseForEver(Broken):
    def documents_holds(self, unit: Unit, tenant: str, lease: DocumentLease) -> bool:
        return unit.documents.holds(tenant, lease) or lease.attempt == 1
