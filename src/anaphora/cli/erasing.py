"""`anaphora erase` and `erasures`: leave nothing of a user, a session, a message, a fact or a source."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from anaphora.bootstrap import Services, residue
from anaphora.cli.options import Agent, AsJson, Db, Limit, Tenant, named
from anaphora.cli.output import emit, note, plural, table
from anaphora.cli.running import Access, run, settings_from
from anaphora.domain.erasure import Erasure, ErasureReport
from anaphora.errors import InvalidInput
from anaphora.memory import Memory


def erase(
    *,
    user: Annotated[
        str | None,
        typer.Option("--user", metavar="USER", help="Everything of this user; with more, whose it is.", callback=named),
    ] = None,
    session: Annotated[
        str | None, typer.Option("--session", metavar="SESSION", help="This session of the user.", callback=named)
    ] = None,
    message: Annotated[
        str | None,
        typer.Option("--message", metavar="ID", help="One message: its number in the session, or its id."),
    ] = None,
    fact: Annotated[str | None, typer.Option("--fact", metavar="ID", help="One fact.")] = None,
    source: Annotated[
        str | None,
        typer.Option("--source", metavar="SOURCE", help="What came from there: 'import:openai', or 'agent:NAME'."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    asked_by: Annotated[
        str, typer.Option("--asked-by", metavar="WHO", help="Who wanted it: kept in the account.")
    ] = "command line",
    vacuum: Annotated[
        bool, typer.Option("--vacuum", help="On a server: have it overwrite what dead rows left, too.")
    ] = False,
    agent: Agent = None,
    db: Db = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Erase for good: rows, everything made of them, index, vectors, jobs, and what is left in the file.

    Import, restore and learning do not bring it back. An account is kept of numbers and keyed hashes.
    """
    settings = settings_from(db, tenant=tenant, agent=agent)
    named: dict[str, Any] = {"user": user, "session": session, "message": message, "fact": fact, "source": source}
    if not (dry_run or yes):
        if not sys.stdin.isatty():
            raise InvalidInput("what is erased is gone: add --yes where nobody can be asked, or --dry-run to see it")
        what = ", ".join(f"{name} {value!r}" for name, value in named.items() if value is not None)
        typer.confirm(f"Erase {what or 'nothing'} for good?", abort=True, err=True)

    async def work(services: Services) -> ErasureReport:
        return await Memory(services).erase(**named, agent=agent, dry_run=dry_run, asked_by=asked_by)

    report = run(work, settings, Access.READ if dry_run else Access.WRITE)
    tables = residue.vacuum(settings) if vacuum and not dry_run else 0
    if as_json:
        emit(_report_json(report))
        return
    empty = "Nothing would go." if dry_run else "There was nothing to erase."
    table(("what", "would go" if dry_run else "erased"), report.counts.items(), empty=empty)
    if dry_run:
        note("Nothing was changed.")
    elif report.residue:
        note("Another process reads what was there before: the file is cleaned as soon as that ends.")
    if tables:
        note(f"{plural(tables, 'table')} vacuumed.")


def erasures(*, limit: Limit = 50, db: Db = None, tenant: Tenant = None, as_json: AsJson = False) -> None:
    """Show the account of erasures, newest first: who asked, when, and how much went."""
    settings = settings_from(db, tenant=tenant)

    async def work(services: Services) -> Sequence[Erasure]:
        return await Memory(services).erasures(limit=limit)

    found = run(work, settings, Access.READ)
    if as_json:
        emit({"erasures": [_erasure_json(each) for each in found]})
        return
    table(
        ("number", "kind", "asked by", "asked", "state", "erased"),
        (
            (each.number, each.kind, each.asked_by, each.asked_at, each.state, _counted(each.counts.items()))
            for each in found
        ),
        empty="Nothing was ever erased.",
    )


def _counted(counts: Any) -> str:  # noqa: ANN401 - pairs of what and how many
    return ", ".join(f"{count:,} {_one(what) if count == 1 else what}" for what, count in counts)


def _one(what: str) -> str:
    return f"{what.removesuffix('ies')}y" if what.endswith("ies") else what.removesuffix("s")


def _report_json(report: ErasureReport) -> dict[str, Any]:
    return {
        "id": None if report.id is None else str(report.id),
        "kind": report.kind.value,
        "done": report.id is not None,
        "counts": dict(report.counts),
        "ids": {kind: [str(uid) for uid in ids] for kind, ids in report.ids.items()},
        "residue": report.residue,
    }


def _erasure_json(erasure: Erasure) -> dict[str, Any]:
    return {
        "id": str(erasure.id),
        "number": erasure.number,
        "kind": erasure.kind.value,
        "mark": erasure.mark,
        "asked_by": erasure.asked_by,
        "asked_at": erasure.asked_at,
        "state": erasure.state.value,
        "done_at": erasure.done_at,
        "counts": dict(erasure.counts),
    }
