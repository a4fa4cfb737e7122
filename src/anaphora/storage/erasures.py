"""The account of erasures, and the marks of what is not to come back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import Final
from uuid import UUID

import sqlalchemy as sa

from anaphora.domain.erasure import Erasure, ErasureKind, ErasureState, Target
from anaphora.storage.effects import Effects
from anaphora.storage.erasure_tables import erased_marks, erasures
from anaphora.storage.keyed import by_keys, key_parameters
from anaphora.storage.tables import sessions, store_meta
from anaphora.storage.types import AnyRow
from anaphora.storage.upsert import insert_if_absent

#: databases with many writers: who takes the next number must be alone from when the last one was read
_ALONE: Mapping[str, sa.TextClause] = MappingProxyType(
    {"postgresql": sa.text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 4))")}
)
#: name of the entry that says that the files must still be cleaned
UNCLEAN: Final = "unclean"
_THIS = (erasures.c.tenant_id == sa.bindparam("b_tenant"), erasures.c.id == sa.bindparam("b_id"))
_EPOCH = sa.select(sa.func.max(erasures.c.number)).where(erasures.c.tenant_id == sa.bindparam("b_tenant"))
_RUNNING = sa.text("erasures.state = 'running'")
_EXPIRED, _KEPT_APART = sa.text("sessions.expired_at IS NOT NULL"), sa.text("sessions.keep_days IS NOT NULL")
_INSERT_MARK = insert_if_absent(erased_marks)
_RENEW_MARK = (
    sa.update(erased_marks)
    .where(erased_marks.c.tenant_id == sa.bindparam("b_tenant"), erased_marks.c.mark == sa.bindparam("b_mark"))
    .values(erased_at=sa.bindparam("b_at"))
)
_MARKED = by_keys((erased_marks.c.mark, erased_marks.c.erased_at), (erased_marks.c.tenant_id, erased_marks.c.mark))
_IS_UNCLEAN = sa.select(sa.literal(1)).where(store_meta.c.name == UNCLEAN)


class SqlErasures:
    """`ports.erasures.Erasures` over one transaction."""

    def __init__(self, connection: sa.Connection, effects: Effects) -> None:
        self._connection = connection
        self._run = connection.execute
        self._effects = effects

    def epoch(self, tenant: str) -> int:
        """How many erasures the tenant ever asked for: what was read before it was raised may be gone."""
        return self._run(_EPOCH, {"b_tenant": tenant}).scalar_one() or 0

    def begin(self, tenant: str, erasure: Erasure) -> Erasure:
        """Note that something is to be erased, before anything is; it gets its number."""
        alone = _ALONE.get(self._connection.dialect.name)
        if alone is not None:
            self._run(alone, {"name": json.dumps([tenant])})
        numbered = replace(erasure, number=self.epoch(tenant) + 1)
        self._run(sa.insert(erasures), _values(tenant, numbered))
        return numbered

    def tally(self, tenant: str, erasure_id: UUID, counts: Mapping[str, int]) -> None:
        """Add to what went so far. The files are cleaned when all of it is gone."""
        self._effects.erased = self._effects.later = True
        query = sa.select(erasures.c.counts).where(*_THIS).with_for_update()
        before = self._run(query, {"b_tenant": tenant, "b_id": erasure_id}).scalar_one_or_none()
        if before is None:
            return
        after = added(before, counts)
        if after != before:
            self._run(sa.update(erasures).where(*_THIS).values(counts=after), {"b_tenant": tenant, "b_id": erasure_id})

    def finish(self, tenant: str, erasure_id: UUID, *, now: datetime) -> None:
        """All of it is gone: forget what was named. Twice is harmless."""
        done = sa.update(erasures).where(*_THIS, erasures.c.state == ErasureState.RUNNING.value)
        self._run(
            done.values(state=ErasureState.DONE.value, done_at=now, target=None),
            {"b_tenant": tenant, "b_id": erasure_id},
        )
        self._effects.erased = True

    def get(self, tenant: str, erasure_id: UUID) -> Erasure | None:
        """One entry, or None."""
        row = self._run(sa.select(erasures).where(*_THIS), {"b_tenant": tenant, "b_id": erasure_id}).one_or_none()
        return _erasure(row) if row is not None else None

    def list(self, tenant: str, *, limit: int, running: bool = False) -> Sequence[Erasure]:
        """Entries, newest first; with `running`, those that are not done, oldest first."""
        query = sa.select(erasures).where(erasures.c.tenant_id == tenant).limit(limit)
        if running:
            query = query.where(_RUNNING).order_by(erasures.c.number)
        else:
            query = query.order_by(erasures.c.number.desc())
        return [_erasure(row) for row in self._run(query)]

    def unfinished(self, *, limit: int) -> Sequence[str]:
        """The tenants of which something is still to be erased, or may expire in its own time."""
        found = sa.union(
            sa.select(erasures.c.tenant_id).where(_RUNNING),
            sa.select(sessions.c.tenant_id).where(_EXPIRED),
            sa.select(sessions.c.tenant_id).where(_KEPT_APART),
        ).subquery()
        return self._run(sa.select(found.c.tenant_id).limit(limit)).scalars().all()

    def mark(self, tenant: str, erasure_id: UUID, marks: Iterable[str], *, now: datetime) -> None:
        """Keep marks; one that is there gets the newer time."""
        wanted = list(dict.fromkeys(marks))
        if not wanted:
            return
        rows = [{"tenant_id": tenant, "mark": mark, "erasure_id": erasure_id, "erased_at": now} for mark in wanted]
        self._run(_INSERT_MARK[self._connection.dialect.name], rows)
        self._run(_RENEW_MARK, [{"b_tenant": tenant, "b_mark": mark, "b_at": now} for mark in wanted])

    def marked(self, tenant: str, marks: Iterable[str]) -> Mapping[str, datetime]:
        """Those of the marks that are kept, and since when."""
        wanted = key_parameters((tenant, mark) for mark in dict.fromkeys(marks))
        rows = self._run(_MARKED[self._connection.dialect.name], wanted)
        return {row.mark: row.erased_at for row in rows}

    def is_clean(self) -> bool:
        """Whether the database's own files hold nothing any more of what was erased; on a server, not known: True."""
        return self._connection.dialect.name != "sqlite" or self._run(_IS_UNCLEAN).first() is None


def added(before: Mapping[str, int], more: Mapping[str, int]) -> dict[str, int]:
    """Both together, without what is none."""
    names = sorted({*before, *more})
    return {name: count for name in names if (count := before.get(name, 0) + more.get(name, 0))}


def _values(tenant: str, erasure: Erasure) -> dict[str, object]:
    return {
        "tenant_id": tenant,
        "id": erasure.id,
        "number": erasure.number,
        "kind": erasure.kind.value,
        "mark": erasure.mark,
        "asked_by": erasure.asked_by,
        "asked_at": erasure.asked_at,
        "state": erasure.state.value,
        "done_at": erasure.done_at,
        "counts": dict(erasure.counts),
        "target": None if erasure.target is None else erasure.target.to_text(),
    }


def _erasure(row: AnyRow) -> Erasure:
    return Erasure(
        id=row.id,
        number=row.number,
        kind=ErasureKind(row.kind),
        mark=row.mark,
        asked_by=row.asked_by,
        asked_at=row.asked_at,
        state=ErasureState(row.state),
        done_at=row.done_at,
        counts=dict(row.counts),
        target=None if row.target is None else Target.from_text(row.target),
    )
