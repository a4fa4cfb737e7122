"""What people do with their memory as a whole: let it rest, and let it go on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from anaphora.domain.keys import checked_id
from anaphora.domain.pauses import Pause
from anaphora.ports.clock import Clock, Failpoint
from anaphora.ports.store import Store, Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Pausing:
    """Pauses of users: nothing is learned meanwhile, and nothing of other sessions stands in a prompt."""

    store: Store
    clock: Clock
    failpoint: Failpoint

    async def pause(self, tenant: str, user: str) -> datetime:
        """Let a pause begin, if none lasts; since when it lasts."""
        _check(tenant, user)

        def work(unit: Unit) -> datetime:
            now = self.clock.now()
            unit.pauses.begin(tenant, user, now=now)
            lasting = unit.pauses.lasting(tenant, user)
            return now if lasting is None else lasting.started_at

        since = await self.store.write(tenant, work)
        self.failpoint("pause.begun")
        return since

    async def resume(self, tenant: str, user: str) -> bool:
        """Let the pause that lasts end; False if none does."""
        _check(tenant, user)

        def work(unit: Unit) -> bool:
            lasting = unit.pauses.lasting(tenant, user)
            if lasting is not None:
                # a clock that was set back must not end it before it began
                unit.pauses.end(tenant, user, now=max(self.clock.now(), lasting.started_at))
            return lasting is not None

        ended = await self.store.write(tenant, work)
        self.failpoint("pause.ended")
        return ended

    async def lasting(self, tenant: str, user: str) -> Pause | None:
        """The pause that lasts, if one does."""
        _check(tenant, user)
        return await self.store.read(tenant, lambda unit: unit.pauses.lasting(tenant, user))


def _check(tenant: str, user: str) -> None:
    checked_id(tenant, "tenant")
    checked_id(user, "user")
