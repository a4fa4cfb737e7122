"""`anaphora retention`: how long sessions are kept that nobody uses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from anaphora.bootstrap import Services
from anaphora.cli.options import Agent, AsJson, Db, Limit, SessionName, Tenant, User
from anaphora.cli.output import emit, note, plural, say, table
from anaphora.cli.running import Access, key_of, run, settings_from
from anaphora.errors import InvalidInput
from anaphora.memory import Memory
from anaphora.ports.rows import SessionRow
from anaphora.rules.retention import Retention
from anaphora.services.retention import Swept


def show(*, limit: Limit = 50, db: Db = None, tenant: Tenant = None, as_json: AsJson = False) -> None:
    """Show how long sessions are kept, and those that are out of sight and can be brought back."""
    settings = settings_from(db, tenant=tenant)

    async def work(services: Services) -> tuple[Retention, Sequence[SessionRow]]:
        view = Memory(services).retention
        return view.policy(), await view.expired(limit=limit)

    policy, found = run(work, settings, Access.READ)
    if as_json:
        emit(
            {
                "days": policy.days,
                "by_agent": dict(policy.by_agent),
                "grace_days": policy.grace_days,
                "unsummarised": policy.unsummarised,
                "expired": [
                    {
                        "user": row.key.user,
                        "agent": row.key.agent,
                        "session": row.key.session,
                        "messages": row.head,
                        "expired_at": row.expired_at,
                        "erased_at": None if row.expired_at is None else policy.erased_at(row.expired_at),
                    }
                    for row in found
                ],
            }
        )
        return
    say(_said(policy))
    table(
        ("user", "agent", "session", "messages", "expired", "erased from"),
        (
            (
                row.key.user,
                row.key.agent,
                row.key.session,
                row.head,
                row.expired_at,
                None if row.expired_at is None else policy.erased_at(row.expired_at),
            )
            for row in found
        ),
        empty="No session is out of sight.",
    )


def set_days(
    days: Annotated[str, typer.Argument(metavar="DAYS", help="Silent days, such as 7; `default` for its agent's.")],
    *,
    user: User,
    session: SessionName,
    agent: Agent = None,
    db: Db = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Keep one session for another time. For all, or an agent's, see the settings `retention` and `agents`."""
    settings = settings_from(db, tenant=tenant, agent=agent)
    key = key_of(settings, user, session)
    wanted = _days(days)

    async def work(services: Services) -> None:
        await services.retain.keep(key, wanted)

    run(work, settings, Access.WRITE)
    if as_json:
        emit({"user": user, "agent": key.agent, "session": session, "days": wanted})
        return
    kept = "as long as its agent's" if wanted is None else f"{wanted:g} silent days"
    say(f"Session {session!r} of {user!r} is kept for {kept}.")


def sweep(*, db: Db = None, tenant: Tenant = None, as_json: AsJson = False) -> None:
    """Let expire what is due now, and erase what was out of sight for long enough. Workers do it every minute."""
    settings = settings_from(db, tenant=tenant)

    async def work(services: Services) -> Swept:
        return await Memory(services).retention.run()

    swept = run(work, settings, Access.WRITE)
    if as_json:
        emit({"expired": swept.expired, "erased": swept.erased, "kept": swept.kept})
        return
    say(f"{plural(swept.expired, 'session')} expired, {plural(swept.erased, 'session')} erased.")
    if swept.kept:
        note(f"{plural(swept.kept, 'session')} kept: to be read or summarised first (`anaphora worker`).")


def restore(
    *,
    user: User,
    session: SessionName,
    agent: Agent = None,
    db: Db = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Bring an expired session back, with all that was made of it."""
    settings = settings_from(db, tenant=tenant, agent=agent)
    key = key_of(settings, user, session)

    async def work(services: Services) -> None:
        await services.retain.bring_back(key)

    run(work, settings, Access.WRITE)
    if as_json:
        emit({"user": user, "agent": key.agent, "session": session})
        return
    say(f"Session {session!r} of {user!r} is back.")


def _said(policy: Retention) -> str:
    kept = "for ever" if policy.days is None else f"for {policy.days:g} silent days"
    agents = "".join(f", those of {name} for {days:g}" for name, days in policy.by_agent.items() if days is not None)
    back = f"What expires can be brought back for {policy.grace_days:g} days; then it is erased."
    return f"Sessions are kept {kept}{agents}. {back}"


def _days(text: str) -> float | None:
    if text == "default":
        return None
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(f"{text!r} is no number of days: write 7, or `default`") from None
