"""Who sees what: owners, subjects, members and agents against a model of them (I11).

Every fact and every message carries a canary of its own. Whatever a user is shown, by whichever way, holds only
canaries that the model allows; and the lists hold all of those.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from uuid import UUID

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from anaphora.domain.facts import FactState
from anaphora.errors import AnaphoraError, InvalidInput, NotFound
from anaphora.sync import Memory

USERS, SUBJECTS, AGENTS = ("ann", "an", "bob", "o'neill:%_"), ("joe", "jo"), ("default", "other")
DEEP = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
#: together 10,000 operations; in everyday runs a twentieth of them
EXAMPLES, STEPS = (100, 100) if DEEP else (6, 25)
CANARY = re.compile(r"canary(\d+)x")

pytestmark = pytest.mark.sqlite_only("the queries are the same, and the laws of the store run on every database")

users = st.sampled_from(USERS)
subjects = st.sampled_from(SUBJECTS)


@dataclass
class Known:
    """A fact as the model has it."""

    id: UUID
    owner: str
    subject: str | None
    canary: int
    shared: bool = False


@dataclass
class Model:
    """Who may see what."""

    facts: dict[UUID, Known] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    members: dict[str, set[str]] = field(default_factory=dict)
    said: dict[int, str] = field(default_factory=dict)

    def visible(self, user: str) -> set[int]:
        """The canaries of the facts that a user may see."""
        return {
            fact.canary
            for fact in self.facts.values()
            if fact.owner == user or (fact.shared and user in self.members.get(fact.subject or "", set()))
        }

    def allowed(self, user: str) -> set[int]:
        """And those of the user's own messages."""
        return self.visible(user) | {canary for canary, owner in self.said.items() if owner == user}


