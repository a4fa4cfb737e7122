"""I2, I7: what an acknowledged append means."""

from __future__ import annotations

import asyncio
import dataclasses
from datetime import timedelta, timezone
from pathlib import Path

import pytest

from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import NewMessage, Receipt, Role, Trust
from anaphora.errors import InvalidInput, KeyReused, StoreError
from anaphora.testing.conformance.store_laws.base import StoreLaws
from anaphora.testing.conformance.store_laws.tools import (
    KEY,
    NOW,
    TENANT,
    after,
    append,
    key_of,
    log_of,
    messages_of,
    names,
    new_id,
    session,
)

CALL = {"type": "tool_call", "id": "c1", "name": "weather", "arguments": {"city": "Łódź"}}
TEXTS = (
    " \u00e9 vs e\u0301 \r\n\t",
    "\u202eright to left",
    "Grüße 😀 \x1f\u2028\ufeff",
    "a" + "\u0301" * 1000,
    "'; DROP TABLE messages; -- %s %(x)s :name ? \\ \\x00",
    "",
    "long " * 50_000,
)
JSON = (
    {"nested": {"list": [1, None, True, []]}, "": "empty name"},
    {"large": 2**53 + 1, "small": -7, "float": 0.1, "tiny": 1e-9},
    {"text": "猫 \u2028 \" \\ \\u0000 '", "key with 'quotes'": {}},
)


