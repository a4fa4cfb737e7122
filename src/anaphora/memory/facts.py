"""Facts and their subjects as the public API shows them."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from anaphora.bootstrap import Services
from anaphora.domain.facts import DEFAULT_IMPORTANCE, Fact, FactState, FactVersion, Subject, fallback_category
from anaphora.domain.keeping import FactCounts
from anaphora.domain.keys import checked_id, checked_text
from anaphora.errors import InvalidInput
from anaphora.memory.scope import tenant_of
from anaphora.ports.facts import Reader
from anaphora.services.learning import fact_id_of

#: the id of a fact, as it is or as text
FactId = UUID | str


class FactsView:
    """What is known of a memory's users. A user sees own facts, and what the members of a subject share."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._facts = services.facts

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
        """Facts that the user may see, newest first; the own ones with what they were learned from.

        Args:
            user: who looks.
            agent: only what this agent learned of the user's own facts, and what the user added.
            subject: only about this subject; `""`: only about the user. None: about whatever.
            states: those in these states; of others' facts only active ones are shown.
            category: only of this category.
            after: those older than this fact, for the next page.
            limit: 1 to 1000.
            tenant: None = the configured default.

        """
        about = None if subject is None else (subject,)
        reader = self._reader(user, tenant, agent=agent, about=about)
        older = None if after is None else _id(after)
        return await self._facts.list(reader, states=states, category=category, after=older, limit=limit)

    async def get(self, fact_id: FactId, *, user: str, tenant: str | None = None) -> Fact:
        """One fact; if it is the user's own, with the messages that it was learned from.

        Raises:
            NotFound: there is none that the user may see.

        """
        return await self._facts.get(self._reader(user, tenant), _id(fact_id))

    async def history(self, fact_id: FactId, *, user: str, tenant: str | None = None) -> Sequence[FactVersion]:
        """Every version of one of the user's own facts, the oldest first."""
        return await self._facts.history(self._reader(user, tenant), _id(fact_id))

    async def review(
        self, *, user: str, subject: str | None = None, limit: int = 50, tenant: str | None = None
    ) -> Sequence[Fact]:
        """The user's own facts that are doubtful, newest first: they stand in no prompt until they are confirmed."""
        found = await self.list(user=user, subject=subject, states=(FactState.REVIEW,), limit=limit, tenant=tenant)
        return [fact for fact in found if fact.owner == user]

    async def counts(self, *, user: str, subject: str | None = None, tenant: str | None = None) -> FactCounts:
        """How many of the user's own facts are in each state, and why those are set aside that are.

        Args:
            user: whose facts.
            subject: only about this subject; `""`: only about the user. None: about whatever.
            tenant: None = the configured default.

        """
        about = None if subject is None else (subject,)
        return await self._facts.counts(self._reader(user, tenant, about=about))

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
        """Keep what the user says: it has the highest trust, and needs no quote.

        What it contradicts is closed. If the same is known already, that is confirmed and returned.

        Args:
            content: one statement.
            user: who says so.
            category: one of the configured ones; None: `other`, or the last one where there is no such category.
            importance: 1 to 10.
            subject: whom or what it is about; None: the user.
            pinned: it is wanted in every prompt.
            tenant: None = the configured default.

        Raises:
            InvalidInput: it cannot be kept so; nothing was changed.
            UnknownName: no such category.

        """
        if not isinstance(pinned, bool):
            raise InvalidInput(f"pinned must be true or false, not {type(pinned).__name__}")
        if category is None:
            category = fallback_category(self._services.settings.facts.categories)
        return await self._facts.add(
            self._reader(user, tenant),
            content,
            category=category,
            importance=importance,
            subject=subject,
            pinned=pinned,
        )

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
        """Correct a fact; what is not given stays. The user stands for it from now on.

        Raises:
            NotFound: there is none of the user's own.
            InvalidInput: it cannot be kept so; nothing was changed.

        """
        return await self._facts.edit(
            self._reader(user, tenant), _id(fact_id), content=content, category=category, importance=importance
        )

    async def pin(self, fact_id: FactId, *, user: str, tenant: str | None = None) -> Fact:
        """Want a fact in every prompt."""
        return await self._facts.pin(self._reader(user, tenant), _id(fact_id), pinned=True)

    async def unpin(self, fact_id: FactId, *, user: str, tenant: str | None = None) -> Fact:
        """Want it in a prompt only where it matters."""
        return await self._facts.pin(self._reader(user, tenant), _id(fact_id), pinned=False)

    async def confirm(self, fact_id: FactId, *, user: str, tenant: str | None = None) -> Fact:
        """Stand for a fact: it leaves the review, and nothing that is learned puts an end to it."""
        return await self._facts.confirm(self._reader(user, tenant), _id(fact_id))

    async def take_up(self, fact_id: FactId, *, user: str, tenant: str | None = None) -> Fact:
        """Believe a fact again that was set aside. The user stands for it: it is not set aside again.

        Raises:
            NotFound: there is none of the user's own.
            InvalidInput: it is not set aside, or another fact says that already.

        """
        return await self._facts.take_up(self._reader(user, tenant), _id(fact_id))

    async def share(self, fact_id: FactId, *, user: str, tenant: str | None = None) -> Fact:
        """Let the members of its subject read a fact, but not what it was learned from.

        Raises:
            NotFound: there is none of the user's own.
            InvalidInput: it is about the user alone, or about a subject of others.

        """
        return await self._facts.share(self._reader(user, tenant), _id(fact_id), shared=True)

    async def unshare(self, fact_id: FactId, *, user: str, tenant: str | None = None) -> Fact:
        """From now on only the user reads the fact."""
        return await self._facts.share(self._reader(user, tenant), _id(fact_id), shared=False)

    async def delete(self, fact_id: FactId, *, user: str, tenant: str | None = None) -> None:
        """Leave nothing of a fact. What says the same is not learned again; the user may still add it."""
        await self._facts.delete(self._reader(user, tenant), _id(fact_id))

    async def undo(self, fact_id: FactId, *, user: str, tenant: str | None = None) -> Fact | None:
        """Take the last change of a fact back; again, the one before. None: that was its beginning, and it is gone."""
        return await self._facts.undo(self._reader(user, tenant), _id(fact_id))

    def _reader(
        self, user: str, tenant: str | None, *, agent: str | None = None, about: tuple[str, ...] | None = None
    ) -> Reader:
        tenant = checked_id(tenant_of(self._services, tenant), "tenant")
        return Reader(tenant=tenant, user=checked_id(user, "user"), agent=agent, about=about)


