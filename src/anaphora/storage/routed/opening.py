"""Opening several servers as one store: which is which, and does every tenant live where it is looked for."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final, Protocol

from anaphora.errors import ConfigError, StoreError
from anaphora.ports.clock import Clock
from anaphora.ports.store import Store
from anaphora.services.maintenance import Findings
from anaphora.storage.routed.placement import Placement
from anaphora.storage.routed.store import RoutedStore, named, tenants_on

#: whose the database is: its server's name, and the list that it was last opened with
_PLACE: Final = "servers"
#: the secret of all servers together
_SECRET: Final = "servers_secret"  # noqa: S105 - the name of a note
_NAMES: Final = (_PLACE, _SECRET)
_DIFFERENT_LISTS: Final = "these servers belong to different lists: use each list alone, and copy to join them"


class Notes(Protocol):
    """What a database remembers of itself."""

    async def get(self, *names: str) -> Mapping[str, str]:
        """The notes with these names, as far as they are there."""
        ...

    async def put(self, name: str, value: str) -> None:
        """Write a note, or write it anew."""
        ...

    async def put_if_absent(self, name: str, value: str) -> str:
        """Write a note unless it is there; what it says then."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One server of several, open."""

    store: Store
    notes: Notes


#: opens the server with this name
OpenMember = Callable[[str], AbstractAsyncContextManager[Member]]


@asynccontextmanager
async def open_routed(
    opening: OpenMember, placement: Placement, *, clock: Clock, read_only: bool
) -> AsyncIterator[RoutedStore]:
    """A store out of all servers of the placement; closed at the end.

    A list of servers that was changed is compared with what is there, once: a tenant that lives where the new list
    does not look for it would seem to have lost its memory, so nothing is opened before it was moved.

    Args:
        opening: opens one server by its name.
        placement: which server keeps which tenant.
        clock: the time for waiting.
        read_only: never write.

    Raises:
        ConfigError: two names for one database.
        StoreError: a server cannot be opened, belongs to another list, or keeps a tenant that belongs elsewhere.

    """
    async with opened_members(opening, placement) as members:
        secret = await _joined(members, placement, read_only=read_only)
        stores = {name: member.store for name, member in members.items()}
        store = RoutedStore(stores, placement, secret=secret, clock=clock)
        try:
            yield store
        finally:
            await store.close()


@asynccontextmanager
async def opened_members(opening: OpenMember, placement: Placement) -> AsyncIterator[Mapping[str, Member]]:
    """Every server by its name, open; no two of them are the same database.

    Raises:
        ConfigError: two names for one database.
        StoreError: a server cannot be opened.

    """
    async with AsyncExitStack() as stack:
        members: dict[str, Member] = {}
        for name in placement.servers:
            with named(name):
                members[name] = await stack.enter_async_context(opening(name))
        secrets = {name: await member.store.secret() for name, member in members.items()}
        for one, two in combinations(secrets, 2):
            if secrets[one] == secrets[two]:
                raise ConfigError(f"servers {one!r} and {two!r} are one database, or copies of one: leave one out")
        yield members


async def astray(members: Mapping[str, Member], placement: Placement) -> Findings:
    """The tenants that live on a server that is not asked for them."""
    found = Findings()
    for name, member in members.items():
        async for tenant in tenants_on(name, member.store):
            home = placement.server_of(tenant)
            if home != name:
                found.add(f"{tenant!r} is on {name}, and looked for on {home}")
    return found


async def _joined(members: Mapping[str, Member], placement: Placement, *, read_only: bool) -> bytes:
    """The secret of all servers together; each of them knows that it is one of these."""
    notes: dict[str, Mapping[str, str]] = {}
    for name, member in members.items():
        with named(name):
            notes[name] = await member.notes.get(*_NAMES)
    secrets = {note[_SECRET] for note in notes.values() if _SECRET in note}
    for name, note in notes.items():
        _check_place(name, json.loads(note.get(_PLACE, "{}")), placement)
    if len(secrets) > 1:
        raise StoreError(_DIFFERENT_LISTS)
    places = {name: _place(name, placement) for name in members}
    if all(len(note) == len(_NAMES) and note[_PLACE] == places[name] for name, note in notes.items()):
        return bytes.fromhex(secrets.pop())
    found = await astray(members, placement)
    if found.count:
        raise StoreError(
            f"the list of servers does not fit where tenants live: {found}: pin them there, or move them first"
        )
    secret = secrets.pop() if secrets else await _common_secret(members, read_only=read_only)
    if not read_only:
        for name, member in members.items():
            with named(name):
                if await member.notes.put_if_absent(_SECRET, secret) != secret:
                    raise StoreError(_DIFFERENT_LISTS)
                await member.notes.put(_PLACE, places[name])
    return bytes.fromhex(secret)


async def _common_secret(members: Mapping[str, Member], *, read_only: bool) -> str:
    """One for all, made once: that of the first server with tenants, whose writers may still come with old keys."""
    owner = next(iter(members.values()))
    anchor = owner
    for member in members.values():
        if await member.store.tenants(after="", limit=1):
            owner = member
            break
    own = (await owner.store.secret()).hex()
    return own if read_only else await anchor.notes.put_if_absent(_SECRET, own)


def _place(name: str, placement: Placement) -> str:
    return json.dumps({"name": name, "servers": placement.servers, "list": placement.fingerprint}, sort_keys=True)


def _check_place(name: str, was: Mapping[str, Any], placement: Placement) -> None:
    """Refuse what no look at the servers of the list could tell: two that were exchanged, and one that is gone."""
    if was.get("name", name) != name:
        raise StoreError(f"server {name!r} was {was['name']!r} before: give the address back to its name")
    gone = set(was.get("servers", ())) - set(placement.servers)
    if gone:
        raise StoreError(
            f"server {min(gone)!r} is missing from the list, and the tenants that it keeps with it: put it back, or"
            " copy every server's tenants into the databases of a new list"
        )
