"""`anaphora chat` as a person meets it: lines through a pipe, and a real terminal."""

from __future__ import annotations

import io
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

import pytest

from anaphora.cli import main
from anaphora.testing.faults import Reply
from anaphora.testing.model_server import Request, ScriptedModelServer

#: takes the terminal as its own, so that Ctrl-C reaches it
PROGRAM = """
import os, sys
os.close(os.open(os.ttyname(0), os.O_RDWR))
from anaphora.cli import main
sys.exit(main(sys.argv[1:]))
"""
ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[a-zA-Z]|\][^\x07]*\x07|[()=>][0-9A-B]?)")
CTRL_C, CTRL_D, ALT_ENTER, ENTER = "\x03", "\x04", "\x1b\r", "\r"
PATIENCE = 30.0


class Terminal:
    """A program in a pseudo-terminal."""

    def __init__(self, words: Sequence[str], home: Path) -> None:
        self._master, slave = pty.openpty()
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("ANAPHORA_")},
            "TERM": "xterm",
            "COLUMNS": "120",
            "LINES": "40",
            "PROMPT_TOOLKIT_NO_CPR": "1",
            "ANAPHORA_EMBEDDER": "none",
        }
        self._program = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *words],
            cwd=home,
            env=environment,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self.screen = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._program.kill()
        self._program.wait()
        os.close(self._master)

    def types(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def expect(self, text: str) -> None:
        """Wait until the text is on the screen; what stood before it is not looked at again."""
        give_up = time.monotonic() + PATIENCE
        while text not in self.screen:
            assert time.monotonic() < give_up, f"{text!r} did not come:\n{self.screen}"
            self._read()
        self.screen = self.screen.partition(text)[2]

    def signal(self, number: signal.Signals) -> None:
        self._program.send_signal(number)

    def ends(self) -> int:
        """The exit code."""
        give_up = time.monotonic() + PATIENCE
        while self._program.poll() is None:
            assert time.monotonic() < give_up, f"it does not end:\n{self.screen}"
            self._read()
        return self._program.returncode

    def _read(self) -> None:
        ready, _, _ = select.select([self._master], [], [], 0.1)
        if ready:
            try:
                self.screen = ESCAPES.sub("", self.screen + os.read(self._master, 65536).decode())
            except OSError:  # the other end is closed
                time.sleep(0.05)


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANAPHORA_EMBEDDER", "none")
    return tmp_path


@pytest.fixture
def server() -> Iterator[ScriptedModelServer]:
    def answer(request: Request) -> Reply:
        if "story" in request.last_user_text:
            return Reply(text="once upon " * 500, pause=0.02)
        return Reply(text=f"You said: {request.last_user_text}")

    with ScriptedModelServer(answer) as running:
        yield running


def piped(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))


@pytest.mark.usefixtures("elsewhere")
def test_lines_through_a_pipe_are_answered_and_the_end_of_them_is_no_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    piped("My violin is in the attic.\nWhere is the violin?\n/nonsense\n", monkeypatch)
    assert main(["chat", "mara"]) == 0
    out, err = capsys.readouterr()
    assert "“My violin is in the attic.”" in out
    assert "unknown command '/nonsense'" in out
    assert "\x1b" not in out
    assert err == ""


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--continue", "--session", "2"], "exclude each other"),
        (["--strategy", "rolling_pears"], "did you mean 'rolling_pairs'?"),
        (["--model", "nonsense"], "has no provider"),
        (["--budget", "10"], "a budget of 10 tokens is too small"),
    ],
)
def test_a_wrong_wish_is_refused_in_one_line_before_anything_is_said(
    words: list[str], complaint: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    piped("hello\n", monkeypatch)
    assert main(["chat", "mara", *words]) == 2
    out, err = capsys.readouterr()
    assert complaint in err
    assert err.count("\n") == 1
    assert "hello" not in out


def test_a_person_types_in_a_terminal_and_leaves_with_ctrl_d(elsewhere: Path) -> None:
    with Terminal(["chat", "mara"], elsewhere) as terminal:
        terminal.expect("No language model is configured")
        terminal.expect("you › ")
        terminal.types("My violin is" + ALT_ENTER + "in the attic." + ENTER)
        terminal.expect("I have nothing about that yet.")
        terminal.expect("all 1 message accounted for")
        terminal.expect("you › ")
        terminal.types("Where is the violin?" + ENTER)
        terminal.expect("“My violin is in the attic.”")
        terminal.expect("you › ")
        terminal.types("half a thought" + CTRL_C)
        terminal.types("/temp" + ENTER)
        terminal.expect("temp › ")
        terminal.types("a zebra" + ENTER)
        terminal.expect("all 1 message accounted for")
        terminal.expect("temp › ")
        terminal.types(CTRL_D)
        terminal.expect("Session 1 is ended, 2 messages kept")
        assert terminal.ends() == 0
    assert not [file.name for file in elsewhere.iterdir() if b"zebra" in file.read_bytes()]


def test_ctrl_c_in_a_terminal_stops_the_answer_and_then_the_talk(elsewhere: Path, server: ScriptedModelServer) -> None:
    (elsewhere / "anaphora.toml").write_text(
        f'model = "openai:scripted"\nbase_url = "{server.base_url}"\napi_key = "k"\n', encoding="utf-8"
    )
    with Terminal(["chat", "mara"], elsewhere) as terminal:
        terminal.expect("you › ")
        terminal.types("Tell me a story" + ENTER)
        terminal.expect("once upon once upon")
        terminal.types(CTRL_C)
        terminal.expect("interrupted: kept as far as it came")
        terminal.expect("you › ")
        terminal.types("And you?" + ENTER)
        terminal.expect("You said: And you?")
        terminal.expect("you › ")
        terminal.types(CTRL_C)
        terminal.expect("Ctrl-C again")
        terminal.expect("you › ")
        terminal.types(CTRL_C)
        terminal.expect("Session 1 is ended, 4 messages kept")
        assert terminal.ends() == 0


def test_a_terminal_that_goes_away_ends_the_session(elsewhere: Path) -> None:
    with Terminal(["chat", "mara"], elsewhere) as terminal:
        terminal.expect("you › ")
        terminal.types("My violin is in the attic." + ENTER)
        terminal.expect("all 1 message accounted for")
        terminal.signal(signal.SIGTERM)
        terminal.expect("Session 1 is ended, 1 message kept")
        assert terminal.ends() == 0
