"""Sessions and what is said in them."""

from __future__ import annotations

from typing import Final

from tests.server.matrix import Entry, own

from anaphora.domain.principals import Permission

READ, WRITE = Permission.READ, Permission.WRITE

ENTRIES: Final[dict[str, Entry | tuple[Entry, ...]]] = {
    "GET /v1/sessions": own(READ, params=lambda _: {"limit": 1000}),
    "POST /v1/sessions/{session}/end": own(WRITE),
    "POST /v1/sessions/{session}/messages": own(
        WRITE, owner=201, compared=False, json=lambda _: {"role": "user", "content": "Mine."}
    ),
    "GET /v1/sessions/{session}/messages": (
        own(READ, shows=True, params=lambda _: {"limit": 1000}),
        own(READ, shows=True, params=lambda _: {"start": 0}),
    ),
}
