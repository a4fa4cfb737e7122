"""Whom or what facts are about, and who its members are."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from anaphora.domain.facts import Subject
from anaphora.storage.fact_tables import subject_members, subjects
from anaphora.storage.order import by_code_points
from anaphora.storage.upsert import insert_if_absent

_INSERT, _INSERT_MEMBER = insert_if_absent(subjects), insert_if_absent(subject_members)
_THIS = (subjects.c.tenant_id == sa.bindparam("b_tenant"), subjects.c.id == sa.bindparam("b_id"))


class SqlSubjects:
    """`ports.facts.Subjects` over one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection
        self._run = connection.execute

    def create(self, tenant: str, subject: Subject) -> bool:
        """Make it, with its members; False if there is one of this id."""
        made = self._run(
            _INSERT[self._connection.dialect.name],
            {
                "tenant_id": tenant,
                "id": subject.id,
                "name": subject.name,
                "owner_id": subject.owner,
                "created_at": subject.created_at,
            },
        ).rowcount
        if made:
            for member in subject.members:
                self.add(tenant, subject.id, member, now=subject.created_at)
        return made > 0

    def get(self, tenant: str, subject_id: str) -> Subject | None:
        """The subject with its members, by name; None if there is none."""
        row = self._run(sa.select(subjects).where(*_THIS), {"b_tenant": tenant, "b_id": subject_id}).one_or_none()
        return self._subject(row) if row is not None else None

    def rename(self, tenant: str, subject_id: str, name: str) -> None:
        """Another name."""
        self._run(sa.update(subjects).where(*_THIS).values(name=name), {"b_tenant": tenant, "b_id": subject_id})

    def of(self, tenant: str, user: str, *, limit: int) -> Sequence[Subject]:
        """Those that a user is a member of, by id."""
        mine = sa.select(subject_members.c.subject_id).where(
            subject_members.c.tenant_id == tenant, subject_members.c.user_id == user
        )
        order = by_code_points(subjects.c.id, self._connection.dialect.name)
        query = sa.select(subjects).where(subjects.c.tenant_id == tenant, subjects.c.id.in_(mine))
        return [self._subject(row) for row in self._run(query.order_by(order).limit(limit)).all()]

    def add(self, tenant: str, subject_id: str, user: str, *, now: datetime) -> bool:
        """Make a user a member; False if that is so already."""
        values = {"tenant_id": tenant, "subject_id": subject_id, "user_id": user, "added_at": now}
        return self._run(_INSERT_MEMBER[self._connection.dialect.name], values).rowcount > 0

    def remove(self, tenant: str, subject_id: str, user: str) -> bool:
        """From now on the user reads nothing that others share; False if no member."""
        gone = sa.delete(subject_members).where(
            subject_members.c.tenant_id == tenant,
            subject_members.c.subject_id == subject_id,
            subject_members.c.user_id == user,
        )
        return self._run(gone).rowcount > 0

    def _subject(self, row: Any) -> Subject:  # noqa: ANN401 - a row of `subjects`
        order = by_code_points(subject_members.c.user_id, self._connection.dialect.name)
        members = sa.select(subject_members.c.user_id).where(
            subject_members.c.tenant_id == row.tenant_id, subject_members.c.subject_id == row.id
        )
        return Subject(
            id=row.id,
            name=row.name,
            owner=row.owner_id,
            created_at=row.created_at,
            members=tuple(self._run(members.order_by(order)).scalars()),
        )
