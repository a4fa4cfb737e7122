"""`anaphora pause` and `anaphora resume`: let the memory of a user rest, and go on."""

from __future__ import annotations

from datetime import datetime

from anaphora.bootstrap import Services
from anaphora.cli.options import AsJson, Db, Tenant, User
from anaphora.cli.output import emit, note
from anaphora.cli.running import Access, run, settings_from
from anaphora.memory import Memory


def pause(user: User, *, db: Db = None, tenant: Tenant = None, as_json: AsJson = False) -> None:
    """Let the memory of a user rest: nothing is learned, and prompts hold nothing of other conversations.

    What is said meanwhile stays in its own conversation.
    """
    settings = settings_from(db, tenant=tenant)

    async def work(services: Services) -> datetime:
        return await Memory(services).pause(user=user)

    since = run(work, settings, Access.WRITE)
    if as_json:
        emit({"user": user, "paused_since": since})
    else:
        note(f"The memory of {user} rests since {since:%Y-%m-%d %H:%M}. `anaphora resume` lets it go on.")


def resume(user: User, *, db: Db = None, tenant: Tenant = None, as_json: AsJson = False) -> None:
    """Let the memory of a user go on; what was said while it rested is not learned from."""
    settings = settings_from(db, tenant=tenant)

    async def work(services: Services) -> bool:
        return await Memory(services).resume(user=user)

    rested = run(work, settings, Access.WRITE)
    if as_json:
        emit({"user": user, "resumed": rested})
    else:
        note(f"The memory of {user} goes on." if rested else f"The memory of {user} did not rest.")
