"""Facts and their subjects, of a memory that a service keeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from pydantic import TypeAdapter

from anaphora.client.doorman import Who
from anaphora.client.wire import Wire
from anaphora.domain.facts import DEFAULT_IMPORTANCE, Fact, FactState, FactVersion, Subject
from anaphora.domain.keeping import FactCounts
from anaphora.domain.keys import checked_text
from anaphora.memory import FactsView, SubjectsView
from anaphora.memory.facts import FactId
from anaphora.services.learning import fact_id_of

_FACT: Final = TypeAdapter(Fact)
_FACTS: Final = TypeAdapter(Sequence[Fact])
_MAYBE: Final = TypeAdapter(Fact | None)
_VERSIONS: Final = TypeAdapter(Sequence[FactVersion])
_COUNTS: Final = TypeAdapter(FactCounts)
_SUBJECT: Final = TypeAdapter(Subject)
_SUBJECTS: Final = TypeAdapter(Sequence[Subject])
_NAMES: Final = TypeAdapter(Sequence[str])
_YES: Final = TypeAdapter(bool)
_NOTHING: Final = TypeAdapter[None](None)


class RemoteFacts(FactsView):
    """What is known of a memory's users, with the methods of `FactsView`."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def list(
        self,
        *,
        user: str,
        agent: str | None = None,
        subject: str | None = None,
        states: Sequence[FactState] = (FactState.ACTIVE,),
        category: str | None = None,
        after: FactId | None = None,
        limit: int = 50,
        tenant: str | None = None,
    ) -> Sequence[Fact]:
        """Facts that the user may see, newest first."""
        params = {
            "agent": agent,
            "subject": subject,
            "state": [FactState(state).value for state in states],
            "category": category,
            "after": None if after is None else _id(after),
            "limit": limit,
        }
        return await self._wire.ask(_FACTS, "GET", "facts", who=Who(user=user, tenant=tenant), params=params)

    async def get(self, fact_id: FactId, *, user: str, tenant: str | None = None) -> Fact:
        """One fact; if it is the user's own, with the messages that it was learned from."""
        return await self._wire.ask(_FACT, "GET", "facts", _id(fact_id), who=Who(user=user, tenant=tenant))

    async def history(self, fact_id: FactId, *, user: str, tenant: str | None = None) -> Sequence[FactVersion]:
        """Every version of one of the user's own facts, the oldest first."""
        return await self._wire.ask(
            _VERSIONS, "GET", "facts", _id(fact_id), "history", who=Who(user=user, tenant=tenant)
        )

    async def review(
        self, *, user: str, subject: str | None = None, limit: int = 50, tenant: str | None = None
    ) -> Sequence[Fact]:
        """The user's own facts that are doubtful, newest first."""
        params = {"subject": subject, "limit": limit}
        return await self._wire.ask(_FACTS, "GET", "facts", "review", who=Who(user=user, tenant=tenant), params=params)

    async def counts(self, *, user: str, subject: str | None = None, tenant: str | None = None) -> FactCounts:
        """How many of the user's own facts are in each state."""
        who = Who(user=user, tenant=tenant)
        return await self._wire.ask(_COUNTS, "GET", "facts", "counts", who=who, params={"subject": subject})

    async def add(
        self,
        content: str,
        *,
        user: str,
        category: str | None = None,
        importance: int = DEFAULT_IMPORTANCE,
        subject: str | None = None,
        pinned: bool = False,
        tenant: str | None = None,
    ) -> Fact:
        """Keep what the user says: it has the highest trust, and needs no quote."""
        body = {
            "content": content,
            "category": category,
            "importance": importance,
            "subject": subject,
            "pinned": pinned,
        }
        return await self._wire.ask(_FACT, "POST", "facts", who=Who(user=user, tenant=tenant), body=body)

    async def edit(
        self,
        fact_id: FactId,
        *,
        user: str,
        content: str | None = None,
        category: str | None = None,
        importance: int | None = None,
        tenant: str | None = None,
    ) -> Fact:
        """Correct a fact; what is not given stays."""
        said = {"content": content, "category": category, "importance": importance}
        body = {name: value for name, value in said.items() if value is not None}
        return await self._wire.ask(_FACT, "PATCH", "facts", _id(fact_id), who=Who(user=user, tenant=tenant), body=body)

    async def pin(self, fact_id: FactId, *, user: str, tenant: str | None = None) -> Fact:
        """Want a fact in every prompt."""
        return await self._change(fact_id, "pin", user, tenant)

    async def unpin(self, fact_id: FactId, *, user: str, tenant: str | None = None) -> Fact:
        """Want it in a prompt only where it matters."""
        return await self._change(fact_id, "unpin", user, tenant)

    async def confirm(self, fact_id: FactId, *, user: str, tenant: str | None = None) -> Fact:
        """Stand for a fact: it leaves the review, and nothing that is learned puts an end to it."""
        return await self._change(fact_id, "confirm", user, tenant)

    async def take_up(self, fact_id: FactId, *, user: str, tenant: str | None = None) -> Fact:
        """Believe a fact again that was set aside."""
        return await self._change(fact_id, "take-up", user, tenant)

    async def share(self, fact_id: FactId, *, user: str, tenant: str | None = None) -> Fact:
        """Let the members of its subject read a fact, but not what it was learned from."""
        return await self._show(fact_id, "shared", user, tenant)

    async def unshare(self, fact_id: FactId, *, user: str, tenant: str | None = None) -> Fact:
        """From now on only the user reads the fact."""
        return await self._show(fact_id, "private", user, tenant)

    async def delete(self, fact_id: FactId, *, user: str, tenant: str | None = None) -> None:
        """Leave nothing of a fact."""
        await self._wire.ask(_NOTHING, "DELETE", "facts", _id(fact_id), who=Who(user=user, tenant=tenant))

    async def undo(self, fact_id: FactId, *, user: str, tenant: str | None = None) -> Fact | None:
        """Take the last change of a fact back; again, the one before."""
        return await self._wire.ask(_MAYBE, "POST", "facts", _id(fact_id), "undo", who=Who(user=user, tenant=tenant))

    async def _change(self, fact_id: FactId, what: str, user: str, tenant: str | None) -> Fact:
        return await self._wire.ask(_FACT, "POST", "facts", _id(fact_id), what, who=Who(user=user, tenant=tenant))

    async def _show(self, fact_id: FactId, visibility: str, user: str, tenant: str | None) -> Fact:
        who, body = Who(user=user, tenant=tenant), {"visibility": visibility}
        return await self._wire.ask(_FACT, "PATCH", "facts", _id(fact_id), "visibility", who=who, body=body)


