"""Search by meaning on PostgreSQL with pgvector.

Vectors are kept in half precision: half the pages to read, and no order of hits that anybody could tell from the full
one. The planner chooses how the vectors of a scope are found: all of them through the b-tree of their scope, compared
exactly; or, where a scope is large and its space has an HNSW index (`graphs`), along its graph. What a
walk along the graph leaves out because it ended too early is found exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from anaphora.domain.vectors import Space
from anaphora.storage.scope import Scope
from anaphora.storage.tables import message_vectors
from anaphora.storage.types import Halfvec, Vector
from anaphora.storage.vectors import Found, VectorSearch, scope_conditions

#: how many points a walk keeps in sight; it goes on until it has found enough in the scope
_EF_SEARCH = 200
#: a walk gives its hits nearly in order: the best are among this many times as many
_MORE = 2
#: vectors whose mean is that of all of them, as near as matters
_MANY = 2_000

#: a plan for these very values: for one user all vectors are compared, for another a graph is better
PREPARE = sa.text(
    "SELECT set_config('plan_cache_mode', 'force_custom_plan', true),"
    " set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.ef_search', :sight, true)"
).bindparams(sight=str(_EF_SEARCH))
_PLACE = (message_vectors.c.session_uid, message_vectors.c.seq, message_vectors.c.part)


class PgVectors(VectorSearch):
    """`ports.search.VectorIndex` over one transaction."""

    def common(
        self, tenant: str, user: str, *, agent: str | None, session_id: UUID | None, space: Space
    ) -> Sequence[float]:
        """The mean of the vectors of the scope, or of very many of them; empty if there are none."""
        scope = Scope(tenant=tenant, user=user, agent=agent, session_id=session_id)
        some = sa.select(message_vectors.c.embedding).where(*scope_conditions(scope, space)).limit(_MANY).subquery()
        mean = sa.cast(sa.cast(sa.func.avg(some.c.embedding), Vector()), postgresql.ARRAY(sa.REAL))
        return self._connection.execute(sa.select(mean)).scalar_one() or []

    def _closest(self, scope: Scope, space: Space, vector: Sequence[float], limit: int) -> Sequence[Found]:
        self._connection.execute(PREPARE)
        found = self._found(nearest(scope, space, vector, limit * _MORE))
        return found if len(found) >= limit else self._found(nearest_exactly(scope, space, vector, limit))

    def _found(self, query: sa.Select[Any]) -> Sequence[Found]:
        rows = self._connection.execute(query).all()
        return [(uid, seq, part, 1 - distance) for uid, seq, part, distance in rows]

    def _kept(self, vector: Sequence[float]) -> Sequence[float]:
        return vector


def nearest(scope: Scope, space: Space, vector: Sequence[float], limit: int) -> sa.Select[Any]:
    """The closest vectors of a scope, in whatever way the planner prefers."""
    distance = distance_of(message_vectors.c.embedding, space, vector)
    query = sa.select(*_PLACE, distance).where(*scope_conditions(scope, space))
    return query.order_by(distance, *_newest_first(message_vectors)).limit(limit)


def nearest_exactly(scope: Scope, space: Space, vector: Sequence[float], limit: int) -> sa.Select[Any]:
    """The closest vectors of a scope: each of them is compared."""
    own = (
        sa.select(*_PLACE, message_vectors.c.embedding)
        .where(*scope_conditions(scope, space))
        .cte("own")
        .prefix_with("MATERIALIZED", dialect="postgresql")
    )
    distance = distance_of(own.c.embedding, space, vector)
    query = sa.select(own.c.session_uid, own.c.seq, own.c.part, distance)
    return query.order_by(distance, *_newest_first(own)).limit(limit)


def _newest_first(table: sa.FromClause) -> Iterator[sa.ColumnElement[Any]]:
    """What decides between equals."""
    yield from (table.c.session_uid.desc(), table.c.seq.desc(), table.c.part)


def distance_of(embedding: sa.ColumnElement[Any], space: Space, vector: Sequence[float]) -> sa.ColumnElement[float]:
    """The cosine distance, in the very form that the index of the space has."""
    kind = Halfvec(space.dimensions)
    wanted = sa.bindparam("vector", vector, type_=kind)
    return sa.cast(embedding, kind).op("<=>", return_type=sa.Float())(wanted).label("distance")
