"""`anaphora sessions`, `jobs`, `reset` and `rebuild`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

import anyio
import typer

from anaphora.agents.opening import with_folder_and_models
from anaphora.bootstrap import Services
from anaphora.cli.options import (
    Agent,
    AnyAgent,
    AnyUser,
    AsJson,
    Db,
    Limit,
    SessionName,
    Tenant,
    Timeout,
    User,
    duration,
    named,
)
from anaphora.cli.output import emit, note, plural, say, table
from anaphora.cli.running import Access, key_of, run, settings_from
from anaphora.cli.shapes import job_json, session_json
from anaphora.cli.working import finish_rebuild
from anaphora.domain.jobs import Job, JobState
from anaphora.domain.summaries import Method
from anaphora.errors import InvalidInput
from anaphora.memory import Memory
from anaphora.ports.rows import SessionRow


def list_sessions(
    *,
    user: AnyUser = None,
    agent: AnyAgent = None,
    limit: Limit = 50,
    db: Db = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """List sessions, the last used first."""
    settings = settings_from(db, tenant=tenant)

    async def work(services: Services) -> Sequence[SessionRow]:
        return await Memory(services).sessions(user=user, agent=agent, limit=limit)

    rows = run(work, settings, Access.READ)
    if as_json:
        emit({"sessions": [session_json(row) for row in rows]})
        return
    table(
        ("user", "agent", "session", "messages", "turns", "tokens", "strategy", "last used", "ended"),
        (
            (
                row.key.user,
                row.key.agent,
                row.key.session,
                row.head,
                row.turns,
                row.tokens,
                row.strategy or settings.strategy,
                row.updated_at,
                row.ended_at is not None,
            )
            for row in rows
        ),
        empty="There are no sessions yet.",
    )


def list_jobs(
    *,
    stuck: Annotated[
        float | None,
        typer.Option(
            "--stuck", parser=duration, metavar="AGE", help="Only those that should have moved so long ago, such as 5m."
        ),
    ] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Only failed ones.")] = False,
    limit: Limit = 50,
    db: Db = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """List background work, newest first."""
    if failed and stuck is not None:
        raise InvalidInput("a failed job is not stuck: give --failed or --stuck")
    settings = settings_from(db, tenant=tenant)
    states = [JobState.FAILED] if failed else None

    async def work(services: Services) -> Sequence[Job]:
        return await Memory(services).jobs.list(states=states, stuck_seconds=stuck, limit=limit)

    found = run(work, settings, Access.READ)
    if as_json:
        emit({"jobs": [job_json(job) for job in found]})
        return
    table(
        ("id", "kind", "state", "user", "session", "messages", "attempt", "due", "reason"),
        (
            (
                job.id,
                job.kind,
                job.state,
                job.key.user,
                job.key.session,
                job.range,
                f"{job.attempt}/{job.max_attempts}",
                job.run_at,
                job.reason or ("waits for a model" if job.needs_model and job.state is JobState.QUEUED else ""),
            )
            for job in found
        ),
        empty="There are no such jobs.",
    )


def retry(
    job: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Only this one.", show_default="all that failed")
    ] = None,
    *,
    db: Db = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Queue failed jobs again, with fresh attempts: one by its id, or all."""
    job_id = None if job is None else _job_id(job)
    settings = settings_from(db, tenant=tenant)

    async def work(services: Services) -> int:
        return await Memory(services).jobs.retry(job_id)

    count = run(work, settings, Access.WRITE)
    if as_json:
        emit({"queued": count})
    else:
        say(f"{plural(count, 'job')} queued: `anaphora worker` works on them." if count else "No job has failed.")


def reset(
    *,
    user: User,
    session: SessionName,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    agent: Agent = None,
    db: Db = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Delete a session's messages and everything made of them. There is no way back."""
    settings = settings_from(db, tenant=tenant, agent=agent)
    key = key_of(settings, user, session)
    if not yes:
        if not sys.stdin.isatty():
            raise InvalidInput("reset deletes for good: add --yes where nobody can be asked")
        typer.confirm(f"Delete every message of session {session!r} of {user!r} for good?", abort=True, err=True)

    async def work(services: Services) -> int:
        return await services.sessions.reset(key)

    count = run(work, settings, Access.WRITE)
    if as_json:
        emit({"cleared": count})
    else:
        say(f"Cleared {count} messages from your history.")


def rebuild(
    session: Annotated[str, typer.Argument(metavar="SESSION", help="Which conversation.", callback=named)],
    *,
    user: User,
    from_seq: Annotated[int, typer.Option("--from", metavar="SEQ", help="Only from this message on.")] = 0,
    wait: Annotated[bool, typer.Option("--wait", help="Work on it here, until it is done.")] = False,
    timeout: Timeout = 300.0,
    agent: Agent = None,
    db: Db = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Make the summaries of a session anew from its messages; the old ones are served until the new ones are there.

    With --wait they are made by the model that the settings or the configuration of the agent name, as by a worker.
    """
    settings = settings_from(db, tenant=tenant, agent=agent)
    if wait:
        settings = anyio.run(with_folder_and_models, settings)
    key = key_of(settings, user, session)

    async def work(services: Services) -> tuple[bool, Job | None, bool]:
        queued = await services.sessions.rebuild(key, from_seq=from_seq)
        job = await finish_rebuild(services, key, timeout=timeout) if wait else None
        here = Memory(services).session(user=user, session=session, agent=key.agent, tenant=key.tenant)
        return queued, job, wait and any(each.method is not Method.MODEL for each in (await here.summaries())[:1])

    queued, job, without_model = run(work, settings, Access.WRITE)
    done = job is not None and job.state is JobState.DONE
    if as_json:
        emit({"queued": queued, "done": done, "job": job_json(job) if job else None})
    elif done:
        say("The summaries were made anew.")
        if without_model:
            note("No model made them: sentences were chosen (`anaphora models list` shows what is set).")
    elif not wait:
        say("A rebuild is queued: `anaphora worker` works on it." if queued else "A rebuild is under way already.")
    if wait and not done:
        note(f"The rebuild is not done: {_why(job)}.")
        raise typer.Exit(1)


def _why(job: Job | None) -> str:
    if job is None:
        return "there is nothing to rebuild"
    if job.state is JobState.FAILED:
        return job.reason or "it failed"
    return "it is still at work"


def _job_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise InvalidInput(f"{text!r} is no id of a job: `anaphora jobs list --failed` shows them") from None
