"""Nothing is forgotten and nothing is different: each public member of the async classes has its blocking twin."""

from __future__ import annotations

import inspect
import pydoc
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, assert_type, get_type_hints

import anyio
import pytest

import anaphora.memory
import anaphora.sync
from anaphora.domain.context import Context
from anaphora.domain.jobs import Job
from anaphora.domain.messages import Receipt
from anaphora.services.chat import Answer
from anaphora.sync import FactsView, JobsView, Memory, NotepadView, Session, SubjectsView, TopicsView

PAIRS = [
    (getattr(anaphora.memory, cls.__name__), cls)
    for cls in (Memory, Session, JobsView, FactsView, SubjectsView, TopicsView, NotepadView)
]
METHODS = [
    (there, here, name)
    for there, here in PAIRS
    for name, value in vars(there).items()
    if not name.startswith("_") and (inspect.isroutine(value) or isinstance(value, classmethod))
]
#: what is not the same in a world without `await`
RESULTS: dict[str, object] = {
    "open": AbstractContextManager[Memory],
    "session": Session,
    "new_session": Session,
    "stream": Generator[str, None, None],
    "export": Generator[str, None, None],
}
every_method = pytest.mark.parametrize(
    ("there", "here", "name"), METHODS, ids=[f"{here.__name__}.{name}" for _, here, name in METHODS]
)


def public(thing: Any) -> set[str]:
    return {name for name in dir(thing) if not name.startswith("_")}


def test_the_names_to_import_are_those_of_the_async_api() -> None:
    assert set(anaphora.sync.__all__) == {"Agent"} | {name for name in anaphora.memory.__all__ if name != "GRACE"}


@pytest.mark.parametrize(("there", "here"), PAIRS, ids=lambda cls: cls.__name__)
def test_the_classes_have_the_same_public_members(there: type, here: type) -> None:
    assert public(here) == public(there)


async def _attributes(path: Path) -> dict[str, set[str]]:
    async with anaphora.memory.Memory.open(path, embedder="none", worker=False) as memory:
        session = memory.session(user="u", session="s")
        return {type(thing).__name__: public(thing) for thing in (memory, session, memory.jobs)}


def test_their_objects_have_the_same_public_members(tmp_path: Path) -> None:
    there = anyio.run(_attributes, tmp_path / "m.db")
    with Memory.open(tmp_path / "m.db", embedder="none", worker=False) as memory:
        session = memory.session(user="u", session="s")
        assert {type(thing).__name__: public(thing) for thing in (memory, session, memory.jobs)} == there
        assert session.key.user == "u"


@every_method
def test_a_twin_forwards_to_its_namesake_with_the_same_parameters_and_words(there: type, here: type, name: str) -> None:
    original, twin = getattr(there, name), getattr(here, name)
    assert inspect.unwrap(twin) is inspect.unwrap(original)
    assert list(inspect.signature(twin).parameters.values()) == list(inspect.signature(original).parameters.values())
    assert inspect.getdoc(twin)
    assert inspect.getdoc(twin) == inspect.getdoc(original)
    assert (twin.__name__, twin.__qualname__) == (name, original.__qualname__)


@every_method
def test_a_twin_is_no_coroutine_and_says_what_it_returns(there: type, here: type, name: str) -> None:
    twin = getattr(here, name)
    assert not inspect.iscoroutinefunction(twin)
    assert not inspect.isasyncgenfunction(twin)
    expected = RESULTS.get(name, get_type_hints(getattr(there, name)).get("return"))
    assert get_type_hints(twin)["return"] == expected
    if name in RESULTS:
        assert inspect.signature(twin).return_annotation == expected


def test_help_shows_signatures_and_words() -> None:
    shown = pydoc.plain(pydoc.render_doc(Session))
    assert "add(self, role: 'str', content: 'str | None' = None, *, name:" in shown
    assert "when this returns, it is on disk" in shown
    assert "stream(self, content: 'str | None', *, budget: 'int | None' = None," in shown
    assert "open(db: 'str | PathLike[str] | None' = None, *, settings:" in pydoc.plain(pydoc.render_doc(Memory))


def test_type_checkers_see_the_real_types(tmp_path: Path) -> None:
    """Half of this test is run by mypy."""
    with Memory.open(tmp_path / "m.db", embedder="none", worker=False) as memory:
        assert_type(memory, Memory)
        session = assert_type(memory.session(user="u", session="s"), Session)
        assert_type(memory.new_session(user="u"), Session)
        assert_type(session.add("user", "hello"), Receipt)
        assert_type(session.context("hello", budget=100), Context)
        assert_type(memory.jobs.list(limit=1), Sequence[Job])
        assert_type(session.stream("hello"), Generator[str, None, None])
        with pytest.raises(TypeError, match="contents"):
            session.add("user", contents="hello")  # type: ignore[call-arg]  # must not pass the type checker either

        def talk() -> Answer:
            return session.send("hello")

        assert callable(talk)
