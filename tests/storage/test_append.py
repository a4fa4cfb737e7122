"""I2, I7, I14: what an acknowledged append means."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path

import pytest
from tests.storage.bench import KEY, NOW, after, append, key_of, log_of, new_id, opened, row_of

from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import NewMessage, Receipt, Role
from anaphora.domain.plans import TAIL_TURNS
from anaphora.errors import InvalidInput, KeyReused, StoreError
from anaphora.ports.store import StoredReceipt
from anaphora.testing.failpoints import Recorder

pytestmark = pytest.mark.anyio

CALL = {"type": "tool_call", "id": "c1", "name": "weather", "arguments": {"city": "Łódź"}}


async def test_thirty_two_callers_get_dense_numbers_in_the_order_of_the_log(tmp_path: Path) -> None:
    keys = [key_of(session=f"s{number}") for number in range(3)]
    async with opened(tmp_path / "m.db") as store:

        async def talk(caller: int) -> list[tuple[int, int, str]]:
            said = []
            for number in range(6):
                which = (caller + number) % len(keys)
                text = f"{caller}/{number}"
                receipt = await store.append(append(text, f"{text}+", key=keys[which], role=Role.USER))
                said.append((which, receipt.seq, text))
            return said

        said = [entry for entries in await asyncio.gather(*map(talk, range(32))) for entry in entries]
        for which, key in enumerate(keys):
            log = await log_of(store, key)
            mine = {seq: text for at, seq, text in said if at == which}
            assert len(log) == 2 * len(mine)
            assert {seq: log[seq] for seq in mine} == mine
            assert all(log[seq + 1] == f"{text}+" for seq, text in mine.items())


async def test_appends_that_are_handed_in_together_share_one_transaction(tmp_path: Path) -> None:
    seen = Recorder()
    async with opened(tmp_path / "m.db", failpoint=seen) as store:
        receipts = await asyncio.gather(*(store.append(append(str(number))) for number in range(20)))
        assert [receipt.range for receipt in receipts] == [SeqRange(n, n + 1) for n in range(20)]
        assert seen.names == ["append.before_commit", "append.after_commit"]


async def test_a_key_that_comes_back_with_the_same_body_gets_its_first_receipt(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db") as store:
        first = await store.append(append("hello", idempotency_key="k"))
        again = await store.append(append("hello", idempotency_key="k"))
        assert again == dataclasses.replace(first, repeated=True)
        assert await log_of(store) == ["hello"]


async def test_the_same_key_twice_in_one_batch_is_appended_once(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db") as store:
        twins = [append("hello", idempotency_key="k"), append("hello", idempotency_key="k")]
        receipts = await asyncio.gather(*map(store.append, twins))
        assert [receipt.repeated for receipt in receipts] == [False, True]
        assert await log_of(store) == ["hello"]


async def test_a_key_belongs_to_its_session(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db") as store:
        for session in ("s1", "s2"):
            receipt = await store.append(append("hello", key=key_of(session=session), idempotency_key="k"))
            assert not receipt.repeated


async def test_one_bad_member_of_a_batch_fails_alone(tmp_path: Path) -> None:
    taken = new_id()
    async with opened(tmp_path / "m.db") as store:
        await store.append(append("first", ids=[taken], idempotency_key="k"))
        batch = [
            append("good one"),
            append("other body", idempotency_key="k"),
            append("an id that is taken", ids=[taken]),
            dataclasses.replace(append(), turns="single"),
            append("good two"),
            append("no time zone", now=NOW.replace(tzinfo=None)),
        ]
        results = await asyncio.gather(*map(store.append, batch), return_exceptions=True)
        kinds = [type(result) for result in results]
        assert kinds == [Receipt, KeyReused, StoreError, InvalidInput, Receipt, InvalidInput]
        assert await log_of(store) == ["first", "good one", "good two"]


async def test_an_append_survives_closing_and_keeps_every_field(tmp_path: Path) -> None:
    message = NewMessage(
        role=Role.ASSISTANT,
        content="Grüße 😀 \x1f\u2028",
        name="Böt",
        parts=(CALL, {"type": "image", "caption": "猫", "size": 1.5}),
        metadata={"nested": {"list": [1, None, True]}},
        created_at=after(-86_400),
    )
    given = append(messages=[message])
    async with opened(tmp_path / "m.db") as store:
        await store.append(given)
    async with opened(tmp_path / "m.db") as store:
        row = await store.read(row_of)
        (stored,) = await store.read(lambda unit: unit.messages.newest("t", row.id, SeqRange(0, 9), limit=9))
        assert (stored.role, stored.content, stored.name) == (message.role, message.content, message.name)
        assert (stored.parts, stored.metadata) == (message.parts, message.metadata)
        assert (stored.id, stored.tokens, stored.source) == (given.ids[0], given.tokens[0], "api")
        assert stored.created_at == message.created_at
        assert (row.created_at, row.updated_at, row.head, row.tokens) == (NOW, NOW, 1, given.tokens[0])


async def test_numbers_that_are_not_json_are_refused(tmp_path: Path) -> None:
    bad = NewMessage(role=Role.USER, content="x", metadata={"score": float("nan")})
    async with opened(tmp_path / "m.db") as store:
        with pytest.raises(InvalidInput):
            await store.append(append(messages=[bad]))


async def test_an_append_of_a_cancelled_caller_that_was_handed_in_is_kept(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db") as store:
        going = asyncio.ensure_future(store.append(append("kept")))
        await asyncio.sleep(0)
        going.cancel()
        with pytest.raises(asyncio.CancelledError):
            await going
        await store.append(append("next"))
        assert await log_of(store) == ["kept", "next"]


@pytest.mark.parametrize(
    ("turns", "roles", "expected", "finished"),
    [
        ("single", "uauata", [0, 0, 2, 2, 2, 2], True),
        ("single", "au", [0, 1], False),
        ("single", "usa", [0, 1, 1], True),
        ("single", "ut", [0, 0], False),
        ("turn", "uaua", [0, 0, 0, 0], True),
        ("own", "uau", [0, 1, 2], True),
    ],
)
async def test_messages_fall_into_turns(
    tmp_path: Path, turns: str, roles: str, expected: list[int], finished: bool
) -> None:
    names = {"u": Role.USER, "a": Role.ASSISTANT, "t": Role.TOOL, "s": Role.SYSTEM}
    said = [NewMessage(role=names[letter], content=letter) for letter in roles]
    async with opened(tmp_path / "m.db") as store:
        await store.append(append(messages=said, turns=turns))
        row = await store.read(row_of)
        log = await store.read(lambda unit: unit.messages.range("t", row.id, SeqRange(0, 9), limit=9))
        assert [message.turn for message in log] == expected
        assert row.turn_starts == tuple(sorted(set(expected)))
        assert (row.turns, row.turn_finished) == (len(set(expected)), finished)


async def test_a_turn_goes_on_in_the_next_append_and_a_tool_call_keeps_it_open(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db") as store:
        await store.append(append("weather?"))
        await store.append(append(messages=[NewMessage(role=Role.ASSISTANT, content="", parts=(CALL,))]))
        row = await store.read(row_of)
        assert (row.turns, row.turn_finished) == (1, False)
        await store.append(append("sunny", role=Role.TOOL))
        await store.append(append("It is sunny.", role=Role.ASSISTANT))
        row = await store.read(row_of)
        assert (row.turns, row.turn_starts, row.turn_finished) == (1, (0,), True)


async def test_a_session_remembers_the_starts_of_its_newest_turns_only(tmp_path: Path) -> None:
    said = [NewMessage(role=Role.USER, content=str(number)) for number in range(TAIL_TURNS + 40)]
    async with opened(tmp_path / "m.db") as store:
        await store.append(append(messages=said))
        row = await store.read(row_of)
        assert row.turn_starts == tuple(range(40, TAIL_TURNS + 40))
        assert row.turns == TAIL_TURNS + 40


async def test_writing_opens_an_ended_session_again(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db") as store:
        await store.append(append("bye"))
        row = await store.read(row_of)
        await store.write(lambda unit: unit.sessions.set_ended("t", row.id, ended_at=NOW))
        assert (await store.read(row_of)).ended_at == NOW
        await store.append(append("one more thing"))
        assert (await store.read(row_of)).ended_at is None


async def test_a_receipt_says_where_its_messages_are(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db") as store:
        await store.append(append("a"))
        receipt = await store.append(append("b", "c"))
        row = await store.read(row_of)
        found = await store.read(lambda unit: unit.messages.receipt("t", receipt.id))
        assert found == StoredReceipt(session_id=row.id, range=SeqRange(1, 3), epoch=0)
        assert await store.read(lambda unit: unit.messages.receipt("other", receipt.id)) is None


async def test_the_newest_messages_come_newest_first(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db") as store:
        await store.append(append(*"abcdefgh"))
        row = await store.read(row_of)
        newest = await store.read(lambda unit: unit.messages.newest("t", row.id, SeqRange(1, 6), limit=3))
        oldest = await store.read(lambda unit: unit.messages.range("t", row.id, SeqRange(1, 6), limit=3))
        assert "".join(message.content for message in newest) == "fed"
        assert "".join(message.content for message in oldest) == "bcd"


async def test_two_sessions_cannot_have_one_id(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db") as store:
        await store.append(append("a"))
        row = await store.read(row_of)
        thief = dataclasses.replace(append("b", key=key_of("mallory")), session_id=row.id)
        with pytest.raises(LookupError):
            await store.append(thief)
        assert await log_of(store, KEY) == ["a"]
