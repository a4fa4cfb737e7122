"""Look for texts that were erased, in whatever kind of database is configured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from anaphora.bootstrap import servers
from anaphora.bootstrap.maintenance import database_of, on_server, opened
from anaphora.bootstrap.stores import SERVERS, is_postgres, postgres
from anaphora.settings import Settings
from anaphora.storage.residue import Residue, checked_canaries
from anaphora.storage.sqlite.errors import translated
from anaphora.storage.sqlite.residue import in_bytes, in_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What a search for erased texts found."""

    residues: tuple[Residue, ...]
    #: whether the bytes of files were looked at, or only rows
    bytes_too: bool


def verify_erasure(settings: Settings, canaries: Iterable[str]) -> Verified:
    """Where the texts are found; nothing is written, and the texts are not repeated.

    Raises:
        InvalidInput: there is none, or one is too short.
        StoreError: the database cannot be opened, is not ours, or is from another version.

    """
    wanted = checked_canaries(canaries)
    if settings.db == SERVERS:
        found = servers.each(settings, lambda one: verify_erasure(one, wanted))
        named = (replace(one, place=f"{name}: {one.place}") for name, each in found.items() for one in each.residues)
        return Verified(residues=tuple(named), bytes_too=False)
    if is_postgres(settings.db):
        rows: Sequence[Residue] = on_server(
            settings, postgres("upkeep").residue, canaries=wanted, wait=settings.busy_timeout
        )
        return Verified(residues=tuple(rows), bytes_too=False)
    database = replace(database_of(settings), read_only=True)
    with translated(), opened(database, settings) as connection:
        there = in_rows(connection, wanted)
    files = in_bytes(database.path, wanted) if database.path is not None else []
    return Verified(residues=(*there, *files), bytes_too=True)


def vacuum(settings: Settings) -> int:
    """Let a server overwrite what dead rows left; how many tables. A file needs no such thing: 0.

    Raises:
        StoreError: the server refuses it.

    """
    if settings.db == SERVERS:
        return sum(servers.each(settings, vacuum).values())
    if not is_postgres(settings.db):
        return 0
    tables: int = on_server(settings, postgres("upkeep").vacuumed, wait=settings.busy_timeout)
    return tables
