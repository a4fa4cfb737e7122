"""Documents of an export into a store: each as it was, unless the store has one in its place.

What was made of messages is kept only where these are, as in the export.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from anaphora.domain.document_records import DocumentRecord
from anaphora.domain.documents import ARCHIVE, Document, DocumentChunk, Namespace, hash_of, owner_of
from anaphora.domain.keys import SeqRange, SessionKey
from anaphora.ports.rows import SessionRow
from anaphora.ports.store import Unit
from anaphora.rules.documents import Chunking, cut
from anaphora.rules.tokens import Count
from anaphora.services.importing.erased import Gone
from anaphora.services.importing.pieces import Documents
from anaphora.services.importing.restoring import Outcome, Run


def chunks_of(item: Documents, chunking: Chunking, count: Count) -> Mapping[UUID, Sequence[DocumentChunk]]:
    """The documents cut into chunks: that takes a while, and no transaction waits for it."""
    return {record.id: cut(record.id, record.content, chunking, count) for _, record in item.documents}


def settle_documents(
    unit: Unit,
    gone: Gone,
    fates: Mapping[SessionKey, Outcome],
    item: Documents,
    *,
    chunks: Mapping[UUID, Sequence[DocumentChunk]] | None,
) -> Outcome:
    """Write what is missing and was not erased here; without chunks, only see whether something is."""
    needed, run = False, gone.run
    for _, record in item.documents:
        owner = owner_of(tuple(record.namespace))
        if owner is None and run.user is not None:
            continue  # what belongs to no user is not this one's to write
        if owner is not None and gone.owner(owner, record.agent, record.created_at):
            continue
        document = _document(unit, run, fates, record)
        if document is None or not unit.documents.is_missing(run.tenant, document):
            continue
        needed = True
        if chunks is not None:
            own = chunks[document.id]
            unit.documents.put(run.tenant, replace(document, chunks=len(own)), own)
    return Outcome(needed=needed)


def _document(unit: Unit, run: Run, fates: Mapping[SessionKey, Outcome], record: DocumentRecord) -> Document | None:
    """The document here; None if what it was made of is not here."""
    session_id = None
    if record.user is not None and record.agent is not None and record.session is not None and record.range:
        key = SessionKey(tenant=run.tenant, user=run.called(record.user), agent=record.agent, session=record.session)
        fate = fates.get(key)
        row = unit.sessions.find(key) if fate is None or fate.complaint is None else None
        if row is None or row.head < record.range.stop:
            return None
        reach = _reach(record, record.range)
        if fate is not None and any(len(span.clip(reach)) for span in fate.changed):
            return None
        if any(stamp.changed_at and stamp.changed_at > record.updated_at for stamp in unit.exchange.stamps(row, reach)):
            return None  # it may say what was corrected, deleted or erased since
        if record.source == ARCHIVE and _is_told(unit, row, record.range, record.id):
            return None
        session_id = row.id
    return Document(
        id=record.id,
        namespace=_called(run, tuple(record.namespace)),
        key=record.key,
        title=record.title,
        doc_type=record.doc_type,
        metadata=record.metadata,
        content_hash=hash_of(record.content),
        content=record.content,
        tokens=record.tokens,
        chunks=0,
        trust=record.trust,
        source=record.source,
        session_id=session_id,
        range=record.range,
        version=record.version,
        created_at=record.created_at,
        updated_at=record.updated_at,
    )


def _reach(record: DocumentRecord, told: SeqRange) -> SeqRange:
    """The messages of which it may speak: the model that archives is shown what was said before."""
    return SeqRange(0, told.stop) if record.source == ARCHIVE else told


def _is_told(unit: Unit, row: SessionRow, told: SeqRange, document_id: UUID) -> bool:
    """Whether another archived document tells of any of these messages: they were cut in another way since."""
    there = unit.documents.of_session(row.key.tenant, row.id, told)
    return any(document.source == ARCHIVE and document.id != document_id for document in there)


def _called(run: Run, namespace: Namespace) -> Namespace:
    """The namespace here: that of a user is called as the user is."""
    owner = owner_of(namespace)
    return namespace if owner is None else (namespace[0], run.called(owner))
