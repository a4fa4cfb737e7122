"""The machine: whatever happens in whatever order, every message is somewhere, and is where it is said to be."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

import anyio.lowlevel
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.machine.subjects import FAULTS, KEY, Anaphora, Subject, script_of

from anaphora.domain.context import Context
from anaphora.domain.jobs import Fence, Job
from anaphora.errors import KeyReused, LeaseLost, ModelError
from anaphora.rules.admission import new_message
from anaphora.testing.summaries import canaries

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


class CoverageMachine(RuleBasedStateMachine):
    """Append, work, serve: the least that any memory must survive (I1)."""

    subject: Subject
    count = 0
    whole = True

    def make(self) -> Subject:
        raise NotImplementedError

    @initialize()
    def start(self) -> None:
        self.subject = self.make()

    def teardown(self) -> None:
        if hasattr(self, "subject"):
            self.subject.close()

    @rule(turns=st.lists(TURNS, min_size=1, max_size=5))
    def talk(self, turns: list[tuple[str, ...]]) -> None:
        for roles in turns:
            self.subject.append(roles)
            self.count += len(roles)

    @rule(mode=st.sampled_from(MODES))
    def work(self, mode: str) -> None:
        self.whole &= mode != "partial"
        self.subject.work(mode)

    @rule(turns=st.integers(4, 12), mode=st.sampled_from(MODES))
    def talk_a_while(self, turns: int, mode: str) -> None:
        self.whole &= mode != "partial"
        for _ in range(turns):
            self.subject.append(("user", "assistant"))
            self.count += 2
            self.subject.work(mode)

    @rule()
    def serve(self) -> None:
        served = self.subject.serve()
        missing = set(range(self.count)) - served.summarised - served.verbatim - served.elided
        assert not missing, f"I1: messages {sorted(missing)} are nowhere"


class AnaphoraMachine(CoverageMachine):
    """Anaphora with everything that may happen to it: several workers, crashes, late results, clocks."""

    options: dict[str, Any] = {}  # noqa: RUF012 - read only
    #: summaries have room for all that is said
    roomy = True
    subject: Anaphora

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="anaphora-machine-"))
        self.claims: list[tuple[Job, Fence]] = []
        self.covered_to = 0
        self.keys = 0
        #: every model answer so far spoke of all messages
        self.whole = True

    def make(self) -> Anaphora:
        return Anaphora(self.folder, **self.options)

    def teardown(self) -> None:
        super().teardown()
        shutil.rmtree(self.folder, ignore_errors=True)

    # -- what may happen ---------------------------------------------------------------------------------------

    @rule(roles=TURNS)
    def talk_with_a_key(self, roles: tuple[str, ...]) -> None:
        self.keys += 1
        self.subject.append(roles, key=f"k{self.keys}")
        self.count += len(roles)

    @precondition(lambda self: self.keys)
    @rule(data=st.data())
    def retry_an_append(self, data: st.DataObject) -> None:
        """I14: the same key and body give the same receipt and write nothing."""
        key = data.draw(st.sampled_from(sorted(self.subject.keys)))
        self.subject.append(self.subject.keys[key][0], key=key)

    @precondition(lambda self: self.keys)
    @rule()
    def reuse_a_key_for_something_else(self) -> None:
        try:
            self.subject.run(
                self.subject.services.ingest.append(KEY, [new_message("user", "other")], idempotency_key="k1")
            )
        except KeyReused:
            return
        raise AssertionError("I14: a key was taken for another body")

    @rule(budget=st.integers(64, 1500))
    def serve_in_a_budget(self, budget: int) -> None:
        context = self.subject.context(budget)
        assert context.tokens <= budget, "I10"
        assert context.coverage.head == self.count
        block = "".join(m.content for m in context.messages if m.section == "memory")
        said = {n for span in context.coverage.summarised for n in span}
        extractive = any(row[0] != "model" for row in self.rows("select method from points"))
        if extractive and block:
            assert "model" in context.degraded or not self.shown_without_model(context), "I17: it does not say so"
        if not extractive:
            assert said <= canaries(block), f"I1: {sorted(said - canaries(block))} are said to be summarised"
        shown = {m.seq for m in context.messages if m.seq is not None}
        assert shown == {n for span in context.coverage.verbatim for n in span}, "I1: verbatim is what is shown"

    @rule()
    def nothing_is_elided_without_a_reason(self) -> None:
        """I1: with room for everything and a model that speaks of everything, what is elided left the window."""
        context = self.subject.context(1_000_000)
        if not self.roomy or not self.whole or context.degraded:
            return
        if self.rows("select 1 from points where method <> 'model'"):
            return
        start = self.rows(
            "select s.start from heads h join summaries s on s.id = h.summary_id where h.reader like 'live:%'"
        )
        before_window = set(range(start[0][0])) if start else set()
        elided = {n for span in context.coverage.elided for n in span}
        assert elided == before_window, f"I1: {sorted(elided - before_window)} are elided for no reason"
        if self.options.get("strategy") != "sliding_window":
            assert not before_window, "I1: rolling_pairs keeps everything"

    @rule()
    def find_what_is_elided(self) -> None:
        """I1: what is declared elided is found by its words."""
        served = self.subject.serve()
        for seq in sorted(served.elided)[:2]:
            hits = self.subject.run(
                self.subject.services.retrieve.search(f"word{seq}", tenant="t", user="u", agent="a", limit=3)
            )
            assert seq in {hit.message.seq for hit in hits}, f"message {seq} cannot be found"

    @rule()
    def a_worker_claims_and_dies(self) -> None:
        claimed = self.subject.claim(f"dead{len(self.claims)}")
        if claimed is not None:
            self.claims.append(claimed)

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), mode=st.sampled_from(MODES))
    def a_paused_worker_wakes_up(self, data: st.DataObject, mode: str) -> None:
        """I5: it either still holds the lease, or changes nothing."""
        job, fence = self.claims.pop(data.draw(st.integers(0, len(self.claims) - 1)))
        self.whole &= mode != "partial"
        still = self.subject.run(self.subject.services.store.read(lambda unit: unit.jobs.holds(fence)))
        before = self.rows("select count(*) from summaries")
        self.subject.chat.script = script_of(mode)
        handler = self.subject.services.worker.handlers[job.kind]
        try:
            self.subject.run(handler.run(job, fence))
        except LeaseLost:
            assert not still
        except ModelError:
            assert still
        else:
            assert still
        if not still:
            assert self.rows("select count(*) from summaries") == before, "I5: a late result was accepted"

    @rule(mode=st.sampled_from(["ok", "partial"]))
    def a_worker_sleeps_in_its_call(self, mode: str) -> None:
        """I5: while the model is asked, the lease ends and another worker does the job; the late result is refused."""
        claimed = self.subject.claim("sleeper")
        if claimed is None:
            return
        job, fence = claimed
        self.whole &= mode != "partial"
        self.subject.chat.script = script_of(mode)
        before = self.rows("select count(*) from summaries")[0][0]

        async def meanwhile() -> None:
            self.subject.chat.pause = anyio.lowlevel.checkpoint
            await self.subject.clock.advance(400)
            await self.subject.worker("other").step()

        self.subject.chat.pause = meanwhile
        try:
            self.subject.run(self.subject.services.worker.handlers[job.kind].run(job, fence))
        except LeaseLost:
            pass
        else:
            # nothing was due, or the call never came to the model
            self.subject.chat.pause = anyio.lowlevel.checkpoint
        grown = self.rows("select count(*) from summaries")[0][0] - before
        assert grown <= 1, "I5: two results of one job were accepted"

    @rule(seconds=st.sampled_from([1.0, 31.0, 400.0]))
    def time_passes(self, seconds: float) -> None:
        self.subject.run(self.subject.clock.advance(seconds))

    @rule(seconds=st.sampled_from([-3600.0, 3600.0]))
    def the_clock_jumps(self, seconds: float) -> None:
        self.subject.clock.jump(seconds)

    @rule()
    def crash_and_restart(self) -> None:
        self.subject.restart()

    @rule()
    def end(self) -> None:
        self.subject.run(self.subject.services.sessions.end(KEY))

    @rule()
    def catch_up(self) -> None:
        """I9: with a working model and time, everything due gets done, and nothing stays stuck."""
        for _ in range(200):
            self.subject.run(self.subject.clock.advance(400))
            if not self.subject.work("ok"):
                break
        live = self.rows("select kind, state, attempt, reason from jobs where state in ('queued', 'running')")
        due = self.subject.run(self.subject.services.jobs.due())
        assert due == 0, f"I9: still live after hours of a working model: {live}"
        row = self.subject.run(self.subject.services.sessions.find(KEY))
        if row is not None:
            strategy = self.subject.services.strategies.get(None)
            assert strategy.plan(row.state(self.covered_to_now())) is None, "I9: work is due that nobody queued"

    # -- what must hold ----------------------------------------------------------------------------------------

    def shown_without_model(self, context: Context) -> bool:
        """Whether a shown point was made by no model."""
        return any("point (model)" not in line.source for line in context.explain() if line.section == "memory")

    def covered_to_now(self) -> int:
        found = self.rows("select position from heads where reader like 'live:%'")
        return int(found[0][0]) if found else 0

    def rows(self, query: str) -> list[Any]:
        with sqlite3.connect(self.subject.path) as connection:
            found = connection.execute(query).fetchall()
        connection.close()
        return found

    @invariant()
    def the_database_is_sound(self) -> None:
        if not hasattr(self, "subject"):
            return
        seqs = [row[0] for row in self.rows("select seq from messages order by seq")]
        assert seqs == list(range(self.count)), "I2: the log is not dense"
        live = self.rows(
            "select kind, count(*) from jobs where state in ('queued', 'running') group by kind having count(*) > 1"
        )
        assert not live, f"I4: {live}"
        assert not self.rows("select 1 from points where trim(text) = ''"), "I20: an empty point"
        over = self.rows("select attempt, max_attempts from jobs where attempt > max_attempts + 4")
        assert not over, f"I9: {over}"
        self._heads_never_go_back()
        self._points_tile()

    def _heads_never_go_back(self) -> None:
        """I6, and I5: the head is where the served version ends."""
        found = self.rows(
            "select h.position, s.stop, s.status from heads h join summaries s on s.id = h.summary_id"
            " where h.reader like 'live:%'"
        )
        for position, stop, status in found:
            assert position == stop
            assert status in {"completed", "stale"}, f"I8: a {status} version is served"
            assert position >= self.covered_to, "I6: the head went back"
            assert position <= self.count
            self.covered_to = position

    def _points_tile(self) -> None:
        """I3: the points of each version tile its range."""
        found = self.rows(
            "select s.id, s.start, s.stop, p.start, p.stop from summaries s left join points p on p.summary_id = s.id"
            " order by s.id, p.ordinal"
        )
        ends: dict[Any, tuple[int, int]] = {}
        for version, start, stop, first, last in found:
            at, _ = ends.get(version, (start, stop))
            assert first == at < last, f"I3: version {version} does not tile"
            ends[version] = (last, stop)
        assert all(at == stop for at, stop in ends.values()), "I3: a version ends before its range"
