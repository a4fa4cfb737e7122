"""Many threads, a running event loop, errors, and the end of a memory that others still use."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path

import anyio
import pytest
from tests.sync.programs import Stuck, conversation, in_a_thread, log_of, opened

from anaphora.bootstrap import Overrides
from anaphora.errors import ConfigError, InvalidInput, ModelUnavailable, NotFound, StoreClosed, StoreError
from anaphora.testing import RaiseAt
from anaphora.testing.scripted import ScriptedChat


def test_eight_threads_lose_no_receipt_and_leave_no_hole(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        session = conversation(memory)

        def write(thread: int) -> list[int]:
            return [session.add("user", f"{thread} {n}").seq for n in range(50)]

        with ThreadPoolExecutor(8) as threads:
            given = list(threads.map(write, range(8)))
        log = session.messages(limit=1000)
    assert sorted(seq for seqs in given for seq in seqs) == list(range(400))
    assert [m.seq for m in log] == list(range(400))
    for thread, seqs in enumerate(given):
        assert [log[seq].content for seq in seqs] == [f"{thread} {n}" for n in range(50)], "what its receipt says"


def test_sends_of_many_threads_leave_whole_turns(tmp_path: Path) -> None:
    with opened(tmp_path, chat_model=ScriptedChat()) as memory, ThreadPoolExecutor(4) as threads:
        session = conversation(memory)
        answers = list(threads.map(lambda n: session.send(f"question {n}").text, range(8)))
        log = session.messages()
    assert [text.strip() for text in answers] == [f"You said: question {n}" for n in range(8)]
    for question, answer in zip(log[::2], log[1::2], strict=True):
        assert answer.content.strip() == f"You said: {question.content}"


def test_a_call_may_be_made_where_an_event_loop_runs(tmp_path: Path) -> None:
    async def program() -> list[str]:
        with opened(tmp_path, chat_model=ScriptedChat()) as memory:
            session = conversation(memory)
            session.add("user", "hello")
            await asyncio.sleep(0)
            return [*session.stream("and"), session.messages()[0].content]

    assert asyncio.run(program()) == ["You ", "said: ", "and ", "hello"]


def test_a_call_in_the_memorys_own_loop_is_refused_instead_of_waiting_for_itself(tmp_path: Path) -> None:
    chat = ScriptedChat()
    with opened(tmp_path, chat_model=chat) as memory:
        session = conversation(memory)
        chat.script = lambda *_: session.messages()[0].content
        with pytest.raises(RuntimeError, match="event loop thread"):
            session.send("hello")
        assert len(session.messages()) == 1


def test_context_variables_of_the_caller_reach_the_model(tmp_path: Path) -> None:
    request = ContextVar("request", default="none")
    with opened(tmp_path, chat_model=ScriptedChat(lambda *_: request.get())) as memory:
        request.set("r1")
        assert conversation(memory).send("hello").text.strip() == "r1"


def test_errors_come_out_as_themselves(tmp_path: Path) -> None:
    def down(*_: object) -> str:
        raise ModelUnavailable("no answer", retry_after=7)

    with opened(tmp_path, chat_model=ScriptedChat(down)) as memory:
        session = conversation(memory)
        with pytest.raises(InvalidInput, match="did you mean 'user'"):
            session.add("usr", "hello")
        with pytest.raises(ModelUnavailable) as failed:
            session.send("hello")
        assert failed.value.retry_after == 7
        with pytest.raises(ModelUnavailable):
            next(session.stream("hello"))
        with pytest.raises(NotFound):
            memory.receipt(conversation(memory).add("user", "x").id, tenant="other")


def test_an_error_of_the_program_leaves_the_block_as_it_is(tmp_path: Path) -> None:
    def program() -> None:
        with opened(tmp_path) as memory:
            conversation(memory).add("user", "hello")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        program()
    assert len(log_of(tmp_path)) == 1


def test_a_model_that_ends_the_program_does_not_end_the_loop(tmp_path: Path) -> None:
    def leave(*_: object) -> str:
        raise SystemExit(3)

    before = set(threading.enumerate())
    with opened(tmp_path, chat_model=ScriptedChat(leave)) as memory:
        session = conversation(memory)
        with pytest.raises(SystemExit, match="3"):
            session.send("hello")
        with pytest.raises(SystemExit, match="3"):
            next(session.stream("hello"))
        assert len(session.messages()) == 2
    assert set(threading.enumerate()) == before


def test_what_cannot_be_opened_leaves_no_thread(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    with pytest.raises(ConfigError), opened(tmp_path, model="no-such-provider:x"):
        pass
    with pytest.raises(StoreError), opened(tmp_path / "no" / "folder"):
        pass
    assert set(threading.enumerate()) == before


def test_after_the_end_everything_says_that_the_memory_is_closed(tmp_path: Path) -> None:
    with opened(tmp_path, chat_model=ScriptedChat()) as memory:
        session = conversation(memory)
    calls: list[Callable[[], object]] = [
        session.messages,
        lambda: session.add("user", "late"),
        lambda: next(session.stream("late")),
        lambda: conversation(memory),
        memory.jobs.live,
        memory.close,
    ]
    for call in calls:
        with pytest.raises(StoreClosed, match=r"^the memory is closed: open it again$"):
            call()
    assert log_of(tmp_path) == []


def test_no_thread_and_no_loop_is_left(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    before = set(threading.enumerate())
    with opened(tmp_path, chat_model=ScriptedChat(), worker=True) as memory:
        session = conversation(memory)
        for n in range(12):
            session.add("user", f"{n}")
        next(session.stream("hello"))
        assert memory.idle(10)
        assert session.summaries()
        assert set(threading.enumerate()) > before
    assert set(threading.enumerate()) == before
    gc.collect()
    assert list(recwarn) == []


def test_stopping_the_work_leaves_the_memory_usable(tmp_path: Path) -> None:
    with opened(tmp_path, worker=True) as memory:
        memory.close(grace=1)
        for n in range(12):
            conversation(memory).add("user", f"{n}")
        assert not memory.idle(0.2)
        assert memory.work() == 1
        assert memory.idle(1)


def test_calls_of_other_threads_may_finish_before_the_end(tmp_path: Path) -> None:
    chat, given = ScriptedChat(), []
    thinking, time_enough = threading.Event(), 0.3

    async def think() -> None:
        thinking.set()
        await anyio.sleep(time_enough)

    with opened(tmp_path, chat_model=chat) as memory:
        session, chat.pause = conversation(memory), think
        thread = in_a_thread(lambda: given.append(session.send("hello").text.strip()))
        assert thinking.wait(10)
    thread.join(10)
    assert given == ["You said: hello"]
    assert len(log_of(tmp_path)) == 2


def test_a_call_that_would_never_end_is_given_up_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anaphora.sync.host.GRACE", 0.2)
    stuck, chat = Stuck(), ScriptedChat()
    errors: list[str] = []

    def talk() -> None:
        try:
            session.send("hello")
        except StoreClosed as error:
            errors.append(str(error))

    with opened(tmp_path, chat_model=chat) as memory:
        session, chat.pause = conversation(memory), stuck
        thread = in_a_thread(talk)
        assert stuck.began.wait(10)
    thread.join(10)
    assert errors == ["the memory was closed before this call ended: open it again"]
    assert [m.content for m in log_of(tmp_path)] == ["hello"]


@pytest.mark.parametrize("_round", range(5))
def test_threads_that_race_with_the_end_get_a_receipt_or_an_error(tmp_path: Path, _round: int) -> None:
    acknowledged: list[int] = []
    with opened(tmp_path) as memory:
        session = conversation(memory)

        def write() -> None:
            with suppress(StoreClosed):
                while True:
                    acknowledged.append(session.add("user", "hello").seq)

        threads = [in_a_thread(write) for _ in range(4)]
        while len(acknowledged) < 20:
            time.sleep(0.001)
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()
    assert sorted(acknowledged) == [m.seq for m in log_of(tmp_path)] == list(range(len(acknowledged)))


def test_an_error_before_the_commit_reaches_the_thread_that_wrote(tmp_path: Path) -> None:
    overrides = Overrides(failpoint=RaiseAt("append.before_commit", StoreError("no room")))
    with opened(tmp_path, overrides=overrides) as memory, pytest.raises(StoreError, match="no room"):
        conversation(memory).add("user", "hello")
    assert log_of(tmp_path) == []
