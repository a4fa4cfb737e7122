"""The machine: whatever happens in whatever order, every message is somewhere, and is where it is said to be."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.machine.grounds import ground
from tests.machine.laws import Database, Laws
from tests.machine.said import Log
from tests.machine.subjects import FAULTS, Anaphora, Subject

from anaphora.bootstrap.maintenance import diagnose

MODES = ["ok", "ok", "ok", "partial", *FAULTS]
TURNS = st.sampled_from(
    [
        ("user", "assistant"),
        ("user",),
        ("user", "call", "tool", "assistant"),
        ("user", "call", "tool"),
        ("assistant",),
        ("user", "user", "assistant", "assistant"),
    ]
)
#: which message is meant: this many from the first, going round
PLACES = st.integers(0, 199)


class CoverageMachine(RuleBasedStateMachine):
    """Append, work, serve: the least that any memory must survive (I1)."""

    subject: Subject

    def make(self) -> Subject:
        raise NotImplementedError

    @initialize()
    def start(self) -> None:
        self.subject = self.make()

    def teardown(self) -> None:
        if hasattr(self, "subject"):
            self.subject.close()

    @rule(turns=st.lists(TURNS, min_size=1, max_size=3))
    def talk(self, turns: list[tuple[str, ...]]) -> None:
        for roles in turns:
            self.subject.append(roles)

    @rule(mode=st.sampled_from(MODES))
    def work(self, mode: str) -> None:
        self.subject.work(mode)

    @rule(turns=st.integers(2, 5), mode=st.sampled_from(MODES))
    def talk_a_while(self, turns: int, mode: str) -> None:
        for _ in range(turns):
            self.subject.append(("user", "assistant"))
            self.subject.work(mode)

    @rule()
    def serve(self) -> None:
        served = self.subject.serve()
        everywhere = served.summarised | served.verbatim | served.elided | served.deleted
        missing = set(range(self.subject.head)) - everywhere
        assert not missing, f"I1: messages {sorted(missing)} are nowhere"


class Driven(CoverageMachine):
    """Anaphora under the machine: what all its rules share, and what is true after each of them."""

    options: ClassVar[Mapping[str, Any]] = {}
    #: there is a language model
    with_model: ClassVar[bool] = True
    #: summaries have room for all that is said
    roomy: ClassVar[bool] = True
    #: what has come about in all runs of a machine together: faults must really have happened
    seen: ClassVar[Counter[str]]
    wanted: ClassVar[frozenset[str]] = frozenset()
    subject: Anaphora

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.seen = Counter()

    @initialize(turns=st.sampled_from([0, 6, 9, 12, 18]), jobs=st.integers(0, 3))
    def start(self, turns: int = 0, jobs: int = 0) -> None:
        """Somewhere in a conversation."""
        super().start()
        if turns:
            self.subject.append(("user", "assistant") * turns)
            for _ in range(jobs):
                self.subject.work("ok")

    @classmethod
    def hollow(cls) -> set[str]:
        """What should have come about in all these runs, and did not."""
        return {what for what in cls.wanted if not cls.seen[what]}

    def make(self) -> Anaphora:
        self.opened = ExitStack()
        db, sql = self.opened.enter_context(ground())
        self.database = Database(sql)
        self.laws = Laws(self.database)
        return Anaphora(db, with_model=self.with_model, **self.options)

    def teardown(self) -> None:
        failing = sys.exc_info()[0] is not None
        with getattr(self, "opened", ExitStack()):
            try:
                if hasattr(self, "subject") and not failing:
                    self.at_the_end()
            finally:
                super().teardown()

    def at_the_end(self) -> None:
        """What need not be looked at after each step."""
        assert self.database.bystander_is_untouched(), "I11: another session was changed"
        broken = self.database.what_the_doctor_finds()
        assert not broken, f"the doctor found {broken}"
        if self.log.head % 16 == 5:  # a whole examination takes as long as all the rest of a run
            found = diagnose(self.subject.settings, stuck_seconds=1e9, clock=self.subject.clock)
            wrong = [check for check in found.checks if not check.ok and not check.warning]
            assert not wrong, f"the doctor found {wrong}"

    @property
    def log(self) -> Log:
        return self.subject.log

    def place(self, place: int) -> int:
        """The message that is meant, whatever the length of the log; it is not empty."""
        return place % self.log.head

    @invariant()
    def the_database_is_sound(self) -> None:
        if hasattr(self, "subject"):
            self.laws.check(self.log)
