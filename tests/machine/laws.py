"""What must hold of the database after every step: read by plain SQL, judged by what was really said."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any

import sqlalchemy as sa
from tests.databases.sql import Sql
from tests.machine.said import Log, spoken_of
from tests.machine.subjects import BYSTANDER, KEY

from anaphora.storage.checks import laws

_TABLES = (
    "sessions",
    "messages",
    "message_versions",
    "receipts",
    "summaries",
    "points",
    "heads",
    "head_moves",
    "summary_states",
    "jobs",
)
#: the rows of the session that the machine talks in
_VIEWS = {
    "log": "messages",
    "kept": "message_versions",
    "versions": "summaries",
    "readers": "heads",
    "moves": "head_moves",
    "work": "jobs",
}


class Database:
    """A connection of our own, which only reads."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql
        self.rows, self.state = sql.rows, sql.state
        self._tables = (*_TABLES, sql.index)
        self.bystander = self._of_bystander()

    def one(self, query: str, *values: Any) -> Any:
        """The first column of the first row, if there is one."""
        found = self.rows(query, *values)
        return found[0][0] if found else None

    def dump(self) -> dict[str, list[Any]]:
        """Everything that is stored, but for the full-text index itself."""
        return self._sql.contents(self._tables)

    def what_the_doctor_finds(self) -> list[str]:
        """What is wrong, if the doctor is right."""
        return [what for what, query in doctors_questions(self._sql.dialect) if self.rows(query)]

    def bystander_is_untouched(self) -> bool:
        """Nothing that happened in the session changed another one."""
        return self._of_bystander() == self.bystander

    def _of_bystander(self) -> list[Any]:
        uid = self.one("select id from sessions where session_id = ?", BYSTANDER.session)
        tables = ("messages", self._sql.index, "receipts")
        found = [self.rows(f"select * from {table} where session_uid = ?", uid) for table in tables]  # noqa: S608
        return [*map(sorted, found), self.rows("select * from sessions where id = ?", uid)]


def look_at_the_session(sql: Sql) -> None:
    """From now on there are views of what belongs to the session that the machine talks in."""
    for view, table in {**_VIEWS, "docs": sql.index}.items():
        sql.change(
            f"create temp view {view} as select t.* from {table} t join sessions s"  # noqa: S608 - our own names
            f" on s.id = t.session_uid where s.session_id = '{KEY.session}'"
        )


@cache
def doctors_questions(dialect: sa.Dialect) -> tuple[tuple[str, str], ...]:
    """What the doctor asks a database, as plain SQL: what would be wrong, and the question whose answers are so."""
    return tuple(
        (f"{law.id}: {what}", str(query.compile(dialect=dialect, compile_kwargs={"literal_binds": True})))
        for law in laws()
        for what, query in law.breaches
    )


