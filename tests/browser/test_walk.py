"""The walk through the page: review, share, somebody else sees it, unshare, undo, erase; with scripts and without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.browser.conftest import Window
from tests.browser.site import Site

from anaphora import Memory
from anaphora.domain.facts import FactState

pytestmark = pytest.mark.browser

FACT = "The plum tree was planted in 2019."


async def remembered(memory: Memory) -> None:
    await memory.subjects.create("garden", user="ann", name="The garden", members=["bob"])
    chat = memory.session(user="ann", session="spring", subject="garden")
    for turn in range(6):
        await chat.add("user", f"I like plums, that is thing {turn}.")
        await chat.add("assistant", "Noted.")
    await memory.work()
    await memory.facts.add(FACT, user="ann", subject="garden")


def by_mouse(found: Any) -> None:
    found.click()


def by_keyboard(found: Any) -> None:
    found.focus()
    found.press("Enter")


@pytest.mark.parametrize(
    ("scripts", "act"), [(True, by_mouse), (False, by_keyboard)], ids=["scripts, mouse", "no scripts, keyboard"]
)
def test_the_walk(window: Callable[..., Window], service: Site, scripts: bool, act: Callable[[Any], None]) -> None:
    service.do(remembered)
    ann, bob = (window(user, java_script_enabled=scripts) for user in ("ann", "bob"))
    page, others = ann.page, bob.page

    def fact() -> Any:
        return page.locator("li.fact", has_text=FACT)

    # review: what it is, where it came from, and corrected
    act(fact().get_by_role("link", name="Edit"))
    page.get_by_label("In one sentence").fill(f"{FACT} By Tomas.")
    act(page.get_by_role("button", name="Save"))
    page.get_by_role("status").get_by_text("Corrected").wait_for()
    act(page.get_by_role("status").get_by_role("button", name="Undo"))
    page.get_by_role("status").get_by_text("as it was before").wait_for()
    # share: somebody else sees it, and not where it came from
    ann.go("/")
    act(fact().get_by_role("button", name="Share"))
    page.get_by_text("Shared with the members").wait_for()
    assert bob.go("/").locator("li.fact", has_text=FACT).count() == 1
    assert others.get_by_role("button", name="Delete").count() == 0
    # unshare, and undo it, and unshare again
    act(fact().get_by_role("button", name="Stop sharing"))
    page.get_by_text("No longer shared").wait_for()
    assert bob.go("/").locator("li.fact").count() == 0
    act(page.get_by_role("status").get_by_role("button", name="Undo"))
    page.get_by_text("as it was before").wait_for()
    assert bob.go("/").locator("li.fact").count() == 1
    # delete, and think again
    act(fact().get_by_role("button", name="Delete"))
    page.get_by_text("nothing is left of it").wait_for()
    assert fact().count() == 0
    act(page.get_by_role("button", name="Undo: add it again"))
    page.get_by_text("kept again").wait_for()
    assert fact().count() == 1
    # what a model saw, then erase: not without the name
    ann.go("/sessions")
    act(page.get_by_role("link", name="spring"))
    act(page.get_by_role("link", name="What a model saw before message 6"))
    page.get_by_role("img", name="Where each of the 6 messages was").wait_for()
    ann.go("/account")
    act(page.get_by_role("link", name="See what would go"))
    page.get_by_label("to confirm").fill("ann")
    act(page.get_by_role("button", name="Erase for good"))
    page.get_by_text("Nothing is remembered of you").wait_for()
    assert ann.go("/").get_by_label("API key").count() == 1
    assert service.do(lambda memory: memory.sessions(user="ann")) == []
    assert service.do(lambda memory: memory.facts.list(user="ann", states=tuple(FactState))) == []
    assert (ann.faults, bob.faults) == ([], [])
