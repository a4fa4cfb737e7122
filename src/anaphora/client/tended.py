"""What operators look after, of a memory that a service keeps: jobs, keys, the audit."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from pydantic import TypeAdapter

from anaphora.client.doorman import Who
from anaphora.client.wire import Wire
from anaphora.domain.access import ApiKey, AuditEntry, NewKey
from anaphora.domain.jobs import Job, JobState
from anaphora.domain.principals import Principal
from anaphora.errors import InvalidInput
from anaphora.memory import AuditView, JobsView, KeysView

_JOBS: Final = TypeAdapter(Sequence[Job])
_COUNT: Final = TypeAdapter(int)
_NEW: Final = TypeAdapter(NewKey)
_KEYS: Final = TypeAdapter(Sequence[ApiKey])
_ENTRIES: Final = TypeAdapter(Sequence[AuditEntry])
_NOTHING: Final = TypeAdapter[None](None)
#: jobs that are counted at most
_MOST: Final = 1000


class RemoteJobs(JobsView):
    """Background work, with the methods of `JobsView`: of the one whose key there is, or of an operator's tenant."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def list(
        self,
        *,
        states: Sequence[JobState] | None = None,
        stuck_seconds: float | None = None,
        user: str | None = None,
        tenant: str | None = None,
        limit: int = 50,
    ) -> Sequence[Job]:
        """Jobs, newest first; with `stuck_seconds`, those that should have moved that long ago."""
        params = {
            "state": None if states is None else [JobState(state).value for state in states],
            "stuck_seconds": stuck_seconds,
            "limit": limit,
        }
        return await self._wire.ask(_JOBS, "GET", "jobs", who=Who(user=user, tenant=tenant), params=params)

    async def retry(self, job_id: UUID | None = None, *, user: str | None = None, tenant: str | None = None) -> int:
        """Queue failed jobs again (all of them, or one); how many."""
        path = ("jobs", "retry") if job_id is None else ("jobs", job_id, "retry")
        return await self._wire.ask(_COUNT, "POST", *path, who=Who(user=user, tenant=tenant))

    async def live(self) -> int:
        """How many jobs are queued or running, as far as this key shows them; 1,000 at most."""
        return len(await self.list(states=(JobState.QUEUED, JobState.RUNNING), limit=_MOST))


class RemoteKeys(KeysView):
    """Keys with which the service lets people in, with the methods of `KeysView` that an operator has from afar."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def create(
        self,
        *,
        user: str | None,
        scopes: Collection[str] = ("all",),
        name: str = "",
        days: float | None = None,
        tenant: str | None = None,
    ) -> NewKey:
        """Make a key; what makes it one is in the answer, and never shown again."""
        body: dict[str, Any] = {"user": user, "scopes": [*scopes], "name": name, "days": days}
        return await self._wire.ask(_NEW, "POST", "keys", who=Who(tenant=tenant), body=body)

    async def list(self, *, user: str | None = None, limit: int = 50, tenant: str | None = None) -> Sequence[ApiKey]:
        """Keys, the newest first, expired and revoked ones too."""
        params = {"user": user, "limit": limit}
        return await self._wire.ask(_KEYS, "GET", "keys", who=Who(tenant=tenant), params=params)

    async def revoke(self, key_id: UUID | str, *, tenant: str | None = None) -> bool:
        """Let a key let nobody in any more; True, since the service does not tell whether it was so already."""
        await self._wire.ask(_NOTHING, "DELETE", "keys", key_id, who=Who(tenant=tenant), harmless=True)
        return True

    async def rotate(self, key_id: UUID | str, *, overlap_hours: float = 24.0, tenant: str | None = None) -> NewKey:
        """Make a key like this one, which lets in for `overlap_hours` more."""
        body = {"overlap_hours": overlap_hours}
        return await self._wire.ask(_NEW, "POST", "keys", key_id, "rotate", who=Who(tenant=tenant), body=body)

    async def any(self) -> bool:
        """Not offered.

        Raises:
            InvalidInput: always.

        """
        raise _not_offered("whether there is any key")

    async def verify(self, key: str) -> Principal | None:
        """Not offered.

        Raises:
            InvalidInput: always.

        """
        del key
        raise _not_offered("whose a key is")

    async def again(self, key_id: UUID | str, *, tenant: str | None = None) -> Principal | None:
        """Not offered.

        Raises:
            InvalidInput: always.

        """
        del key_id, tenant
        raise _not_offered("whose a key is")

    def signing(self, purpose: str) -> bytes:
        """Not offered.

        Raises:
            InvalidInput: always.

        """
        del purpose
        raise _not_offered("its secrets")


class RemoteAudit(AuditView):
    """The account of what was changed, with the methods of `AuditView` that an operator has from afar."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def record(
        self,
        principal: Principal,
        action: str,
        *,
        ids: Mapping[str, str] | None = None,
        names: Mapping[str, str] | None = None,
        status: int,
    ) -> AuditEntry:
        """Not offered.

        Raises:
            InvalidInput: always.

        """
        del principal, action, ids, names, status
        raise InvalidInput("the service writes the account of what it is asked for: nobody else does")

    async def list(
        self, *, user: str | None = None, before: int | None = None, limit: int = 50, tenant: str | None = None
    ) -> Sequence[AuditEntry]:
        """Entries, the newest first."""
        params = {"user": user, "before": before, "limit": limit}
        return await self._wire.ask(_ENTRIES, "GET", "audit", who=Who(tenant=tenant), params=params)

    async def broken_at(self, *, tenant: str | None = None) -> int | None:
        """Not offered.

        Raises:
            InvalidInput: always.

        """
        del tenant
        raise InvalidInput("whether the account is whole is seen where the database is: run `anaphora doctor` there")


def _not_offered(what: str) -> InvalidInput:
    return InvalidInput(f"a service tells nobody {what}: open the memory itself")
