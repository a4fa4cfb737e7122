"""What this layout cannot do, and why: a limit that is gone fails its test, and leaves `docs/scaling.md` too."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.databases.postgres import opened
from tests.sharded.cluster import sharded_database_of

from anaphora.bootstrap.maintenance import diagnose
from anaphora.settings import load
from anaphora.storage.columns import metadata


def test_the_doctor_looks_for_unique_indexes_where_it_is_connected(tmp_path: Path) -> None:
    """The nodes have them, and keep what must be unique unique."""

    async def made() -> str:
        url = await sharded_database_of(tmp_path)
        async with opened(url):
            return url

    settings = load(db=asyncio.run(made()), durability="normal")
    broken = {check.id: check.detail for check in diagnose(settings, stuck_seconds=300).checks if not check.ok}
    missing = {index.name for table in metadata.sorted_tables for index in table.indexes if index.unique}
    assert set(broken) == {"schema"}
    named, _, more = broken["schema"].partition(" and ")
    names = {each.removeprefix("no unique index ") for each in named.split("; ")}
    assert names <= missing
    assert len(names) + int(more.removesuffix(" more") or 0) == len(missing)
