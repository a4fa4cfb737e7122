"""What people do with notepads: see, look back, rewrite, and go back to an earlier page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from anaphora.domain.keys import check_limit, checked_id, checked_text
from anaphora.domain.messages import Trust
from anaphora.domain.notepad import Page, PageAction
from anaphora.errors import InvalidInput, NotFound, StoreError
from anaphora.ports.clock import Clock, Failpoint
from anaphora.ports.models import TokenCounter
from anaphora.ports.store import Store, Unit
from anaphora.services.settings import Notes


@dataclass(frozen=True, slots=True, kw_only=True)
class Notepads:
    """Notepads of users and agents. Every change is one transaction, and one more page."""

    store: Store
    notes: Notes
    counter: TokenCounter
    clock: Clock
    failpoint: Failpoint

    async def show(self, tenant: str, user: str, agent: str) -> Page | None:
        """The newest page, or None if nothing was ever written."""
        _check(tenant, user, agent)
        return await self.store.read(tenant, lambda unit: unit.notepads.newest(tenant, user, agent))

    async def history(
        self, tenant: str, user: str, agent: str, *, limit: int = 20, before: int | None = None
    ) -> Sequence[Page]:
        """Pages, newest first; with `before`, those before that version.

        Raises:
            InvalidInput: a limit out of range.

        """
        _check(tenant, user, agent)
        check_limit(limit)
        return await self.store.read(
            tenant, lambda unit: unit.notepads.history(tenant, user, agent, limit=limit, before=before)
        )

    async def edit(self, tenant: str, user: str, agent: str, text: str) -> Page:
        """Write the page that the user wants; an empty text takes everything out.

        If the user wrote the newest page, and it says just that, it is returned, and none is written.

        Raises:
            InvalidInput: it cannot be stored, or is longer than a page may be; nothing was changed.

        """
        _check(tenant, user, agent)
        checked_text(text, "the text")
        wanted = "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")
        tokens = self.counter.count(wanted)
        if tokens > self.notes.tokens:
            raise InvalidInput(
                f"the text has {tokens} tokens, and a page of a notepad at most {self.notes.tokens} "
                "(the setting notepad.tokens): shorten it"
            )

        def page(_unit: Unit, newest: Page | None, now: datetime) -> Page:
            if newest is not None and newest.action is PageAction.EDITED and newest.text == wanted:
                return newest
            return _by_hand(user, agent, newest, wanted, tokens, now)

        return await self._write(tenant, user, agent, page)

    async def revert(self, tenant: str, user: str, agent: str, version: int) -> Page:
        """Say again what an earlier page says; it is trusted as that one is.

        Raises:
            NotFound: there is no such version.
            InvalidInput: it is the newest; nothing was changed.

        """
        _check(tenant, user, agent)

        def page(unit: Unit, newest: Page | None, now: datetime) -> Page:
            # no store has a number beyond these
            old = unit.notepads.get(tenant, user, agent, version) if 0 < version < 2**31 else None
            if old is None or newest is None:
                raise NotFound(
                    f"the notepad of user {user!r} with agent {agent!r} has no version {version}: "
                    "its history says which there are"
                )
            if old.version == newest.version:
                raise InvalidInput(f"version {version} is what the notepad says now")
            return Page(
                user=user,
                agent=agent,
                version=newest.version + 1,
                action=PageAction.REVERTED,
                text=old.text,
                tokens=old.tokens,
                trust=old.trust,
                restores=old.version,
                created_at=now,
            )

        return await self._write(tenant, user, agent, page)

    async def _write(
        self, tenant: str, user: str, agent: str, page: Callable[[Unit, Page | None, datetime], Page]
    ) -> Page:
        def write(unit: Unit) -> Page:
            unit.notepads.alone(tenant, user, agent)
            newest = unit.notepads.newest(tenant, user, agent)
            made = page(unit, newest, self.clock.now())
            if made is not newest and not unit.notepads.insert(tenant, made):
                raise StoreError("somebody else wrote in the notepad at the same time: try again")
            return made

        made = await self.store.write(tenant, write)
        self.failpoint("notepad.changed")
        return made


def _by_hand(user: str, agent: str, newest: Page | None, text: str, tokens: int, now: datetime) -> Page:
    return Page(
        user=user,
        agent=agent,
        version=newest.version + 1 if newest is not None else 1,
        action=PageAction.EDITED,
        text=text,
        tokens=tokens,
        trust=Trust.OWNER_CONFIRMED,
        created_at=now,
    )


def _check(tenant: str, user: str, agent: str) -> None:
    checked_id(tenant, "tenant")
    checked_id(user, "user")
    checked_id(agent, "agent")
