"""T14: topics go with their sessions, byte by byte, and are no less checked than what else is made of a log."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.memory.harness import conversation, opened
from tests.services.lives import broken, exported, of_kind, resummed, seen, two
from tests.services.talks import TOPICS, all_of_it, dividing, following, talk, topics
from tests.services.test_forged_exports import NOBODY, change, check_refused, swapped, without
from tests.services.test_forged_facts import doubled, moved

from anaphora.domain.jobs import JobKind, JobState
from anaphora.domain.messages import ReceiptState
from anaphora.domain.topics import Closed, Opened
from anaphora.memory import Memory
from anaphora.testing import FakeClock
from anaphora.testing.scripted import ScriptedChat

pytestmark = pytest.mark.anyio

Forge = Callable[[list[str]], list[str]]


async def due(memory: Memory) -> set[JobKind]:
    """What is to be done."""
    return {job.kind for job in await memory.jobs.list(states=[JobState.QUEUED, JobState.RUNNING])}


async def with_vectors(memory: Memory) -> int:
    """How many topics have any."""

    def count(unit: Any) -> int:
        found: int = unit.topics._run(sa.text("SELECT count(DISTINCT topic_id) FROM topic_vectors")).scalar_one()
        return found

    return await memory._services.store.read("t", count)


# -- there and back ----------------------------------------------------------------------------------------------------


async def test_topics_of_every_kind_come_back_to_the_byte_and_nothing_is_asked_again(tmp_path: Path) -> None:
    clock, model = FakeClock(), ScriptedChat(following)
    async with two(tmp_path, clock, chat=model, **TOPICS) as (here, there):
        chat, twin = conversation(here), conversation(there)
        await all_of_it(here, chat)
        lines = await exported(here)
        found = await topics(here, chat)
        assert {topic.opened for topic in found} == set(Opened) - {Opened.AGAIN}
        assert {topic.closed for topic in found} == set(Closed)
        assert (await here.topics.list(user="u", agent="a", session="s"))[0].opened is Opened.AGAIN
        assert json.loads(lines[-1])["topics"] == len(of_kind(lines, "topic")) == 4
        asked = len(model.prompts)
        await there.restore(lines)
        assert await exported(there) == lines
        assert broken(there) == broken(here) == []
        for as_of in (None, 12, 10, 5, 0):
            assert await seen(twin, as_of) == await seen(chat, as_of)
        await there.work()
        assert len(model.prompts) == asked
        assert await exported(there) == lines
        await there.restore(lines)
        assert await exported(there) == lines


async def test_an_export_without_topics_says_nothing_of_them(tmp_path: Path) -> None:
    async with opened(tmp_path, chat=ScriptedChat(following), **TOPICS) as memory:
        await conversation(memory).add("user", "hello")
        assert "topics" not in json.loads((await exported(memory))[-1])


async def test_topics_that_were_not_described_or_changed_since_are_exported_as_they_are(tmp_path: Path) -> None:
    model = ScriptedChat(dividing)
    async with two(tmp_path, chat=model, **TOPICS) as (here, there):
        chat, twin = conversation(here), conversation(there)
        await talk(chat)
        for _ in range(3):  # followed, and two of three topics described
            await here._services.worker.step()
        await chat.edit(0, "My beans have yellow leaves.")
        lines = await exported(here)
        assert [(record.get("stale", False), "summary" in record) for record in of_kind(lines, "topic")] == [
            (True, True),
            (False, True),
            (False, False),
        ]
        await there.restore(lines)
        assert await exported(there) == lines
        assert JobKind.DESCRIBE in await due(there)
        await there.work()
        assert [topic.stale or topic.summary is None for topic in await topics(there, twin)] == [False] * 3
        assert "bean" in (await topics(there, twin))[0].words
        assert broken(there) == []


async def test_a_hole_of_deleted_messages_and_what_went_back_to_them_come_back(tmp_path: Path) -> None:
    """The topic in it is gone; others still name it."""
    async with two(tmp_path, chat=ScriptedChat(following), **TOPICS) as (here, there):
        chat = conversation(here)
        await all_of_it(here, chat)
        for seq in (0, 1):
            await chat.delete(seq)
        await here.work()
        first, *_ = await topics(here, chat)
        assert (first.range.start, first.closed) == (2, Closed.RETURN)
        assert broken(here) == []
        lines = await exported(here)
        await there.restore(lines)
        assert await exported(there) == lines
        assert broken(there) == []
        await there.work()
        assert await exported(there) == lines


async def test_what_no_model_described_waits_for_one_where_it_is_imported(tmp_path: Path) -> None:
    clock = FakeClock()
    (tmp_path / "quiet").mkdir()
    async with opened(tmp_path / "quiet", clock=clock, **TOPICS) as quiet:
        await talk(conversation(quiet))
        await conversation(quiet).end()
        await quiet.work()
        lines = await exported(quiet)
        assert {record["method"] for record in of_kind(lines, "topic")} == {"extractive"}
    (tmp_path / "loud").mkdir()
    async with opened(tmp_path / "loud", chat=ScriptedChat(following), clock=clock, **TOPICS) as loud:
        await loud.restore(lines)
        assert JobKind.DESCRIBE in await due(loud)
        await clock.advance(1000)
        await loud.work()
        assert {topic.method.value for topic in await topics(loud, conversation(loud)) if topic.method} == {"model"}
        assert broken(loud) == []


async def test_what_was_not_followed_yet_is_followed_where_it_is_imported(tmp_path: Path) -> None:
    async with two(tmp_path, chat=ScriptedChat(following), **TOPICS) as (here, there):
        await talk(conversation(here))
        await there.restore(await exported(here))
        assert JobKind.FOLLOW in await due(there)
        await there.work()
        await here.work()
        ranges = [topic.range for topic in await topics(here, conversation(here))]
        assert [topic.range for topic in await topics(there, conversation(there))] == ranges != []


async def test_a_log_that_is_not_the_exported_one_gets_topics_of_its_own(tmp_path: Path) -> None:
    async with two(tmp_path, chat=ScriptedChat(following), **TOPICS) as (here, there):
        chat, twin = conversation(here), conversation(there)
        await talk(chat)
        first = await exported(here)
        await there.restore(first)
        await there.work()
        own = await topics(there, twin)
        await here.work()
        await talk(chat, "Now, is it going to rain?", "No.")
        await here.work()
        await there.restore(await exported(here))
        assert [topic.id for topic in await topics(there, twin)][: len(own)] == [topic.id for topic in own]
        await there.work()
        assert broken(there) == []


async def test_a_reset_leaves_no_topic_in_an_export(tmp_path: Path) -> None:
    async with opened(tmp_path, chat=ScriptedChat(following), **TOPICS) as memory:
        chat = conversation(memory)
        await all_of_it(memory, chat)
        await chat.reset()
        assert of_kind(await exported(memory), "topic") == []
        assert broken(memory) == []


# -- what they mean ----------------------------------------------------------------------------------------------------


async def test_what_restored_topics_mean_is_computed_where_they_are(tmp_path: Path) -> None:
    """All of them, however many one claim takes on."""
    given: dict[str, Any] = {**TOPICS, "chat": ScriptedChat(following), "embedder": "local"}
    async with two(tmp_path, **given) as (here, there):
        chat = conversation(here)
        for at in range(20):
            await talk(chat, f"Now it is about number {at} of all.", "Noted.")
        await here.work()
        found = await topics(here, chat)
        assert len(found) == 19
        lines = await exported(here)
        await there.restore(lines)

        assert (await with_vectors(here), await with_vectors(there)) == (19, 0)
        await there.work()
        assert await with_vectors(there) == 19
        assert await exported(there) == lines
        assert broken(there) == []


# -- receipts ----------------------------------------------------------------------------------------------------------


async def test_a_receipt_tells_whether_its_topic_is_described(tmp_path: Path) -> None:
    model = ScriptedChat(dividing)
    async with opened(tmp_path, chat=model, **TOPICS) as memory:
        chat = conversation(memory)
        texts = ("My tomatoes are ill.", "Oh no.", "Now my car is flat.", "Oh dear.", "Now it is raining.", "Oh.")
        receipts = [await chat.add(("user", "assistant")[at % 2], said) for at, said in enumerate(texts)]

        async def states() -> str:
            return "".join([(await memory.receipt(receipt.id)).value[0] for receipt in receipts])

        assert await states() == "aaaaaa"
        await memory._services.worker.step()
        assert [topic.summary for topic in await topics(memory, chat)] == [None, None]
        assert await states() == "aaaaaa"
        await memory._services.worker.step()
        assert await states() == "ssaaaa"
        await memory.work()
        assert await states() == "ssssaa"
        await chat.edit(2, "Now my bike is flat.")
        assert await states() == "ssssaa"  # the old description is shown until there is another
        await chat.delete(5)
        assert await memory.receipt(receipts[5].id) is ReceiptState.DELETED
        both = await chat.add_turn([{"role": "user", "content": "Now what?"}, {"role": "assistant", "content": "Ah."}])
        await chat.end()
        await memory.work()
        assert await memory.receipt(both.id) is ReceiptState.SUMMARISED
        await chat.reset()
        assert await memory.receipt(both.id) is ReceiptState.ERASED


# -- forged ------------------------------------------------------------------------------------------------------------


def topic(at: int, **values: Any) -> Forge:
    """Other values in the topic with this number."""
    return change("topic", at, **values)


def not_followed(lines: list[str]) -> list[str]:
    return without("move", -1)(change("move", position=9)(lines))


FORGED: list[tuple[str, Forge, str]] = [
    ("messages that were never said", topic(3, range=[8, 900]), "range: expected messages of this session"),
    ("no messages", topic(0, range=[0, 0]), "range: expected messages of this session"),
    ("two that overlap", topic(1, range=[1, 4]), "range: expected messages of this session behind"),
    ("a topic twice", doubled("topic"), "range: expected messages of this session behind"),
    ("topics swapped", swapped("topic"), "range: (messages between|expected messages)"),
    ("a hole", topic(1, range=[3, 4]), "range: messages between two topics are in none"),
    ("a topic less", without("topic", 1), "range: messages between two topics are in none"),
    ("none at the beginning", without("topic"), "range: messages between two topics are in none"),
    ("an id twice", lambda x: topic(1, id=of_kind(x, "topic")[0]["id"])(x), "id: another topic has it"),
    ("a beginning of another program", topic(0, opened="dreamt"), "opened: input should be"),
    ("no first", topic(0, opened="shift"), "opened: expected `first`"),
    ("a second first", topic(1, opened="first"), "opened: expected `first`"),
    ("a beginning that no end fits", topic(1, opened="full"), "opened: expected what the end of the topic before"),
    ("an end that no beginning fits", topic(0, closed="full"), "opened: expected what the end of the topic before"),
    ("a return from nowhere", topic(2, continues=None), "continues: expected of a topic that goes back"),
    ("a return to nowhere", topic(1, leads_to=None), "leads_to: expected of a topic that ended with a return"),
    ("no return", topic(0, leads_to=NOBODY), "leads_to: expected of a topic that ended with a return"),
    ("a return to nobody", topic(1, leads_to=NOBODY), "leads_to: expected an earlier topic"),
    ("a return to itself", lambda x: topic(1, leads_to=of_kind(x, "topic")[1]["id"])(x), "leads_to: expected an"),
    ("a return to a later one", lambda x: topic(1, leads_to=of_kind(x, "topic")[2]["id"])(x), "leads_to: expected an"),
    ("closed in the future", topic(0, closed_head=900), "closed_head: expected a length that the session had"),
    ("closed before it was said", topic(3, closed_head=9), "closed_head: expected a length that the session had"),
    ("described in the future", topic(0, described_head=900), "described_head: expected a length"),
    ("described by nobody", topic(0, method=None), "summary: expected with its method and when"),
    ("described at no time", topic(0, described_at=None), "summary: expected with its method and when"),
    ("described by nothing", topic(0, summary=""), "summary: string should have at least 1"),
    (
        "a name and nothing else",
        topic(0, summary=None, method=None, described_at=None, described_head=None),
        "name: expected of a topic that is described",
    ),
    ("another field", topic(0, colour="red"), "colour: extra inputs"),
    ("a word that is none", topic(0, words=[""]), r"words\[0\]: string should have at least 1"),
    ("a topic behind a move", moved("move", before="topic"), "topics stand before the moves of readers"),
    ("topics that nobody followed", not_followed, "has a topic of messages that nobody has followed"),
    ("who follows went back", change("move", -1, position=1), "position: who follows topics only goes on"),
    (
        "who follows has a version",
        change("move", summary_id=NOBODY),
        "summary_id: who follows topics makes no",
    ),
    ("wrong counts", change("end", topics=7), "the counts are not"),
]


@pytest.mark.parametrize(("forge", "says"), [case[1:] for case in FORGED], ids=[case[0] for case in FORGED])
async def test_forged_topics_are_refused_before_anything_is_written(
    forge: Forge, says: str, talked: list[str], tmp_path: Path
) -> None:
    forged = resummed(forge(talked))
    assert forged != talked
    await check_refused(tmp_path, forged, rf"^line \d+: (?:.*\b)?(?:{says})")


@pytest.fixture(scope="module")
async def talked(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """An export with a topic of each kind, of a session that goes on."""
    folder = tmp_path_factory.mktemp("talked")
    async with opened(folder, chat=ScriptedChat(following), clock=FakeClock(), **TOPICS) as memory:
        await all_of_it(memory, conversation(memory))
        return await exported(memory)


# -- what the doctor finds ---------------------------------------------------------------------------------------------

_GOES_BACK = "UPDATE topics SET continues = (SELECT id FROM topics WHERE start = {}) WHERE start = 4"
_LEADS = "UPDATE topics SET leads_to = (SELECT id FROM topics WHERE start = {}) WHERE start = 2"
_TO_NOBODY = "UPDATE topics SET leads_to = session_uid WHERE start = 2"
BREACHES = [
    ("UPDATE topics SET stop = 3 WHERE start = 0", "topics that overlap"),
    ("UPDATE topics SET stop = 1 WHERE start = 0", "topics before which messages are in none"),
    ("DELETE FROM topics WHERE start = 2", "topics before which messages are in none"),
    ("UPDATE topics SET start = 3 WHERE start = 2", "topics before which messages are in none"),
    ("UPDATE topics SET stop = 900 WHERE start = 8", "topics beyond the log"),
    ("UPDATE topics SET stop = 11 WHERE start = 8; UPDATE heads SET position = 10", "topics of what was not followed"),
    ("DELETE FROM heads", "topics of what was not followed"),
    ("UPDATE topics SET opened = 'shift' WHERE start = 0", "topics that do not begin as a topic there does"),
    ("UPDATE topics SET opened = 'first' WHERE start = 2", "topics that do not begin as a topic there does"),
    ("UPDATE topics SET continues = NULL WHERE start = 4", "topics that do not begin as a topic there does"),
    ("UPDATE topics SET opened = 'again' WHERE start = 2", "topics that do not begin as the one before ended"),
    ("UPDATE topics SET closed = 'full' WHERE start = 0", "topics that do not begin as the one before ended"),
    (_GOES_BACK.format(2), "as the one before ended"),
    (_GOES_BACK.format(8), "topics that go back to none before"),
    (_LEADS.format(2), "topics that lead to none before them"),
    (_LEADS.format(100), "topics that lead to none before them"),
    (_GOES_BACK.format(100), "topics that go back to none before"),
    (_TO_NOBODY, "topics that lead to none before them"),
    ("UPDATE topics SET summary = NULL, described_at = NULL", "topics that are not described and mean something"),
]
#: another session, with a topic that this one has nothing to do with
_ELSEWHERE = """
INSERT INTO topics (tenant_id, id, session_uid, start, stop, opened, closed, tokens, words, trust, stale, first_at,
 last_at, closed_at, closed_head)
SELECT topics.tenant_id, sessions.id, sessions.id, 100, 101, 'shift', 'shift', 0, words, trust, stale, first_at,
 last_at, closed_at, 101 FROM topics JOIN sessions ON sessions.session_id = 'other' WHERE start = 8
"""


@pytest.mark.parametrize(("changes", "says"), BREACHES, ids=[str(at) for at in range(len(BREACHES))])
async def test_the_doctor_names_what_is_wrong_with_topics(changes: str, says: str, tmp_path: Path) -> None:
    async with opened(
        tmp_path, chat=ScriptedChat(following), clock=FakeClock(), **{**TOPICS, "embedder": "local"}
    ) as memory:
        await all_of_it(memory, conversation(memory))
        await conversation(memory, session="other").add("user", "hello")
        await memory.work()
        assert broken(memory) == []

        def harm(unit: Any) -> None:
            elsewhere = [_ELSEWHERE] if "= 100)" in changes else []
            for statement in (*elsewhere, *changes.split("; ")):
                unit.topics._run(sa.text(statement))

        await memory._services.store.write("t", harm)
        assert says in str([found for found in broken(memory) if found.startswith("topics ")])
