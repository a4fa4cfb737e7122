"""Reading the log: ranges, and what receipts stand for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from uuid import UUID

from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import Message
from anaphora.ports.rows import StoredReceipt
from anaphora.ports.store import Unit
from anaphora.testing.conformance.store_laws.base import StoreLaws
from anaphora.testing.conformance.store_laws.tools import TENANT, append, key_of, new_id, row_of, session


def said(messages: Sequence[Message]) -> str:
    """The contents one after another."""
    return "".join(message.content for message in messages)


def both_ways(
    unit: Unit, start: int, stop: int, limit: int, *, tenant: str = TENANT, uid: UUID | None = None
) -> tuple[str, str]:
    """The range from its start on, and from its end back."""
    uid, span = uid or row_of(unit).id, SeqRange(start, stop)
    oldest = unit.messages.range(tenant, uid, span, limit=limit)
    return said(oldest), said(unit.messages.newest(tenant, uid, span, limit=limit))


class ReadLaws(StoreLaws):
    """Reading the log."""

    async def test_a_range_is_read_from_either_end_up_to_a_limit(self, tmp_path: Path) -> None:
        """A range is half-open; it is read in order, or the newest first, and no more than asked for."""
        async with self.opened(tmp_path) as store:
            await store.append(append(*"abcdefgh"))
            await store.append(append(*"xyz", key=key_of(session="s2")))
            assert await store.read(TENANT, lambda unit: both_ways(unit, 1, 6, 3)) == ("bcd", "fed")
            assert await store.read(TENANT, lambda unit: both_ways(unit, 1, 6, 99)) == ("bcdef", "fedcb")
            assert await store.read(TENANT, lambda unit: both_ways(unit, 2, 3, 1)) == ("c", "c")

    async def test_a_range_beyond_the_log_holds_what_is_there(self, tmp_path: Path) -> None:
        """Asking for messages that are not there yet is no error."""
        async with self.opened(tmp_path) as store:
            await store.append(append(*"abc"))
            assert await store.read(TENANT, lambda unit: both_ways(unit, 1, 99, 99)) == ("bc", "cb")
            assert await store.read(TENANT, lambda unit: both_ways(unit, 3, 99, 99)) == ("", "")
            assert await store.read(TENANT, lambda unit: both_ways(unit, 1, 1, 99)) == ("", "")

    async def test_nobody_reads_another_tenants_messages(self, tmp_path: Path) -> None:
        """I11: the id of a session is no key to it: without the right tenant there is nothing."""
        async with self.opened(tmp_path) as store:
            await store.append(append(*"abc"))
            await store.append(append("x", key=key_of(tenant="t2")))
            look = partial(both_ways, start=0, stop=9, limit=9, uid=(await session(store)).id)
            assert await store.read(TENANT, look) == ("abc", "cba")
            for tenant in ("t2", "T", "", "%"):
                assert await store.read(tenant, partial(look, tenant=tenant)) == ("", "")

    async def test_a_receipt_says_where_its_messages_are(self, tmp_path: Path) -> None:
        """A receipt leads to its session, its messages and the epoch of the append, within its tenant (I11)."""
        async with self.opened(tmp_path) as store:
            await store.append(append("a"))
            receipt = await store.append(append("b", "c"))
            row = await session(store)
            found = await store.read(TENANT, lambda unit: unit.messages.receipt(TENANT, receipt.id))
            assert found == StoredReceipt(session_id=row.id, range=SeqRange(1, 3), epoch=0)
            assert await store.read("other", lambda unit: unit.messages.receipt("other", receipt.id)) is None
            assert await store.read(TENANT, lambda unit: unit.messages.receipt(TENANT, new_id())) is None
