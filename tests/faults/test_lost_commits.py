"""Commits that were not answered because the server died (I7, I14): done once, or refused; never only said to be done.

A server that died forgets the numbers of transactions of which nothing had reached its disk, and gives them to others.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import asyncpg
import pytest
from tests.databases.sql import Sql, open_sql
from tests.faults.laws import check_kept
from tests.faults.nursery import Nursery
from tests.faults.places import Place, on_a_server, rows

from anaphora.storage.postgres.embedded import Server

pytestmark = [pytest.mark.faults, on_a_server]

MESSAGES = 5
_HELD = (
    "select pid, cast(cast(backend_xid as text) as bigint) from pg_stat_activity"
    " where application_name = 'anaphora' and datname = current_database() and backend_xid is not null"
)


@pytest.fixture
def lazy(own_server: Server) -> Iterator[Server]:
    """A server that writes its log for commits only, not by itself a moment after each change."""
    with closing(open_sql(own_server.dsn())) as sql:
        sql.change("alter system set wal_writer_delay = '10s'")
        sql.rows("select pg_reload_conf()")
    yield own_server
    with closing(open_sql(own_server.dsn())) as sql:
        sql.change("alter system reset wal_writer_delay")
        sql.rows("select pg_reload_conf()")


@pytest.mark.parametrize("strangers", [False, True], ids=["alone", "others_get_the_number"])
@pytest.mark.parametrize("dies", ["server", "connection"])
def test_a_commit_that_died_with_its_server_is_done_or_refused_and_never_said_to_be_done(
    dies: str, strangers: bool, lazy: Server, nursery: Nursery, new: Callable[..., Place], tmp_path: Path
) -> None:
    """Whatever became of the number of its transaction, which may be another's by now. The client tries again."""
    place, gate = new(), tmp_path / "gate"
    child = nursery.start("stubborn", db=str(place), cut="append.before_commit:3", gate=str(gate), count=MESSAGES)
    child.wait_for("held")
    ((pid, number),) = rows(place, _HELD)
    if dies == "server":
        lazy.kill()
        lazy.start()
    else:  # the postmaster ends all the others then, and begins anew
        os.kill(pid, signal.SIGKILL)
    with closing(reached_again(lazy)) as sql:
        assert sql.state() <= number, "hollow run: the server remembers the number"
        while strangers and sql.state() <= number:
            sql.rows("select pg_current_xact_id()::text")
    gate.touch()
    assert nursery.reap(child, timeout=60) == 0, child.errors()
    assert [kind for kind, *_ in child.notes("refused")] in ([], ["CommitUnknown"])
    assert check_kept(place, acked=child.acked, unanswered=[]) == MESSAGES


def reached_again(server: Server) -> Sql:
    """A connection, as soon as there is one to be had."""
    deadline = time.monotonic() + 20
    while True:
        try:
            sql = open_sql(server.dsn())
            sql.rows("select 1")
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
            assert time.monotonic() < deadline, "the server does not come back"
            time.sleep(0.02)
        else:
            return sql
