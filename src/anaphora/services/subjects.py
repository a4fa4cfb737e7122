"""Whom or what facts are about, and with whom they may be shared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from anaphora.domain.facts import Subject
from anaphora.domain.keys import check_limit, checked_id, checked_text
from anaphora.errors import InvalidInput, NotFound, Taken
from anaphora.ports.clock import Clock, Failpoint
from anaphora.ports.store import Store, Unit
from anaphora.rules.text import one_line

MAX_NAME_CHARS: Final = 200
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subjects:
    """Subjects of one tenant. To who is no member of a subject it does not exist."""

    store: Store
    clock: Clock
    failpoint: Failpoint

    async def create(
        self, tenant: str, user: str, subject: str, *, name: str | None = None, members: Sequence[str] = ()
    ) -> Subject:
        """Make a subject: the user owns it and is its first member.

        Raises:
            InvalidInput: an impossible name.
            Taken: there is one of this id.

        """
        made = Subject(
            id=checked_id(subject, "subject"),
            name=_checked_name(subject if name is None else name),
            owner=checked_id(user, "user"),
            created_at=self.clock.now(),
            members=tuple(dict.fromkeys([user, *(checked_id(member, "member") for member in members)])),
        )

        def create(unit: Unit) -> Subject:
            if not unit.subjects.create(tenant, made):
                raise Taken(f"there is a subject {subject!r} already: take another id")
            return _found(unit, tenant, user, subject)

        return await self._write(tenant, create)

    async def rename(self, tenant: str, user: str, subject: str, name: str) -> Subject:
        """Another name for people to read; the id stays.

        Raises:
            NotFound: no such subject, or it is not the user's to change.
            InvalidInput: an empty name.

        """
        wanted = _checked_name(name)

        def rename(unit: Unit) -> Subject:
            _owned(unit, tenant, user, subject)
            unit.subjects.rename(tenant, subject, wanted)
            return _found(unit, tenant, user, subject)

        return await self._write(tenant, rename)

    async def list(self, tenant: str, user: str, *, limit: int = 100) -> Sequence[Subject]:
        """Those that the user is a member of."""
        check_limit(limit)
        return await self.store.read(tenant, lambda unit: unit.subjects.of(tenant, user, limit=limit))

    async def get(self, tenant: str, user: str, subject: str) -> Subject:
        """One subject with its members.

        Raises:
            NotFound: there is none that the user is a member of.

        """
        return await self.store.read(tenant, lambda unit: _found(unit, tenant, user, subject))

    async def add_member(self, tenant: str, user: str, subject: str, member: str) -> Subject:
        """Let somebody read what the members share.

        Raises:
            NotFound: no such subject, or it is not the user's to change.

        """
        checked_id(member, "member")

        def add(unit: Unit) -> Subject:
            _owned(unit, tenant, user, subject)
            unit.subjects.add(tenant, subject, member, now=self.clock.now())
            return _found(unit, tenant, user, subject)

        return await self._write(tenant, add)

    async def remove_member(self, tenant: str, user: str, subject: str, member: str) -> bool:
        """From now on somebody reads nothing that others share; what that member shared stays shared.

        Its owner may remove anybody else; every other member may leave.

        Returns:
            False if that was no member.

        Raises:
            NotFound: no such subject, or the user may not do that.
            InvalidInput: it would be left without its owner.

        """

        def remove(unit: Unit) -> bool:
            found = _found(unit, tenant, user, subject)
            if user not in {found.owner, member}:
                raise NotFound(f"subject {subject!r} is {found.owner!r}'s: only its owner may remove others")
            if member == found.owner:
                raise InvalidInput(f"{member!r} owns subject {subject!r} and stays its member")
            return unit.subjects.remove(tenant, subject, member)

        return await self._write(tenant, remove)

    async def _write(self, tenant: str, work: Callable[[Unit], T]) -> T:
        done = await self.store.write(tenant, work)
        self.failpoint("subject.changed")
        return done


def _found(unit: Unit, tenant: str, user: str, subject: str) -> Subject:
    found = unit.subjects.get(tenant, subject)
    if found is None or user not in found.members:
        raise NotFound(f"there is no subject {subject!r}")
    return found


def _owned(unit: Unit, tenant: str, user: str, subject: str) -> Subject:
    found = _found(unit, tenant, user, subject)
    if found.owner != user:
        raise NotFound(f"subject {subject!r} is {found.owner!r}'s: only its owner may do that")
    return found


def _checked_name(name: str) -> str:
    checked_text(name, "the name of a subject")
    plain = one_line(name)
    if not plain:
        raise InvalidInput("the name of a subject must not be empty")
    if len(plain) > MAX_NAME_CHARS:
        raise InvalidInput(f"the name of a subject has at most {MAX_NAME_CHARS} characters")
    return plain
