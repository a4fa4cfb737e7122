"""Whether the service is there: it is open to everybody, and tells nobody anything."""

from __future__ import annotations

from typing import Final

from tests.server.matrix import Entry, own

ENTRIES: Final[dict[str, Entry | tuple[Entry, ...]]] = {
    "GET /health": own(None),
    "GET /ready": own(None),
    # to this machine itself; who else may have it is looked at in test_observing
    "GET /metrics": own(None, compared=False),
}
