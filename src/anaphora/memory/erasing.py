"""The part of a memory that erases, and what its callers want erased."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from anaphora.bootstrap import Services
from anaphora.domain.erasure import Erasure, ErasureKind, ErasureReport, Target
from anaphora.errors import InvalidInput
from anaphora.memory.access import KeysView
from anaphora.memory.scope import tenant_of

#: a message by its number in the session that is named, or by its id; as text, too
Which = int | UUID | str


class Erasing:
    """Erasing for good, and the account of it."""

    _services: Services
    keys: KeysView

    async def erase(
        self,
        *,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        message: int | UUID | str | None = None,
        fact: UUID | str | None = None,
        source: str | None = None,
        dry_run: bool = False,
        asked_by: str = "library",
        tenant: str | None = None,
    ) -> ErasureReport:
        """Erase for good: rows, everything made of them, index entries, vectors, what waits to be done, and the file.

        What depends on the erased part alone goes with it; what does not is kept or made anew without it. A tombstone
        of keyed hashes keeps it from being imported, restored or learned again.

        Args:
            user: alone: everything of this user, with every agent.
            agent: of the session; None = the configured default.
            session: with `user`: this session.
            message: with `user` and `session` its number there, or its id; with `user`, only theirs.
            fact: a fact by its id; with `user`, only theirs.
            source: what came from there: as messages name it ("import:openai"), or "agent:NAME"; with `user`, theirs.
            dry_run: change nothing, only say what would go.
            asked_by: who wanted it, for the account that is kept (`erasures`).
            tenant: None = the configured default.

        Raises:
            InvalidInput: nothing, or more than one thing is named.
            NotFound: there is no such session, message or fact.
            StoreError: the database failed: erase again, or let a worker run, and it goes on there.

        """
        target = target_of(
            user=user,
            agent=self._services.settings.agent if agent is None else agent,
            session=session,
            message=message,
            fact=fact,
            source=source,
        )
        whose = tenant_of(self._services, tenant)
        if dry_run:
            return await self._services.erase.plan(whose, target)
        try:
            return await self._services.erase.erase(whose, target, asked_by=asked_by)
        finally:
            self.keys.generation += 1

    async def erasures(self, *, limit: int = 50, tenant: str | None = None) -> Sequence[Erasure]:
        """The account of erasures, newest first: who asked, when, and how much went; of what, only a keyed hash."""
        return await self._services.erase.list(tenant_of(self._services, tenant), limit=limit)


def target_of(
    *,
    user: str | None,
    agent: str,
    session: str | None,
    message: Which | None,
    fact: UUID | str | None,
    source: str | None,
) -> Target:
    """What these names mean together.

    Raises:
        InvalidInput: they name nothing, or more than one thing.

    """
    if sum(given is not None for given in (message, fact, source)) > 1:
        raise InvalidInput("name one thing to erase: a message, a fact, or a source")
    if fact is not None:
        if session is not None:
            raise InvalidInput("a fact belongs to no session: name it alone")
        return Target(kind=ErasureKind.FACT, user=user, id=_uuid(fact, "a fact"))
    if source is not None:
        if session is not None:
            raise InvalidInput("a source is erased from every session: name a user with it, or nothing")
        return Target(kind=ErasureKind.SOURCE, user=user, source=source)
    if message is not None:
        return _message(user, agent, session, message)
    if session is not None:
        if user is None:
            raise InvalidInput(f"whose session {session!r} is to be erased? name its user")
        return Target(kind=ErasureKind.SESSION, user=user, agent=agent, session=session)
    if user is None:
        raise InvalidInput("name what is to be erased: a user, a session, a message, a fact or a source")
    return Target(kind=ErasureKind.USER, user=user)


def _message(user: str | None, agent: str, session: str | None, message: Which) -> Target:
    """A number is one of a session; anything else is an id, which needs no session."""
    number = message if isinstance(message, int) else None
    if isinstance(message, str) and message.isascii() and message.isdigit() and len(message) < 10:
        number = int(message)
    if number is None or isinstance(message, bool):
        if session is not None:
            raise InvalidInput(f"in a session a message is named by its number, not {message!r}")
        return Target(kind=ErasureKind.MESSAGE, user=user, id=_uuid(message, "a message"))
    if user is None or session is None:
        raise InvalidInput(f"message {number} of which session? name user and session, or give the message's id")
    if number < 0:
        raise InvalidInput(f"messages are numbered from 0, not {number}")
    return Target(kind=ErasureKind.MESSAGE, user=user, agent=agent, session=session, seq=number)


def _uuid(given: Which, what: str) -> UUID:
    if isinstance(given, UUID):
        return given
    try:
        return UUID(str(given))
    except ValueError:
        raise InvalidInput(f"{str(given)!r} is no id of {what}") from None