class SubjectsView:
    """Whom or what facts are about, and with whom they may be shared."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._subjects = services.subjects

    async def create(
        self,
        subject: str,
        *,
        user: str,
        name: str | None = None,
        members: Sequence[str] = (),
        tenant: str | None = None,
    ) -> Subject:
        """Make a subject; the user owns it and is its first member.

        Args:
            subject: its id, as `session(subject=...)` takes it.
            user: its owner.
            name: as people read it, such as in "Known facts about NAME"; None = the id.
            members: other users who read what is shared.
            tenant: None = the configured default.

        Raises:
            InvalidInput: an impossible name.
            Taken: there is a subject of this id.

        """
        tenant = tenant_of(self._services, tenant)
        return await self._subjects.create(tenant, user, subject, name=name, members=members)

    async def rename(self, subject: str, name: str, *, user: str, tenant: str | None = None) -> Subject:
        """Another name for people to read; only its owner may do that, and the id stays."""
        return await self._subjects.rename(tenant_of(self._services, tenant), user, subject, name)

    async def list(self, *, user: str, limit: int = 100, tenant: str | None = None) -> Sequence[Subject]:
        """The subjects that the user is a member of, with their members."""
        return await self._subjects.list(tenant_of(self._services, tenant), user, limit=limit)

    async def members(self, subject: str, *, user: str, tenant: str | None = None) -> Sequence[str]:
        """Who reads what is shared with a subject that the user is a member of."""
        return (await self._subjects.get(tenant_of(self._services, tenant), user, subject)).members

    async def add_member(self, subject: str, member: str, *, user: str, tenant: str | None = None) -> Subject:
        """Let somebody read what is shared; only the owner of the subject may do that."""
        return await self._subjects.add_member(tenant_of(self._services, tenant), user, subject, member)

    async def remove_member(self, subject: str, member: str, *, user: str, tenant: str | None = None) -> bool:
        """From now on that user reads nothing that others share; False if that was no member."""
        return await self._subjects.remove_member(tenant_of(self._services, tenant), user, subject, member)


def _id(fact_id: FactId) -> UUID:
    return fact_id if isinstance(fact_id, UUID) else fact_id_of(checked_text(fact_id, "the id of a fact"))
