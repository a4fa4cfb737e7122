"""`anaphora copy`: everything of one database into another."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import asdict
from typing import Annotated

import anyio
import typer

from anaphora.bootstrap import maintenance, open_services
from anaphora.bootstrap.stores import shown
from anaphora.cli.options import AsJson
from anaphora.cli.output import emit, note, plural
from anaphora.cli.running import Access, database, opened, settings_from
from anaphora.errors import InvalidInput
from anaphora.services.copying import Copied, Copying
from anaphora.settings import Settings


def copy(
    source: Annotated[str, typer.Argument(metavar="SRC", help="Where from: a file, or postgresql://…")],
    target: Annotated[str, typer.Argument(metavar="DST", help="Where to; it is made if it is not there.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Copy everything of all tenants into another database, of the same kind or of the other.

    Begun again, it goes on where it stopped. In the end both must export the same, and the target is examined as by
    `anaphora doctor`; the exit code is 1 if a promise is broken there. Queued jobs and idempotency keys stay behind:
    what is due is planned anew.
    """
    here, there = settings_from(source), settings_from(target)
    place = shown(there.db)
    if database(here) == place:
        raise InvalidInput("both are the same database: give another target")
    copied = anyio.run(_copied, here, there)
    diagnosis = maintenance.diagnose(there, stuck_seconds=300.0)
    broken = [f"{check.id}: {check.detail}" for check in diagnosis.checks if not check.ok and not check.warning]
    if as_json:
        emit({"tenants": [asdict(each) for each in copied], "ok": diagnosis.ok, "broken": broken})
    else:
        for each in copied:
            rest = "" if each.equal else " The target holds more of this tenant."
            note(f"{each.tenant}: {plural(each.sessions, 'session')}, {plural(each.messages, 'new message')}.{rest}")
        promise = "every promise is kept" if diagnosis.ok else f"broken there: {'; '.join(broken)}"
        note(f"{plural(len(copied), 'tenant')} copied to {place}: {promise}.")
    if not diagnosis.ok:
        raise typer.Exit(1)


async def _copied(here: Settings, there: Settings) -> list[Copied]:
    async with opened(here, Access.READ) as source, open_services(there) as target:
        copying = Copying(store=source.store, export=source.export, other_export=target.export, restore=target.restore)
        async with aclosing(copying.copy()) as tenants:
            return [each async for each in tenants]
