"""Versions of summaries and their points, read from their rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from uuid import UUID

import sqlalchemy as sa

from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import Trust
from anaphora.domain.structures import structure_of
from anaphora.domain.summaries import Method, Point, Summary, SummaryStatus
from anaphora.storage.tables import points, summaries
from anaphora.storage.types import AnyRow

SUMMARY_COLUMNS = (
    summaries.c.id,
    summaries.c.base_id,
    summaries.c.version,
    summaries.c.strategy,
    summaries.c.start,
    summaries.c.stop,
    summaries.c.status,
    summaries.c.method,
    summaries.c.model,
    summaries.c.prompt_version,
    summaries.c.trust,
    summaries.c.created_at,
    summaries.c.generation_ms,
    summaries.c.tokens,
    summaries.c.structure,
)
_POINTS = (
    sa.select(
        points.c.summary_id,
        points.c.start,
        points.c.stop,
        points.c.text,
        points.c.elided,
        points.c.method,
        points.c.tokens,
    )
    .where(points.c.tenant_id == sa.bindparam("tenant"), points.c.summary_id.in_(sa.bindparam("ids", expanding=True)))
    .order_by(points.c.summary_id, points.c.ordinal)
)


def with_points(connection: sa.Connection, tenant: str, rows: Iterable[AnyRow]) -> Sequence[Summary]:
    """The versions in rows of `SUMMARY_COLUMNS`, each with its points."""
    found = list(rows)
    if not found:
        return []
    by_summary: dict[UUID, list[Point]] = defaultdict(list)
    ids = [row.id for row in found]
    for row in connection.execute(_POINTS, {"tenant": tenant, "ids": ids}):
        by_summary[row.summary_id].append(_point(row))
    return [_summary(row, tuple(by_summary[row.id])) for row in found]


def _point(row: AnyRow) -> Point:
    return Point(
        text=row.text,
        range=SeqRange(row.start, row.stop),
        elided=tuple(SeqRange(start, stop) for start, stop in row.elided),
        method=Method(row.method),
        tokens=row.tokens,
    )


def _summary(row: AnyRow, its_points: tuple[Point, ...]) -> Summary:
    return Summary(
        id=row.id,
        base_id=row.base_id,
        version=row.version,
        strategy=row.strategy,
        range=SeqRange(row.start, row.stop),
        points=its_points,
        status=SummaryStatus(row.status),
        method=Method(row.method),
        model=row.model,
        prompt_version=row.prompt_version,
        trust=Trust(row.trust),
        created_at=row.created_at,
        generation_ms=row.generation_ms,
        tokens=row.tokens,
        structure=structure_of(row.structure),
    )
