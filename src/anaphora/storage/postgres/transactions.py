"""Transactions that survive what happens to a connection.

A transaction that was rolled back, because the server went away, or because two were in each other's way, did nothing:
it is run again. If the connection is lost while a transaction is being committed, the server is asked what became of
it, by the number that it gave the transaction: nobody has to guess.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import sqlalchemy as sa

from anaphora.errors import CommitUnknown, StoreError
from anaphora.storage.postgres.engine import BEGAN, FAILED, FOR_SCOPE, FOR_TENANT, FOR_WRITING
from anaphora.storage.postgres.errors import TryAgain, translated
from anaphora.storage.types import AnyRow

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

    from anaphora.ports.clock import Randomness

T = TypeVar("T")

#: the longest pause before a transaction is tried again, in seconds
_PAUSE = 0.1
#: seconds within which a server that restarts should be back to say what became of a commit
_COMMIT_KNOWN_WITHIN = 30.0
_SNAPSHOT = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
#: a number of its own first: the status of one that was never given is an error
_OWN_NUMBER = sa.text("SELECT pg_current_xact_id()::text")
_STATUS = sa.text("SELECT pg_xact_status(CAST(CAST(:xid AS text) AS xid8))")
#: another one after every start and after every recovery: a crash forgets numbers, and they are given again
_LIFE = sa.text("SELECT concat(pg_postmaster_start_time(), (SELECT stats_reset FROM pg_stat_wal))")
#: stands in the notes of a connection: in which life of the server it was made
_LIVED = "anaphora_life"


@dataclass(frozen=True, slots=True, kw_only=True)
class Transactions:
    """Runs sync work on a connection of the pool."""

    engine: AsyncEngine
    randomness: Randomness
    #: seconds for which a transaction is tried again
    patience: float

    async def read(self, tenant: str, work: Callable[[sa.Connection], T]) -> T:
        """In one snapshot of the tenant's rows."""
        return await self._repeated(lambda: self._look(FOR_TENANT, {"tenant": tenant}, work))

    async def survey(self, scope: str, work: Callable[[sa.Connection], T]) -> T:
        """In one snapshot of what the scope shows of all tenants."""
        return await self._repeated(lambda: self._look(FOR_SCOPE, {"scope": scope}, work))

    async def write(self, tenant: str, work: Callable[[sa.Connection], T], *, before_commit: Callable[[T], None]) -> T:
        """In a transaction that is on disk when this returns; or nothing of it is."""
        return await self._repeated(lambda: self._write(tenant, work, before_commit))

    async def _repeated(self, once: Callable[[], Awaitable[T]]) -> T:
        deadline = time.monotonic() + self.patience
        conflicts = 0
        while True:
            try:
                return await once()
            except TryAgain as again:
                conflicts += again.once
                if conflicts > 1 or time.monotonic() >= deadline:
                    raise again.error from None
            await self._pause()

    async def _pause(self) -> None:
        await asyncio.sleep(_PAUSE * (1 + self.randomness(1)[0]) / 256)

    async def _look(self, introduce: sa.TextClause, who: dict[str, str], work: Callable[[sa.Connection], T]) -> T:

        def whole(connection: sa.Connection) -> T:
            with connection.begin():
                _introduced(connection, introduce, who)
                return work(connection)

        with translated():
            async with self.engine.connect() as connection:
                await connection.execution_options(**_SNAPSHOT)
                return await connection.run_sync(whole)

    async def _write(self, tenant: str, work: Callable[[sa.Connection], T], before_commit: Callable[[T], None]) -> T:
        at_commit: list[tuple[str, str, T]] = []

        def whole(connection: sa.Connection) -> T:
            with connection.begin() as transaction:
                number = str(_introduced(connection, FOR_WRITING, {"tenant": tenant})[2])
                life = _life(connection)
                result = _sound(connection, work)
                before_commit(result)
                at_commit.append((number, life, result))
                transaction.commit()
                return result

        try:
            with translated():
                async with self.engine.connect() as connection:
                    return await connection.run_sync(whole)
        except TryAgain as again:
            for number, life, result in at_commit:
                if await self._was_committed(number, life, again):
                    return result
            raise

    async def _was_committed(self, number: str, life: str, again: TryAgain) -> bool:
        """What became of a transaction whose commit was not answered; its connection is gone.

        A server that crashed may have forgotten the transaction and given its number to another one: in another life
        of the server it proves nothing that a number was committed.
        """
        deadline = time.monotonic() + _COMMIT_KNOWN_WITHIN
        while time.monotonic() < deadline:
            try:
                with translated():
                    async with self.engine.connect() as connection:
                        status, same = await connection.run_sync(_fate, number, life)
            except TryAgain:
                await self._pause()
                continue
            if status == "committed" and same:
                return True
            if status == "committed":
                break
            if status == "aborted":
                return False
            await self._pause()
        raise CommitUnknown(
            f"{again.error}; whether the last write was done is not known: repeat it with the same idempotency key"
        )


def _introduced(connection: sa.Connection, introduce: sa.TextClause, who: dict[str, str]) -> AnyRow:
    """Say whom the transaction is for; what the server answers."""
    row = connection.execute(introduce, who).one()
    connection.info[BEGAN] = row[1]
    return row


def _life(connection: sa.Connection) -> str:
    """Which life of the server this is, asked once a connection: no connection outlives a crash."""
    if _LIVED not in connection.info:
        connection.info[_LIVED] = str(connection.execute(_LIFE).scalar_one())
    return str(connection.info[_LIVED])


def _fate(connection: sa.Connection, number: str, life: str) -> tuple[str | None, bool]:
    """The status of the transaction with this number, and whether this is still the life that it belongs to."""
    if int(connection.execute(_OWN_NUMBER).scalar_one()) <= int(number):
        return "aborted", False
    return connection.execute(_STATUS, {"xid": number}).scalar_one(), _life(connection) == life


def _sound(connection: sa.Connection, work: Callable[[sa.Connection], T]) -> T:
    """The work's result; if it hid that a statement failed, an error: the server would roll it back in silence."""
    connection.info.pop(FAILED, None)
    result = work(connection)
    if FAILED in connection.info:
        raise StoreError("the database refused a statement of this work, nothing was written")
    return result
