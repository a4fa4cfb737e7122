"""I9, I12: how sessions begin and end, and what became of what was said in them."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest

from anaphora.errors import NotFound
from anaphora.testing.conformance.memory_laws.base import MemoryLaws
from anaphora.testing.conformance.memory_laws.conversations import brief, check_account, conversation, say, spans
from anaphora.testing.scripted import ScriptedChat


class SessionLaws(MemoryLaws):
    """The life of a session."""

    async def test_an_ended_session_is_opened_again_by_the_next_word(self, tmp_path: Path) -> None:
        """An end is no lock."""
        async with self.opened(tmp_path) as memory:
            session = conversation(memory)
            await say(session, 4)
            assert await session.end()
            (row,) = await memory.sessions()
            assert row.ended_at is not None
            assert (await session.add("user", "one more thing")).seq == 4
            (row,) = await memory.sessions()
            assert row.ended_at is None

    async def test_ending_plans_what_is_due_and_twice_is_harmless(self, tmp_path: Path) -> None:
        """I9: 14 messages: 2 were summarised at the tenth; those that left the window since wait for the end."""
        chat = ScriptedChat(brief)
        async with self.opened(tmp_path, chat=chat) as memory:
            session = conversation(memory)
            for seq in range(14):
                await say(session, 1, start=seq)
                await memory.work()
            assert (await session.context()).coverage.summarised == spans((0, 2))
            assert await session.end()
            ended_at = (await memory.sessions())[0].ended_at
            assert await session.end()
            assert await memory.jobs.live() == 1
            assert await memory.work() == 1
            assert (await session.context()).coverage.summarised == spans((0, 6))
            assert await session.end()
            assert await memory.jobs.live() == 0
            assert (await memory.sessions())[0].ended_at == ended_at
            check_account(await session.context(), 14)

    async def test_ending_what_never_began_does_nothing(self, tmp_path: Path) -> None:
        """There is no session before its first message."""
        async with self.opened(tmp_path) as memory:
            assert not await conversation(memory).end()
            assert len(await memory.sessions()) == 0

    async def test_a_receipt_says_what_became_of_a_message(self, tmp_path: Path) -> None:
        """I1, I12: appended, summarised, elided or erased; and an error for what never was."""
        chat = ScriptedChat(lambda *_: '{"points": [{"text": "tea", "first": 0, "last": 0}], "merged": null}')
        async with self.opened(tmp_path, chat=chat) as memory:
            session = conversation(memory)
            receipts = await say(session, 12)
            assert {await memory.receipt(r.id) for r in receipts} == {"appended"}
            await memory.work()
            states = [await memory.receipt(r.id) for r in receipts]
            assert states == ["summarised", *["elided"] * 3, *["appended"] * 8]
            await session.reset()
            assert {await memory.receipt(r.id) for r in receipts} == {"erased"}
            (new,) = await say(session, 1)
            assert await memory.receipt(new.id) == "appended"
            assert await memory.receipt(receipts[0].id) == "erased"
            with pytest.raises(NotFound):
                await memory.receipt(uuid4())

    async def test_sessions_are_listed_page_by_page_by_their_own_user(self, tmp_path: Path) -> None:
        """I11: somebody else's session, or one that is gone, is no place to go on from, and that is said."""
        async with self.opened(tmp_path) as memory:
            for name in ("a", "b", "c"):
                await memory.session(user="u", session=name).add("user", "Hello.")
            await memory.session(user="v", session="d").add("user", "Hello.")
            (other,) = await memory.sessions(user="v")
            newest, *rest = await memory.sessions(user="u")
            assert await memory.sessions(user="u", limit=1) == [newest]
            assert await memory.sessions(user="u", before=newest.id) == rest
            assert await memory.sessions(user="u", before=rest[-1].id) == []
            for unknown in (other.id, uuid4()):
                with pytest.raises(NotFound):
                    await memory.sessions(user="u", before=unknown)

    async def test_new_sessions_are_numbered_by_user_and_agent(self, tmp_path: Path) -> None:
        """I4: everybody counts for themselves."""
        async with self.opened(tmp_path) as memory:
            names = [(await memory.new_session(user=user, agent="a")).key.session for user in ("u", "u", "v")]
            assert names == ["1", "2", "1"]
            assert {row.key.user for row in await memory.sessions(agent="a")} == {"u", "v"}
