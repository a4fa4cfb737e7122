"""The table of how each route is called, by whose it is and by others.

To add a route, give its entry in a file of `tests/server/entries`, under "METHOD /path" as in the OpenAPI document:

    "GET /v1/facts/{fact}": named(READ, shows=True),

Names in paths stand for what `PATHS` says, unless an entry says otherwise in `path`.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import httpx2
from tests.memory.principals import Things

from anaphora.domain.principals import Permission

Of = Callable[[Things], Any]

#: what the parameters of paths stand for
PATHS: Final[dict[str, Of]] = {
    "session": lambda t: t.session,
    "fact": lambda t: t.fact,
    "fact_id": lambda t: t.fact,
    "subject": lambda t: t.subject,
    "legacy_id": lambda t: t.subject,
    "member": lambda _: "carol",
    "document": lambda t: t.document,
    "receipt": lambda t: t.receipt,
    "job": lambda t: t.job,
    "seq": lambda _: "1",
    "version": lambda _: "1",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One way to call a route."""

    #: what it needs; None: it is open to everybody
    scope: Permission | None
    #: what its owner is answered
    owner: int = 200
    #: what others are answered; empty: what the owner is, for it is their own memory that they ask
    foreign: tuple[int, ...] = ()
    #: parameters of the path that stand for something else than in `PATHS`
    path: Mapping[str, Of] = field(default_factory=dict)
    params: Of | None = None
    json: Of | None = None
    #: what is sent instead of JSON
    content: Of | None = None
    files: Of | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    #: the owner's answer holds the owner's words
    shows: bool = False
    #: what is foreign is answered as what is not there, and what is asked for decides, not what was done before
    compared: bool = True
    #: the owner's turn comes last: afterwards there is nothing left of it
    destroys: bool = False
    #: why it is not asked here, but in a test of its own
    apart: str = ""


def own(scope: Permission | None, **more: Any) -> Entry:
    """Each principal asks for what is their own."""
    return Entry(scope=scope, **more)


def named(scope: Permission, **more: Any) -> Entry:
    """It names something: to others it is not there."""
    return Entry(scope=scope, foreign=(404,), **more)


def collected() -> Mapping[str, Sequence[Entry]]:
    """Every entry, by method and path."""
    found: dict[str, Sequence[Entry]] = {}
    for file in sorted((Path(__file__).parent / "entries").glob("*.py")):
        entries = importlib.import_module(f"tests.server.entries.{file.stem}").ENTRIES
        twice = found.keys() & entries.keys()
        assert not twice, f"{file.name} speaks of {twice} too"
        found |= {name: each if isinstance(each, tuple) else (each,) for name, each in entries.items()}
    return found


async def asked(client: httpx2.AsyncClient, name: str, entry: Entry, things: Things) -> tuple[httpx2.Response, str]:
    """The answer to one call with these things, and what was sent for it."""
    method, _, template = name.partition(" ")

    def filled(found: re.Match[str]) -> str:
        of = entry.path.get(found[1]) or PATHS[found[1]]
        return quote(str(of(things)), safe="")

    given: dict[str, Any] = {
        key: of(things) for key in ("params", "json", "content", "files") if (of := getattr(entry, key)) is not None
    }
    path = re.sub(r"{(\w+)}", filled, template)
    return await client.request(method, path, headers=entry.headers, **given), f"{path} {given}"
