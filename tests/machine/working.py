"""Rules of those who work in the background: several workers, late results, leases, rebuilds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule
from tests.machine.editing import Editing
from tests.machine.machine import MODES, PLACES
from tests.machine.past import Past
from tests.machine.subjects import KEY, fence_of

from anaphora.domain.jobs import Job, JobKind
from anaphora.errors import InvalidInput, LeaseLost, ModelError

WORKERS = st.sampled_from(["ann", "bob", "cyd"])
#: longer than any lease and any pause between two attempts
LONG = 400.0
#: longer than any pause at all
LONGEST = 90_000.0


class Working(Editing, Past):
    """Workers by name, each with the claims that it has not done anything about yet."""

    def __init__(self) -> None:
        super().__init__()
        self.hands: list[tuple[str, Job]] = []
        #: rebuilds that were asked for: from where, after which version, and how many had failed before
        self.asked: list[tuple[int, int, int]] = []

    # -- what may happen ---------------------------------------------------------------------------------------

    @rule(name=WORKERS)
    def a_worker_claims(self, name: str) -> None:
        """Whether it ever does the job, we will see."""
        self._claims(name)

    @rule(place=PLACES, mode=st.sampled_from(MODES))
    def a_worker_does_what_it_claimed(self, place: int, mode: str) -> None:
        """I5: it either still holds the lease, or changes nothing."""
        if not self.hands and self._claims("ann") is None:
            return
        name, job = self.hands.pop(place % len(self.hands))
        still = self._holds(name, job)
        before = None if still else self.database.dump()
        self.subject.enter(mode)
        self.subject.run(self.subject.worker(name).do(job))
        assert before is None or self.database.dump() == before, "I5: a late worker changed something"
        self.seen["a late worker" if before else "a worker in time"] += 1

    @rule(name=WORKERS)
    def a_lease_runs_out(self, name: str) -> None:
        """I9: time passes, and anybody may have the job: it needs no help."""
        if not self.hands:
            self._claims("ann")
        holding = [(owner, job) for owner, job in self.hands if self._holds(owner, job)]
        self.subject.run(self.subject.clock.advance(31))
        job = self._claims(name)
        if job is not None:
            kept = [owner for owner, old in holding if old.id == job.id and self._holds(owner, old)]
            assert not kept, f"I5: {kept} and {name} hold one job"
            self.seen["a job changed hands"] += job.id in {old.id for _, old in holding}

    @precondition(lambda self: self.log.live)
    @rule(
        start=st.sampled_from([0, 0, 0, 1, 2, 4]),
        steps=st.integers(0, 3),
        mode=st.sampled_from(["ok", "ok", "ok", "partial", "bad_json"]),
        then=st.sampled_from(["edit", "delete", "nothing"]),
        place=PLACES,
    )
    def rebuild(self, start: int, steps: int, mode: str, then: str, place: int) -> None:
        """From so many quarters of the log on; somebody begins with it, and somebody changes something."""
        for _ in range(3 if steps else 0):
            self.subject.work("ok")
        run, sessions = self.subject.run, self.subject.services.sessions
        try:
            run(sessions.rebuild(KEY, from_seq=self.log.head + 1))
        except InvalidInput:
            from_seq = self.log.head * start // 4
            if run(sessions.rebuild(KEY, from_seq=from_seq)):
                newest = self.database.one("select coalesce(max(version), 0) from versions")
                self.asked.append((from_seq, newest, self._failed_rebuilds()))
        else:
            raise AssertionError("a rebuild from a message that is not there")
        assert self.database.rows(
            "select 1 from work where kind = 'rebuild' and (state = 'running' or state = 'queued' and not needs_model)"
        )
        for _ in range(steps):
            self.subject.work(mode)
        self.seen["half a rebuild"] += bool(self.database.rows("select 1 from versions where status = 'building'"))
        if then != "nothing":
            seq = self.live_place(place)
            run(self.edited(seq) if then == "edit" else self.deleted(seq))

    @rule(
        what=st.sampled_from(["edit", "delete", "edit", "delete", "reset", "lease", "append", "rebuild", "others"]),
        place=PLACES,
        mode=st.sampled_from(["ok", "ok", "partial", "timeout"]),
    )
    def something_happens_while_a_summary_is_made(self, what: str, place: int, mode: str) -> None:
        """I5: what was read may not be what is there when the result comes."""
        job = self._claims("sleeper")
        if job is None:
            return
        self.hands.pop()
        self.subject.enter(mode)
        happened: list[bool] = []

        async def meanwhile() -> None:
            happened.append(await self._meanwhile(what, place, job))

        self.subject.meanwhile = meanwhile
        versions = self._versions()
        lost = False
        try:
            self.subject.run(self.subject.worker("sleeper").handlers[job.kind].run(job, fence_of(job, "sleeper")))
        except LeaseLost:
            lost = True
        except ModelError:
            lost = mode == "timeout"
        self.subject.meanwhile = None
        if any(happened):
            assert lost, f"I5: {what} while the summary was made, and its result was accepted"
            made = self._versions() - versions
            assert what in {"lease", "reset"} or not made, "I5: a refused result is there"
            assert what != "reset" or not self._versions(), "I5: a result came back from before the reset"
            self.seen["a result was refused"] += 1
        self.seen[f"{what} meanwhile"] += bool(happened)

    @rule(pause=st.sampled_from([31.0, LONG]))
    def catch_up(self, pause: float = LONG) -> None:
        """I9: with a working model and time, everything due gets done, nothing stays stuck, or stale."""
        self._work_it_all_off(pause)
        if self.database.rows("select 1 from work where state = 'failed'"):
            self.subject.run(self.subject.services.jobs.retry(KEY.tenant))
            self.seen["failed jobs tried again"] += 1
            self._work_it_all_off(pause)
        row = self.subject.run(self.subject.services.sessions.find(KEY))
        if row is None:
            return
        strategy = self.subject.services.strategies.get(None)
        covered_to = self.database.one("select position from readers where reader like 'live:%'") or 0
        assert strategy.plan(row.state(covered_to)) is None, "I9: work is due that nobody queued"
        self._what_was_asked_for_was_made()
        chain = self.laws.served_chain()
        assert not chain or chain[0][1] == "completed", "I9: what is served is stale for ever"
        context = self.subject.context(1_000_000)
        assert "stale" not in context.degraded
        assert not self.with_model or not context.degraded, f"I17: still {context.degraded}"
        self.check_account(context)
        self.check_honesty(context)
        self.seen["caught up"] += bool(chain)

    # -- what they need ----------------------------------------------------------------------------------------

    def at_the_end(self) -> None:
        self.catch_up()
        self.laws.check(self.log)
        super().at_the_end()

    def was_reset(self, gone: int) -> None:
        super().was_reset(gone)
        self.asked.clear()

    def _what_was_asked_for_was_made(self) -> None:
        """After a rebuild nothing that is served was made before it of the messages from there on."""
        for from_seq, newest, failed in self.asked:
            if failed == self._failed_rebuilds():
                left = [v for v, _, _, stop in self.laws.served_chain() if v <= newest and stop > from_seq]
                assert not left, f"a rebuild from {from_seq} left versions {left}"
                self.seen["rebuilt"] += 1
        self.asked.clear()

    def _failed_rebuilds(self) -> int:
        return int(self.database.one("select count(*) from work where kind = 'rebuild' and state = 'failed'"))

    def _claims(self, name: str) -> Job | None:
        """A worker gets a job if there is one to be had; if there is none, more is said."""
        if not self.database.rows("select 1 from work where state in ('queued', 'running')"):
            self.subject.append(("user", "assistant") * 6)
        due = self._due()
        job = self.subject.claim(name)
        assert (job is not None) == due, f"I9: {'a' if due else 'no'} job is to be had, and {name} gets {job}"
        if job is not None and job.attempt > job.max_attempts:
            # its workers died so often that it is done without a model now; nobody dies of that
            self.subject.run(self.subject.worker(name).do(job))
            self.seen["done without a model"] += 1
            return None
        if job is not None:
            self.hands.append((name, job))
        return job

    def _due(self) -> bool:
        """Whether a job waits and is due, or its lease is over; whatever the clock said when it was put back."""
        now = self.subject.clock.now()
        times = (now, now, now, now + timedelta(seconds=self.subject.settings.worker.lease_seconds))
        found = self.database.rows(
            "select 1 from work where (not needs_model or ?) and"
            " ((state = 'queued' and (run_at <= ? or updated_at > ?))"
            " or (state = 'running' and (lease_until <= ? or lease_until > ?)))",
            self.with_model,
            *times,
        )
        return bool(found)

    def _holds(self, name: str, job: Job) -> bool:
        fence = fence_of(job, name)
        holds: bool = self.subject.run(
            self.subject.services.store.read(fence.tenant, lambda unit: unit.jobs.holds(fence))
        )
        return holds

    def _versions(self) -> set[object]:
        return {row[0] for row in self.database.rows("select id from versions")}

    async def _meanwhile(self, what: str, place: int, job: Job) -> bool:
        """Let it happen; whether the result of the job must be refused now."""
        services = self.subject.services
        seq = place % self._stop_of(job)
        match what:
            case "edit" if not self.log.said[seq].deleted:
                await self.edited(seq)
                return self._was_read(job, seq)
            case "delete" if not self.log.said[seq].deleted:
                await self.deleted(seq)
                return self._was_read(job, seq)
            case "reset":
                self.was_reset(await services.sessions.reset(KEY))
                return True
            case "lease":
                await self.subject.clock.advance(LONG)
                await self.subject.worker("other").step()
                # while nobody has taken the job, the result is as good as ever
                return bool(self.database.rows("select 1 from work where id = ? and attempt > ?", job.id, job.attempt))
            case "append":
                await self.subject.appended(("user", "assistant"))
            case "rebuild":
                await services.sessions.rebuild(KEY, from_seq=seq)
            case "others":
                await self.subject.worker("other").step()
            case _:
                pass
        return False

    def _was_read(self, job: Job, seq: int) -> bool:
        """Whether the claim read the message itself, or carries points on that speak of it."""
        start = self.database.one("select start from work where id = ?", job.id)
        if start <= seq < self._stop_of(job):
            return True
        reader = "rebuild:%" if job.kind is JobKind.REBUILD else "live:%"
        base = self.database.rows(
            "select v.start, v.stop from readers h join versions v on v.id = h.summary_id where h.reader like ?", reader
        )
        return any(first <= seq < last for first, last in base)

    def _stop_of(self, job: Job) -> int:
        """Where the messages end that the claim reads."""
        return int(self.database.one("select stop from work where id = ?", job.id))

    def _work_it_all_off(self, pause: float) -> None:
        for attempt in range(60):
            self.subject.run(self.subject.clock.advance(pause if attempt < 40 else LONGEST))
            for _ in range(20 + self.log.head):
                if not self.subject.work("ok"):
                    break
            else:
                raise AssertionError("I9: there is always more to do")
            if not self._live():
                return
        raise AssertionError(f"I9: still live after days of a working model: {self._live()}")

    def _live(self) -> Sequence[object]:
        """What could be done, now or later."""
        return self.database.rows(
            "select kind, state, attempt, reason from work where state in ('queued', 'running')"
            " and (not needs_model or ?)",
            self.with_model,
        )