class RemoteSubjects(SubjectsView):
    """Whom or what facts are about, with the methods of `SubjectsView`."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def create(
        self,
        subject: str,
        *,
        user: str,
        name: str | None = None,
        members: Sequence[str] = (),
        tenant: str | None = None,
    ) -> Subject:
        """Make a subject; the user owns it and is its first member."""
        body: dict[str, Any] = {"subject": subject, "name": name, "members": [*members]}
        return await self._wire.ask(_SUBJECT, "POST", "subjects", who=Who(user=user, tenant=tenant), body=body)

    async def rename(self, subject: str, name: str, *, user: str, tenant: str | None = None) -> Subject:
        """Another name for people to read."""
        who = Who(user=user, tenant=tenant)
        return await self._wire.ask(_SUBJECT, "PATCH", "subjects", subject, who=who, body={"name": name})

    async def list(self, *, user: str, limit: int = 100, tenant: str | None = None) -> Sequence[Subject]:
        """The subjects that the user is a member of, with their members."""
        who = Who(user=user, tenant=tenant)
        return await self._wire.ask(_SUBJECTS, "GET", "subjects", who=who, params={"limit": limit})

    async def members(self, subject: str, *, user: str, tenant: str | None = None) -> Sequence[str]:
        """Who reads what is shared with a subject that the user is a member of."""
        who = Who(user=user, tenant=tenant)
        return await self._wire.ask(_NAMES, "GET", "subjects", subject, "members", who=who)

    async def add_member(self, subject: str, member: str, *, user: str, tenant: str | None = None) -> Subject:
        """Let somebody read what is shared."""
        who = Who(user=user, tenant=tenant)
        return await self._wire.ask(_SUBJECT, "PUT", "subjects", subject, "members", member, who=who)

    async def remove_member(self, subject: str, member: str, *, user: str, tenant: str | None = None) -> bool:
        """From now on that user reads nothing that others share; False if that was no member."""
        who = Who(user=user, tenant=tenant)
        return await self._wire.ask(_YES, "DELETE", "subjects", subject, "members", member, who=who)


def _id(fact_id: FactId) -> UUID:
    return fact_id if isinstance(fact_id, UUID) else fact_id_of(checked_text(fact_id, "the id of a fact"))
