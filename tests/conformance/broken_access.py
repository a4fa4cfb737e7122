"""Stores that break the laws of keys and of the account of changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID

from tests.conformance.broken import Broken, caught_by

from anaphora.domain.access import ApiKey, AuditEntry
from anaphora.errors import StoreError
from anaphora.ports.store import Store, Unit

_COMES_BACK = "test_a_key_comes_back_as_it_was_kept_to_its_own_tenant"
_LISTED = "test_keys_are_listed_newest_first_and_each_user_has_their_own"
_REVOKED = "test_a_key_is_revoked_once_and_ends_no_later_than_it_did"
_WRITTEN = "test_entries_of_the_account_come_back_as_they_were_written"
_STAYS = "test_an_entry_is_written_once_and_stays"
_ONE_CHAIN = "test_entries_that_many_write_at_once_are_one_chain"
_ERASED = "test_keys_go_with_their_user_and_the_account_stays"


@caught_by(_COMES_BACK)
class LetsKeysLastForEver(Broken):
    def api_keys_insert(self, unit: Unit, key: ApiKey, kept: str) -> None:
        unit.api_keys.insert(replace(key, expires_at=None), kept)


@caught_by(_COMES_BACK)
class KnowsOfNoKeys(Broken):
    async def has_keys(self) -> bool:
        return False


@caught_by(_COMES_BACK)
class FindsKeysOfAnyTenant(Broken):
    def __init__(self, real: Store, folder: Path) -> None:
        super().__init__(real, folder)
        self._known: dict[UUID, tuple[ApiKey, str]] = {}

    def api_keys_insert(self, unit: Unit, key: ApiKey, kept: str) -> None:
        self._known[key.id] = key, kept
        unit.api_keys.insert(key, kept)

    def api_keys_get(self, unit: Unit, tenant: str, key_id: UUID) -> tuple[ApiKey, str] | None:
        del unit, tenant
        return self._known.get(key_id)


@caught_by(_LISTED)
class ListsTheOldestKeysFirst(Broken):
    def api_keys_list(self, unit: Unit, tenant: str, *, user: str | None = None, limit: int) -> Sequence[ApiKey]:
        return list(reversed(unit.api_keys.list(tenant, user=user, limit=limit)))


@caught_by(_LISTED)
class ListsKeysByTheBeginningOfAName(Broken):
    def api_keys_list(self, unit: Unit, tenant: str, *, user: str | None = None, limit: int) -> Sequence[ApiKey]:
        found = unit.api_keys.list(tenant, limit=limit)
        return [key for key in found if user is None or user.startswith(key.user or "")]


@caught_by(_REVOKED)
class RevokesAnew(Broken):
    def api_keys_revoke(self, unit: Unit, tenant: str, key_id: UUID, *, now: datetime) -> bool:
        unit.api_keys.revoke(tenant, key_id, now=now)
        return True


@caught_by(_REVOKED)
class LetsKeysLastLonger(Broken):
    def api_keys_expire(self, unit: Unit, tenant: str, key_id: UUID, *, at: datetime) -> None:
        unit.api_keys.expire(tenant, key_id, at=at - timedelta(seconds=30))


@caught_by(_WRITTEN)
class ForgetsWhatItWasAbout(Broken):
    def audit_insert(self, unit: Unit, tenant: str, entry: AuditEntry) -> None:
        unit.audit.insert(tenant, replace(entry, about={}))


@caught_by(_WRITTEN)
class ShowsTheEntryBeforeWhichWasAsked(Broken):
    def audit_list(
        self, unit: Unit, tenant: str, *, who: str | None = None, before: int | None = None, limit: int
    ) -> Sequence[AuditEntry]:
        return unit.audit.list(tenant, who=who, before=None if before is None else before + 1, limit=limit)


@caught_by(_STAYS)
class WritesOverEntries(Broken):
    def __init__(self, real: Store, folder: Path) -> None:
        super().__init__(real, folder)
        self._written: dict[tuple[str, int], AuditEntry] = {}

    def audit_insert(self, unit: Unit, tenant: str, entry: AuditEntry) -> None:
        if (tenant, entry.number) not in self._written:
            unit.audit.insert(tenant, entry)
        self._written[tenant, entry.number] = entry

    def audit_list(
        self, unit: Unit, tenant: str, *, who: str | None = None, before: int | None = None, limit: int
    ) -> Sequence[AuditEntry]:
        found = unit.audit.list(tenant, who=who, before=before, limit=limit)
        return [self._written[tenant, entry.number] for entry in found]


@caught_by(_STAYS)
class NumbersEntriesOfAllTenants(Broken):
    def __init__(self, real: Store, folder: Path) -> None:
        super().__init__(real, folder)
        self._taken: set[int] = set()

    def audit_insert(self, unit: Unit, tenant: str, entry: AuditEntry) -> None:
        if entry.number in self._taken:
            raise StoreError(f"there is an entry {entry.number}")
        self._taken.add(entry.number)
        unit.audit.insert(tenant, entry)


@caught_by(_ONE_CHAIN)
class RemembersTheLastEntry(Broken):
    def __init__(self, real: Store, folder: Path) -> None:
        super().__init__(real, folder)
        self._last: AuditEntry | None = None

    def audit_insert(self, unit: Unit, tenant: str, entry: AuditEntry) -> None:
        unit.audit.insert(tenant, entry)
        self._last = entry

    def audit_last(self, unit: Unit, tenant: str) -> AuditEntry | None:
        return self._last or unit.audit.last(tenant)


@caught_by(_ERASED)
class LeavesKeysOfTheErased(Broken):
    def purging_of_user(self, unit: Unit, tenant: str, user: str) -> Mapping[str, int]:
        kept = [unit.api_keys.get(tenant, key.id) for key in unit.api_keys.list(tenant, user=user, limit=99)]
        counts = unit.purging.of_user(tenant, user)
        for found in kept:
            if found is not None:
                unit.api_keys.insert(*found)
        return counts


@caught_by(_ERASED)
class TakesKeysOfNamesThatBeginAlike(Broken):
    def purging_of_user(self, unit: Unit, tenant: str, user: str) -> Mapping[str, int]:
        unit.purging.of_user(tenant, user[:2])
        return unit.purging.of_user(tenant, user)
