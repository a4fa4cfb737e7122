"""Which turn a message belongs to."""

from __future__ import annotations

from pathlib import Path

from anaphora.domain.messages import NewMessage, Role
from anaphora.domain.plans import TAIL_TURNS
from anaphora.testing.conformance.store_laws.appends import CALL
from anaphora.testing.conformance.store_laws.base import StoreLaws
from anaphora.testing.conformance.store_laws.tools import append, key_of, messages_of, session

ROLES = {"u": Role.USER, "a": Role.ASSISTANT, "t": Role.TOOL, "s": Role.SYSTEM}
#: how an append is divided, the roles of its messages, the turn of each, and whether the last turn has its answer
DIVIDED = (
    ("single", "uauata", [0, 0, 2, 2, 2, 2], True),
    ("single", "au", [0, 1], False),
    ("single", "usa", [0, 1, 1], True),
    ("single", "ut", [0, 0], False),
    ("turn", "uaua", [0, 0, 0, 0], True),
    ("own", "uau", [0, 1, 2], True),
)


class TurnLaws(StoreLaws):
    """Which turn a message belongs to."""

    async def test_messages_fall_into_turns(self, tmp_path: Path) -> None:
        """A user or system message opens a turn; a whole turn is one, and messages may each be one of their own."""
        async with self.opened(tmp_path) as store:
            for at, (turns, roles, expected, finished) in enumerate(DIVIDED):
                key = key_of(session=f"s{at}")
                said = [NewMessage(role=ROLES[letter], content=letter) for letter in roles]
                await store.append(append(messages=said, turns=turns, key=key))
                row = await session(store, key)
                log = await messages_of(store, key)
                assert [message.turn for message in log] == expected, roles
                assert row.turn_starts == tuple(sorted(set(expected))), roles
                assert (row.turns, row.turn_finished) == (len(set(expected)), finished), roles

    async def test_a_turn_goes_on_in_the_next_append_and_a_tool_call_keeps_it_open(self, tmp_path: Path) -> None:
        """An answer that asks for a tool does not finish its turn; the one after the result does."""
        async with self.opened(tmp_path) as store:
            await store.append(append("weather?"))
            await store.append(append(messages=[NewMessage(role=Role.ASSISTANT, content="", parts=(CALL,))]))
            row = await session(store)
            assert (row.turns, row.turn_finished) == (1, False)
            await store.append(append("sunny", role=Role.TOOL))
            await store.append(append("It is sunny.", role=Role.ASSISTANT))
            row = await session(store)
            assert (row.turns, row.turn_starts, row.turn_finished) == (1, (0,), True)

    async def test_a_session_remembers_the_starts_of_its_newest_turns_only(self, tmp_path: Path) -> None:
        """What a session says of itself stays small however long it is: all turns are counted, the newest listed."""
        async with self.opened(tmp_path) as store:
            for _ in range(2):
                await store.append(append(*map(str, range(TAIL_TURNS - 7))))
            row = await session(store)
            count = 2 * (TAIL_TURNS - 7)
            assert row.turn_starts == tuple(range(count - TAIL_TURNS, count))
            assert row.turns == count
