"""Sessions that nobody has used for long: out of sight first, then, if nobody brings them back, erased."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from anaphora.domain.erasure import ErasureKind, Target
from anaphora.domain.jobs import JobState
from anaphora.domain.keys import SeqRange, SessionKey, check_limit
from anaphora.errors import NotFound
from anaphora.ports.clock import Clock, Failpoint
from anaphora.ports.rows import SessionRow
from anaphora.ports.store import Store, Unit
from anaphora.rules.retention import Retention, checked_days
from anaphora.services.erase import Erase
from anaphora.services.planning import Planning

log = logging.getLogger("anaphora.retention")

#: who asks for the erasures, as the account has it
ASKED_BY: Final = "retention"
_PAGE: Final = 100
_TENANTS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """What one run did."""

    #: put out of sight
    expired: int = 0
    #: gone for good
    erased: int = 0
    #: would have expired, but something of them is still to be read or summarised
    kept: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Retain:
    """Lets sessions expire, and brings them back."""

    store: Store
    erase: Erase
    planning: Planning
    policy: Retention
    clock: Clock
    failpoint: Failpoint

    async def expired(self, tenant: str, *, user: str | None = None, limit: int = 50) -> Sequence[SessionRow]:
        """What is out of sight and can be brought back, of one user or of all, the last that expired first."""
        check_limit(limit)
        return await self.store.read(tenant, lambda unit: unit.sessions.expired(tenant, user=user, limit=limit))

    async def keep(self, key: SessionKey, days: float | None) -> None:
        """Keep a session for another time than its agent's; None: for as long as the agent's are kept.

        Raises:
            NotFound: no such session.
            InvalidInput: that is no number of days.

        """
        if days is not None:
            checked_days(days)

        def keep(unit: Unit) -> None:
            row = _there(unit, key)
            unit.sessions.keep_for(key.tenant, row.id, days)

        await self.store.write(key.tenant, keep)
        self.failpoint("retention.kept")

    async def bring_back(self, key: SessionKey) -> None:
        """Bring an expired session back: as if it had been used now.

        Raises:
            NotFound: it is not there any more, or never expired.

        """

        def bring_back(unit: Unit) -> None:
            row = _there(unit, key)
            if row.expired_at is None:
                raise NotFound(f"session {key.session!r} of user {key.user!r} has not expired")
            unit.sessions.revive(row, now=self.clock.now())

        await self.store.write(key.tenant, bring_back)
        self.failpoint("retention.brought_back")

    async def run_all(self) -> Swept:
        """Let expire what is due, of every tenant."""
        swept: list[Swept] = []
        if self.policy.shortest is None:
            return _together([await self.run(tenant) for tenant in await self.store.unfinished(limit=_TENANTS)])
        last = ""
        while tenants := await self.store.tenants(after=last, limit=_TENANTS):
            swept += [await self.run(tenant) for tenant in tenants]
            last = tenants[-1]
        return _together(swept)

    async def run(self, tenant: str) -> Swept:
        """Put out of sight what is due, and erase what was so for long enough. Again is harmless."""
        now = self.clock.now()
        expired, kept = await self._expire(tenant, now)
        erased = 0
        while due := await self.store.read(tenant, lambda unit: self._over(unit, tenant, now)):
            for row in due:
                target = Target(
                    kind=ErasureKind.SESSION, user=row.key.user, agent=row.key.agent, session=row.key.session
                )
                await self.erase.erase(tenant, target, asked_by=ASKED_BY)
                erased += 1
        if expired or erased:
            extra = {"event": "retained", "expired": expired, "erased": erased}
            log.info("%d sessions expired, %d were erased", expired, erased, extra=extra)
        return Swept(expired=expired, erased=erased, kept=kept)

    async def _expire(self, tenant: str, now: datetime) -> tuple[int, int]:
        expired = kept = 0
        after: SessionRow | None = None
        shortest = self.policy.shortest
        before = None if shortest is None else now - timedelta(days=shortest)
        while found := await self.store.read(tenant, partial(_unused, tenant=tenant, before=before, after=after)):
            due = [row for row in found if self._is_due(row, now)]
            for row in due:
                gone = await self.store.write(tenant, partial(self._put_out_of_sight, key=row.key, now=now))
                if gone:
                    self.failpoint("retention.expired")
                else:
                    self.failpoint("retention.postponed")
                expired += gone
                kept += not gone
            after = found[-1]
        return expired, kept

    def _is_due(self, row: SessionRow, now: datetime) -> bool:
        return self.policy.is_over(row.key.agent, row.keep_days, row.updated_at, now)

    def _put_out_of_sight(self, unit: Unit, key: SessionKey, now: datetime) -> bool:
        row = unit.sessions.lock(key)
        if row is None or row.expired_at is not None or not self._is_due(row, now):
            return False
        if not self.policy.unsummarised and (_is_to_be_read(unit, row) or self._is_to_be_closed(unit, row, now)):
            return False
        unit.sessions.expire(row, now=now)
        return True

    def _is_to_be_closed(self, unit: Unit, row: SessionRow, now: datetime) -> bool:
        """Whether messages have neither a summary nor a chunk, nor belong to a topic; then one is due (ADR 0024)."""
        covered = self.planning.covered(unit, row)
        if not row.state(covered).live(SeqRange(min(covered, row.head), row.head)):
            return False
        self.planning.plan_closing(unit, row, now=now)
        return True

    def _over(self, unit: Unit, tenant: str, now: datetime) -> Sequence[SessionRow]:
        """The sessions that were out of sight for long enough."""
        rows = unit.sessions.expired(tenant, limit=_PAGE, first=True)
        return [row for row in rows if row.expired_at is not None and self.policy.erased_at(row.expired_at) <= now]


def _together(swept: Sequence[Swept]) -> Swept:
    return Swept(
        expired=sum(one.expired for one in swept),
        erased=sum(one.erased for one in swept),
        kept=sum(one.kept for one in swept),
    )


def _unused(unit: Unit, *, tenant: str, before: datetime | None, after: SessionRow | None) -> Sequence[SessionRow]:
    return unit.sessions.longest_unused(tenant, before=before, after=after, limit=_PAGE)


def _is_to_be_read(unit: Unit, row: SessionRow) -> bool:
    """Whether something waits that can be done: a summary, facts, a description. What waits for a model is a redo."""
    live = unit.jobs.list(row.key.tenant, states=[JobState.QUEUED, JobState.RUNNING], session_id=row.id)
    return any(not job.needs_model for job in live)


def _there(unit: Unit, key: SessionKey) -> SessionRow:
    row = unit.sessions.lock(key)
    if row is None:
        raise NotFound(f"there is no session {key.session!r} of user {key.user!r}")
    return row
