"""`anaphora reindex`: vectors of everything, after a change of the embedder or for what was written without one."""

from __future__ import annotations

from typing import Annotated

import typer

from anaphora.bootstrap import Services
from anaphora.cli.options import AsJson, Db, Tenant, duration
from anaphora.cli.output import emit, note, plural
from anaphora.cli.running import Access, run, settings_from
from anaphora.cli.working import Crew
from anaphora.errors import InvalidInput


def reindex(
    *,
    plan_only: Annotated[
        bool, typer.Option("--plan-only", help="Only queue the work: workers elsewhere do it.")
    ] = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="Forget the vectors of other embedders when all is done.")
    ] = False,
    timeout: Annotated[
        float,
        typer.Option(
            "--timeout",
            parser=duration,
            metavar="DURATION",
            show_default="1h",
            help="How long to wait at most, such as 30m.",
        ),
    ] = 3600.0,
    db: Db = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Give every message the vectors by which it is found by meaning, where they are missing.

    Run it after a change of the embedder, or when messages were written without one. It goes on where it was
    interrupted, and like a worker it does whatever else is due meanwhile, work for language models too. Until it is
    done, search goes by words and by the vectors that there are; those of two embedders are never compared.
    """
    if plan_only and prune:
        raise InvalidInput("--prune forgets when all is done, --plan-only does nothing yet: give one of the two")
    settings = settings_from(db, tenant=tenant)

    async def work(services: Services) -> dict[str, int]:
        sessions = await services.reindex.plan(settings.tenant)
        done = {"sessions": sessions, "jobs": 0, "waiting": 0, "forgotten": 0}
        if plan_only:
            return done
        note(f"{plural(sessions, 'session')} to embed.")
        tally = await Crew(services).work(drain=True, timeout=timeout)
        done |= {"jobs": tally.done, "waiting": tally.waiting}
        if prune and not tally.waiting and not tally.told_to_stop:
            done["forgotten"] = await services.reindex.forget(settings.tenant)
        return done

    done = run(work, settings, Access.WRITE)
    if as_json:
        emit(done)
    elif plan_only:
        note(f"Work was queued for {plural(done['sessions'], 'session')}: `anaphora worker` does it.")
    else:
        note(f"{plural(done['jobs'], 'job')} done, {done['waiting']:,} waiting.")
        if prune:
            note(f"Vectors of {plural(done['forgotten'], 'message')} were forgotten.")
    if done["waiting"]:
        raise typer.Exit(1)
