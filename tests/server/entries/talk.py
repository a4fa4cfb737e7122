"""Conversations: the log, prompts and answers, and what is made of them."""

from __future__ import annotations

from typing import Final

from tests.memory.principals import COMMON
from tests.server.matrix import Entry, named, own

from anaphora.domain.principals import Permission

READ, WRITE, ERASE = Permission.READ, Permission.WRITE, Permission.ERASE
SAID: Final = {"role": "user", "content": "Mine."}

ENTRIES: Final[dict[str, Entry | tuple[Entry, ...]]] = {
    "GET /v1/me": Entry(scope=None, apart="every key may ask it: test_sessions"),
    "GET /v1/defaults": Entry(scope=None, apart="every key may ask it, and it tells of nobody: test_client"),
    "GET /v1/events": Entry(scope=READ, apart="it does not end: test_events"),
    "GET /v1/jobs": Entry(scope=READ, apart="operators may ask it too: test_sessions"),
    "POST /v1/jobs/retry": Entry(scope=WRITE, apart="operators may ask it too: test_sessions"),
    "POST /v1/jobs/{job}/retry": Entry(scope=WRITE, apart="operators may ask it too: test_sessions"),
    "GET /v1/search": (
        own(READ, shows=True, params=lambda _: {"q": COMMON, "kinds": ["messages", "facts", "chunks"], "limit": 200}),
        own(READ, params=lambda t: {"q": COMMON, "session": t.session}),
    ),
    "GET /v1/receipts/{receipt}": named(READ),
    "GET /v1/sessions": own(READ, params=lambda _: {"limit": 1000}),
    "POST /v1/sessions": own(WRITE, owner=201, compared=False, json=lambda _: {}),
    "GET /v1/sessions/{session}": named(READ),
    "POST /v1/sessions/{session}/end": own(WRITE),
    "POST /v1/sessions/{session}/rebuild": named(WRITE, json=lambda _: {}),
    "POST /v1/sessions/{session}/reset": own(ERASE, destroys=True),
    "GET /v1/sessions/{session}/messages": (
        own(READ, shows=True),
        own(READ, shows=True, params=lambda _: {"start": 0, "limit": 1000}),
    ),
    "POST /v1/sessions/{session}/messages": Entry(
        scope=WRITE, owner=201, foreign=(201,), compared=False, path={"session": lambda _: "new"}, json=lambda _: SAID
    ),
    "POST /v1/sessions/{session}/turns": Entry(
        scope=WRITE,
        owner=201,
        foreign=(201,),
        compared=False,
        path={"session": lambda _: "new"},
        json=lambda _: {"messages": [SAID]},
    ),
    "GET /v1/sessions/{session}/messages/{seq}/versions": named(READ, shows=True, path={"seq": lambda _: "0"}),
    # the session is erased by then
    "PATCH /v1/sessions/{session}/messages/{seq}": named(
        WRITE, owner=404, json=lambda _: {"content": "Corrected."}, destroys=True
    ),
    "DELETE /v1/sessions/{session}/messages/{seq}": named(WRITE, owner=404, destroys=True),
    "POST /v1/sessions/{session}/context": (
        own(READ, shows=True, json=lambda _: {"query": COMMON}),
        own(READ, shows=True, params=lambda _: {"format": "openai"}, json=lambda _: {"query": COMMON}),
    ),
    "POST /v1/sessions/{session}/send": own(
        WRITE, compared=False, path={"session": lambda _: "new"}, json=lambda _: {"content": "Hello."}
    ),
    "POST /v1/sessions/{session}/stream": own(
        WRITE, compared=False, path={"session": lambda _: "new"}, json=lambda _: {"content": "Hello."}
    ),
    "POST /v1/sessions/{session}/recall": own(READ, shows=True, json=lambda _: {"content": COMMON, "limit": 200}),
    "GET /v1/sessions/{session}/summaries": own(READ, shows=True),
    "GET /v1/sessions/{session}/summaries/{version}": named(READ, shows=True),
    "GET /v1/sessions/{session}/summaries/{version}/diff": named(READ, params=lambda _: {"since": 1}),
    "GET /v1/stats": own(READ),
    "GET /v1/topics": own(READ, shows=True, params=lambda _: {"limit": 1000}),
    "GET /v1/sessions/{session}/topics": own(READ),
    "GET /v1/sessions/{session}/topics/{seq}": (
        own(READ, shows=True, path={"session": lambda _: "threads"}),
        # its strategy keeps none
        named(READ, owner=404),
    ),
}
