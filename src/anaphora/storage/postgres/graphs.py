"""HNSW indexes: graphs along which the closest of very many vectors are found.

A graph costs memory, and time at every write, and helps only where one user has more vectors than can be compared one
by one. So there is one for a space only when some scope in it is that large; `anaphora migrate` makes it, beside
running work.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex, DropIndex

from anaphora.domain.vectors import Space
from anaphora.storage.tables import message_vectors
from anaphora.storage.types import Halfvec

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

#: a user with more vectors than this in one space is worth a graph
LARGE: Final = 20_000
#: neighbours of each point, and how carefully they are chosen
_M, _EF_CONSTRUCTION = 16, 64

_LARGE_SPACES = sa.text(
    "SELECT DISTINCT space FROM (SELECT space FROM message_vectors GROUP BY tenant_id, space, user_id"
    " HAVING count(*) > :large) AS scopes ORDER BY space"
)
_WHOLE = sa.text(
    "SELECT c.relname FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid"
    " WHERE i.indrelid = to_regclass('message_vectors') AND i.indisvalid AND c.relname = ANY (CAST(:names AS text[]))"
).bindparams(sa.bindparam("names", type_=postgresql.ARRAY(sa.Text)))


def missing_graphs(connection: sa.Connection, *, large: int = LARGE) -> Sequence[Space]:
    """Spaces with a scope of more than `large` vectors that have no graph, or a broken one."""
    spaces = [_space(name) for name in connection.execute(_LARGE_SPACES, {"large": large}).scalars()]
    names = [graph_name(space) for space in spaces]
    whole = set(connection.execute(_WHOLE, {"names": names}).scalars()) if names else set()
    return [space for space, name in zip(spaces, names, strict=True) if name not in whole]


async def make_graph(connection: AsyncConnection, space: Space) -> None:
    """Make the graph of a space while others read and write. The connection is the owner's, and commits by itself."""
    graph = _graph(space)
    # what an earlier attempt left unfinished is in the way of a new one
    await connection.execute(DropIndex(graph, if_exists=True))
    await connection.execute(CreateIndex(graph))


def graph_name(space: Space) -> str:
    """The name of the index: of letters and digits, whatever the embedder is called."""
    return f"ix_message_vectors_hnsw_{hashlib.blake2b(space.name.encode(), digest_size=8).hexdigest()}"


def _graph(space: Space) -> sa.Index:
    table = message_vectors.to_metadata(sa.MetaData())
    return sa.Index(
        graph_name(space),
        sa.cast(table.c.embedding, Halfvec(space.dimensions)).label("meaning"),
        postgresql_using="hnsw",
        postgresql_ops={"meaning": "halfvec_cosine_ops"},
        postgresql_with={"m": _M, "ef_construction": _EF_CONSTRUCTION},
        postgresql_where=table.c.space == space.name,
        postgresql_concurrently=True,
    )


def _space(name: str) -> Space:
    profile, _, dimensions = name.rpartition("/")
    return Space(profile=profile, dimensions=int(dimensions))
