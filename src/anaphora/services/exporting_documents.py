"""Documents for an export, each read in a snapshot of its own."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import partial
from typing import Final
from uuid import UUID

from anaphora.domain.document_records import DocumentRecord
from anaphora.domain.documents import owner_of
from anaphora.ports.exchange import KeptDocumentRecord, Scope
from anaphora.ports.store import Store, Unit

_PAGE: Final = 200


async def document_records(
    store: Store, scope: Scope, logs: Mapping[UUID, tuple[int, int]]
) -> AsyncGenerator[DocumentRecord]:
    """Documents in the order of their ids; what was made of messages that the export does not hold is left out.

    Args:
        store: where they are.
        scope: which of them are meant.
        logs: epoch and length of each session as it was exported.

    """
    last: UUID | None = None
    while ids := await store.read(scope.tenant, partial(_ids, scope=scope, after=last)):
        for document_id in ids:
            kept = await store.read(scope.tenant, partial(_kept, scope=scope, document_id=document_id))
            if kept is not None and _is_of(kept, logs):
                yield kept.document
        last = ids[-1]


def user_of(record: DocumentRecord) -> str | None:
    """Whose document it is; None for one that belongs to no user."""
    return owner_of(tuple(record.namespace))


def _ids(unit: Unit, *, scope: Scope, after: UUID | None) -> Sequence[UUID]:
    return unit.exchange.document_ids(scope, after=after, limit=_PAGE)


def _kept(unit: Unit, *, scope: Scope, document_id: UUID) -> KeptDocumentRecord | None:
    return unit.exchange.document(scope.tenant, document_id)


def _is_of(kept: KeptDocumentRecord, logs: Mapping[UUID, tuple[int, int]]) -> bool:
    if kept.session_id is None or kept.document.range is None:
        return True
    epoch, head = logs.get(kept.session_id, (-1, 0))
    return kept.epoch == epoch and kept.document.range.stop <= head