class AppendLaws(StoreLaws):
    """What an acknowledged append means."""

    async def test_numbers_go_on_from_append_to_append(self, tmp_path: Path) -> None:
        """I2: messages are numbered from 0 without a hole, and a receipt says which numbers its messages got."""
        async with self.opened(tmp_path) as store:
            given = [append("a", "b"), append("c"), append("d", "e")]
            receipts = [await store.append(one) for one in given]
            assert [receipt.range for receipt in receipts] == [SeqRange(0, 2), SeqRange(2, 3), SeqRange(3, 5)]
            assert [receipt.id for receipt in receipts] == [one.receipt_id for one in given]
            assert not any(receipt.repeated for receipt in receipts)
            assert await log_of(store) == list("abcde")

    async def test_every_field_of_a_message_survives_closing(self, tmp_path: Path) -> None:
        """I7, I15: an acknowledged message is there after the store was closed, with every field as it was given."""
        message = NewMessage(
            role=Role.ASSISTANT,
            content="Good morning",
            name="Böt",
            parts=(CALL, {"type": "image", "caption": "猫", "size": 1.5}),
            metadata={"mood": "fine"},
            created_at=after(-86_400),
        )
        given = dataclasses.replace(append(messages=[message]), trusts=(Trust.OTHER,), tokens=(7,), source="import:x")
        async with self.opened(tmp_path) as store:
            await store.append(given)
        async with self.opened(tmp_path) as store:
            (kept,) = await messages_of(store)
            assert (kept.id, kept.seq, kept.turn) == (given.ids[0], 0, 0)
            assert (kept.role, kept.content, kept.name) == (message.role, message.content, message.name)
            assert (kept.parts, kept.metadata) == (message.parts, message.metadata)
            assert (kept.tokens, kept.source, kept.trust) == (7, "import:x", Trust.OTHER)
            assert kept.created_at == message.created_at

    async def test_text_is_kept_exactly(self, tmp_path: Path) -> None:
        """What was said comes back character by character: not normalised, not trimmed, not read as anything else."""
        async with self.opened(tmp_path) as store:
            await store.append(append(*TEXTS))
            assert await log_of(store) == list(TEXTS)

    async def test_json_is_kept_exactly(self, tmp_path: Path) -> None:
        """Parts and metadata come back equal: nesting, long numbers, odd names."""
        said = [NewMessage(role=Role.USER, content="x", metadata=data, parts=({"type": "x", **data},)) for data in JSON]
        async with self.opened(tmp_path) as store:
            await store.append(append(messages=said))
            log = await messages_of(store)
            assert [message.metadata for message in log] == list(JSON)
            assert [message.parts for message in log] == [message.parts for message in said]

    async def test_times_are_moments(self, tmp_path: Path) -> None:
        """A time is the same moment when it comes back, to the microsecond; without one it was said now."""
        east = after(3).astimezone(timezone(timedelta(hours=5, minutes=45)))
        times = (east, None, after(-1e9))
        said = [NewMessage(role=Role.USER, content="x", created_at=time) for time in times]
        async with self.opened(tmp_path) as store:
            await store.append(append(messages=said))
            log = await messages_of(store)
            assert [message.created_at for message in log] == [east, NOW, after(-1e9)]
            assert all(message.created_at.utcoffset() is not None for message in log)

    async def test_the_clock_orders_nothing(self, tmp_path: Path) -> None:
        """I2: the order is that of the appends, whatever the times of the messages and of the appends say."""
        async with self.opened(tmp_path) as store:
            for number, when in enumerate((5, -1000, 3000, -1000)):
                said = NewMessage(role=Role.USER, content=str(number), created_at=after(-when))
                await store.append(append(messages=[said], now=after(when)))
            assert await log_of(store) == list("0123")

    async def test_a_session_sums_up_its_log(self, tmp_path: Path) -> None:
        """The session knows how many messages, turns and tokens it has, and when it began and went on."""
        async with self.opened(tmp_path) as store:
            given = [append("a" * 40, "b"), append("c" * 400, role=Role.ASSISTANT, now=after(9))]
            for one in given:
                await store.append(one)
            row = await session(store)
            assert (row.key, row.id, row.epoch, row.ended_at) == (KEY, given[0].session_id, 0, None)
            assert (row.head, row.turns, row.tokens) == (3, 2, 10 + 1 + 100)
            assert (row.created_at, row.updated_at) == (NOW, after(9))

    async def test_a_session_keeps_what_it_was_made_with(self, tmp_path: Path) -> None:
        """Id, strategy and subject are those of the first append; later ones do not change them."""
        async with self.opened(tmp_path) as store:
            first = append("a", strategy="one", subject="Ann")
            await store.append(first)
            await store.append(append("b", strategy="two", subject="Bob"))
            row = await session(store)
            assert (row.id, row.strategy, row.subject, row.head) == (first.session_id, "one", "Ann", 2)

    async def test_writing_opens_an_ended_session_again(self, tmp_path: Path) -> None:
        """An ended session is open again after the next append."""
        async with self.opened(tmp_path) as store:
            await store.append(append("bye"))
            row = await session(store)
            await store.write(TENANT, lambda unit: unit.sessions.set_ended(TENANT, row.id, ended_at=NOW))
            assert (await session(store)).ended_at == NOW
            await store.append(append("one more thing"))
            assert (await session(store)).ended_at is None

    async def test_one_bad_append_fails_alone(self, tmp_path: Path) -> None:
        """I8: of appends that are handed in together, the bad ones are refused, each with its error, and no other."""
        taken = new_id()
        async with self.opened(tmp_path) as store:
            await store.append(append("first", ids=[taken], idempotency_key="k"))
            batch = [
                append("good one"),
                append("another body", idempotency_key="k"),
                append("an id that is taken", ids=[taken]),
                append(),
                append("good two"),
                append("no time zone", now=NOW.replace(tzinfo=None)),
            ]
            results = await asyncio.gather(*map(store.append, batch), return_exceptions=True)
            kinds = [type(result) for result in results]
            assert kinds == [Receipt, KeyReused, StoreError, InvalidInput, Receipt, InvalidInput]
            assert sorted(await log_of(store)) == ["first", "good one", "good two"]
            assert (await session(store)).head == 3

    async def test_what_cannot_be_appended_leaves_no_trace(self, tmp_path: Path) -> None:
        """An append without messages, with too few ids, of unknown turns or with numbers that JSON lacks is refused."""
        good = append("a", "b")
        not_json = NewMessage(role=Role.USER, content="x", metadata={"score": float("nan")})
        bad = [
            append(),
            dataclasses.replace(good, ids=good.ids[:1]),
            dataclasses.replace(good, tokens=(1, 2, 3)),
            dataclasses.replace(good, trusts=()),
            dataclasses.replace(good, turns="many"),
            append(messages=[not_json]),
        ]
        async with self.opened(tmp_path) as store:
            for one in bad:
                with pytest.raises(InvalidInput):
                    await store.append(one)
            assert await names(store) == []
            assert (await store.append(good)).range == SeqRange(0, 2)

    async def test_two_sessions_cannot_have_one_id(self, tmp_path: Path) -> None:
        """I11: who makes a session with the id of another one gets an error, and nothing of the other session."""
        async with self.opened(tmp_path) as store:
            await store.append(append("a"))
            row = await session(store)
            with pytest.raises(LookupError):
                await store.append(append("b", key=key_of("mallory"), session_id=row.id))
            assert await log_of(store) == ["a"]
            assert [row.key for row in await store.read(TENANT, lambda unit: unit.sessions.list(TENANT))] == [KEY]

    async def test_a_caller_that_goes_away_leaves_a_whole_log(self, tmp_path: Path) -> None:
        """I8: the append of a cancelled caller is there whole or not at all, and the next one goes on after it."""
        async with self.opened(tmp_path) as store:
            for turn in range(8):
                going = asyncio.ensure_future(store.append(append(f"{turn}a", f"{turn}b", key=key_of("bob"))))
                for _ in range(turn):
                    await asyncio.sleep(0)
                going.cancel()
                await asyncio.gather(going, return_exceptions=True)
            receipt = await store.append(append("end", key=key_of("bob")))
            log = await log_of(store, key_of("bob"))
            assert (log[receipt.seq :], len(log) % 2) == (["end"], 1)
            pairs = list(zip(log[0:-1:2], log[1:-1:2], strict=True))
            assert all((one[0], one[1], two[1]) == (two[0], "a", "b") for one, two in pairs)
