"""What must hold of topics after every step: read by plain SQL, judged by what was really said."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

from tests.databases.sql import Sql
from tests.machine.matters import Matters, spoken_of
from tests.machine.subjects import KEY

from anaphora import Context
from anaphora.domain.keys import SeqRange

_TOPICS = (
    "select t.id, t.start, t.stop, t.opened, t.closed, t.continues, t.leads_to, t.name, t.summary, t.words, t.method,"
    " t.stale, t.described_at, t.described_head from topics t join sessions s on s.id = t.session_uid"
    " where s.session_id = ? order by t.start"
)
_POSITION = (
    "select t.position from heads t join sessions s on s.id = t.session_uid"
    " where s.session_id = ? and t.reader = 'live:topics'"
)
_LIVE = (
    "select t.kind, t.state, t.attempt, t.reason, t.needs_model from jobs t join sessions s on s.id = t.session_uid"
    " where s.session_id = ? and t.state in ('queued', 'running')"
)
_TABLES = ("sessions", "messages", "topics", "topic_vectors", "jobs", "heads", "head_moves")
#: how a topic begins behind one that ended so
_BEGINS = {"shift": "shift", "return": "return", "full": "full", "ended": "again"}


@dataclass(frozen=True, kw_only=True)
class Row:
    """A closed topic."""

    id: object
    range: SeqRange
    opened: str
    closed: str
    continues: object
    leads_to: object
    name: str | None
    summary: str | None
    words: str
    method: str | None
    stale: bool
    described: tuple[object, object]

    @property
    def text(self) -> str:
        """All that it tells."""
        return f"{self.name or ''} {self.summary or ''} {self.words}"


@dataclass(frozen=True, kw_only=True)
class Then:
    """What was served at a moment, and from what."""

    context: Context
    topics: tuple[tuple[object, SeqRange, tuple[object, object]], ...]
    deleted: frozenset[int]


class Tiling:
    """The laws of topics."""

    def __init__(self, sql: Sql) -> None:
        self.sql = sql
        #: what the last look has found
        self.seen: Counter[str] = Counter()

    def topics(self) -> list[Row]:
        """The closed topics of the session, oldest first."""
        return [
            Row(
                id=row[0],
                range=SeqRange(row[1], row[2]),
                opened=row[3],
                closed=row[4],
                continues=row[5],
                leads_to=row[6],
                name=row[7],
                summary=row[8],
                words=row[9] if isinstance(row[9], str) else json.dumps(row[9]),
                method=row[10],
                stale=bool(row[11]),
                described=(row[12], row[13]),
            )
            for row in self.sql.rows(_TOPICS, KEY.session)
        ]

    def contents(self) -> object:
        """All that a worker may change."""
        return self.sql.contents(_TABLES)

    def check(self, log: Matters) -> None:
        """Every law."""
        topics = self.topics()
        self._they_tile(topics, log)
        self._they_tell_what_is_said(topics, log)
        self._nothing_is_forgotten(topics, log)
        self.seen = Counter(f"closed by {row.closed}" for row in topics) + Counter(
            f"described by {row.method}" for row in topics if row.method
        )
        self.seen["stale"] = sum(row.stale for row in topics)

    def _they_tile(self, topics: list[Row], log: Matters) -> None:
        """From the first message on, in order; in a gap is nothing that is there; none beyond what was followed."""
        at, ids = 0, {row.id for row in topics}
        before: Row | None = None
        for row in topics:
            assert at <= row.range.start < row.range.stop, f"topics overlap: {[each.range for each in topics]}"
            lost = set(range(at, row.range.start)) - log.deleted
            assert not lost, f"messages {sorted(lost)} are in no topic"
            if before is not None and before.range.stop == row.range.start and row.opened != "first":
                assert row.opened == _BEGINS[before.closed] or log.deleted, f"{row} after {before}"
            assert (row.closed == "return") == (row.leads_to is not None)
            gone_back = {row.leads_to, row.continues} - {None}
            assert gone_back <= ids or log.deleted, "a topic goes back to one that is not there"
            at, before = row.range.stop, row
        position = self._position()
        assert at <= position <= len(log.said), f"topics to {at}, followed to {position} of {len(log.said)}"

    def _they_tell_what_is_said(self, topics: list[Row], log: Matters) -> None:
        """What is not stale tells nothing that was changed or deleted before, and nothing of another topic."""
        for row in topics:
            beyond = {seq for seq, _ in spoken_of(row.text) if seq not in row.range}
            assert not beyond, f"{row.range} tells of messages {beyond}"
            assert (row.summary is None) == (row.method is None) == (row.described[0] is None)
            if not row.stale:
                old = log.outdated(row.text)
                assert not old, f"{row.range} tells of messages {old} as they were: {row.text!r}"

    def _nothing_is_forgotten(self, topics: list[Row], log: Matters) -> None:
        """I4, I9: what is to be done is queued, or somebody is doing it."""
        live = [kind for kind, *_ in self.sql.rows(_LIVE, KEY.session)]
        assert len(live) == len(set(live)), f"I4: {live}"
        unsaid = [row.range for row in topics if row.summary is None or row.stale]
        assert not unsaid or "describe" in live, f"I9: nobody describes {unsaid}"
        position, closed = self._position(), topics[-1].range.stop if topics else 0
        left = {seq for seq in log.live if seq >= (closed if log.ended else position)}
        if log.ended:
            assert not left or "follow" in live, f"I9: the session has ended, and nobody closes the topic of {left}"

    def check_quiet(self, log: Matters, *, with_model: bool) -> None:
        """Nothing waits, and everything that can be is described."""
        live = [job for job in self.sql.rows(_LIVE, KEY.session) if with_model or not job[-1]]
        assert not live, f"I9: {live} are never done"
        odd = self.sql.rows("select reason from jobs where reason like 'unexpected%'")
        assert not odd, f"a job crashed: {odd}"
        for row in self.topics():
            assert set(row.range) - log.deleted, f"nothing is left in {row.range}, and it is there"
            assert not row.stale, f"{row.range} is stale for ever"
            assert row.method == ("model" if with_model else "extractive"), f"{row.range} is described by {row.method}"

    def check_length(self, log: Matters, *, most: int) -> None:
        """The open topic has not grown beyond what a topic may have, however long its doubts wait for each other."""
        followed = sorted(seq for seq in self.open_words(log) if seq < self._position())
        said = sum(len(log.said[seq] or "") for seq in followed)
        # where it grew too long, only what is no message of the user came behind; what was edited since is longer now
        assert said < 2 * most, f"the open topic has {said} characters: {followed}"
        self.seen["a long open topic"] += said > most // 2

    def open_words(self, log: Matters) -> set[int]:
        """The messages behind the last closed topic."""
        topics = self.topics()
        return {seq for seq in log.live if not topics or seq >= topics[-1].range.stop}

    def check_context(self, context: Context, log: Matters) -> None:
        """I1, I10, I17: each message once, in the budget; what is not said now is not shown, or it is said."""
        coverage = context.coverage
        spans = (*coverage.summarised, *coverage.verbatim, *coverage.elided, *coverage.deleted)
        assert sorted(n for span in spans for n in span) == list(range(len(log.said))), "I1: no partition"
        assert {n for span in coverage.deleted for n in span} == log.deleted
        assert context.tokens == sum(message.tokens for message in context.messages) <= context.budget, "I10"
        for message in context.messages:
            if message.section != "memory" or "stale" not in context.degraded:
                old = log.outdated(message.content)
                assert not old, f"{message.section} tells of {old} as they were"
        shown = {m.seq for m in context.messages if m.seq is not None}
        threads = {seq for m in context.messages if m.section == "threads" for seq, _ in spoken_of(m.content)}
        verbatim = {n for span in coverage.verbatim for n in span}
        assert shown <= verbatim, "I1: shown, and not said to be"
        hidden = {n for n in verbatim - shown - threads if "w" in (log.said[n] or "").lower()}
        assert not hidden, f"I1: messages {hidden} are said to be verbatim, and are not"

    def now(self, context: Context, log: Matters) -> Then:
        """What is served, and from what."""
        topics = tuple((row.id, row.range, row.described) for row in self.topics())
        return Then(context=context, topics=topics, deleted=frozenset(log.deleted))

    def check_past(self, context: Context, then: Then) -> str:
        """What was served at a moment is served as of it, but for topics that were described again since."""
        before, after = _parts(then.context), _parts(context)
        now = {row.id: row.described for row in self.topics()}
        again = {n for topic, span, described in then.topics if now.get(topic) != described for n in span}
        assert after["deleted"] == before["deleted"], "the past has other deletions"
        if not again:
            assert after == before, f"another past: {after} is not {before}"
            return "the same"
        assert again - before["deleted"] <= after["verbatim"] | after["elided"] | after["summarised"], "lost"
        return "described again since"

    def _position(self) -> int:
        found: list[Any] = self.sql.rows(_POSITION, KEY.session)
        return int(found[0][0]) if found else 0


def _parts(context: Context) -> dict[str, set[int]]:
    coverage = context.coverage
    return {
        name: {n for span in getattr(coverage, name) for n in span}
        for name in ("summarised", "verbatim", "elided", "deleted")
    }
