"""What is kept beside the log, and what becomes of all of it."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from typing import Final

from tests.memory.principals import COMMON
from tests.server.matrix import Entry, named, own

from anaphora.domain.principals import Permission
from anaphora.domain.records import FooterRecord, header, line_of
from anaphora.services.tally import Tally

READ, WRITE, EXPORT, ERASE = Permission.READ, Permission.WRITE, Permission.EXPORT, Permission.ERASE

_HEADER: Final = line_of(header())
_SUM: Final = hashlib.sha256(_HEADER.encode()).hexdigest()
#: the export of somebody who never said anything
EMPTY: Final = _HEADER + line_of(FooterRecord(record="end", **asdict(Tally()), sha256=_SUM))

ENTRIES: Final[dict[str, Entry | tuple[Entry, ...]]] = {
    "GET /v1/notepad": own(READ, shows=True),
    "GET /v1/notepad/history": own(READ, shows=True, params=lambda _: {"limit": 1000}),
    "PUT /v1/notepad": own(WRITE, compared=False, json=lambda _: {"text": "Mine."}),
    "POST /v1/notepad/revert": own(WRITE, compared=False, json=lambda _: {"version": 1}),
    "GET /v1/knowledge": (
        own(READ, shows=True, params=lambda _: {"limit": 1000}),
        own(READ, params=lambda t: {"before": str(t.document), "doc_type": "none"}),
    ),
    "POST /v1/knowledge": own(WRITE, owner=201, compared=False, json=lambda _: {"text": "Mine.", "key": "common"}),
    "POST /v1/knowledge/files": own(
        WRITE, owner=201, compared=False, files=lambda _: {"file": ("mine.md", b"# Mine\n\nMine.")}
    ),
    "POST /v1/knowledge/search": own(READ, shows=True, json=lambda _: {"query": COMMON, "limit": 200}),
    "GET /v1/knowledge/{document}": (
        named(READ, shows=True),
        named(READ, shows=True, path={"document": lambda t: t.archived}),
    ),
    "PATCH /v1/knowledge/{document}": (
        named(WRITE, json=lambda _: {"title": "mine"}),
        named(WRITE, json=lambda _: {"title": "mine"}, path={"document": lambda t: t.archived}),
    ),
    "DELETE /v1/knowledge/{document}": (
        named(WRITE, owner=204, destroys=True),
        named(WRITE, owner=204, destroys=True, path={"document": lambda t: t.archived}),
    ),
    "GET /v1/export": (
        own(EXPORT, shows=True),
        own(EXPORT, shows=True, params=lambda t: {"session": t.session}),
        own(EXPORT, shows=True, params=lambda _: {"agent": "default"}),
    ),
    # who sends an export of somebody else's is looked at in test_copies
    "POST /v1/restore": own(WRITE, content=lambda _: EMPTY),
    "POST /v1/erase": (
        own(ERASE, json=lambda t: {"session": t.session, "dry_run": True}),
        own(ERASE, json=lambda t: {"fact": str(t.fact), "dry_run": True}),
        own(ERASE, json=lambda t: {"message": str(t.message), "dry_run": True}),
        named(ERASE, json=lambda t: {"session": t.session, "message": 2}, destroys=True),
        named(ERASE, json=lambda t: {"message": str(t.message)}, destroys=True),
        named(ERASE, json=lambda t: {"session": t.expired}, destroys=True),
        named(ERASE, json=lambda t: {"session": t.session}, destroys=True),
        # by then it is deleted
        named(ERASE, json=lambda t: {"fact": str(t.fact)}, owner=404, destroys=True),
        own(ERASE, json=lambda _: {"source": "agent:none"}, destroys=True),
        own(ERASE, json=lambda _: {"everything": True}, compared=False, destroys=True),
    ),
    "GET /v1/pause": own(READ, compared=False),
    "PUT /v1/pause": own(WRITE, compared=False),
    "DELETE /v1/pause": own(WRITE, compared=False),
    "GET /v1/erasures": own(Permission.OPERATE, params=lambda _: {"limit": 1000}),
    "GET /v1/retention": own(READ),
    "GET /v1/retention/expired": own(READ, params=lambda _: {"limit": 1000}),
    "PUT /v1/retention/sessions/{session}": named(WRITE, owner=204, json=lambda _: {"days": 3}),
    "POST /v1/retention/sessions/{session}/restore": named(WRITE, owner=204, path={"session": lambda t: t.expired}),
}