class Visibility(RuleBasedStateMachine):
    """Operations of several users, each followed by a look with somebody's eyes."""

    def __init__(self) -> None:
        super().__init__()
        self.model = Model()
        self.canaries = count(1)
        self.steps = 0
        self._opening = Memory.open(":memory:", embedder="none", extraction="none", worker=False)
        self.memory = self._opening.__enter__()

    def teardown(self) -> None:
        """Everybody looks once more."""
        for user in USERS:
            self.look(user, SUBJECTS[0])
        self._opening.__exit__(None, None, None)

    def new(self) -> tuple[int, str]:
        """A canary, and a statement that carries it."""
        number = next(self.canaries)
        return number, f"Owns thing canary{number}x"

    def pick(self, data: st.DataObject) -> Known:
        """Some fact."""
        return self.model.facts[data.draw(st.sampled_from(sorted(self.model.facts)))]

    @rule(user=users, subject=subjects)
    def make_subject(self, user: str, subject: str) -> None:
        try:
            self.memory.subjects.create(subject, user=user)
        except InvalidInput:
            assert subject in self.model.owners
        else:
            assert subject not in self.model.owners
            self.model.owners[subject] = user
            self.model.members[subject] = {user}

    @rule(user=users, member=users, subject=subjects)
    def invite(self, user: str, member: str, subject: str) -> None:
        try:
            self.memory.subjects.add_member(subject, member, user=user)
        except AnaphoraError:
            assert self.model.owners.get(subject) != user
        else:
            self.model.members[subject].add(member)

    @rule(user=users, member=users, subject=subjects)
    def remove(self, user: str, member: str, subject: str) -> None:
        try:
            self.memory.subjects.remove_member(subject, member, user=user)
        except AnaphoraError:
            members = self.model.members.get(subject, set())
            assert user not in members or member == self.model.owners[subject] or user != self.model.owners[subject]
        else:
            self.model.members[subject].discard(member)

    @rule(user=users, subject=st.sampled_from([None, *SUBJECTS]), pinned=st.booleans())
    def add(self, user: str, subject: str | None, pinned: bool) -> None:
        canary, content = self.new()
        fact = self.memory.facts.add(content, user=user, subject=subject, pinned=pinned, importance=10)
        self.model.facts[fact.id] = Known(id=fact.id, owner=user, subject=subject, canary=canary)

    @rule(user=users, agent=st.sampled_from(AGENTS), subject=st.sampled_from([None, *SUBJECTS]))
    def say(self, user: str, agent: str, subject: str | None) -> None:
        canary, content = self.new()
        session = self.memory.session(user=user, session=f"s{subject}", agent=agent, subject=subject)
        session.add("user", content)
        self.model.said[canary] = user

    @precondition(lambda self: self.model.facts)
    @rule(data=st.data(), user=users, shared=st.booleans())
    def share(self, data: st.DataObject, user: str, shared: bool) -> None:
        fact = self.pick(data)
        change = self.memory.facts.share if shared else self.memory.facts.unshare
        try:
            change(fact.id, user=user)
        except NotFound:
            assert fact.canary not in self.model.visible(user)
        except InvalidInput:
            member = user in self.model.members.get(fact.subject or "", set())
            assert user != fact.owner or (shared and not member)
        else:
            assert user == fact.owner
            fact.shared = shared

    @precondition(lambda self: self.model.facts)
    @rule(data=st.data(), user=users)
    def edit(self, data: st.DataObject, user: str) -> None:
        fact = self.pick(data)
        canary, content = self.new()
        try:
            self.memory.facts.edit(fact.id, user=user, content=content)
        except NotFound:
            assert fact.canary not in self.model.visible(user)
        except InvalidInput:
            assert user != fact.owner
            assert fact.canary in self.model.visible(user)
        else:
            assert user == fact.owner
            fact.canary = canary

    @precondition(lambda self: self.model.facts)
    @rule(data=st.data(), user=users)
    def delete(self, data: st.DataObject, user: str) -> None:
        fact = self.pick(data)
        try:
            self.memory.facts.delete(fact.id, user=user)
        except AnaphoraError:
            assert user != fact.owner
        else:
            assert user == fact.owner
            del self.model.facts[fact.id]

    @rule(user=users, subject=subjects)
    def look(self, user: str, subject: str) -> None:
        """By every way, with one user's eyes."""
        listed = self.memory.facts.list(user=user, limit=1000)
        assert canaries(*(fact.content for fact in listed)) == self.model.visible(user)
        assert all(not fact.sources for fact in listed if fact.owner != user)
        allowed = self.model.allowed(user)
        for text in self.shown(user, subject):
            assert canaries(text) <= allowed, f"{user!r} sees {sorted(canaries(text) - allowed)}"

    def shown(self, user: str, subject: str) -> Iterator[str]:
        """Whatever a user can be shown."""
        memory = self.memory
        for state in FactState:
            yield str(memory.facts.list(user=user, states=[state], subject=subject))
        yield str(memory.facts.review(user=user))
        yield str(memory.subjects.list(user=user))
        yield str(memory.search("which thing canary does everybody own", user=user, limit=200).hits)
        for agent in AGENTS:
            session = memory.session(user=user, session=f"s{subject}", agent=agent, subject=subject)
            context = session.context("which thing does everybody own?", budget=3000)
            yield str(context.messages)
            yield str([line.to_dict() for line in context.explain()])
            yield str(session.summaries())
            yield str(session.messages())
        yield "".join(memory.export(user=user))

    @invariant()
    def every_fact_is_there_for_its_owner_alone_or_those_it_is_shared_with(self) -> None:
        self.steps += 1
        if not self.model.facts:
            return
        newest = max(self.model.facts)
        for user in USERS:
            if self.model.facts[newest].canary in self.model.visible(user):
                assert self.memory.facts.get(newest, user=user).id == newest
            else:
                with pytest.raises(NotFound):
                    self.memory.facts.get(newest, user=user)


def canaries(*texts: str) -> set[int]:
    return {int(number) for text in texts for number in CANARY.findall(text)}


def test_nobody_sees_what_is_another_s_by_any_way() -> None:
    how: dict[str, Any] = {"max_examples": EXAMPLES, "stateful_step_count": STEPS}
    run_state_machine_as_test(Visibility, settings=settings(settings(), **how))
