"""Every page names its parts once: no id comes twice, and whatever points to one points to something."""

from __future__ import annotations

from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

import pytest
from tests.server.browsing import Browser, browsing
from tests.server.harness import Service, served

from anaphora.models.callable import CallableModel
from anaphora.server.page.visits import Whose

pytestmark = pytest.mark.anyio

#: attributes that hold ids
_POINTING: Final = frozenset({"for", "aria-labelledby", "aria-describedby", "aria-controls", "list", "form"})
_CONTROLS: Final = frozenset({"input", "select", "textarea"})


class Marks(HTMLParser):
    """The ids of a page, what points to them, and controls without a name."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.ids: Counter[str] = Counter()
        self.pointed: set[str] = set()
        self.labelled: set[str] = set()
        self.controls: set[str] = set()
        #: of each button: its label, and the ids that describe it
        self.buttons: list[tuple[str, str]] = []
        self.said: dict[str, str] = {}
        self._button: str | None = None
        self._told: str | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        held = {name: value or "" for name, value in attrs}
        if "id" in held:
            self.ids[held["id"]] += 1
            self._told = held["id"]
        for name in _POINTING & held.keys():
            self.pointed |= set(held[name].split())
        if tag == "a" and held.get("href", "").startswith("#"):
            self.pointed.add(held["href"][1:])
        if tag == "label":
            self.labelled.add(held.get("for", ""))
        if tag in _CONTROLS and held.get("type") != "hidden" and "aria-label" not in held:
            self.controls.add(held.get("id", f"a {tag} without an id"))
        if tag == "button":
            self._button = held.get("aria-describedby", "")

    def handle_data(self, data: str) -> None:
        if self._button is not None:
            self.buttons.append((data, self._button))
            self._button = None
        elif self._told is not None and data.strip():
            self.said.setdefault(self._told, data.strip())


async def everything(service: Service) -> list[str]:
    """A memory in which there is some of everything; where each page of it is."""
    memory, whose = service.memory, Whose(user="ann", tenant="t")
    for session in ("s1", "s2"):
        chat = memory.session(session=session, **whose)
        for number in range(12):
            await chat.add("user", f"What about number {number}, the rye bread?")
            await chat.add("assistant", f"Number {number} is fine.")
        await chat.edit(0, "What about the rye bread?")
    await memory.work()
    for subject in ("home", "work", "choir"):
        await memory.subjects.create(subject, members=["bob", f"{subject}-only"], **whose)
        await memory.facts.add(f"The {subject} is far.", subject=subject, **whose)
    fact = await memory.facts.add("I like rye bread.", pinned=True, **whose)
    documents = [await memory.knowledge.add(f"Rye needs {number} hours.", **whose) for number in range(3)]
    for text in ("- likes rye", "- likes tea", "- likes both"):
        await memory.notepad.edit(text, **whose)
    for name in ("phone", "laptop"):
        await memory.keys.create(user="ann", scopes=["all"], name=name, tenant="t")
    session = "/sessions/default/s1"
    return [
        *("/", f"/facts/{fact.id}", "/?state=review", "/sessions", session, f"{session}/messages/0"),
        *(f"{session}/context", f"{session}/context?at=8", f"{session}/summaries/1", f"{session}/erase"),
        *("/search", "/search?q=rye", "/tokens", "/notepad", "/documents", "/documents?q=rye"),
        *(f"/documents/{documents[0].id}", "/subjects", "/account", "/account/erase", "/temporary", "/login"),
    ]


async def check(browser: Browser, path: str) -> None:
    marks = Marks(await browser.page(path))
    assert [each for each, count in marks.ids.items() if count > 1] == [], path
    assert marks.pointed - marks.ids.keys() == set(), path
    assert marks.controls - marks.labelled == set(), path


async def test_no_id_comes_twice_on_a_page_and_every_label_points_to_something(tmp_path: Path) -> None:
    async with (
        served(tmp_path) as service,
        browsing(service, "ann") as ann,
        browsing(service, "operator") as operator,
    ):
        for path in await everything(service):
            await check(ann, path)
        for path in ("/operator", "/operator/audit", "/operator/erasures"):
            await check(operator, path)


async def test_pages_on_which_one_talks_name_their_parts_once_too(tmp_path: Path) -> None:
    async def answer(_: object) -> str:
        return "An answer."

    async with served(tmp_path, chat=CallableModel("scripted", answer)) as service, browsing(service, "ann") as ann:
        await ann.done("/sessions", content="Hello", session="s1")
        for path in ("/sessions", "/sessions/default/s1", "/temporary"):
            await check(ann, path)


async def test_what_removes_a_member_names_that_member(tmp_path: Path) -> None:
    async with served(tmp_path) as service, browsing(service, "ann") as ann:
        await everything(service)
        marks = Marks(await ann.page("/subjects"))
        named = [marks.said[about] for label, about in marks.buttons if label == "Remove"]
        assert sorted(named) == ["bob", "bob", "bob", "choir-only", "home-only", "work-only"]
