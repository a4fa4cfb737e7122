"""Keys and the account of changes: for operators alone."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from tests.server.matrix import Entry, Of, own

from anaphora.domain.principals import Permission

OPERATE = Permission.OPERATE
#: keys of a tenant are its operator's: others are not asked which there are
_NONE: Final[dict[str, Of]] = {"key": lambda _: UUID(int=7)}

ENTRIES: Final[dict[str, Entry | tuple[Entry, ...]]] = {
    "GET /v1/keys": own(OPERATE, params=lambda _: {"limit": 1000}, compared=False),
    "POST /v1/keys": own(OPERATE, owner=201, json=lambda _: {"user": None}, compared=False),
    "POST /v1/keys/{key}/rotate": own(OPERATE, owner=404, path=_NONE, json=lambda _: {}),
    "DELETE /v1/keys/{key}": own(OPERATE, owner=404, path=_NONE),
    "GET /v1/audit": own(OPERATE, params=lambda _: {"limit": 1000}, compared=False),
}
