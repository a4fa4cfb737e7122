"""Facts, and the subjects that they are about."""

from __future__ import annotations

from typing import Final

from tests.server.matrix import Entry, named, own

from anaphora.domain.facts import FactState
from anaphora.domain.principals import Permission

READ, WRITE = Permission.READ, Permission.WRITE
EVERY: Final = {"limit": 1000, "state": [state.value for state in FactState]}

ENTRIES: Final[dict[str, Entry | tuple[Entry, ...]]] = {
    "GET /v1/facts": (
        own(READ, shows=True, params=lambda _: EVERY),
        own(READ, shows=True, params=lambda t: {**EVERY, "subject": t.subject}),
        own(READ, params=lambda t: {"after": str(t.fact), "subject": "none"}),
    ),
    "GET /v1/facts/review": own(READ, params=lambda t: {"subject": t.subject}),
    "GET /v1/facts/counts": own(READ, params=lambda t: {"subject": t.subject}),
    "POST /v1/facts": own(WRITE, owner=201, json=lambda t: {"content": "Owns pears", "subject": t.subject}),
    "GET /v1/facts/{fact}": named(READ, shows=True),
    "GET /v1/facts/{fact}/history": named(READ, shows=True),
    "PATCH /v1/facts/{fact}": named(WRITE, json=lambda _: {"content": "Owns nothing"}),
    "POST /v1/facts/{fact}/pin": named(WRITE),
    "POST /v1/facts/{fact}/unpin": named(WRITE),
    "POST /v1/facts/{fact}/confirm": named(WRITE),
    # it is believed: there is nothing to take up
    "POST /v1/facts/{fact}/take-up": named(WRITE, owner=422),
    "PATCH /v1/facts/{fact}/visibility": (
        named(WRITE, json=lambda _: {"visibility": "private"}),
        named(WRITE, json=lambda _: {"visibility": "shared"}),
    ),
    "POST /v1/facts/{fact}/undo": named(WRITE),
    "DELETE /v1/facts/{fact}": named(WRITE, owner=204, destroys=True),
    "GET /v1/subjects/{subject}/facts": own(READ, shows=True),
    "GET /api/ai/legacies/{legacy_id}/facts": own(READ, shows=True),
    "PATCH /api/ai/facts/{fact_id}/visibility": named(WRITE, json=lambda _: {"visibility": "shared"}),
    # the other path has deleted it by then
    "DELETE /api/ai/facts/{fact_id}": named(WRITE, owner=404, destroys=True),
    "GET /v1/subjects": own(READ, shows=True),
    "POST /v1/subjects": (
        own(WRITE, owner=201, compared=False, json=lambda t: {"subject": f"{t.subject}-{t.session}-new"}),
        # an application names subjects: that a name is taken is all that is told
        Entry(scope=WRITE, owner=409, foreign=(201, 409), compared=False, json=lambda t: {"subject": t.subject}),
    ),
    "PATCH /v1/subjects/{subject}": named(WRITE, json=lambda _: {"name": "mine"}),
    "GET /v1/subjects/{subject}/members": named(READ),
    "PUT /v1/subjects/{subject}/members/{member}": named(WRITE),
    "DELETE /v1/subjects/{subject}/members/{member}": named(WRITE, destroys=True),
}
