"""The machine that reads for facts where few are kept: what its owner stands for is never set aside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import ClassVar

from hypothesis.stateful import invariant
from tests.machine.reading import LONGEST, Reading

from anaphora.domain.facts import FactState
from anaphora.testing.scripted import faithful


class Crowding(Reading):
    """The same, with room for five facts."""

    seen: ClassVar[Counter[str]] = Counter()
    kept: ClassVar[Mapping[str, int]] = {"capacity": 5, "per_message": 2}

    @invariant()
    def what_its_owner_stands_for_is_never_set_aside(self) -> None:
        if not hasattr(self, "memory"):
            return
        aside = [fact for fact in self.facts() if fact.state is FactState.ASIDE]
        assert not [fact.content for fact in aside if fact.kept_by_owner or fact.pinned]
        self.seen["set aside"] += bool(aside)
        self.seen["kept beside what is set aside"] += bool(aside) and any(fact.kept_by_owner for fact in self.facts())

    def at_the_end(self) -> None:
        """When all is quiet no more is kept than may be, but for what its owner stands for."""
        self.chat.script = faithful
        for _ in range(6):
            self.run(self.clock.advance(LONGEST))
            self.run(self.memory.work())
        learned = [
            fact for fact in self.facts() if fact.state is FactState.ACTIVE and not (fact.kept_by_owner or fact.pinned)
        ]
        assert len(learned) <= self.kept["capacity"]
        self.nothing_is_known_that_nobody_says()
        self.what_its_owner_stands_for_is_never_set_aside()
