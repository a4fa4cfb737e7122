"""What must hold when it is quiet again: read by plain SQL, by the contexts of a memory, and by our own doctor."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import asyncpg
from tests.chaos.book import Book, Said
from tests.chaos.client import BUDGET, SHARED, check_context, session_of
from tests.chaos.storm import TENANTS
from tests.chaos.told import Told, settings_for

from anaphora import Memory
from anaphora.bootstrap import Overrides
from anaphora.testing.conformance.memory_laws.conversations import QUARTER

#: seconds of quiet after which nothing may be left to do
QUIET = 60.0
_LIVE = "SELECT kind, state, attempt, needs_model, reason FROM jobs WHERE state IN ('queued', 'running')"
_LOGS = (
    "SELECT s.tenant_id, s.session_id, m.seq, m.content, m.version, m.deleted"
    " FROM messages m JOIN sessions s ON s.tenant_id = m.tenant_id AND s.id = m.session_uid ORDER BY m.seq"
)
_HEADS = "SELECT tenant_id, session_id, head FROM sessions"
_POINTS = "SELECT summary_id, start, stop FROM points ORDER BY summary_id, ordinal"
_COMPLETED = (
    "SELECT tenant_id, session_uid, strategy, start, stop FROM summaries WHERE status = 'completed'"
    " GROUP BY 1, 2, 3, 4, 5 HAVING count(*) > 1"
)
_MISPLACED = (
    "SELECT h.session_uid FROM heads h JOIN summaries m ON m.tenant_id = h.tenant_id AND m.id = h.summary_id"
    " WHERE h.position <> m.stop"
)
_KEYS = (
    "SELECT tenant_id, session_uid, idempotency_key FROM receipts WHERE idempotency_key IS NOT NULL"
    " GROUP BY 1, 2, 3 HAVING count(*) > 1"
)
_SERVED_BY = (
    "SELECT m.method, count(*) AS count FROM heads h"
    " JOIN summaries m ON m.tenant_id = h.tenant_id AND m.id = h.summary_id WHERE h.reader LIKE 'live:%' GROUP BY 1"
)

Log = dict[int, Said]


def asked(url: str, statement: str) -> list[Any]:
    """The rows of a statement, as one who sees everything."""

    async def ask() -> list[Any]:
        connection = await asyncpg.connect(url)
        try:
            return [tuple(row) for row in await connection.fetch(statement)]
        finally:
            await connection.close()

    return asyncio.run(ask())


def seconds_until_idle(url: str) -> float:
    """How long it took until no job was queued or running; those that are left then are named."""
    begun = time.monotonic()
    while left := asked(url, _LIVE):
        assert time.monotonic() - begun < QUIET, f"I9: stuck after {QUIET:g} s: {left}"
        time.sleep(0.25)
    return time.monotonic() - begun


def check_logs(url: str, books: Sequence[Book]) -> int:
    """I7, I14, I2: what was acknowledged is there, once, at its place, as it was last changed; nothing else is."""
    there: dict[tuple[str, str], Log] = defaultdict(dict)
    for tenant, session, seq, content, version, deleted in asked(url, _LOGS):
        there[tenant, session][seq] = Said(text="" if deleted else content, version=version, deleted=deleted)
    expected: dict[tuple[str, str], Log] = defaultdict(dict)
    for number, book in enumerate(books):
        assert book.pending is None, f"client {number} left something undone"
        for name, log in book.logs.items():
            place = TENANTS[number % len(TENANTS)], session_of(number, name)
            twice = expected[place].keys() & log.keys()
            assert not twice, f"I2: two clients were told {sorted(twice)[:5]} in {place}"
            expected[place] |= log
    for place in expected.keys() | there.keys():
        wanted, found = expected[place], there[place]
        lost = [(seq, said) for seq, said in wanted.items() if found.get(seq) != said]
        assert not lost, f"I7: {len(lost)} of {len(wanted)} are not there in {place}: {lost[:3]}"
        more = sorted(found.keys() - wanted.keys())
        assert not more, f"I14: {len(more)} that nobody was told of in {place}: {more[:5]}"
        assert sorted(found) == list(range(len(found))), f"I2: a hole in {place}"
    heads = {(tenant, session): head for tenant, session, head in asked(url, _HEADS)}
    assert heads == {place: len(there[place]) for place in heads}, "I2: a head is not where the log ends"
    return sum(map(len, there.values()))


def check_order(books: Sequence[Book]) -> None:
    """I2: what one client said later stands later."""
    for book in books:
        for name, log in book.logs.items():
            # an edit's text is newer than its place
            numbers = [_number(said.text) for _, said in sorted(log.items()) if said.version == 1]
            assert numbers == sorted(numbers), f"I2: out of order in {name}"


def _number(text: str) -> int:
    return int(text.split("#")[1])


def check_derived(url: str) -> None:
    """I3, I4, I6: points tile their version; one completed version a range; heads stand where versions end."""
    spans: dict[Any, list[tuple[int, int]]] = defaultdict(list)
    for summary, start, stop in asked(url, _POINTS):
        spans[summary].append((start, stop))
    assert spans, "nothing was summarised"
    for summary, start, stop in asked(url, "SELECT id, start, stop FROM summaries"):
        points = spans[summary]
        joints = [point[0] for point in points[1:]] == [point[1] for point in points[:-1]]
        whole = bool(points) and (points[0][0], points[-1][1]) == (start, stop)
        assert (joints, whole) == (True, True), f"I3: points {points} do not tile [{start}, {stop})"
    for law, breach in (("I3", _COMPLETED), ("I6", _MISPLACED), ("I14", _KEYS)):
        assert asked(url, breach) == [], law


def check_contexts(url: str, books: Sequence[Book]) -> None:
    """I1, I17: every context accounts for every message, and nothing is degraded any more."""
    asyncio.run(_check_contexts(url, books))


async def _check_contexts(url: str, books: Sequence[Book]) -> None:
    for number, book in enumerate(books):
        told = Told(db=url, tenant=TENANTS[number % len(TENANTS)], number=number)
        given = Overrides(counter=QUARTER)
        async with Memory.open(settings=settings_for(told), overrides=given, worker=False) as memory:
            for name, log in book.logs.items():
                chat = memory.session(user="u", session=session_of(number, name))
                context = await chat.context(budget=BUDGET)
                check_context(context, log, alone=name not in SHARED)
                assert not {"model", "stale"} & set(context.degraded), f"I17: {name} of {number}: {context.degraded}"


def jobs_by(url: str) -> Mapping[str, int]:
    """How many jobs ended how, at which attempt."""
    rows = asked(url, "SELECT kind, state, attempt, count(*) FROM jobs GROUP BY 1, 2, 3 ORDER BY 1, 2, 3")
    return {f"{kind} {state} at attempt {attempt}": count for kind, state, attempt, count in rows}


def reasons(url: str) -> Mapping[str, int]:
    """Why jobs failed."""
    rows = asked(url, "SELECT reason, count(*) FROM jobs WHERE state = 'failed' GROUP BY 1 ORDER BY 2 DESC LIMIT 12")
    return {repr(reason)[:100]: count for reason, count in rows}


def served_by(url: str) -> Mapping[str, int]:
    """How the summaries that are served were made."""
    return dict(asked(url, _SERVED_BY))
