"""Search by meaning on SQLite: every vector of the scope is compared."""

from __future__ import annotations

import importlib
import struct
from collections.abc import Sequence

import sqlalchemy as sa

from anaphora.domain.vectors import Space
from anaphora.errors import MissingExtra
from anaphora.storage.scope import Scope
from anaphora.storage.tables import message_vectors
from anaphora.storage.vectors import Found, VectorSearch, scope_conditions

_PLACE = (message_vectors.c.session_uid, message_vectors.c.seq, message_vectors.c.part)
_EMBEDDING = message_vectors.c.embedding


class BlobVectors(VectorSearch):
    """`ports.search.VectorIndex`: vectors are blobs of little-endian float32."""

    def _closest(self, scope: Scope, space: Space, vector: Sequence[float], limit: int) -> Sequence[Found]:
        rows = self._connection.execute(sa.select(*_PLACE, _EMBEDDING).where(*scope_conditions(scope, space)))
        # numpy takes as long to load as the rest of the library, and only who searches by meaning needs it
        try:
            cosines = importlib.import_module("anaphora.storage.sqlite.cosines")
        except ModuleNotFoundError:
            raise MissingExtra("search by meaning", "local") from None
        found: Sequence[Found] = cosines.closest(rows, vector, limit)
        return found

    def _kept(self, vector: Sequence[float]) -> bytes:
        return struct.pack(f"<{len(vector)}f", *vector)
