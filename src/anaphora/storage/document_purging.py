"""Which documents go with a user, or with a source."""

from __future__ import annotations

import sqlalchemy as sa

from anaphora.domain.documents import conversations_of, user_namespace
from anaphora.domain.erasure import ErasureKind, Target
from anaphora.storage.document_filters import in_namespace
from anaphora.storage.document_tables import documents


def documents_of(tenant: str, target: Target) -> sa.ColumnElement[bool] | None:
    """Those in the namespaces of a user, or from a source; None if none go but with the sessions they were made of."""
    if target.kind is ErasureKind.USER and target.user is not None:
        namespaces = (user_namespace(target.user), conversations_of(target.user))
        return sa.or_(*(sa.and_(*in_namespace(tenant, namespace)) for namespace in namespaces))
    if target.kind is not ErasureKind.SOURCE or target.source_agent is not None or target.user is not None:
        return None
    return sa.and_(documents.c.tenant_id == tenant, documents.c.source == target.source)
