"""Looking for a text in the rows of a server, and making it let go of rows that are dead."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import sqlalchemy as sa

from anaphora.storage.residue import Residue

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

#: a statement with names in it, which are no parameters
_named: Callable[..., sa.Executable] = sa.DDL
_TABLES = sa.text(
    "SELECT table_name FROM information_schema.tables"
    " WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' ORDER BY table_name"
)
_FORMS: Final = ("text", "JSON", "bytes")


def in_rows(connection: sa.Connection, canaries: Sequence[str]) -> list[Residue]:
    """Where the texts stand in rows that the role may read, index rows of words too."""
    found: list[Residue] = []
    for table in connection.execute(_TABLES).scalars().all():
        kept = sa.table(table).alias("kept")
        row = sa.func.lower(sa.cast(sa.literal_column("kept"), sa.Text))
        for number, canary in enumerate(canaries, start=1):
            for form, needle in zip(_FORMS, _needles(canary), strict=True):
                having = sa.func.strpos(row, sa.func.lower(needle)) > 0
                count = connection.execute(sa.select(sa.func.count()).select_from(kept).where(having)).scalar_one()
                if count:
                    found.append(Residue(canary=number, place=table, form=form, count=count))
                    break
    return found


async def vacuum(connection: AsyncConnection) -> int:
    """Let the server reuse, and overwrite, what dead rows left; how many tables. The connection commits by itself."""
    tables = (await connection.execute(_TABLES)).scalars().all()
    for table in tables:
        quoted = connection.dialect.identifier_preparer.quote(table)
        await connection.execute(_named("VACUUM %(table)s", context={"table": quoted}))
    return len(tables)


def _needles(canary: str) -> tuple[str, str, str]:
    """As a row in text has it: quotes are doubled there, and bytes stand as digits."""
    return canary.replace('"', '""'), json.dumps(canary)[1:-1].replace("\\", "\\\\"), canary.encode().hex()
