"""What must hold of keys, as questions to the database, and of the audit: its chain is walked."""

from __future__ import annotations

from collections.abc import Iterator

import sqlalchemy as sa

from anaphora.domain.access import AuditEntry
from anaphora.ports.access import Audit
from anaphora.rules.access import broken_at
from anaphora.services.maintenance import Check, Findings
from anaphora.storage.access_tables import api_keys, audit
from anaphora.storage.laws import Law
from anaphora.storage.secret import secret_in

_PAGE = 500
#: hexadecimal digits
_HASH = 64
_TENANTS = sa.select(audit.c.tenant_id, sa.func.count()).group_by(audit.c.tenant_id).order_by(audit.c.tenant_id)


def access_laws() -> tuple[Law, ...]:
    """The laws of keys."""
    return (
        Law(
            id="keys",
            name="every key is kept as a hash",
            table=api_keys,
            breaches=(
                ("keys without a hash", sa.select(api_keys.c.id).where(sa.func.length(api_keys.c.hash) != _HASH)),
            ),
        ),
    )


def sealed_chain(connection: sa.Connection, entries: Audit) -> Check:
    """T15: no entry of any tenant was changed or taken out."""
    secret = secret_in(connection) or b""
    found, count = Findings(), 0
    for tenant, held in connection.execute(_TENANTS).all():
        count += held
        broken = broken_at(secret, _chain(entries, tenant))
        if broken is not None:
            found.add(f"entry {broken} of tenant {tenant}")
    return Check(
        id="audit",
        name="the audit is as it was written",
        ok=not found.count,
        detail=f"changed or taken out: {found}" if found.count else "",
        checked=count,
    )


def _chain(entries: Audit, tenant: str) -> Iterator[AuditEntry]:
    start = 1
    while page := entries.chain(tenant, start=start, limit=_PAGE):
        yield from page
        start = page[-1].number + 1
