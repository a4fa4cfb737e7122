"""Who is let in: keys are made, recognised, replaced and revoked. What they do is accounted for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from anaphora.domain.access import SECRET_BYTES, ApiKey, AuditEntry, NewKey, RawKey, secret_text
from anaphora.domain.keys import check_limit, checked_id, checked_text, uuid7
from anaphora.domain.principals import Permission, Principal, permissions_of
from anaphora.errors import InvalidInput, NotFound
from anaphora.ports.clock import Clock, Failpoint, Randomness
from anaphora.ports.store import Store, Unit
from anaphora.rules.access import UNSEALED, broken_at, hash_of, mark_of_name, opens, sealed

#: when a key was used last is noted to the minute
_MINUTE: Final = timedelta(minutes=1)
#: a century: whoever wants more wants a key that does not expire
_MOST_DAYS: Final = 36_500
_MOST_NAME: Final = 200
_PAGE: Final = 500
#: a key that never was is compared with this, so that it takes as long as one that is
_NOBODYS: Final = hash_of("")


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """The keys of tenants."""

    store: Store
    clock: Clock
    randomness: Randomness
    failpoint: Failpoint

    async def create(
        self, tenant: str, user: str | None, *, scopes: Collection[str], name: str = "", days: float | None = None
    ) -> NewKey:
        """Make a key.

        Args:
            tenant: whose store.
            user: for whom; None: for the tenant's operator.
            scopes: what it may do, by the names of permissions; `all` is all that a person may do. Operators operate.
            name: what it is for.
            days: after how many it expires; None: it does not.

        Raises:
            InvalidInput: a name or a number that cannot be, or scopes that a person or an operator cannot have.
            UnknownName: no such scope.

        """
        checked_text(name, "the name of a key")
        if len(name) > _MOST_NAME:
            raise InvalidInput(f"the name of a key has at most {_MOST_NAME} characters")
        if days is not None and not 0 < days <= _MOST_DAYS:
            raise InvalidInput(f"a key expires after more than 0 and at most {_MOST_DAYS:,} days")
        permissions = frozenset({Permission.OPERATE}) if user is None else permissions_of(scopes)
        if user is not None and Permission.OPERATE in permissions:
            raise InvalidInput("a person's key cannot operate: make an operator's key, which names no user")
        now = self.clock.now()
        made = ApiKey(
            id=uuid7(now, self.randomness(10)),
            tenant=checked_id(tenant, "tenant"),
            user=None if user is None else checked_id(user, "user"),
            name=name,
            permissions=permissions,
            created_at=now,
            expires_at=None if days is None else now + timedelta(days=days),
        )
        secret = self._secret()
        await self.store.write(tenant, lambda unit: unit.api_keys.insert(made, hash_of(secret)))
        self.failpoint("key.made")
        return _new(made, secret)

    async def any(self) -> bool:
        """Whether any tenant has a key."""
        return await self.store.has_keys()

    async def verify(self, text: str) -> Principal | None:
        """Who comes with this key; None: nobody who is let in."""
        raw = RawKey.parse(text)
        if raw is None:
            return None
        found = await self.store.read(raw.tenant, lambda unit: unit.api_keys.get(raw.tenant, raw.id))
        right = opens(raw.secret, _NOBODYS if found is None else found[1])
        if found is None or not right:
            return None
        return await self._used(found[0])

    async def again(self, tenant: str, key_id: UUID) -> Principal | None:
        """Who came with the key of this id before; None: it lets nobody in any more."""
        found = await self.store.read(tenant, lambda unit: unit.api_keys.get(tenant, key_id))
        return None if found is None else await self._used(found[0])

    async def list(self, tenant: str, *, user: str | None = None, limit: int = 50) -> Sequence[ApiKey]:
        """Keys, the newest first, expired and revoked ones too; with `user`, only of this one.

        Raises:
            InvalidInput: a limit out of range.

        """
        check_limit(limit)
        return await self.store.read(tenant, lambda unit: unit.api_keys.list(tenant, user=user, limit=limit))

    async def revoke(self, tenant: str, key_id: UUID) -> bool:
        """Let a key let nobody in any more; False if that is so already.

        Raises:
            NotFound: there is no such key.

        """
        now = self.clock.now()

        def work(unit: Unit) -> bool:
            _there(unit, tenant, key_id)
            return unit.api_keys.revoke(tenant, key_id, now=now)

        revoked = await self.store.write(tenant, work)
        self.failpoint("key.revoked")
        return revoked

    async def rotate(self, tenant: str, key_id: UUID, *, overlap_hours: float = 24.0) -> NewKey:
        """Make a key like this one, which lets in for some hours more.

        Raises:
            NotFound: there is no such key.
            InvalidInput: it was revoked or has expired, or an overlap that cannot be.

        """
        if not 0 <= overlap_hours <= 24 * _MOST_DAYS:
            raise InvalidInput("the overlap is a number of hours, 0 or more")
        now = self.clock.now()
        new_id, secret = uuid7(now, self.randomness(10)), self._secret()

        def work(unit: Unit) -> ApiKey:
            before = _there(unit, tenant, key_id)
            if not before.lets_in(now):
                raise InvalidInput("this key lets nobody in any more: make a new one")
            lasts = None if before.expires_at is None else now + (before.expires_at - before.created_at)
            made = replace(before, id=new_id, created_at=now, expires_at=lasts, last_used_at=None)
            unit.api_keys.insert(made, hash_of(secret))
            unit.api_keys.expire(tenant, key_id, at=now + timedelta(hours=overlap_hours))
            return made

        made = await self.store.write(tenant, work)
        self.failpoint("key.replaced")
        return _new(made, secret)

    def _secret(self) -> str:
        return secret_text(self.randomness(SECRET_BYTES))

    async def _used(self, key: ApiKey) -> Principal | None:
        now = self.clock.now()
        if not key.lets_in(now):
            return None

        def note(unit: Unit) -> None:
            found = unit.api_keys.get(key.tenant, key.id)
            if found is not None and _is_old(found[0], now):  # many come with one key at once
                unit.api_keys.used(key.tenant, key.id, now=now)

        if _is_old(key, now):
            await self.store.write(key.tenant, note)
            self.failpoint("key.used")
        return key.principal()


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """The account of changes."""

    store: Store
    clock: Clock
    #: the store's own: entries are sealed, and names are hashed by it
    secret: bytes
    failpoint: Failpoint

    async def record(
        self, principal: Principal, action: str, *, ids: Mapping[str, str], names: Mapping[str, str], status: int
    ) -> AuditEntry:
        """Note that somebody asked for a change, and how it was answered.

        Args:
            principal: who asked.
            action: for what.
            ids: about what: ids, kept as they are.
            names: about what: names that people chose, of which keyed hashes are kept.
            status: how it was answered, as an HTTP status.

        """
        about = {**ids, **{part: mark_of_name(self.secret, name) for part, name in names.items()}}
        who = None if principal.user is None else mark_of_name(self.secret, principal.user)

        def work(unit: Unit) -> AuditEntry:
            before = unit.audit.last(principal.tenant)
            entry = AuditEntry(
                number=1 if before is None else before.number + 1,
                at=self.clock.now(),
                who=who,
                by=principal.by,
                action=action,
                about=about,
                status=status,
                seal=UNSEALED,
            )
            entry = sealed(self.secret, entry, UNSEALED if before is None else before.seal)
            unit.audit.insert(principal.tenant, entry)
            return entry

        entry = await self.store.write(principal.tenant, work)
        self.failpoint("audit.noted")
        return entry

    async def list(
        self, tenant: str, *, user: str | None = None, before: int | None = None, limit: int = 50
    ) -> Sequence[AuditEntry]:
        """Entries, the newest first; with `user`, what this one asked for; with `before`, those with smaller numbers.

        Raises:
            InvalidInput: a limit out of range.

        """
        check_limit(limit)
        who = None if user is None else mark_of_name(self.secret, user)
        return await self.store.read(tenant, lambda unit: unit.audit.list(tenant, who=who, before=before, limit=limit))

    async def broken_at(self, tenant: str) -> int | None:
        """The number of the first entry that was changed or taken out; None: the account is whole."""
        number, seal = 1, UNSEALED
        while entries := await self._page(tenant, number):
            broken = broken_at(self.secret, entries, seal, number)
            if broken is not None:
                return broken
            number, seal = entries[-1].number + 1, entries[-1].seal
        return None

    async def _page(self, tenant: str, start: int) -> Sequence[AuditEntry]:
        return await self.store.read(tenant, lambda unit: unit.audit.chain(tenant, start=start, limit=_PAGE))


def _is_old(key: ApiKey, now: datetime) -> bool:
    return key.last_used_at is None or now - key.last_used_at >= _MINUTE


def _new(made: ApiKey, secret: str) -> NewKey:
    return NewKey(key=RawKey(tenant=made.tenant, id=made.id, secret=secret).text(), made=made)


def _there(unit: Unit, tenant: str, key_id: UUID) -> ApiKey:
    found = unit.api_keys.get(tenant, key_id)
    if found is None:
        raise NotFound(f"there is no key {key_id}")
    return found[0]
