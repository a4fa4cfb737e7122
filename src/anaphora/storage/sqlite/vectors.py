"""Search by meaning on SQLite: every vector of the scope is compared.

The vectors of a user are read once and kept at hand; a search reads what came since. Rows are only ever added, with
growing numbers, or erased, which the database counts for each user (`vector_marks`, by a trigger): then they are read
anew. What a search sees is thus what its own transaction sees.
"""

from __future__ import annotations

import importlib
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from anaphora.domain.vectors import Space
from anaphora.errors import MissingExtra
from anaphora.storage.scope import Scope, SessionNames, raw
from anaphora.storage.sqlite.matrices import Kept, Matrices
from anaphora.storage.tables import message_vectors
from anaphora.storage.vectors import Found, VectorSearch

#: the entry without a name counts users of whom nothing is left
_ERASED = sa.text("SELECT sum(erased) FROM vector_marks WHERE tenant_id = :tenant AND user_id IN (:user, '')")
_NAMELESS = sa.text(
    "INSERT INTO vector_marks (tenant_id, user_id, erased)"
    " SELECT tenant_id, '', erased + 1 FROM vector_marks WHERE tenant_id = :tenant AND user_id = :user"
    " ON CONFLICT (tenant_id, user_id) DO UPDATE SET erased = vector_marks.erased + excluded.erased"
)
_FORGET_USER = sa.text("DELETE FROM vector_marks WHERE tenant_id = :tenant AND user_id = :user")
_ROWID: sa.ColumnElement[int] = sa.literal_column("message_vectors.rowid", sa.Integer)
_ROWS = (
    sa.select(
        _ROWID,
        raw(message_vectors.c.session_uid),
        message_vectors.c.seq,
        message_vectors.c.part,
        message_vectors.c.agent_id,
        message_vectors.c.embedding,
    )
    .where(
        message_vectors.c.tenant_id == sa.bindparam("tenant"),
        message_vectors.c.space == sa.bindparam("space"),
        message_vectors.c.user_id == sa.bindparam("user"),
        sa.bindparam("last") < _ROWID,
    )
    .order_by(_ROWID)
)


class BlobVectors(VectorSearch):
    """`ports.search.VectorIndex`: vectors are blobs of little-endian float32.

    Args:
        connection: in a transaction.
        matrices: what is kept between searches; None for a transaction that writes: what it sees may never be.
        names: of sessions, as other searches of the transaction look them up too.

    """

    def __init__(
        self, connection: sa.Connection, matrices: Matrices | None = None, names: SessionNames | None = None
    ) -> None:
        super().__init__(connection, names)
        self._matrices = matrices
        #: what this transaction has read: as long as it only reads, nothing changes for it
        self._seen: dict[tuple[str, str, str], Any] = {}

    def forget_user(self, tenant: str, user: str) -> None:
        """Nothing is to name the user any more. Whoever keeps vectors at hand must still notice that they are gone."""
        for statement in (_NAMELESS, _FORGET_USER):
            self._connection.execute(statement, {"tenant": tenant, "user": user})

    def common(
        self, tenant: str, user: str, *, agent: str | None, session_id: UUID | None, space: Space
    ) -> Sequence[float]:
        """The mean of all vectors of the scope; empty if there are none."""
        scope = Scope(tenant=tenant, user=user, agent=agent, session_id=session_id)
        session = None if session_id is None else session_id.hex
        with self._matrix(scope, space) as matrix:
            mean: Sequence[float] = matrix.mean(agent=agent, session=session)
        return mean

    def _closest(self, scope: Scope, space: Space, vector: Sequence[float], limit: int) -> Sequence[Found]:
        session = None if scope.session_id is None else scope.session_id.hex
        with self._matrix(scope, space) as matrix:
            found: Sequence[Found] = matrix.closest(vector, limit, agent=scope.agent, session=session)
        if self._matrices is not None:
            self._matrices.measure(scope.tenant, scope.user, space.name)
        return found

    @contextmanager
    def _matrix(self, scope: Scope, space: Space) -> Iterator[Any]:
        """The vectors of the user as this transaction sees them, for one thread at a time."""
        # numpy takes as long to load as the rest of the library, and only who searches by meaning needs it
        try:
            cosines = importlib.import_module("anaphora.storage.sqlite.cosines")
        except ModuleNotFoundError:
            raise MissingExtra("search by meaning", "local") from None
        kept = Kept() if self._matrices is None else self._matrices.of(scope.tenant, scope.user, space.name)
        which = (scope.tenant, scope.user, space.name)
        with kept.lock:
            matrix = self._seen.get(which)
            if matrix is None:
                self._read(kept, scope, space, cosines.Matrix)
                matrix = kept.matrix
                if self._matrices is not None:
                    self._seen[which] = matrix
            yield matrix

    def _read(self, kept: Kept, scope: Scope, space: Space, new: Any) -> None:  # noqa: ANN401 - a class of an optional module
        """Bring what is kept to what this transaction sees."""
        user = {"tenant": scope.tenant, "user": scope.user}
        erased = self._connection.execute(_ERASED, user).scalar_one_or_none() or 0
        # a VACUUM may number the rows anew; it changes the version of the schema, as nothing else does while we look
        schema = self._connection.exec_driver_sql("PRAGMA schema_version").scalar_one()
        if kept.matrix is None or kept.state != (schema, erased):
            kept.matrix, kept.state = new(space.dimensions), (schema, erased)
        where = {**user, "space": space.name, "last": kept.matrix.last}
        kept.matrix.add(self._connection.execute(_ROWS, where))

    def _kept(self, vector: Sequence[float]) -> bytes:
        return struct.pack(f"<{len(vector)}f", *vector)
