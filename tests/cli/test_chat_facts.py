"""What is remembered while somebody talks: shown after the turn, listed, taken back."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import anyio
import pytest
from tests.cli.test_chat import Entry, Typed, a_model, settings, talked, view

from anaphora import Memory
from anaphora.cli.chat import reading
from anaphora.domain.facts import Fact, FactState
from anaphora.domain.jobs import JobKind
from anaphora.domain.messages import Trust
from anaphora.prompts.summary_and_facts import TITLE
from anaphora.settings import load
from anaphora.testing.extractions import extraction_answer
from anaphora.testing.model_server import ScriptedModelServer
from anaphora.testing.scripted import ScriptedChat

pytestmark = pytest.mark.anyio

READS: Mapping[str, Any] = {TITLE: lambda request: extraction_answer(request.last_user_text)}
#: no summary is ever due, so that every other call is one that reads for facts
APART: Mapping[str, Any] = {
    "extraction": "turn",
    "rolling_pairs": {"window_pairs": 32, "min_messages_for_summary": 1000},
}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


async def facts(*states: FactState, user: str = "mara") -> list[Fact]:
    async with Memory.open(settings=settings(), worker=False) as memory:
        return list(await memory.facts.list(user=user, states=states or tuple(FactState)))


async def held(*wanted: str) -> None:
    """Return when the database holds these facts, in whatever state."""
    async with Memory.open(settings=settings(), worker=False) as memory:
        with anyio.fail_after(20):
            while True:
                found = await memory.facts.list(user="mara", states=tuple(FactState))
                if set(wanted) <= {fact.content for fact in found}:
                    return
                await anyio.sleep(0.02)


def until(*wanted: str) -> Entry:
    """An entry that waits for these facts."""
    return partial(held, *wanted)


async def told(*said: str, session: str = "before") -> None:
    """Facts of another talk."""
    how = settings(**APART)
    async with Memory.open(settings=how, memory_model=ScriptedChat(), worker=False) as memory:
        chat = memory.session(user="mara", session=session)
        for text in said:
            await chat.add_turn([{"role": "user", "content": text}])
            await memory.work()


def remembered(shown: str) -> list[str]:
    return [line.strip() for line in shown.splitlines() if line.startswith("  remembered")]


# -- how sessions are read -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "extraction"),
    [
        ({}, "turn"),
        ({"extraction": "batch"}, "batch"),
        ({"extraction": "none"}, "none"),
        ({"model": "openai:m"}, "batch"),
        ({"memory_model": "openai:m"}, "batch"),
        ({"tasks": {"extract": {"model": "openai:m"}}}, "batch"),
        ({"agents": {"default": {"memory": {"model": "openai:m"}}}}, "batch"),
        ({"agents": {"other": {"memory": {"model": "openai:m"}}}}, "turn"),
    ],
)
async def test_each_turn_is_read_at_once_where_that_costs_nothing_and_nobody_said_otherwise(
    flags: dict[str, Any], extraction: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANAPHORA_EXTRACTION")
    assert reading(load(**flags)).extraction == extraction


async def test_the_environment_is_a_word_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANAPHORA_EXTRACTION", "batch")
    assert reading(load()).extraction == "batch"


# -- without a model -----------------------------------------------------------------------------------------------


async def test_without_a_model_what_is_said_plainly_is_remembered_after_the_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("ANAPHORA_EXTRACTION")
    shown = await talked(settings(), "I'm allergic to peanuts.", "What is the time?")
    (line,) = remembered(shown)
    assert "peanuts" in line
    assert line.endswith("(/undo)")
    assert shown.index(line) < shown.rindex("  context"), "it stands after its own turn"
    (fact,) = await facts(FactState.ACTIVE)
    (source,) = fact.sources
    assert (source.key.session, source.seq, source.model) == ("1", 0, None)


async def test_undo_in_a_talk_without_a_model_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANAPHORA_EXTRACTION")
    said = "I'm allergic to peanuts."
    shown = await talked(settings(), said, "/undo", said)
    assert len(remembered(shown)) == 1, "it is not learned again"
    assert "it is not learned again" in shown
    assert await facts() == []


async def test_where_reading_is_switched_off_nothing_is_remembered() -> None:
    shown = await talked(settings(extraction="none"), "I'm allergic to peanuts.")
    assert remembered(shown) == []
    async with Memory.open(settings=settings(), worker=False) as memory:
        assert [job for job in await memory.jobs.list() if job.kind is JobKind.EXTRACT] == []
    assert await facts() == []


async def test_a_turn_without_an_answer_is_a_whole_turn() -> None:
    """It would else be read when the next one comes."""
    await talked(settings(), "one", "two")
    async with Memory.open(settings=settings(), worker=False) as memory:
        (row,) = await memory.sessions(user="mara")
        assert (row.head, row.turns, row.turn_finished) == (2, 2, True)


# -- with a model --------------------------------------------------------------------------------------------------


async def test_what_was_learned_is_shown_once() -> None:
    figs, chess = "The user likes figs", "The user plays chess"
    with ScriptedModelServer(responders=READS) as server:
        shown = await talked(
            a_model(server, **APART), "I like figs.", until(figs), "I play chess.", until(figs, chess), "Well.", "So."
        )
    assert remembered(shown) == [f"remembered: {figs} (/undo)", f"remembered: {chess} (/undo)"]


async def test_what_was_learned_last_is_shown_at_the_end() -> None:
    with ScriptedModelServer(responders=READS) as server:
        shown = await talked(a_model(server, **APART), "I like figs.", until("The user likes figs"), "/end")
    assert remembered(shown) == ["remembered: The user likes figs (/undo)"]
    assert shown.splitlines()[-1].startswith("Session 1 is ended")


async def test_undo_takes_back_what_was_shown_last_and_then_what_was_shown_before() -> None:
    figs, chess = "The user likes figs", "The user plays chess"
    with ScriptedModelServer(responders=READS) as server:
        entries: list[Entry] = ["I like figs.", until(figs), "I play chess.", until(figs, chess), "Well."]
        how = a_model(server, **APART)
        once = await talked(how, *entries, "/undo", session="a")
        assert f"forgotten: {chess}; it is not learned again" in once
        assert [fact.content for fact in await facts()] == [figs]
    with ScriptedModelServer(responders=READS) as server:
        entries = ["I play go.", until("The user plays go"), "I hate noise.", until("The user hates noise"), "Well."]
        shown = await talked(a_model(server, **APART), *entries, "/undo", "/undo", "/undo", session="b")
    assert "forgotten: The user hates noise" in shown
    assert "forgotten: The user plays go" in shown
    assert shown.count("nothing was remembered in this talk") == 1
    assert [fact.content for fact in await facts()] == [figs]


async def test_undo_of_a_fact_that_was_changed_since_takes_the_change_back_first() -> None:
    async def pinned() -> None:
        (fact,) = await facts()
        async with Memory.open(settings=settings(), worker=False) as memory:
            await memory.facts.edit(fact.id, user="mara", content="Likes plums")

    with ScriptedModelServer(responders=READS) as server:
        entries: list[Entry] = ["I like figs.", until("The user likes figs"), "Well.", pinned, "/undo", "/undo"]
        shown = await talked(a_model(server, **APART), *entries)
    first, second = shown.index("its last change is taken back: The user likes figs"), shown.index("forgotten: ")
    assert first < second
    assert await facts() == []


async def test_undo_passes_over_what_somebody_else_has_deleted() -> None:
    async def deleted() -> None:
        newest, _ = await facts()
        async with Memory.open(settings=settings(), worker=False) as memory:
            await memory.facts.delete(newest.id, user="mara")

    figs, chess = "The user likes figs", "The user plays chess"
    with ScriptedModelServer(responders=READS) as server:
        entries: list[Entry] = ["I like figs.", until(figs), "I play chess.", until(figs, chess), "Well.", deleted]
        shown = await talked(a_model(server, **APART), *entries, "/undo")
    assert f"forgotten: {figs}" in shown
    assert await facts() == []


async def test_a_doubtful_fact_is_shown_as_such() -> None:
    async with Memory.open(settings=settings(), worker=False) as memory:
        await memory.facts.add("Lives in Paris", user="mara")
    with ScriptedModelServer(responders=READS) as server:
        entries: list[Entry] = ["I live in Lisbon.", until("The user lives in Lisbon"), "Well.", "/memory"]
        shown = await talked(a_model(server, **APART), *entries)
    assert remembered(shown) == ["remembered, to be confirmed: The user lives in Lisbon (/undo)"]
    assert "The user lives in Lisbon (other, review)" in shown
    assert "Lives in Paris (other, confirmed)" in shown


async def test_only_what_this_session_taught_is_news() -> None:
    await told("I like figs.", session="1")

    async def elsewhere() -> None:
        await told("I play chess.", session="other")
        # the worker of the talk may have taken the job
        await held("The user plays chess")

    async def added() -> None:
        async with Memory.open(settings=settings(), worker=False) as memory:
            await memory.facts.add("Works in a mill", user="mara")

    how = settings(extraction="turn")
    shown = await talked(how, "one", elsewhere, "two", added, "three", "/undo", resume=True)
    assert len(await facts()) == 3
    assert remembered(shown) == []
    assert "nothing was remembered in this talk: /memory shows what is known" in shown


# -- what is known -------------------------------------------------------------------------------------------------


async def test_memory_lists_what_is_known_pinned_first_and_nothing_that_is_over() -> None:
    await told("I like figs.", "I live in Lisbon.", "I live in Porto.", "I play chess.")
    async with Memory.open(settings=settings(), worker=False) as memory:
        (figs,) = [fact for fact in await facts() if "figs" in fact.content]
        await memory.facts.pin(figs.id, user="mara")
        await memory.facts.add("Is somebody else", user="bob")
    shown = await talked(settings(), "/memory")
    listed = [line.split("  ", 2)[-1] for line in shown.splitlines() if line.startswith("  ") and "The user" in line]
    assert listed == [
        "The user likes figs (preference, pinned)",
        "The user plays chess (hobby)",
        "The user lives in Porto (other)",
    ]
    assert figs.id.hex[-8:] in shown
    assert "`anaphora facts`" in shown
    assert "somebody else" not in shown


async def test_memory_of_nobody_says_so() -> None:
    assert "Nothing is known of mara yet." in await talked(settings(), "/memory")


async def test_the_notepad_is_shown_as_it_is_now() -> None:
    assert "Nothing is noted:" in await talked(settings(), "/notepad")
    async with Memory.open(settings=settings(), worker=False) as memory:
        await memory.notepad.edit("- Learns the cello.", user="mara")
    shown = await talked(settings(), "/notepad")
    assert "- Learns the cello." in shown
    assert "version 1, written by the user" in shown


async def test_what_others_share_is_listed_with_their_names() -> None:
    async with Memory.open(settings=settings(), worker=False) as memory:
        await memory.subjects.create("rex", user="bob", members=["mara"])
        fact = await memory.facts.add("Barks at night", user="bob", subject="rex")
        await memory.facts.share(fact.id, user="bob")
    assert "Barks at night (other, shared, confirmed, by bob, about rex)" in await talked(settings(), "/memory")


async def test_more_facts_than_fit_are_counted() -> None:
    moment = datetime(2026, 1, 5, tzinfo=UTC)
    many = [
        Fact(
            id=UUID(int=number),
            owner="mara",
            agent=None,
            category="other",
            content=f"Owns book number {number}",
            trust=Trust.OWNER_SAID,
            valid_from=moment,
            created_at=moment,
            updated_at=moment,
        )
        for number in range(103)
    ]
    shows, screen = view()
    shows.known(many, user="mara")
    shown = screen.getvalue()
    assert shown.count("Owns book number") == 100
    assert "  3 more; `anaphora facts` corrects" in shown


async def test_what_a_fact_says_cannot_play_with_the_terminal() -> None:
    async with Memory.open(settings=settings(), worker=False) as memory:
        await memory.facts.add("Likes \x1b[2J\x1b]0;owned\x07 figs", user="mara")
    shown = await talked(settings(), "/memory")
    assert "\\x1b[2J" in shown
    assert "\x1b" not in shown
    assert "\x07" not in shown


async def test_a_temporary_talk_knows_nothing_of_the_memory_and_leaves_nothing_in_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("ANAPHORA_EXTRACTION")
    await told("I like figs.")
    source = Typed(["/temp", "/memory", "I'm allergic to peanuts.", "/undo", "I'm allergic to zebras.", "/temp"])
    source.entries += ["/undo", "/memory"]
    shown = await talked(settings(), source=source)
    inside, after = shown.split("Temporary: ")[1].split("is forgotten")
    assert "Nothing is known of mara yet." in inside
    assert "forgotten: " in inside
    assert len(remembered(inside)) == 2
    assert "nothing was remembered in this talk" in after
    assert "The user likes figs" in after
    assert "zebras" not in after
    assert [fact.content for fact in await facts()] == ["The user likes figs"]
