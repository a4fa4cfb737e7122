"""Keys and the audit over one transaction."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Final
from uuid import UUID

import sqlalchemy as sa

from anaphora.domain.access import ApiKey, AuditEntry
from anaphora.domain.principals import Permission
from anaphora.storage.access_tables import api_keys, audit
from anaphora.storage.types import AnyRow

#: databases with many writers: who adds the next entry must be alone from when the last one was read
_ALONE: Mapping[str, sa.TextClause] = MappingProxyType(
    {"postgresql": sa.text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 5))")}
)
#: beyond every number
_ALL: Final = 2**31 - 1
_KEY = (api_keys.c.tenant_id == sa.bindparam("b_tenant"), api_keys.c.id == sa.bindparam("b_id"))
_OF_TENANT = audit.c.tenant_id == sa.bindparam("b_tenant")


class SqlApiKeys:
    """`ports.access.ApiKeys` over one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._run = connection.execute

    def any(self) -> bool:
        """Whether any tenant has a key; asked in a transaction that sees all of them."""
        return self._run(sa.select(api_keys.c.tenant_id).limit(1)).first() is not None

    def insert(self, key: ApiKey, kept: str) -> None:
        """Keep a key, with the hash of what makes it one."""
        values = {
            "tenant_id": key.tenant,
            "id": key.id,
            "user_id": key.user,
            "name": key.name,
            "hash": kept,
            "permissions": sorted(key.permissions),
            "created_at": key.created_at,
            "expires_at": key.expires_at,
            "revoked_at": key.revoked_at,
            "last_used_at": key.last_used_at,
        }
        self._run(sa.insert(api_keys), values)

    def get(self, tenant: str, key_id: UUID) -> tuple[ApiKey, str] | None:
        """A key with its hash."""
        row = self._run(sa.select(api_keys).where(*_KEY), {"b_tenant": tenant, "b_id": key_id}).one_or_none()
        return None if row is None else (_key_from(row), row.hash)

    def list(self, tenant: str, *, user: str | None = None, limit: int) -> Sequence[ApiKey]:
        """Keys, the newest first; with `user`, only of this one."""
        query = sa.select(api_keys).where(api_keys.c.tenant_id == tenant)
        if user is not None:
            query = query.where(api_keys.c.user_id == user)
        return [_key_from(row) for row in self._run(query.order_by(api_keys.c.id.desc()).limit(limit))]

    def revoke(self, tenant: str, key_id: UUID, *, now: datetime) -> bool:
        """Let it let nobody in any more; False if that is so already, or it is not there."""
        change = sa.update(api_keys).where(*_KEY, api_keys.c.revoked_at.is_(None)).values(revoked_at=now)
        return bool(self._run(change, {"b_tenant": tenant, "b_id": key_id}).rowcount)

    def expire(self, tenant: str, key_id: UUID, *, at: datetime) -> None:
        """Let it end then, unless it ends earlier."""
        later = sa.or_(api_keys.c.expires_at.is_(None), api_keys.c.expires_at > at)
        change = sa.update(api_keys).where(*_KEY, later).values(expires_at=at)
        self._run(change, {"b_tenant": tenant, "b_id": key_id})

    def used(self, tenant: str, key_id: UUID, *, now: datetime) -> None:
        """Note when it was used last."""
        self._run(sa.update(api_keys).where(*_KEY).values(last_used_at=now), {"b_tenant": tenant, "b_id": key_id})


class SqlAudit:
    """`ports.access.Audit` over one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection
        self._run = connection.execute

    def last(self, tenant: str) -> AuditEntry | None:
        """The newest entry. Nobody else adds one until the end of the transaction."""
        alone = _ALONE.get(self._connection.dialect.name)
        if alone is not None:
            self._run(alone, {"name": json.dumps([tenant])})
        return next(iter(self.list(tenant, limit=1)), None)

    def insert(self, tenant: str, entry: AuditEntry) -> None:
        """Add an entry."""
        values = {
            "tenant_id": tenant,
            "number": entry.number,
            "at": entry.at,
            "who": entry.who,
            "by": entry.by,
            "action": entry.action,
            "about": dict(entry.about),
            "status": entry.status,
            "seal": entry.seal,
        }
        self._run(sa.insert(audit), values)

    def list(
        self, tenant: str, *, who: str | None = None, before: int | None = None, limit: int
    ) -> Sequence[AuditEntry]:
        """Entries, the newest first; with `who`, of this one; with `before`, those with smaller numbers."""
        query = sa.select(audit).where(_OF_TENANT, audit.c.number < (_ALL if before is None else before))
        if who is not None:
            query = query.where(audit.c.who == who)
        found = self._run(query.order_by(audit.c.number.desc()).limit(limit), {"b_tenant": tenant})
        return [_entry_from(row) for row in found]

    def chain(self, tenant: str, *, start: int, limit: int) -> Sequence[AuditEntry]:
        """Entries from a number on, in order."""
        query = sa.select(audit).where(_OF_TENANT, audit.c.number >= start)
        found = self._run(query.order_by(audit.c.number).limit(limit), {"b_tenant": tenant})
        return [_entry_from(row) for row in found]


def _key_from(row: AnyRow) -> ApiKey:
    return ApiKey(
        id=row.id,
        tenant=row.tenant_id,
        user=row.user_id,
        name=row.name,
        permissions=frozenset(map(Permission, row.permissions)),
        created_at=row.created_at,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
        last_used_at=row.last_used_at,
    )


def _entry_from(row: AnyRow) -> AuditEntry:
    return AuditEntry(
        number=row.number,
        at=row.at,
        who=row.who,
        by=row.by,
        action=row.action,
        about=dict(row.about),
        status=row.status,
        seal=row.seal,
    )
