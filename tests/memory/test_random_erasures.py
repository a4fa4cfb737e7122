"""I5, I12: erasures at random moments of background work; a seed tells which, and nothing ever comes back."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio.from_thread
import pytest
from tests.memory.erasing import broken, exported, found, opened

from anaphora import Memory
from anaphora.testing.scripted import ScriptedChat, faithful, retelling

pytestmark = pytest.mark.anyio

STAGES = (
    "worker.claimed",
    "summarise.assigned",
    "summarise.after_model",
    "summarise.after_commit",
    "extract.assigned",
    "extract.after_model",
    "extract.after_commit",
    "worker.done",
)
OPTIONS: Mapping[str, Any] = {
    "extraction": "batch",
    "batch_extraction": {"threshold": 2, "batch": 4},
    "rolling_pairs": {"window_pairs": 1, "min_messages_for_summary": 2, "summarise_after": 1},
}
#: the same with documents of what was said, by a model that tells again what it was shown of earlier ones
ARCHIVED: Mapping[str, Any] = {
    **OPTIONS,
    "strategy": "token_budget",
    "token_budget": {"threshold_tokens": 192, "recent_messages_to_keep": 2, "archive_conversations": True},
}
USERS, SESSIONS, TURNS = ("ann", "ben", "cleo"), ("s1", "s2"), 4
#: the deep runs are a thousand together
EVERYDAY, OF_ARCHIVES, DEEP, CHECKED = 20, 8, 500, 100


@dataclass
class Life:
    """What was said, and what of it was erased."""

    folder: Path
    chance: random.Random
    options: Mapping[str, Any]
    #: words by user, session and number
    said: dict[tuple[str, str], dict[int, str]] = field(default_factory=dict)
    erased: list[str] = field(default_factory=list)
    count: int = 0
    stage: str | None = None
    waits: int = 0
    words: int = 0

    def __call__(self, name: str) -> None:
        """At a failpoint: perhaps another process erases something now, while this one stands still."""
        if name == self.stage:
            self.waits -= 1
            if self.waits < 0:
                self.stage = None
                with anyio.from_thread.start_blocking_portal() as portal:
                    portal.call(self.erase)

    async def say(self, memory: Memory) -> None:
        archives = self.options is ARCHIVED  # then sessions must become long: there are fewer
        user = self.chance.choice(USERS[:1] if archives else USERS)
        session = self.chance.choice(SESSIONS[:1] if archives else SESSIONS)
        chat = memory.session(user=user, session=session)
        words = self.said.setdefault((user, session), {})
        for _ in range(TURNS):
            self.words += 1
            word = f"zzword{self.words:06}"
            receipt = await chat.add("user", f"I like {word}.")
            words[receipt.seq] = word
            await chat.add("assistant", "Noted.")
        if archives:  # what is left is compressed to its end
            await chat.end()

    async def erase(self) -> None:
        if not self.said:
            return
        self.count += 1
        key = self.chance.choice(sorted(self.said))
        user, session = key
        async with opened(self.folder, **self.options) as memory:
            match self.chance.choice(("user", "session", "message", "message", "message")):
                case "user":
                    await memory.erase(user=user)
                    for each in [each for each in self.said if each[0] == user]:
                        self.erased += self.said.pop(each).values()
                case "session":
                    await memory.erase(user=user, session=session)
                    self.erased += self.said.pop(key).values()
                case _:
                    seq = self.chance.choice(sorted(self.said[key]))
                    await memory.erase(user=user, session=session, message=seq)
                    self.erased.append(self.said[key].pop(seq))
                    if not self.said[key]:
                        del self.said[key]
            told = " ".join(await archived(memory))
            assert not any(word in told for word in self.erased[-9:]), "a document says what was erased"


async def archived(memory: Memory) -> list[str]:
    """What all archived documents say."""
    listed = [(user, document.id) for user in USERS for document in await memory.knowledge.list(user=user)]
    return [(await memory.knowledge.get(uid, user=user)).content or "" for user, uid in listed]


@pytest.mark.parametrize(
    ("seed", "erasures", "archives"),
    [
        (7, EVERYDAY, False),
        (1, OF_ARCHIVES, True),
        pytest.param(8, DEEP, False, marks=[pytest.mark.deep, pytest.mark.timeout(0)]),
        pytest.param(8, DEEP, True, marks=[pytest.mark.deep, pytest.mark.timeout(0)]),
    ],
)
async def test_erasures_at_random_moments_leave_nothing_and_nothing_comes_back(
    tmp_path: Path, seed: int, erasures: int, archives: bool
) -> None:
    options = ARCHIVED if archives else OPTIONS
    life = Life(folder=tmp_path, chance=random.Random(seed), options=options)
    taken: list[str] = []
    known = retold = 0
    model = ScriptedChat(retelling if archives else faithful)
    async with opened(tmp_path, chat=model, failpoint=life, **options) as memory:
        while life.count < erasures:
            await life.say(memory)
            life.stage, life.waits = life.chance.choice(STAGES), life.chance.randrange(3)
            await memory.work()
            if life.stage is not None:  # it was not reached: between jobs is a moment, too
                life.stage = None
                await life.erase()
            for word in life.erased[-3:]:  # this process was at work when another one erased it
                hits = [hit for user in USERS for hit in (await memory.search(word, user=user)).hits]
                assert not any(word in hit.message.content for hit in hits), f"{word} is found"
            known += sum([len(await memory.facts.list(user=user)) for user in USERS])
            retold += sum("as before" in told for told in await archived(memory))
            if life.count == erasures // 2:
                taken = await exported(memory)
            if life.count % CHECKED == 0:
                assert await found(tmp_path, life.erased[-500:] or ["zznothing"]) == []
        assert known, "hollow run: nothing was ever learned"
        assert retold or not archives, "hollow run: no document told again what an earlier one told"
        await memory.work()
        await memory.restore(taken)
        await memory.work()
        assert not any(word in line for line in await exported(memory) for word in life.erased[-500:])
        kept = [word for words in life.said.values() for word in words.values()]
        if kept:
            assert await found(tmp_path, kept[:1]), "foreign words are gone"
    assert await found(tmp_path, life.erased[-500:]) == []
    assert await broken(tmp_path) == []
