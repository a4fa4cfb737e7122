"""Talking in one process: lines come from a list, what is shown goes to a string."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest
from rich.console import Console

from anaphora import Memory, Message
from anaphora.cli.chat import Wanted, talk_with
from anaphora.cli.chat_input import StopPressed
from anaphora.cli.chat_talk import Manner, Room, Talk
from anaphora.cli.chat_view import ChatView
from anaphora.domain.wire import PromptMessage
from anaphora.errors import ModelUnavailable
from anaphora.ports.models import Completion
from anaphora.settings import Settings, load
from anaphora.testing.faults import Reply, ServerError
from anaphora.testing.model_server import Request, ScriptedModelServer

pytestmark = pytest.mark.anyio

Entry = str | type[Exception] | Callable[[], Awaitable[None]]


@dataclass
class Typed:
    """A person who types these entries; a function among them is done in between."""

    entries: list[Entry]
    interactive: bool = True
    asked: list[str] = field(default_factory=list)
    recalled: list[Sequence[str]] = field(default_factory=list)

    async def read(self, prompt: str) -> str:
        self.asked.append(prompt)
        while self.entries and not isinstance(self.entries[0], str | type):
            await self.entries[0]()
            self.entries.pop(0)
        if not self.entries:
            raise EOFError
        entry = self.entries.pop(0)
        if isinstance(entry, type):
            raise entry
        assert isinstance(entry, str)
        return entry

    def recall(self, entries: Sequence[str]) -> None:
        self.recalled.append(entries)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def settings(**flags: Any) -> Settings:
    return load(db="m.db", embedder="none", **flags)


def a_model(server: ScriptedModelServer, **flags: Any) -> Settings:
    return settings(model="openai:scripted", base_url=server.base_url, api_key="k", **flags)


def view() -> tuple[ChatView, io.StringIO]:
    screen = io.StringIO()
    return ChatView(Console(file=screen, width=200)), screen


async def talked(how: Settings, *entries: Entry, source: Typed | None = None, **wanted: Any) -> str:
    """What is shown while somebody types these entries."""
    shows, screen = view()
    await talk_with(how, source or Typed(list(entries)), shows, Wanted(user="mara", **wanted))
    return screen.getvalue()


async def stored(session: str = "1") -> list[Message]:
    async with Memory.open(settings=settings(), worker=False) as memory:
        return list(await memory.session(user="mara", session=session).messages(limit=1000))


# -- without a model ---------------------------------------------------------------------------------------------


async def test_without_a_model_it_says_so_once_and_answers_with_dated_quotes() -> None:
    shown = await talked(settings(), "My violin is in the attic.", "Where is the violin?", "And the lighthouse?")
    assert shown.count("No language model is configured") == 1
    assert "ANAPHORA_MODEL" in shown
    assert shown.count("I have nothing about that yet.") == 2
    [quote] = [line for line in shown.splitlines() if "session 1, user:" in line]
    assert "“My violin is in the attic.”" in quote
    assert str((await stored())[0].created_at.astimezone().year) in quote


async def test_without_a_model_only_what_the_user_says_is_stored() -> None:
    await talked(settings(), "My violin is in the attic.", "Where is the violin?")
    assert [(m.role.value, m.content) for m in await stored()] == [
        ("user", "My violin is in the attic."),
        ("user", "Where is the violin?"),
    ]


async def test_no_more_than_three_quotes_are_shown() -> None:
    shown = await talked(settings(), *(f"fig number {n}" for n in range(6)), "any fig?")
    assert shown.splitlines()[-2:][0].startswith("  context")
    assert shown.rsplit("I remember:", 1)[1].count("“fig number") == 3


async def test_every_line_after_a_turn_accounts_for_all_messages() -> None:
    shown = await talked(settings(), *(f"message number {n} is about figs and walls. " * 6 for n in range(30)))
    lines = [line for line in shown.splitlines() if line.startswith("  context")]
    assert [f"all {n} message{'s' * (n > 1)} accounted for" in lines[n - 1] for n in range(1, 31)] == [True] * 30
    assert "% saved" in lines[-1]
    assert "summarised" in lines[-1]
    assert "degraded: model" in lines[-1]


# -- sessions ----------------------------------------------------------------------------------------------------


async def test_two_talks_are_two_sessions_with_the_numbers_one_and_two() -> None:
    first = await talked(settings(), "one")
    second = await talked(settings(), "two")
    assert first.startswith("mara, session 1 · ")
    assert second.startswith("mara, session 2 · ")
    assert ([m.content for m in await stored("1")], [m.content for m in await stored("2")]) == (["one"], ["two"])


async def test_continue_goes_on_with_the_newest_session_and_shows_its_last_words() -> None:
    await talked(settings(), "one")
    await talked(settings(), "two")
    source = Typed(["three"])
    shown = await talked(settings(), source=source, resume=True)
    assert shown.startswith("mara, session 2, 1 message so far")
    assert "user: two" in shown
    assert source.recalled == [["two"]]
    assert [m.content for m in await stored("2")] == ["two", "three"]


async def test_continue_without_a_session_begins_the_first() -> None:
    assert (await talked(settings(), "one", resume=True)).startswith("mara, session 1 · ")


async def test_a_session_can_be_named() -> None:
    await talked(settings(), "one", session="garden")
    assert [m.content for m in await stored("garden")] == ["one"]


@pytest.mark.parametrize("last", ["/end", "/quit", "/QUIT", EOFError])
async def test_a_session_is_ended_however_the_talk_ends(last: Entry) -> None:
    shown = await talked(settings(), "one", last, "never said")
    assert "Session 1 is ended, 1 message kept" in shown
    async with Memory.open(settings=settings(), worker=False) as memory:
        [row] = await memory.sessions(user="mara")
        assert row.ended_at is not None


async def test_a_first_ctrl_c_asks_and_a_second_one_leaves() -> None:
    shown = await talked(settings(), StopPressed, "one", StopPressed, StopPressed, "never said")
    assert shown.count("Ctrl-C again") == 2
    assert [m.content for m in await stored()] == ["one"]


async def test_a_long_silence_ends_the_session_once_and_a_word_reopens_it() -> None:
    async def silence() -> None:
        await anyio.sleep(0.3)

    shown = await talked(settings(idle_seconds=0.05), "one", silence, "two")
    assert shown.count("nothing was said for a while") == 1
    assert [m.content for m in await stored()] == ["one", "two"]


# -- commands ----------------------------------------------------------------------------------------------------


async def test_an_unknown_command_names_the_nearest_and_is_not_said() -> None:
    shown = await talked(settings(), "/sumaries", "/xyzzy")
    assert "unknown command '/sumaries': did you mean '/summaries'?" in shown
    assert await stored() == []


async def test_two_slashes_say_a_text_that_begins_with_one() -> None:
    await talked(settings(), "//etc is a folder", "   ", "")
    assert [m.content for m in await stored()] == ["/etc is a folder"]


@pytest.mark.parametrize(("answer", "left"), [("n", 2), ("", 2), (EOFError, 2), ("y", 0), ("YES", 0)])
async def test_reset_asks_first(answer: Entry, left: int) -> None:
    source = Typed(["one", "two", "/reset", answer])
    shown = await talked(settings(), source=source)
    assert "Delete all 2 messages of session 1, for good? [y/N] " in source.asked
    assert ("Cleared 2 messages from your history." in shown) == (left == 0)
    assert len(await stored()) == left


async def test_compact_summarises_what_is_due_and_else_says_that_nothing_is() -> None:
    entries = [f"message number {n} about figs and walls" for n in range(24)]
    shown = await talked(settings(), *entries, "/compact", "/compact", "/summaries")
    first, second = shown.split("Session 1")[0].rsplit("nothing due", 1)
    assert "nothing due" not in first
    assert "summarised" in first
    assert " ← v1  messages 0-" in second
    assert " says:" in second


async def test_export_writes_every_message_once_and_never_over_a_file() -> None:
    shown = await talked(settings(), "one", "zwei ü", "/export", "/export", "/export other.jsonl")
    lines = [json.loads(line) for line in Path("mara-1.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(line["seq"], line["role"], line["content"]) for line in lines] == [
        (0, "user", "one"),
        (1, "user", "zwei ü"),
    ]
    assert "2 messages in mara-1.jsonl" in shown
    assert "is there already" in shown
    assert Path("other.jsonl").read_bytes() == Path("mara-1.jsonl").read_bytes()


async def test_search_finds_what_was_said_in_any_session() -> None:
    await talked(settings(), "The violin is in the attic.")
    shown = await talked(settings(), "/search violin", "/search lighthouse", "/search")
    assert "session 1, user: “The violin is in the attic.”" in shown
    assert "nothing found for 'lighthouse'" in shown
    assert "say what to look for" in shown


async def test_a_temporary_talk_reads_and_writes_nothing_of_the_database() -> None:
    source = Typed(
        ["The violin is red.", "/temp", "my zebra", "Which violin?", "/search zebra", "/temp", "/search zebra"]
    )
    shown = await talked(settings(), source=source)
    inside, after = shown.split("Temporary: ")[1].split("is forgotten")
    assert "violin is red" not in inside
    assert "user: “my zebra”" in inside
    assert "nothing found for 'zebra'" in after
    assert [prompt for prompt in source.asked if prompt == "temp › "] == ["temp › "] * 4
    assert [m.content for m in await stored()] == ["The violin is red."]
    assert not [file.name for file in Path.cwd().iterdir() if b"zebra" in file.read_bytes()]


async def test_leaving_from_a_temporary_talk_ends_the_session_too() -> None:
    shown = await talked(settings(), "one", "/temp", "two", "/end", "three")
    assert "Session 1 is ended, 1 message kept" in shown


async def test_help_names_every_command() -> None:
    shown = await talked(settings(), "/help")
    names = ("context", "summaries", "compact", "reset", "retry", "export", "temp", "search", "end", "help")
    assert [name for name in names if f"  /{name} " not in shown] == []


# -- with a model ------------------------------------------------------------------------------------------------


async def test_an_answer_is_shown_stored_and_accounted_for() -> None:
    with ScriptedModelServer() as server:
        shown = await talked(a_model(server), "Hello there")
    assert "No language model" not in shown
    assert "agent › You said: Hello there\n  context" in shown
    assert "all 2 messages accounted for" in shown
    assert [(m.role.value, m.content) for m in await stored()] == [
        ("user", "Hello there"),
        ("assistant", "You said: Hello there"),
    ]


async def test_context_shows_the_prompt_exactly_as_it_was_sent() -> None:
    with ScriptedModelServer() as server:
        shown = await talked(a_model(server, instructions="Be brief."), "Hello there", "And again", "/context")
        sent = [str(message["content"]) for message in server.requests[-1].messages]
    assert sent == ["Be brief.", "Hello there", "You said: Hello there", "And again"]
    _, _, listed = shown.partition("as it was sent:\n")
    assert [line for line in listed.splitlines() if not line.startswith(("──", "   ", "Session"))] == sent


async def test_after_an_error_of_the_server_the_message_is_kept_and_can_be_answered_again() -> None:
    with ScriptedModelServer() as server:
        source = Typed(["Hello there", "/retry", "/retry"])
        server.fail_next(ServerError())
        shown = await talked(a_model(server), source=source)
    [failed] = [line for line in shown.splitlines() if "/retry answers it again" in line]
    assert "your message is kept" in failed
    assert "agent › You said: Hello there" in shown
    assert "there is no unanswered message" in shown
    assert [m.content for m in await stored()] == ["Hello there", "You said: Hello there"]


async def test_what_a_model_writes_cannot_play_with_the_terminal() -> None:
    with ScriptedModelServer(lambda _: "\x1b[2J\x1b]0;owned\x07gone") as server:
        shown = await talked(a_model(server), "Hello")
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "\\x1b[2J" in shown


async def test_a_temporary_talk_does_not_take_the_model_away_from_the_session() -> None:
    with ScriptedModelServer() as server:
        shown = await talked(a_model(server), "one", "/temp", "two", "/temp", "three")
        asked = [[str(message["content"]) for message in request.messages] for request in server.requests]
    assert [f"You said: {word}" in shown for word in ("one", "two", "three")] == [True] * 3
    assert asked == [["one"], ["two"], ["one", "You said: one", "three"]]


async def until(holds: Callable[[], bool]) -> None:
    with anyio.fail_after(10):
        while not holds():
            await anyio.sleep(0.01)


def slowly(request: Request) -> Reply:
    return Reply(text="word " * 400, pause=0.02) if request.schema_title is None else Reply(text="{}")


async def test_ctrl_c_stops_an_answer_and_what_came_is_stored_and_marked() -> None:
    shows, screen = view()
    with ScriptedModelServer(slowly) as server:
        async with Memory.open(settings=a_model(server)) as memory:
            room = Room(memory=memory, session=await memory.new_session(user="mara"))
            talk = Talk(room, shows, Manner(with_model=True, idle_seconds=60))
            assert not talk.interrupt()
            async with anyio.create_task_group() as group:
                group.start_soon(talk.say, "Tell me a long story")
                await until(lambda: "word word" in screen.getvalue())
                assert talk.interrupt()
        assert server.wait_for_leavers(1)
    question, answer = await stored()
    assert question.content == "Tell me a long story"
    assert answer.metadata["interrupted"] is True
    assert 2 <= answer.content.count("word") < 400
    assert "interrupted: kept as far as it came" in screen.getvalue()
    assert "all 2 messages accounted for" in screen.getvalue()


class BreaksOff:
    """A model that is lost in the middle of its first answer."""

    name = "breaks-off"

    def __init__(self) -> None:
        self.prompts: list[list[str]] = []

    async def complete(self, messages: Sequence[PromptMessage], **_: Any) -> Completion:
        raise ModelUnavailable(f"no summary of {len(messages)} messages")

    async def stream(self, messages: Sequence[PromptMessage], **_: Any) -> AsyncGenerator[str]:
        self.prompts.append([message.content for message in messages])
        yield "The answer "
        if len(self.prompts) == 1:
            raise ModelUnavailable("the line is dead")
        yield "is 42."


async def test_an_answer_that_broke_off_can_be_asked_for_again() -> None:
    shows, screen = view()
    model = BreaksOff()
    async with Memory.open(settings=settings(), chat_model=model) as memory:
        room = Room(memory=memory, session=await memory.new_session(user="mara"))
        talk = Talk(room, shows, Manner(with_model=True, idle_seconds=60))
        await talk.say("What is the answer?")
        await talk.answer(None)
    assert "the line is dead; your message is kept" in screen.getvalue()
    assert "agent › The answer is 42." in screen.getvalue()
    assert model.prompts[1] == ["What is the answer?", "The answer ", "What is the answer?"]
    assert [(m.role.value, m.content, dict(m.metadata)) for m in await stored()] == [
        ("user", "What is the answer?", {}),
        ("assistant", "The answer ", {"interrupted": True}),
        ("assistant", "The answer is 42.", {}),
    ]
