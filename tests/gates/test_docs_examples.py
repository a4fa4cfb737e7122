"""What the documentation shows works: its Python runs, its commands exist, its links lead somewhere."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
import shlex
import textwrap
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer.main
from typer.core import TyperGroup

from anaphora.cli import app

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^(?P<indent> *)```(?P<kind>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```[ ]*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?P<target>[^()\s]+)\)")
HEADING = re.compile(r"^#+ +(?P<title>.+?) *$", re.MULTILINE)
OPERATORS = frozenset("|;&<>()")


@dataclass(frozen=True, kw_only=True)
class Block:
    """One fenced block of a page; `line` is where its first line stands."""

    kind: str
    body: str
    line: int


def blocks(page: Path, *, language: str) -> Iterator[Block]:
    """The fenced blocks of a page that are written in `language`, in order."""
    text = page.read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        kind = found["kind"].strip()
        if kind.split(" ")[0] == language:
            line = text.count("\n", 0, found.start("body")) + 1
            yield Block(kind=kind, body=textwrap.dedent(found["body"]), line=line)


def compiled(block: Block, page: Path) -> types.CodeType:
    """The block's code, with the page's own line numbers; `await` may stand at top level."""
    source = "\n" * (block.line - 1) + block.body
    code = compile(source, str(page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    assert isinstance(code, types.CodeType)
    return code


def run_page(page: Path) -> None:
    """Run the Python of a page in order, in one namespace and on one event loop."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    with asyncio.Runner() as runner:
        for block in blocks(page, language="python"):
            code = compiled(block, page)
            if "no-run" in block.kind:
                continue
            result = types.FunctionType(code, namespace)()
            if inspect.iscoroutine(result):
                runner.run(result)


def command_lines(page: Path) -> Iterator[list[str]]:
    """The words of every `$ ...` line in a page's terminal blocks, up to the first pipe or redirection."""
    for language in ("console", "sh"):
        for block in blocks(page, language=language):
            joined = block.body.replace("\\\n", " ")
            for line in joined.splitlines():
                if line.startswith("$ "):
                    yield words_of(line[2:])


def words_of(line: str) -> list[str]:
    """The words of one command as a shell reads them."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words = list(lexer)
    end = next((at for at, word in enumerate(words) if set(word) <= OPERATORS), len(words))
    return words[:end]


def unknown_word(words: list[str]) -> str | None:
    """The first word after `anaphora` that names no command and no option of the command before it."""
    command = typer.main.get_command(app)
    rest = iter(words)
    for word in rest:
        if word.startswith("-") and word != "-":
            name, _, value = word.partition("=")
            options = {spelling: p for p in command.params for spelling in (*p.opts, *p.secondary_opts)}
            if name not in {*options, "--help"}:
                return word
            if name in options and not value and not getattr(options[name], "is_flag", False):
                next(rest, None)
        elif isinstance(command, TyperGroup):
            if word not in command.commands:
                return word
            command = command.commands[word]
    return None


def anchors(page: Path) -> set[str]:
    """The names under which the headings of a page can be linked to."""
    titles = [found["title"].lower() for found in HEADING.finditer(page.read_text(encoding="utf-8"))]
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles}


def leads_nowhere(page: Path, target: str) -> bool:
    """Whether a link inside this repository has no file or no heading at its end."""
    name, _, anchor = target.partition("#")
    end = (page.parent / name).resolve() if name else page
    return not end.exists() or (bool(anchor) and anchor not in anchors(end))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_python_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(page)
    assert Path.cwd() == tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_commands_of_a_page_exist(page: Path) -> None:
    shown = [words for words in command_lines(page) if words[:1] == ["anaphora"]]
    assert [" ".join(words) for words in shown if unknown_word(words[1:]) is not None] == []


def test_every_make_target_that_is_shown_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    shown = {word for page in PAGES for words in command_lines(page) if words[:1] == ["make"] for word in words[1:]}
    missing = [word for word in shown if "=" not in word and not re.search(rf"^{word}:", makefile, re.MULTILINE)]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    prose = FENCE.sub("", page.read_text(encoding="utf-8"))
    targets = [found["target"] for found in LINK.finditer(prose)]
    inside = [target for target in targets if not re.match(r"[a-z]+:", target)]
    assert [target for target in inside if leads_nowhere(page, target)] == []


def test_an_unknown_command_or_option_is_noticed() -> None:
    assert unknown_word(["no-such-command"]) == "no-such-command"
    assert unknown_word(["demo", "--no-such-option"]) == "--no-such-option"


def test_examples_share_names_may_await_and_fail_loudly(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```python\nimport asyncio\nx = await asyncio.sleep(0, 2)\n```\n"
        "```python no-run\nlaunch_rockets()\n```\n"
        "- a list\n\n  ```python\n  assert x == 3, x\n  ```\n",
        encoding="utf-8",
    )
    with pytest.raises(AssertionError, match="2"):
        run_page(page)
