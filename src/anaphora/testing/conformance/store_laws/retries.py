"""I14: a retry with the same key writes once."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path

import pytest

from anaphora.errors import KeyReused
from anaphora.testing.conformance.store_laws.base import StoreLaws
from anaphora.testing.conformance.store_laws.tools import append, key_of, log_of, names


class RetryLaws(StoreLaws):
    """What an idempotency key does."""

    async def test_a_key_that_comes_back_with_the_same_body_gets_its_first_receipt(self, tmp_path: Path) -> None:
        """I14: the same key with the same body writes nothing more and gets the receipt of the first time."""
        async with self.opened(tmp_path) as store:
            first = await store.append(append("hello", "again", idempotency_key="k"))
            await store.append(append("something else"))
            again = await store.append(append("hello", "again", idempotency_key="k"))
            assert again == dataclasses.replace(first, repeated=True)
            assert await log_of(store) == ["hello", "again", "something else"]

    async def test_a_key_is_known_after_the_store_was_closed(self, tmp_path: Path) -> None:
        """I14, I7: a retry after a restart gets the first receipt."""
        async with self.opened(tmp_path) as store:
            first = await store.append(append("hello", idempotency_key="k"))
        async with self.opened(tmp_path) as store:
            again = await store.append(append("hello", idempotency_key="k"))
            assert again == dataclasses.replace(first, repeated=True)
            assert await log_of(store) == ["hello"]

    async def test_the_same_key_twice_at_once_is_appended_once(self, tmp_path: Path) -> None:
        """I14: of two that are handed in together one is the first."""
        async with self.opened(tmp_path) as store:
            twins = [append("hello", idempotency_key="k"), append("hello", idempotency_key="k")]
            receipts = await asyncio.gather(*map(store.append, twins))
            assert sorted(receipt.repeated for receipt in receipts) == [False, True]
            assert len({receipt.id for receipt in receipts}) == 1
            assert await log_of(store) == ["hello"]

    async def test_a_key_that_comes_back_with_another_body_is_refused(self, tmp_path: Path) -> None:
        """I14: the same key with another body is an error that names the key, and nothing is written."""
        async with self.opened(tmp_path) as store:
            await store.append(append("hello", idempotency_key="the key"))
            with pytest.raises(KeyReused, match="the key"):
                await store.append(append("hello!", idempotency_key="the key"))
            assert await log_of(store) == ["hello"]

    async def test_a_key_belongs_to_its_session(self, tmp_path: Path) -> None:
        """I14, I11: the same key in another session, of another agent, user or tenant, is another key."""
        keys = [
            key_of(),
            key_of(session="s2"),
            key_of(agent="other"),
            key_of("bob"),
            key_of(tenant="t2"),
        ]
        async with self.opened(tmp_path) as store:
            for key in keys:
                receipt = await store.append(append(f"of {key.user}", key=key, idempotency_key="k"))
                assert (receipt.repeated, receipt.seq) == (False, 0)
            assert await names(store) == ["s1", "s1", "s1", "s2"]

    async def test_without_a_key_the_same_words_are_said_twice(self, tmp_path: Path) -> None:
        """I14: only a key makes a retry of an append; the same body without one is another message."""
        async with self.opened(tmp_path) as store:
            receipts = [await store.append(append("hello")) for _ in range(2)]
            assert [receipt.repeated for receipt in receipts] == [False, False]
            assert await log_of(store) == ["hello", "hello"]
