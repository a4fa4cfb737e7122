"""The machine that reads for facts: whatever is said, changed, done late or by hand, what is known is what was said."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import ExitStack
from itertools import pairwise
from typing import Any, ClassVar, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.machine.grounds import ground
from tests.machine.laws import doctors_questions
from tests.machine.subjects import KEY, Words, fence_of

from anaphora import Memory
from anaphora.bootstrap import Overrides, open_services
from anaphora.domain.chunks import Chunk
from anaphora.domain.facts import Fact, FactState
from anaphora.domain.jobs import Job
from anaphora.domain.wire import PromptMessage
from anaphora.errors import AnaphoraError, ModelError, ModelUnavailable
from anaphora.memory import Session
from anaphora.settings import Settings
from anaphora.testing import FakeClock, SeededRandom
from anaphora.testing.scripted import ScriptedChat, faithful

T = TypeVar("T")
USER, OTHER, SUBJECT = "u", "v", "joe"
MODES: Mapping[str, ModelError | str] = {
    "down": ModelUnavailable("no answer in time"),
    "bad_json": '{"summary": "half',
    "empty": '{"summary": "", "facts": []}',
}
PLACES = st.integers(0, 199)
#: longer than any lease, any pause and any silence that is waited for
LONG, LONGEST = 400.0, 100_000.0
#: the word that only this version of this message has
WORD = re.compile(r"w(\d+)v(\d+)x")


class Reading(RuleBasedStateMachine):
    """One session of one user, read by workers that may be late, by a model that may fail."""

    #: what has come about in all runs together: what never happened proves nothing
    seen: ClassVar[Counter[str]] = Counter()
    #: how much is kept
    kept: ClassVar[Mapping[str, int]] = {}

    @initialize()
    def start(self) -> None:
        self.opened = ExitStack()
        db, self.sql = self.opened.enter_context(ground())
        self.loop = asyncio.new_event_loop()
        self.clock, self.chat = FakeClock(), ScriptedChat()
        self.said: list[str | None] = []
        self.versions: list[int] = []
        self.buried: set[str] = set()
        self.hands: list[Job] = []
        settings = Settings(
            db=db,
            tenant=KEY.tenant,
            embedder="none",
            durability="normal",
            extraction="batch",
            facts=dict(self.kept),
            batch_extraction={"threshold": 4, "batch": 6, "idle_seconds": 60},
            rolling_pairs={"window_pairs": 2, "min_messages_for_summary": 8},
        )
        given = Overrides(memory_model=self.chat, clock=self.clock, randomness=SeededRandom(1), counter=Words())
        self.manager = open_services(settings, given)
        self.memory = Memory(self.run(self.manager.__aenter__()))
        self.session: Session = self.memory.session(user=USER, session="s", subject=SUBJECT)
        self.run(self.memory.subjects.create(SUBJECT, user=USER, members=[OTHER]))

    def teardown(self) -> None:
        if not hasattr(self, "memory"):
            return
        try:
            self.at_the_end()
        finally:
            self.run(self.manager.__aexit__(None, None, None))
            self.loop.close()
            self.opened.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    # -- what may happen ---------------------------------------------------------------------------------------

    @rule(turns=st.integers(1, 4))
    def talk(self, turns: int) -> None:
        for _ in range(turns):
            seq = len(self.said)
            said = text(seq, 1)
            self.run(
                self.session.add_turn([{"role": "user", "content": said}, {"role": "assistant", "content": "Yes."}])
            )
            self.said += [said, "Yes."]
            self.versions += [1, 1]

    @precondition(lambda self: any(self.said[::2]))
    @rule(place=PLACES)
    def edit(self, place: int) -> None:
        seq = self.live(place)
        self.versions[seq] += 1
        self.said[seq] = text(seq, self.versions[seq])
        self.seen["edited what was read"] += any(seq in chunk.range for chunk in self.chunks())
        self.run(self.session.edit(seq, self.said[seq]))

    @precondition(lambda self: any(self.said[::2]))
    @rule(place=PLACES)
    def delete(self, place: int) -> None:
        seq = self.live(place)
        self.said[seq] = None
        self.run(self.session.delete(seq))

    @rule(seconds=st.sampled_from([5.0, 61.0, LONG]))
    def time_passes(self, seconds: float) -> None:
        self.run(self.clock.advance(seconds))

    @rule()
    def end(self) -> None:
        self.run(self.session.end())

    @precondition(lambda self: len(self.said) > 12)
    @rule()
    def reset(self) -> None:
        self.run(self.session.reset())
        self.said, self.versions = [], []
        self.seen["reset"] += 1

    @rule(mode=st.sampled_from(["ok", "ok", "ok", *MODES]), steps=st.integers(1, 3))
    def work(self, mode: str, steps: int) -> None:
        self.chat.script = script_of(mode)
        for _ in range(steps):
            self.run(self.memory._services.worker.step())

    @rule()
    def claim(self) -> None:
        """And do nothing about it yet."""
        job = self.run(self.memory._services.worker.claim())
        if job is not None:
            self.hands.append(job)

    @precondition(lambda self: self.hands)
    @rule(place=PLACES)
    def do_late(self, place: int) -> None:
        """I5: a job that is not ours any more changes nothing."""
        job = self.hands.pop(place % len(self.hands))
        services = self.memory._services
        fence = fence_of(job, services.worker.owner)
        still = self.run(services.store.read(job.tenant, lambda unit: unit.jobs.holds(fence)))
        before = self.known() if not still else None
        self.chat.script = faithful
        self.run(services.worker.do(job))
        self.seen["late" if before is not None else "in time"] += 1
        assert before is None or self.known() == before, "I5: a late worker changed something"

    @precondition(lambda self: self.facts())
    @rule(place=PLACES, what=st.sampled_from(["pin", "confirm", "share", "unshare", "delete", "undo", "edit"]))
    def by_hand(self, place: int, what: str) -> None:
        facts = self.facts()
        fact = facts[place % len(facts)]
        if what == "edit":
            wanted: Coroutine[Any, Any, Any] = self.memory.facts.edit(fact.id, user=USER, importance=1 + place % 10)
        else:
            wanted = getattr(self.memory.facts, what)(fact.id, user=USER)
        try:
            self.run(wanted)
        except AnaphoraError:
            return
        self.seen[what] += 1
        if not any(other.id == fact.id for other in self.facts()):
            self.buried.add(fact.content)

    @rule(place=PLACES)
    def add(self, place: int) -> None:
        if self.buried and place % 2:
            content = sorted(self.buried)[place % len(self.buried)]
        else:
            content = f"Owns thing h{place}x"
        self.run(self.memory.facts.add(content, user=USER, subject=SUBJECT))
        self.buried.discard(content)

    # -- what must hold ----------------------------------------------------------------------------------------

    @invariant()
    def nothing_is_known_that_nobody_says(self) -> None:
        """I15, I12: what was edited or deleted is gone at once, but for what its owner stands for."""
        if not hasattr(self, "memory"):
            return
        facts = self.facts()
        for fact in facts:
            if not fact.kept_by_owner:
                assert fact.sources, f"{fact.content!r} has no source"
                assert fact.content not in self.buried, f"{fact.content!r} was deleted, and is there again"
                spoken = {(int(seq), int(version)) for seq, version in WORD.findall(fact.content)}
                assert all(self.says(seq, version) for seq, version in spoken), f"{fact.content!r} is said no more"
            for source in fact.sources:
                assert source.quote in (self.said[source.seq] or ""), "a quote that nobody said"
        believed = [fact.content for fact in facts if fact.state is not FactState.CLOSED]
        assert len(believed) == len(set(believed)), "a fact is there twice"

    @invariant()
    def the_database_is_sound(self) -> None:
        if hasattr(self, "memory"):
            broken = [what for what, query in doctors_questions(self.sql.dialect) if self.sql.rows(query)]
            assert not broken, f"the doctor found {broken}"

    @invariant()
    def nobody_else_is_shown_more_than_is_shared(self) -> None:
        if hasattr(self, "memory"):
            seen = self.run(self.memory.facts.list(user=OTHER, limit=1000))
            mine = {
                fact.id for fact in self.facts() if fact.visibility.value == "shared" and fact.state.value == "active"
            }
            assert {fact.id for fact in seen} == mine
            assert not any(fact.sources for fact in seen)

    def at_the_end(self) -> None:
        """I9: when all is quiet, everything that is said was read, once, and is known unless it was deleted."""
        self.chat.script = faithful
        for _ in range(6):
            self.run(self.clock.advance(LONGEST))
            self.run(self.memory.work())
        spans = [(chunk.range.start, chunk.range.stop) for chunk in self.chunks()]
        assert all(stop <= start for (_, stop), (start, _) in pairwise(spans)), "chunks overlap"
        read = {seq for start, stop in spans for seq in range(start, stop)}
        unread = [seq for seq, said in enumerate(self.said) if said is not None and seq not in read]
        assert not unread, f"I9: messages {unread} were never read"
        known = " ".join(fact.content for fact in self.facts())
        gone = " ".join(self.buried)
        for seq, said in enumerate(self.said):
            if said is not None and seq % 2 == 0:
                word = f"w{seq}v{self.versions[seq]}x"
                assert word in known or word in gone, f"message {seq} is not known: {said}"
        self.nothing_is_known_that_nobody_says()

    # -- what they need ----------------------------------------------------------------------------------------

    def live(self, place: int) -> int:
        there = [seq for seq in range(0, len(self.said), 2) if self.said[seq] is not None]
        return there[place % len(there)]

    def says(self, seq: int, version: int) -> bool:
        return seq < len(self.said) and f"w{seq}v{version}x" in (self.said[seq] or "")

    def facts(self) -> Sequence[Fact]:
        return self.run(self.memory.facts.list(user=USER, states=list(FactState), limit=1000))

    def chunks(self) -> Sequence[Chunk]:
        def read(unit: Any) -> Sequence[Chunk]:
            row = unit.sessions.find(self.session.key)
            return tuple(reversed(unit.chunks.list(row.key.tenant, row.id, limit=1000))) if row is not None else ()

        return self.run(self.memory._services.store.read(self.session.key.tenant, read))

    def known(self) -> object:
        return (self.facts(), [(chunk.id, chunk.stale) for chunk in self.chunks()])


def text(seq: int, version: int) -> str:
    """What a user says of the subject: a fact that only this version of this message states."""
    return f"Joe likes thing w{seq}v{version}x."


def script_of(mode: str) -> Any:
    """What a model in this mode answers."""
    fault = MODES.get(mode)

    def script(messages: Sequence[PromptMessage], schema: Mapping[str, Any] | None) -> str:
        if isinstance(fault, ModelError):
            raise fault
        return faithful(messages, schema) if fault is None else fault

    return script
