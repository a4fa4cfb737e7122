"""The reference leaves nothing out: every command, setting, public member and error has its place in it."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest
import typer.main
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from typer.core import TyperCommand, TyperGroup

import anaphora
import anaphora.errors
import anaphora.testing
import anaphora.testing.faults
from anaphora.agents import Agent, AgentAnswer
from anaphora.cli import app
from anaphora.domain.plans import TAIL_TURNS
from anaphora.memory import (
    AuditView,
    FactsView,
    JobsView,
    KeysView,
    KnowledgeView,
    Memory,
    NotepadView,
    Session,
    SubjectsView,
    TopicsView,
)
from anaphora.settings import Settings

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
REFERENCE = DOCS / "reference"
#: options of many commands; the page says once what they mean
SHARED_OPTIONS = frozenset({"--help", "-h", "--db", "--tenant", "--json", "--verbose", "-v"})
#: an agent or a task has a name of its own: this stands for it in the page
NAMES = {"agents": "NAME", "tasks": "summarise", "servers": "NAME", "pinned": "TENANT"}

#: whose members the page of the API shows
SHOWN_CLASSES = [
    Memory,
    Session,
    JobsView,
    FactsView,
    SubjectsView,
    TopicsView,
    NotepadView,
    Agent,
    AgentAnswer,
    KnowledgeView,
    KeysView,
    AuditView,
    *(value for name in anaphora.__all__ if inspect.isclass(value := getattr(anaphora, name))),
]


def sections(page: Path) -> dict[str, str]:
    """The text under each heading of a page, up to the next heading of any level."""
    pieces = re.split(r"^#+ +(.+?) *$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {title.replace("`", ""): text for title, text in zip(pieces[1::2], pieces[2::2], strict=True)}


def in_code(text: str) -> set[str]:
    """Every word that stands in backticks, in a fenced block or in between."""
    marked = re.findall(r"```.*?```|`[^`\n]+`", text, flags=re.DOTALL)
    return {word for code in marked for word in re.findall(r"-{0,2}\w[\w-]*", code)}


def without_blocks(text: str) -> str:
    return re.sub(r"```.*?```", "", text, flags=re.DOTALL)


def commands(group: TyperGroup, path: tuple[str, ...] = ()) -> Iterator[tuple[str, TyperCommand]]:
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from commands(command, (*path, name))
        elif isinstance(command, TyperCommand):
            yield " ".join(("anaphora", *path, name)), command


def every_command() -> dict[str, TyperCommand]:
    root = typer.main.get_command(app)
    assert isinstance(root, TyperGroup)
    return dict(commands(root))


def of_model(model: type[BaseModel], path: tuple[str, ...] = ()) -> Iterator[tuple[str, FieldInfo]]:
    """The settings with their whole keys; sections are gone through, not listed."""
    for name, field in model.model_fields.items():
        inner, here = field.annotation, (*path, name)
        if get_origin(inner) is dict:
            inner, here = get_args(inner)[1], (*here, NAMES[name])
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from of_model(inner, here)
        else:
            yield ".".join(here), field


def shown_default(field: FieldInfo) -> str:
    """The default as the page writes it: JSON without quotation marks, or a dash for none."""
    default = None if field.default_factory else field.get_default(call_default_factory=False)
    return "-" if default is None else default if isinstance(default, str) else json.dumps(default)


def rows(page: Path) -> dict[str, list[str]]:
    """The rows of all tables of a page, by the text of their first cell."""
    found = {}
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("| `"):
            cells = [cell.strip().strip("`") for cell in line.strip("| ").split(" | ")]
            found[cells[0]] = cells
    return found


def members(cls: type) -> set[str]:
    """What of a class users see: fields, properties and methods that are ours; of an enum its values."""
    if issubclass(cls, enum.Enum):
        return {str(member.value) for member in cls}
    ours = [base for base in cls.__mro__ if base.__module__.startswith("anaphora")]
    kinds = (property, classmethod, staticmethod)
    found = {
        name
        for base in ours
        for name, value in vars(base).items()
        if not name.startswith("_") and (inspect.isroutine(value) or isinstance(value, kinds))
    }
    if dataclasses.is_dataclass(cls):
        found |= {field.name for field in dataclasses.fields(cls)}
    return found - {"settings_customise_sources"}


def arguments(method: Any) -> set[str]:
    return set(inspect.signature(method).parameters) - {"self", "cls"}


@pytest.mark.parametrize("name", sorted(every_command()))
def test_every_command_has_its_section_with_an_example_and_its_options(name: str) -> None:
    section = sections(REFERENCE / "cli.md").get(name)
    assert section is not None, f"cli.md has no heading for {name}"
    assert f"$ {name}" in section, "no example"
    options = {
        spelling for option in every_command()[name].params for spelling in (*option.opts, *option.secondary_opts)
    }
    wanted = {spelling for spelling in options if spelling.startswith("-")} - SHARED_OPTIONS
    assert wanted - in_code(without_blocks(section)) == set()


def test_no_section_tells_of_a_command_or_an_option_that_is_gone() -> None:
    known = every_command()
    told = {title: text for title, text in sections(REFERENCE / "cli.md").items() if title.startswith("anaphora ")}
    assert set(told) == set(known)
    for name, text in told.items():
        real = {spelling for option in known[name].params for spelling in (*option.opts, *option.secondary_opts)}
        assert {
            word for word in in_code(without_blocks(text)) if word.startswith("--")
        } - real - SHARED_OPTIONS == set(), name


@pytest.mark.parametrize("option", sorted(SHARED_OPTIONS))
def test_what_many_commands_take_is_explained_once(option: str) -> None:
    assert option in in_code(sections(REFERENCE / "cli.md")["What every command takes"])


def test_every_setting_stands_in_the_page_with_its_variable_and_its_default() -> None:
    real = {
        key: [key, "ANAPHORA_" + key.replace(".", "__").upper(), shown_default(field)]
        for key, field in of_model(Settings)
    }
    shown = {key: cells[:3] for key, cells in rows(REFERENCE / "settings.md").items()}
    assert shown == real


def test_every_setting_is_explained() -> None:
    assert [key for key, cells in rows(REFERENCE / "settings.md").items() if len(cells) != 4 or not cells[3]] == []


def test_the_bounds_of_the_windows_are_those_of_the_code() -> None:
    settings = rows(REFERENCE / "settings.md")
    assert f"1 to {TAIL_TURNS // 2}." in settings["rolling_pairs.window_pairs"][3]
    assert f"2 to {TAIL_TURNS}." in settings["sliding_window.window"][3]
    assert f"1 to {TAIL_TURNS // 2}." in (DOCS / "strategies" / "rolling_pairs.md").read_text(encoding="utf-8")
    assert f"2 to {TAIL_TURNS}." in (DOCS / "strategies" / "sliding_window.md").read_text(encoding="utf-8")


def test_every_event_of_the_logs_is_told_to_operators() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src" / "anaphora").rglob("*.py"))
    page = (DOCS / "how-to" / "operating.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| (?:info|warning|error|debug) \|.*\| `(\w+)` \|$", page, flags=re.MULTILINE)
    assert set(told) == set(re.findall(r'"event": "(\w+)"', source))


@pytest.mark.parametrize("cls", dict.fromkeys(SHOWN_CLASSES), ids=lambda cls: cls.__name__)
def test_every_member_of_a_public_class_is_in_the_reference(cls: type) -> None:
    text = "".join(
        text for title, text in sections(REFERENCE / "api.md").items() if re.match(rf"{cls.__name__}\b", title)
    )
    assert text, f"api.md has no heading for {cls.__name__}"
    if cls is not anaphora.AnaphoraError:
        assert members(cls) - in_code(text) == set()


@pytest.mark.parametrize(
    "cls",
    [Memory, Session, JobsView, FactsView, SubjectsView, TopicsView, KnowledgeView, KeysView, AuditView],
    ids=lambda cls: cls.__name__,
)
def test_every_method_has_its_section_with_all_its_arguments(cls: type) -> None:
    told = sections(REFERENCE / "api.md")
    missing = {
        f"{cls.__name__}.{name}": arguments(getattr(cls, name)) - in_code(told.get(f"{cls.__name__}.{name}", ""))
        for name in members(cls)
    }
    assert {name: left for name, left in missing.items() if left or name not in told} == {}


def test_every_error_is_in_the_reference() -> None:
    errors = {
        name
        for name, value in vars(anaphora.errors).items()
        if inspect.isclass(value) and value.__module__ == anaphora.errors.__name__
    }
    assert errors - in_code((REFERENCE / "api.md").read_text(encoding="utf-8")) == set()


def test_every_double_and_every_fault_is_shown_to_those_who_test() -> None:
    faults = {
        name
        for name, value in vars(anaphora.testing.faults).items()
        if inspect.isclass(value) and value.__module__ == anaphora.testing.faults.__name__ and hasattr(value, "spoil")
    }
    page = in_code((DOCS / "how-to" / "testing-your-agent.md").read_text(encoding="utf-8"))
    assert ({*anaphora.testing.__all__, *faults} - {"Fault"}) - page == set()


def test_every_test_that_the_readme_names_is_there() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"\[`(test_\w+)`\]\(((?:tests|src)/[\w/]+\.py)\)", text)
    assert len(named) >= 10
    gone = [name for name, path in named if f"def {name}(" not in (ROOT / path).read_text(encoding="utf-8")]
    assert gone == []


def test_every_page_can_be_reached_from_the_navigation() -> None:
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = set(re.findall(r":\s+([\w./-]+\.md)\s*$", nav, flags=re.MULTILINE))
    assert listed == {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}


def test_a_word_counts_only_in_backticks() -> None:
    assert in_code("a `--wait` and `f(key)`, not --gone") == {"--wait", "f", "key"}


def statements(page: Path) -> Iterator[str]:
    yield from re.findall(r"^```sql\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


@pytest.mark.anyio
async def test_the_queries_for_operators_answer_on_a_real_database(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    async with Memory.open(path, worker=False, embedder="none") as memory:
        chat = memory.session(user="alice", session="1")
        for turn in range(9):
            await chat.add("user", f"My locker number is {turn}.")
            await chat.add("assistant", "Noted.")
            if turn < 8:
                await memory.work()
    chain, stuck, windows, times = statements(DOCS / "how-to" / "operating.md")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE summaries SET generation_ms = 40")
        connection.execute("UPDATE jobs SET run_at = '2026-01-05T09:00:00.000000Z' WHERE state = 'queued'")
        assert [row[:5] for row in connection.execute(chain)] == [(1, None, 0, 2, None)]
        assert [row[1:5] for row in connection.execute(stuck)] == [("alice", "1", "summarise", "queued")]
        assert [row[:6] for row in connection.execute(windows)] == [("alice", "1", 1, 0, 2, 2)]
        assert list(connection.execute(times)) == [("extractive", 40.0, 40, 1)]
