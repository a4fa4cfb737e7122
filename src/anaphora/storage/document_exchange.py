"""Documents out of the database, one at a time, and those of another store into this one."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import sqlalchemy as sa

from anaphora.domain.document_records import DocumentRecord
from anaphora.domain.documents import conversations_of, namespace_text, user_namespace
from anaphora.ports.exchange import KeptDocumentRecord, Scope
from anaphora.storage.document_filters import namespace_hash
from anaphora.storage.document_rows import document_from
from anaphora.storage.document_tables import documents
from anaphora.storage.fact_exchange import of_sessions
from anaphora.storage.laws import of_session
from anaphora.storage.tables import sessions

_THIS = (documents.c.tenant_id == sa.bindparam("b_tenant"), documents.c.id == sa.bindparam("b_id"))
_GET = (
    sa.select(documents, sessions.c.user_id, sessions.c.agent_id, sessions.c.session_id, sessions.c.epoch)
    .outerjoin(sessions, of_session(documents))
    .where(*_THIS)
)


class SqlDumpDocuments:
    """`ports.exchange.DumpDocuments` over one transaction."""

    _connection: sa.Connection

    def document_ids(self, scope: Scope, *, after: UUID | None, limit: int) -> Sequence[UUID]:
        """Documents by id, behind `after`."""
        query = sa.select(documents.c.id).where(documents.c.tenant_id == scope.tenant)
        if scope.names_sessions:
            query = query.join(sessions, of_session(documents)).where(*of_sessions(scope))
        elif scope.user is not None:
            own = (user_namespace(scope.user), conversations_of(scope.user))
            query = query.where(
                documents.c.namespace_hash.in_([namespace_hash(one) for one in own]),
                documents.c.namespace.in_([namespace_text(one) for one in own]),
            )
        if after is not None:
            query = query.where(documents.c.id > after)
        return self._connection.execute(query.order_by(documents.c.id).limit(limit)).scalars().all()

    def document(self, tenant: str, document_id: UUID) -> KeptDocumentRecord | None:
        """A document with the session that it was made of, if any."""
        row = self._connection.execute(_GET, {"b_tenant": tenant, "b_id": document_id}).one_or_none()
        if row is None:
            return None
        document = document_from(row, row.content)
        record = DocumentRecord.of(
            document,
            record="document",
            namespace=list(document.namespace),
            metadata=dict(document.metadata),
            user=row.user_id,
            agent=row.agent_id,
            session=row.session_id,
        )
        return KeptDocumentRecord(session_id=row.session_uid, epoch=row.epoch or 0, document=record)
