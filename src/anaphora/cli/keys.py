"""`anaphora keys`: who may use the service."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final
from uuid import UUID

import typer

from anaphora.bootstrap import Services
from anaphora.cli.options import AnyUser, AsJson, Db, Limit, Tenant, named
from anaphora.cli.output import emit, note, say, table
from anaphora.cli.running import Access, run, settings_from
from anaphora.domain.access import ApiKey, NewKey
from anaphora.errors import InvalidInput, NotFound
from anaphora.memory import Memory

#: keys among which one is looked for by the end of its id
_MOST: Final = 1000

KeyId = Annotated[str, typer.Argument(metavar="KEY", help="Its id, or the end of it.")]


def create(
    *,
    user: Annotated[
        str | None, typer.Option("--user", metavar="NAME", help="In whose name it acts.", callback=named)
    ] = None,
    scopes: Annotated[
        str, typer.Option("--scopes", metavar="LIST", help="read, write, export, erase with commas, or all.")
    ] = "all",
    operator: Annotated[
        bool, typer.Option("--operator", help="For the operator of the tenant, who sees nothing that anybody said.")
    ] = False,
    name: Annotated[str, typer.Option("--name", metavar="TEXT", help="What it is for.")] = "",
    expires: Annotated[
        float | None, typer.Option("--expires", metavar="DAYS", help="After how many days it ends; else never.")
    ] = None,
    db: Db = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Make a key and show it, once: only a hash of it is kept."""
    if (user is None) is not operator:
        raise InvalidInput("a key is of a person (--user NAME) or of the operator (--operator): give one of the two")
    settings = settings_from(db, tenant=tenant)
    wanted = [scope.strip() for scope in scopes.split(",") if scope.strip()]

    async def work(services: Services) -> NewKey:
        return await Memory(services).keys.create(user=user, scopes=wanted, name=name, days=expires)

    _show_new(run(work, settings, Access.CREATE), as_json=as_json)


def show(
    *, user: AnyUser = None, limit: Limit = 50, db: Db = None, tenant: Tenant = None, as_json: AsJson = False
) -> None:
    """List keys, the newest first; expired and revoked ones too."""
    settings = settings_from(db, tenant=tenant)

    async def work(services: Services) -> Sequence[ApiKey]:
        return await Memory(services).keys.list(user=user, limit=limit)

    found = run(work, settings, Access.READ)
    if as_json:
        emit({"keys": [_plain(key) for key in found]})
        return
    table(
        ("key", "user", "scopes", "name", "made", "last used", "ends", "revoked"),
        (
            (
                _short(key),
                key.user or "(operator)",
                " ".join(sorted(key.permissions)),
                key.name,
                key.created_at,
                key.last_used_at,
                key.expires_at,
                key.revoked_at,
            )
            for key in found
        ),
        empty="There are no keys: `anaphora keys create` makes one.",
    )


def revoke(key: KeyId, *, db: Db = None, tenant: Tenant = None, as_json: AsJson = False) -> None:
    """Let a key let nobody in any more, within five seconds where a service runs."""
    settings = settings_from(db, tenant=tenant)

    async def work(services: Services) -> tuple[UUID, bool]:
        memory = Memory(services)
        meant = await _meant(memory, key)
        return meant.id, await memory.keys.revoke(meant.id)

    key_id, revoked = run(work, settings, Access.WRITE)
    if as_json:
        emit({"id": key_id, "revoked": revoked})
    else:
        note("It lets nobody in any more." if revoked else "It was revoked already.")


def rotate(
    key: KeyId,
    *,
    overlap: Annotated[
        float, typer.Option("--overlap", metavar="HOURS", help="How long the old one goes on letting in.")
    ] = 24.0,
    db: Db = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Make a key like this one, and show it once; the old one ends after some hours."""
    settings = settings_from(db, tenant=tenant)

    async def work(services: Services) -> NewKey:
        memory = Memory(services)
        return await memory.keys.rotate((await _meant(memory, key)).id, overlap_hours=overlap)

    _show_new(run(work, settings, Access.WRITE), as_json=as_json)


def _show_new(new: NewKey, *, as_json: bool) -> None:
    if as_json:
        emit({"key": new.key, **_plain(new.made)})
        return
    say(new.key)
    note("Keep it: it is not shown again. Send it as `Authorization: Bearer KEY`, or sign in with it on the page.")


def _plain(key: ApiKey) -> dict[str, object]:
    return {
        "id": key.id,
        "tenant": key.tenant,
        "user": key.user,
        "name": key.name,
        "scopes": sorted(key.permissions),
        "created_at": key.created_at,
        "expires_at": key.expires_at,
        "revoked_at": key.revoked_at,
        "last_used_at": key.last_used_at,
    }


def _short(key: ApiKey) -> str:
    """The end of an id: the beginning is its time."""
    return key.id.hex[-8:]


async def _meant(memory: Memory, given: str) -> ApiKey:
    """The key whose id is given, or ends so."""
    end = given.strip().lower().replace("-", "")
    found = [key for key in await memory.keys.list(limit=_MOST) if end and key.id.hex.endswith(end)]
    if len(found) > 1:
        raise InvalidInput(f"{len(found)} keys end with {given!r}: give more of the id")
    if not found:
        raise NotFound(f"there is no key {given!r}: `anaphora keys list` shows those that are there")
    return found[0]
