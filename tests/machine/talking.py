"""Rules of those who talk: appends, prompts, search, receipts, the end, a new start."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import rule
from tests.machine.machine import PLACES, TURNS, Driven
from tests.machine.said import spoken_of, word
from tests.machine.subjects import KEY, block

from anaphora.domain.context import Context
from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import ReceiptState
from anaphora.errors import KeyReused
from anaphora.rules.admission import new_message

_MADE_OF_MESSAGES = ("log", "kept", "versions", "readers", "moves", "docs", "points", "summary_states")


class Talking(Driven):
    """What a conversation does to its memory, and what it is shown."""

    keys = 0

    def __init__(self) -> None:
        super().__init__()
        self.receipts: list[tuple[UUID, SeqRange | None]] = []

    # -- what may happen ---------------------------------------------------------------------------------------

    @rule()
    def a_turn(self) -> None:
        """What happens all the time."""
        self.subject.append(("user", "assistant"))
        self.subject.work("ok")

    @rule(turns=st.integers(5, 10))
    def talk_at_length(self, turns: int) -> None:
        """A backlog comes at once."""
        receipt = self.subject.run(self.subject.appended(("user", "assistant") * turns))
        self.receipts.append((receipt.id, receipt.range))

    @rule(roles=TURNS, place=PLACES)
    def talk_with_a_key(self, roles: tuple[str, ...], place: int) -> None:
        """I14: the same key and body give the same receipt and write nothing; another body is refused."""
        self.keys += 1
        receipt = self.subject.run(self.subject.appended(roles, f"k{self.keys}"))
        self.receipts.append((receipt.id, receipt.range))
        before = self.database.dump()
        key = sorted(self.subject.keys)[place % len(self.subject.keys)]
        self.subject.append(self.subject.keys[key][0], key=key)
        other = self.subject.services.ingest.append(KEY, [new_message("user", "other")], idempotency_key=key)
        try:
            self.subject.run(other)
        except KeyReused:
            assert self.database.dump() == before, "I14: a retry changed something"
            return
        raise AssertionError("I14: a key was taken for another body")

    @rule(
        what=st.sampled_from([1.0, 31.0, 400.0, 31.0, 400.0, -3600.0, 3600.0, "crash", "crash", "end", "end", "reset"])
    )
    def something_happens(self, what: float | str) -> None:
        """Time passes, or somebody sets the clock by an hour; a crash; the end of the session, or a new start."""
        match what:
            case "crash":
                self.subject.restart()
            case "end":
                assert self.subject.run(self.subject.services.sessions.end(KEY)) == self.session_is_there()
            case "reset":
                self.reset()
            case float() if abs(what) < 3600:
                self.subject.run(self.subject.clock.advance(what))
            case float():
                self.clock_was_set(what)
            case _:
                raise AssertionError(what)

    # -- what is shown -----------------------------------------------------------------------------------------

    @rule(budget=st.integers(64, 1500), place=PLACES)
    def serve(self, budget: int = 1000, place: int = 0) -> None:
        """The prompt in a small budget and in a large one, search, and what became of an append."""
        super().serve()
        context = self.subject.context(budget)
        assert context.tokens <= budget, "I10"
        self.check_account(context)
        self.check_honesty(context)
        whole = self.subject.context(1_000_000)
        self.check_account(whole)
        self.check_honesty(whole)
        self._nothing_is_elided_without_a_reason(whole)
        self._what_is_elided_is_found(whole)
        if self.log.head:
            self._only_what_is_said_now_is_found(self.place(place))
        if self.receipts:
            self._receipts_tell(whole, *self.receipts[place % len(self.receipts)])

    def _nothing_is_elided_without_a_reason(self, context: Context) -> None:
        """I1: with room for everything and a model that speaks of everything, what is elided left the window."""
        chain = self.laws.served_chain()
        if not self.roomy or context.degraded or any(mode != "ok" for _, _, mode, _ in chain):
            return
        start = self.database.one(
            "select v.start from readers h join versions v on v.id = h.summary_id where h.reader like 'live:%'"
        )
        before_window = set(range(start or 0)) - self.log.deleted
        elided = _numbers(context.coverage.elided)
        assert elided == before_window, f"I1: {sorted(elided - before_window)} are elided for no reason"
        if self.options.get("strategy") != "sliding_window":
            assert not before_window, "I1: rolling_pairs keeps everything"
        self.seen["kept whole"] += bool(chain)

    def _what_is_elided_is_found(self, context: Context) -> None:
        """I1: what is declared elided is found by its words."""
        for seq in sorted(_numbers(context.coverage.elided))[:2]:
            assert seq in self.found(word(seq, self.log.said[seq].version)), f"message {seq} cannot be found"
            self.seen["elided and found"] += 1

    def _only_what_is_said_now_is_found(self, seq: int) -> None:
        """What is said now is found; what was said once, or is deleted, is not."""
        entry = self.log.said[seq]
        for version in range(1, len(entry.texts) + 1):
            current = version == entry.version and not entry.deleted
            assert (seq in self.found(word(seq, version))) == current, f"message {seq}, version {version}"

    def _receipts_tell(self, whole: Context, receipt: UUID, span: SeqRange | None) -> None:
        """What became of an append is what the prompt shows."""
        state = self.subject.run(self.subject.services.sessions.receipt(KEY.tenant, receipt))
        if span is None:
            assert state is ReceiptState.ERASED
            return
        left = set(span) - self.log.deleted
        verbatim = _numbers(whole.coverage.verbatim)
        if not left:
            assert state is ReceiptState.DELETED
        elif state is ReceiptState.SUMMARISED:
            assert left <= _numbers(whole.coverage.summarised) | verbatim
        elif state is ReceiptState.ELIDED:
            assert left & (_numbers(whole.coverage.elided) | verbatim)
        else:
            assert state is ReceiptState.APPENDED
            assert left & verbatim, "I1"

    # -- what they need ----------------------------------------------------------------------------------------

    def clock_was_set(self, seconds: float) -> None:
        """Time on this machine is another one now."""
        self.subject.clock.jump(seconds)

    def reset(self) -> None:
        """Nothing is left but receipts, which know what became of their messages, and keys are free again."""
        self.was_reset(self.subject.run(self.subject.services.sessions.reset(KEY)))
        left = [table for table in _MADE_OF_MESSAGES if self.database.rows(f"select 1 from {table}")]  # noqa: S608
        assert not left, f"I12: something is left in {left}"
        assert not self.database.rows("select 1 from work where state in ('queued', 'running')")

    def was_reset(self, gone: int) -> None:
        """The log starts anew."""
        assert gone == len(self.log.live)
        self.subject.forget()
        self.laws.start_anew()
        self.receipts = [(receipt, None) for receipt, _ in self.receipts]
        self.seen["reset"] += 1

    def session_is_there(self) -> bool:
        return bool(self.database.rows("select 1 from sessions where session_id = ?", KEY.session))

    def found(self, query: str) -> set[int]:
        """The messages of the session that search finds."""
        services = self.subject.services
        hits = self.subject.run(services.search.search(query, tenant="t", user="u", agent="a", limit=3))
        return {hit.message.seq for hit in hits if hit.key == KEY}

    def check_account(self, context: Context) -> None:
        """I1: each message in exactly one part, and each part is what it says."""
        parts = context.coverage
        spans = (*parts.summarised, *parts.verbatim, *parts.elided, *parts.deleted)
        assert parts.head == self.log.head
        assert sorted(n for span in spans for n in span) == list(range(self.log.head)), "I1: no partition"
        assert _numbers(parts.deleted) == self.log.deleted, "I1: deleted"
        said = _numbers(parts.summarised)
        spoken = spoken_of(block(context))[0]
        assert said <= spoken, f"I1: {sorted(said - spoken)} are said to be summarised"
        assert {m.seq for m in context.messages if m.seq is not None} == _numbers(parts.verbatim), "I1: verbatim"

    def check_honesty(self, context: Context) -> None:
        """What is shown is what is said now; a prompt that remembers otherwise says so (I17)."""
        for message in context.messages:
            if message.seq is not None and not message.shortened:
                assert message.content == self.log.text(message.seq), f"message {message.seq} is shown otherwise"
        if "stale" not in context.degraded:
            old = self.log.outdated(block(context))
            assert not old, f"the prompt speaks of {sorted(old)} as they were, and does not say so"
        points = [line.source for line in context.explain() if line.section == "memory"]
        if any("model" not in source for source in points):
            assert "model" in context.degraded, "I17: no model wrote this, and it does not say so"
        self.seen["served stale"] += "stale" in context.degraded
        self.seen["served degraded"] += "model" in context.degraded


def _numbers(spans: Iterable[SeqRange]) -> set[int]:
    return {n for span in spans for n in span}
