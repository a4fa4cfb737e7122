"""The store's own secret, made once and kept in the database."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from anaphora.ports.clock import Randomness
from anaphora.storage.tables import store_meta

_BYTES: Final = 32
_GET = sa.select(store_meta.c.value).where(store_meta.c.name == "secret")


def secret_in(connection: sa.Connection) -> bytes | None:
    """The secret, or None if none was made yet."""
    value = connection.execute(_GET).scalar_one_or_none()
    return bytes.fromhex(value) if value is not None else None


def make_secret(connection: sa.Connection, randomness: Randomness) -> bytes:
    """Make the secret. Be alone, and see that there is none."""
    secret = randomness(_BYTES)
    connection.execute(sa.insert(store_meta), {"name": "secret", "value": secret.hex()})
    return secret
