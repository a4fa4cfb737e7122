"""The machine of topics: whatever is said, changed, done late or twice, they tile the log and tell what is said now."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from typing import Any, ClassVar, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.machine.grounds import ground
from tests.machine.laws import doctors_questions
from tests.machine.matters import MATTERS, MODES, Matters, message, script_of, text
from tests.machine.slow import Slow
from tests.machine.subjects import KEY, Words, fence_of
from tests.machine.tiling import Then, Tiling

from anaphora import Context, Memory
from anaphora.bootstrap import Overrides, Services, open_services
from anaphora.domain.jobs import Job, JobKind
from anaphora.errors import AnaphoraError, LeaseLost
from anaphora.memory import Session
from anaphora.settings import Settings
from anaphora.testing import FakeClock, SeededRandom
from anaphora.testing.scripted import ScriptedChat

T = TypeVar("T")
PLACES = st.integers(0, 199)
WORKERS = st.sampled_from(["ann", "bob"])
#: characters of a topic from which on the next message of the user opens another
MOST = 800
#: longer than any lease and any pause; than any pause at all
LONG, LONGEST = 400.0, 100_000.0


class Shifting(RuleBasedStateMachine):
    """One session that goes from matter to matter and back, followed and described by workers that may be late."""

    #: there is a language model
    with_model: ClassVar[bool] = True
    #: what has come about in all runs together: what never happened proves nothing
    seen: ClassVar[Counter[str]] = Counter()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.seen = Counter()

    @initialize(matters=st.lists(st.sampled_from(sorted(MATTERS)), max_size=3), jobs=st.integers(0, 4))
    def start(self, matters: list[str], jobs: int) -> None:
        """Somewhere in a conversation."""
        self.opened = ExitStack()
        self.db, sql = self.opened.enter_context(ground())
        self.loop = asyncio.new_event_loop()
        self.clock, self.chat = FakeClock(), ScriptedChat()
        self.randomness = SeededRandom(1)
        self.log = Matters()
        self.laws = Tiling(sql)
        self.doctor = doctors_questions(sql.dialect)
        self.hands: list[tuple[str, Job]] = []
        self.remembered: dict[int | datetime, Then] = {}
        self.times_are_good = True
        self.meanwhile: Callable[[], Awaitable[None]] | None = None
        self.state: object = None
        self.open()
        for matter in matters:
            self.talk(matter, 3, back=False)
        self.work("ok", jobs)

    def open(self) -> None:
        settings = Settings(
            db=self.db,
            tenant=KEY.tenant,
            embedder="none",
            durability="normal",
            extraction="none",
            strategy="topics",
            topics={"doubt": 0.9, "alone": 0.6, "summary_tokens": 60, "most_characters": MOST, "batch": 6},
            worker={"max_attempts": 3},
        )
        given = Overrides(
            memory_model=self.chat if self.with_model else None,
            clock=self.clock,
            randomness=self.randomness,
            counter=Words(),
        )
        self.manager = open_services(settings, given)
        services: Services = self.run(self.manager.__aenter__())
        slow = Slow(self._pause)
        handlers = {
            kind: replace(handler, meanings=slow) if hasattr(handler, "meanings") else handler  # type: ignore[type-var]
            for kind, handler in services.worker.handlers.items()
        }
        self.services = replace(services, worker=replace(services.worker, handlers=handlers))
        self.memory = Memory(self.services)
        self.session: Session = self.memory.session(user=KEY.user, agent=KEY.agent, session=KEY.session)

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

    # -- what is said ------------------------------------------------------------------------------------------

    @rule(matter=st.sampled_from(sorted(MATTERS)), turns=st.integers(1, 4), back=st.booleans())
    def talk(self, matter: str, turns: int, back: bool) -> None:
        """About one matter; perhaps they say that they go back to it."""
        for turn in range(turns):
            self.run(self._said(matter, ("user", "assistant"), back=back and not turn))

    @rule(
        matter=st.sampled_from(sorted(MATTERS)),
        roles=st.sampled_from(
            [("user",), ("assistant",), ("user", "user"), ("user", "call"), ("call", "assistant"), ("system",)]
        ),
    )
    def say(self, matter: str, roles: tuple[str, ...]) -> None:
        """Less than a turn, or more."""
        self.run(self._said(matter, roles))

    @precondition(lambda self: self.log.live)
    @rule(place=PLACES, matter=st.sampled_from(sorted(MATTERS)))
    def edit(self, place: int, matter: str) -> None:
        self.run(self._edited(self.place(place), matter))

    @precondition(lambda self: self.log.live)
    @rule(place=PLACES, length=st.sampled_from([1, 1, 2, 6, 9]))
    def delete(self, place: int, length: int) -> None:
        """Neighbours: perhaps all of a topic."""
        start = self.place(place)
        for seq in self.log.live:
            if start <= seq < start + length:
                self.run(self._deleted(seq))

    @rule()
    def end(self) -> None:
        self.run(self.session.end())
        self.log.ended = bool(self.log.said)

    @precondition(lambda self: len(self.log.said) > 20)
    @rule()
    def reset(self) -> None:
        self.run(self._reset())

    @rule(what=st.sampled_from([1.0, 31.0, LONG, 3600.0, -3600.0, "crash"]))
    def something_happens(self, what: float | str) -> None:
        """Time passes, or somebody sets the clock; or what is not on the disk is gone."""
        match what:
            case "crash":
                self.run(self.manager.__aexit__(None, None, None))
                self.open()
            case float() if abs(what) < 3600:
                self.run(self.clock.advance(what))
            case float():
                self.clock.jump(what)
                if what < 0:
                    self.times_are_good = False
                    self.remembered = {key: seen for key, seen in self.remembered.items() if isinstance(key, int)}

    # -- what is done about it ---------------------------------------------------------------------------------

    @rule(mode=st.sampled_from(["ok", "ok", "ok", *MODES]), steps=st.integers(1, 6))
    def work(self, mode: str, steps: int) -> None:
        self.chat.script = script_of(mode)
        for _ in range(steps):
            self.run(self.services.worker.step())

    @rule(mode=st.sampled_from(sorted(MODES)))
    def a_model_stays_away(self, mode: str) -> None:
        """Until rules have described what it did not."""
        for _ in range(4):
            self.work(mode, 4)
            self.run(self.clock.advance(LONG))

    @rule(name=WORKERS, wait=st.booleans())
    def claim(self, name: str, wait: bool) -> None:
        """And do nothing about it yet; perhaps the lease of who had it is over."""
        if wait:
            self.run(self.clock.advance(31.0))
        self.run(self._claimed(name))

    async def _claimed(self, name: str) -> Job | None:
        worker = replace(self.services.worker, owner=name)
        job = await worker.claim()
        if job is None:
            return None
        self.seen["a job changed hands"] += job.id in {old.id for _, old in self.hands}
        if job.attempt > job.max_attempts:
            # its workers died so often that it is done without a model now; nobody dies of that
            await worker.do(job)
            self.seen["done without a model"] += 1
            return None
        self.hands.append((name, job))
        return job

    @precondition(lambda self: self.hands)
    @rule(place=PLACES, mode=st.sampled_from(["ok", "ok", *MODES]))
    def do_late(self, place: int, mode: str) -> None:
        """I5: a job that is not ours any more changes nothing."""
        name, job = self.hands.pop(place % len(self.hands))
        fence = fence_of(job, name)
        still = self.run(self.services.store.read(job.tenant, lambda unit: unit.jobs.holds(fence)))
        before = None if still else self.laws.contents()
        self.chat.script = script_of(mode)
        self.run(replace(self.services.worker, owner=name).do(job))
        self.seen["in time" if still else "late"] += 1
        assert before is None or self.laws.contents() == before, "I5: a late worker changed something"

    @rule(
        what=st.sampled_from(["edit", "delete", "end", "reset", "lease", "append"]),
        place=PLACES,
        kind=st.sampled_from([JobKind.FOLLOW, JobKind.DESCRIBE]),
    )
    def something_happens_while_it_is_done(self, what: str, place: int, kind: JobKind) -> None:
        """What was read may not be what is there when the result comes."""
        self.talk("chess", 2, back=False)
        if kind is JobKind.DESCRIBE:
            self.end()
            self.say("boats", ("user",))
        worker = replace(self.services.worker, owner="sleeper")
        self.chat.script = script_of("ok")
        for _ in range(6):
            job = self.run(self._claimed("sleeper"))
            if job is None:
                return
            self.hands.pop()
            if job.kind is kind:
                break
            self.run(worker.do(job))
        else:
            return
        happened: list[bool] = []

        async def meanwhile() -> None:
            happened.append(await self._meanwhile(what, place, job))

        self.meanwhile = meanwhile
        try:
            self.run(worker.handlers[job.kind].run(job, fence_of(job, "sleeper")))
        except LeaseLost:
            self.seen["a result was refused"] += 1
        except AnaphoraError:
            # not claimed for doing anything else about it: it is left lying
            self.seen["failed meanwhile"] += 1
        else:
            assert not any(happened), f"I5: {what} while it was done, and the result was accepted"
        self.meanwhile = None
        self.seen[f"{what} while to {job.kind}"] += bool(happened)

    # -- what is shown -----------------------------------------------------------------------------------------

    @rule(budget=st.sampled_from([120, 400, 100_000]), matter=st.sampled_from([None, *sorted(MATTERS)]))
    def serve(self, budget: int, matter: str | None) -> None:
        """I1, I10: with a question or without."""
        asked = None if matter is None else f"Going back to {MATTERS[matter]}, what was said?"
        context = self.run(self.session.context(asked, budget=budget))
        self.laws.check_context(context, self.log)
        if budget == 100_000:
            assert not context.coverage.elided, "I1: elided for no reason"
        self.seen["served a thread"] += any(m.section == "threads" for m in context.messages)
        self.seen["served stale"] += "stale" in context.degraded
        self.seen["served a summary"] += bool(context.coverage.summarised)

    @rule(by=st.sampled_from(["number", "time"]))
    def look_and_go_on(self, by: str) -> None:
        """What is served last before a message comes, or at a time, is what is served as of it."""
        if not self.log.said or (by == "time" and not self.times_are_good):
            return
        moment = len(self.log.said) if by == "number" else self.clock.now()
        self.remembered[moment] = self.laws.now(self._context(None), self.log)
        if by == "time":
            self.run(self.clock.advance(1))
        else:
            self.run(self._said("pears", ("user",)))

    @precondition(lambda self: self.remembered)
    @rule(place=PLACES)
    def look_back(self, place: int) -> None:
        moments = list(self.remembered)
        self._look_back(moments[place % len(moments)])

    def _look_back(self, moment: int | datetime) -> None:
        what = self.laws.check_past(self._context(moment), self.remembered[moment])
        self.seen[f"looked back: {what}"] += 1

    # -- what must hold ----------------------------------------------------------------------------------------

    @invariant()
    def topics_tile_the_log_and_tell_what_is_said(self) -> None:
        if not hasattr(self, "memory"):
            return
        now = (self.laws.sql.state(), len(self.log.said))
        if now == self.state:
            return
        self.state = now
        self.laws.check(self.log)
        broken = [what for what, query in self.doctor if self.laws.sql.rows(query)]
        assert not broken, f"the doctor found {broken}"
        for kind in self.laws.seen:
            self.seen[kind] += 1

    def at_the_end(self) -> None:
        """I9: when all is quiet and the model is back, every topic is described by it, and no job waits."""
        self.chat.script = script_of("ok")
        for _ in range(8):
            self.run(self.clock.advance(LONGEST))
            self.run(self.memory.work())
        self.laws.check(self.log)
        self.laws.check_quiet(self.log, with_model=self.with_model)
        self.laws.check_length(self.log, most=MOST)
        if not self.log.said:
            return
        context = self._context(None)
        self.laws.check_context(context, self.log)
        assert context.degraded == (() if self.with_model or not context.coverage.summarised else ("model",))
        assert not context.coverage.elided, "I1: elided for no reason"
        for moment in self.remembered:
            self._look_back(moment)
        self.end()
        self.run(self.memory.work())
        self.laws.check(self.log)
        self.laws.check_quiet(self.log, with_model=self.with_model)
        assert not self.laws.open_words(self.log), "the session has ended, and its last topic is open"

    # -- what they need ----------------------------------------------------------------------------------------

    def place(self, place: int) -> int:
        """A message that is there."""
        return self.log.live[place % len(self.log.live)]

    def _context(self, as_of: int | datetime | None) -> Context:
        return self.run(self.session.context(budget=100_000, as_of=as_of))

    async def _pause(self) -> None:
        happens, self.meanwhile = self.meanwhile, None
        if happens is not None:
            await happens()

    async def _said(self, matter: str, roles: tuple[str, ...], *, back: bool = False) -> None:
        start = len(self.log.said)
        made = [message(role, text(matter, start + at, 1, back=back)) for at, role in enumerate(roles)]
        self.log.add([message.content for message in made])
        await self.services.ingest.append(KEY, made)

    async def _edited(self, seq: int, matter: str) -> None:
        await self.session.edit(seq, self.log.edit(seq, matter))

    async def _deleted(self, seq: int) -> None:
        await self.session.delete(seq)
        self.log.said[seq] = None

    async def _reset(self) -> None:
        await self.session.reset()
        self.log = Matters()
        self.remembered.clear()
        self.times_are_good = True
        self.seen["reset"] += 1

    async def _meanwhile(self, what: str, place: int, job: Job) -> bool:
        """Let it happen; whether the result of the job must be refused now."""
        match what:
            case "edit" | "delete":
                # often what was said last: it is in the open topic
                seq = self.place(place) if place % 3 else self.log.live[-1]
                await (self._edited(seq, "pears") if what == "edit" else self._deleted(seq))
                # who describes has read nothing of what is in no closed topic
                return job.kind is JobKind.FOLLOW or any(seq in row.range for row in self.laws.topics())
            case "end":
                await self.session.end()
                self.log.ended = True
            case "append":
                await self._said("pears", ("user", "assistant"))
            case "reset":
                await self._reset()
                return True
            case _:
                await self.clock.advance(LONG)
                await self._claimed("other")
                # while nobody has taken the job, the result is as good as ever
                return bool(self.laws.sql.rows("select 1 from jobs where id = ? and attempt > ?", job.id, job.attempt))
        return False
