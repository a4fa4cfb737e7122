"""Streams that are left early, forgotten or cut off, and Ctrl-C in the middle of a call."""

from __future__ import annotations

import gc
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from tests.sync.programs import INTERRUPTED, Halting, Stuck, conversation, ctrl_c_once, log_of, opened

from anaphora.errors import StoreClosed
from anaphora.testing.scripted import ScriptedChat


def test_each_piece_is_made_when_it_is_asked_for(tmp_path: Path) -> None:
    made = []

    class Counting(ScriptedChat):
        async def stream(self, *args: Any, **options: Any) -> Any:
            async for word in super().stream(*args, **options):
                made.append(word)
                yield word

    with opened(tmp_path, chat_model=Counting()) as memory:
        pieces = conversation(memory).stream("one two three")
        assert len(conversation(memory).messages()) == 0, "nothing happens before it is asked"
        for count in range(1, 6):
            assert next(pieces) == made[-1]
            assert len(made) == count
        assert list(pieces) == []
        assert [m.content for m in conversation(memory).messages()] == ["one two three", "".join(made)]


def test_a_stream_that_is_left_early_is_stored_as_far_as_it_came(tmp_path: Path) -> None:
    with opened(tmp_path, chat_model=ScriptedChat()) as memory:
        session = conversation(memory)
        for piece in session.stream("one two three"):
            if piece == "said: ":
                break
        assert [(m.content, m.metadata) for m in session.messages()][1:] == [("You said: ", INTERRUPTED)]
        assert session.send(None).text.strip() == "You said: one two three", "and the session can go on"


def test_an_unfinished_stream_is_stored_when_the_memory_is_closed(tmp_path: Path) -> None:
    with opened(tmp_path, chat_model=ScriptedChat()) as memory:
        pieces = conversation(memory).stream("one two three")
        assert next(pieces) == "You "
        started = time.monotonic()
    assert time.monotonic() - started < 3, "nobody waits for a stream that nobody reads"
    with pytest.raises(StoreClosed):
        next(pieces)
    pieces.close()
    assert [(m.content, m.metadata) for m in log_of(tmp_path)][1:] == [("You ", INTERRUPTED)]


def test_a_stream_may_be_closed_after_its_memory(tmp_path: Path) -> None:
    with opened(tmp_path, chat_model=ScriptedChat()) as memory:
        pieces = conversation(memory).stream("one two three")
        assert next(pieces) == "You "
    pieces.close()
    assert len(log_of(tmp_path)) == 2


def test_a_forgotten_stream_is_closed_even_in_the_memorys_own_thread(tmp_path: Path) -> None:
    """The garbage collector runs in whatever thread happens to be busy."""
    forgotten: list[Any] = []
    chat = ScriptedChat()
    with opened(tmp_path, chat_model=chat) as memory:
        forgotten.append(conversation(memory).stream("one two three"))
        assert next(forgotten[0]) == "You "

        def forget(*_: object) -> str:
            forgotten.clear()
            gc.collect()
            return "done"

        chat.script = forget
        assert conversation(memory, "other").send("hello").text.strip() == "done"
        deadline = time.monotonic() + 10
        while len(conversation(memory).messages()) < 2:
            assert time.monotonic() < deadline
        assert conversation(memory).messages()[1].metadata == INTERRUPTED


def test_ctrl_c_while_a_model_thinks_keeps_the_question(tmp_path: Path) -> None:
    stuck, chat = Stuck(), ScriptedChat()
    with opened(tmp_path, chat_model=chat) as memory:
        session, chat.pause = conversation(memory), stuck
        with pytest.raises(KeyboardInterrupt), ctrl_c_once(stuck.began):
            session.send("hello")
        assert stuck.given_up.is_set(), "the call has come to its end before the interrupt goes on"
        chat.pause = ScriptedChat().pause
        assert session.send(None).text.strip() == "You said: hello"
    assert [m.content.strip() for m in log_of(tmp_path)] == ["hello", "You said: hello"]


def test_ctrl_c_in_a_stream_keeps_what_came(tmp_path: Path) -> None:
    chat = Halting()
    with opened(tmp_path, chat_model=chat) as memory:
        session = conversation(memory)
        with pytest.raises(KeyboardInterrupt), ctrl_c_once(chat.stuck.began):
            list(session.stream("one two three"))
        assert [(m.content, m.metadata) for m in session.messages()][1:] == [("You said: ", INTERRUPTED)]
    assert len(log_of(tmp_path)) == 2


def test_ctrl_c_through_everything_at_once_keeps_what_came(tmp_path: Path) -> None:
    chat = Halting()
    with pytest.raises(KeyboardInterrupt), opened(tmp_path, chat_model=chat) as memory, ctrl_c_once(chat.stuck.began):
        list(conversation(memory).stream("one two three"))
    assert [(m.content, m.metadata) for m in log_of(tmp_path)][1:] == [("You said: ", INTERRUPTED)]


def test_ctrl_c_among_appends_loses_none_that_was_acknowledged(tmp_path: Path) -> None:
    receipts: list[int] = []
    many = threading.Event()

    def program() -> None:
        with opened(tmp_path) as memory, ctrl_c_once(many):
            session = conversation(memory)
            for n in range(100_000):
                receipts.append(session.add("user", f"{n}").seq)
                if n == 50:
                    many.set()

    with pytest.raises(KeyboardInterrupt):
        program()
    log = log_of(tmp_path)
    assert receipts == list(range(len(receipts)))
    assert len(receipts) <= len(log) <= len(receipts) + 1
    assert [(m.seq, m.content) for m in log] == [(n, f"{n}") for n in range(len(log))]