class Laws:
    """The laws, and how far they have looked."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.rows, self.one = database.rows, database.one
        self._seen: tuple[int, int] | None = None
        self._moves = 0

    def start_anew(self) -> None:
        """The session was reset."""
        self._seen, self._moves = None, 0

    def check(self, log: Log) -> None:
        """Every law, if anything was written since the last time."""
        now = (self._database.state(), log.head)
        if now == self._seen:
            return
        self._seen = now
        self._log_is_what_was_said(log)
        self._work_is_single_and_bounded()
        self._heads_and_moves(log)
        self._versions_tile_and_tell_the_truth(log)
        self._what_is_stale_is_made_again()

    def _log_is_what_was_said(self, log: Log) -> None:
        """I2, I14: dense numbers, dense versions, tombstones; the session's own counts; the index."""
        rows = self.rows("select seq, version, content, deleted, tokens from log order by seq")
        assert [row[0] for row in rows] == list(range(log.head)), "I2: the log is not dense"
        for (seq, version, content, deleted, tokens), entry in zip(rows, log.said, strict=True):
            assert bool(deleted) == entry.deleted, f"message {seq}: deleted?"
            assert version == entry.version, f"message {seq} has version {version}, not {entry.version}"
            assert content == (log.text(seq) or ""), f"message {seq} says something else"
            assert bool(tokens) != entry.deleted, f"message {seq}: {tokens} tokens"
        earlier = [
            (seq, at, said)
            for seq, entry in enumerate(log.said)
            for at, said in enumerate(entry.texts[: entry.version - 1], start=1)
        ]
        assert self.rows("select seq, version, content from kept order by seq, version") == earlier, "I2: versions"
        session = self.rows("select head, tokens, deleted from sessions where session_id = ?", KEY.session)
        if session:
            head, tokens, gone = session[0]
            assert head == log.head
            assert tokens == sum(row[4] for row in rows), "the session counts its tokens wrongly"
            assert {n for start, stop in json.loads(gone) for n in range(start, stop)} == log.deleted
        docs = {seq for (seq,) in self.rows("select seq from docs")}
        assert docs == log.live, "the index is not the log"

    def _work_is_single_and_bounded(self) -> None:
        """I4, I9; and nothing went wrong that nobody thought of."""
        live = self.rows(
            "select kind, count(*) from work where state in ('queued', 'running') group by kind having count(*) > 1"
        )
        assert not live, f"I4: {live}"
        over = self.rows("select attempt, max_attempts from work where attempt > max_attempts + 1")
        assert not over, f"I9: {over}"
        odd = self.rows("select reason from work where reason like 'unexpected%'")
        assert not odd, f"a job crashed: {odd}"
        past = self.rows(
            "select w.id from work w join sessions s on s.id = w.session_uid"
            " where w.state in ('queued', 'running') and w.epoch <> s.epoch"
        )
        assert not past, "I5: work from before the reset is live"

    def _heads_and_moves(self, log: Log) -> None:
        """I6: the head is where the served version ends, and goes back over deleted messages only."""
        heads = self.rows("select reader, position, summary_id from readers order by reader")
        last = self.rows(
            "select m.reader, m.position, m.summary_id from moves m where m.number ="
            " (select max(n.number) from moves n where n.reader = m.reader) order by m.reader"
        )
        assert heads == last, f"I6: the heads are {heads}, their last moves {last}"
        for reader, position, summary in heads:
            found = self.rows("select start, stop, status from versions where id = ?", summary)
            assert position <= log.head
            assert position == (found[0][1] if found else 0), f"I6: {reader} stands at {position}"
            if found and reader.startswith("live:"):
                assert found[0][2] in {"completed", "stale"}, f"I8: a {found[0][2]} version is served"
        moves = self.rows(
            "select m.number, m.position, v.start from moves m left join versions v on v.id = m.summary_id"
            " where m.reader like 'live:%' and m.number >= ? order by m.number",
            self._moves,
        )
        for (_, before, start), (_, after, _) in pairwise(moves):
            # what lay before a sliding window was left out already
            lost = set(range(max(after, start or 0), before)) - log.deleted
            assert not lost, f"I6: the head went back from {before} to {after} over {sorted(lost)}"
        self._moves = moves[-1][0] if moves else 0

    def _versions_tile_and_tell_the_truth(self, log: Log) -> None:
        """I3, I20, I5, I8: points tile; only what is stale or replaced speaks of what is no more."""
        ends: dict[Any, tuple[int, int]] = {}
        for version, start, stop, status, first, last, text in self._points():
            at, _ = ends.get(version, (start, stop))
            assert first == at < last, f"I3: version {version} does not tile"
            ends[version] = (last, stop)
            assert text.strip(), "I20: an empty point"
            numbers, _ = spoken_of(text)
            assert not numbers or max(numbers) < stop, "a version speaks of what it never read"
            if status in {"completed", "building"}:
                old = log.outdated(text)
                assert not old, f"I5: a {status} version speaks of {sorted(old)} as they were: {text!r}"
        assert all(at == stop for at, stop in ends.values()), "I3: a version ends before its range"
        assert len(ends) == self.one("select count(*) from versions"), "I8: a version without points"
        unnoted = self.rows(
            "select v.id from versions v left join summary_states s on s.summary_id = v.id and s.status = v.status"
            " where s.status is null"
        )
        assert not unnoted, "a version whose status was never noted"

    def _points(self) -> Iterator[tuple[Any, int, int, str, int, int, str]]:
        yield from self.rows(
            "select v.id, v.start, v.stop, v.status, p.start, p.stop, p.text"
            " from versions v join points p on p.summary_id = v.id order by v.id, p.ordinal"
        )

    def _what_is_stale_is_made_again(self) -> None:
        """I9: by a live rebuild; only where its workers died of it, by somebody who looks at what failed."""
        served = self.served_chain()
        if served and served[0][1] == "stale":
            rebuild = self.rows(
                "select 1 from work where kind = 'rebuild'"
                " and (state in ('queued', 'running') or (state = 'failed' and attempt > max_attempts))"
            )
            assert rebuild, "I9: a stale version is served, and nobody makes it again"
        broken = [status for _, status, _, _ in served if status not in {"completed", "stale"}]
        assert not broken, f"I8: what is served stands on versions that are {broken}"

    def served_chain(self) -> list[tuple[int, str, str | None, int]]:
        """Version, status, model and end of the served version, of its base, and so on."""
        return self.rows(
            "with recursive chain as ("
            " select v.* from versions v join readers h on h.summary_id = v.id where h.reader like 'live:%' union all"
            " select v.* from versions v join chain c on v.id = c.base_id)"
            " select version, status, model, stop from chain"
        )
