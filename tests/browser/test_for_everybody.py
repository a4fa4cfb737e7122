"""The page can be read and used by everybody: labels, order, contrast, small screens, and nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.browser.conftest import Window
from tests.browser.site import Site
from tests.browser.test_walk import remembered

from anaphora import Memory

pytestmark = pytest.mark.browser

PAGES = (
    "/",
    "/sessions",
    "/sessions/default/spring",
    "/sessions/default/spring/messages/0",
    "/sessions/default/spring/context?at=8",
    "/sessions/default/spring/erase",
    "/search?q=plums",
    "/tokens",
    "/notepad",
    "/documents",
    "/subjects",
    "/account",
    "/temporary",
)
CHECKS = (Path(__file__).parent / "checks.js").read_text(encoding="utf-8")


async def everything(memory: Memory) -> None:
    await remembered(memory)
    await memory.notepad.edit("- likes plums", user="ann")
    await memory.knowledge.add("A text " + "withoutanybreak" * 30, user="ann", title="x" * 300)
    await memory.facts.add("averylongword" * 30, user="ann", pinned=True)


def checked(window: Window, path: str, what: str) -> Any:
    page = window.go(path)
    return page.evaluate(f"{CHECKS}\n{what}()")


def test_every_control_has_a_name_and_the_focus_follows_the_page(window: Callable[..., Window], service: Site) -> None:
    service.do(everything)
    ann = window("ann")
    for path in PAGES:
        assert checked(ann, path, "unnamed") == [], path
        assert checked(ann, path, "outOfOrder") == [], path
        assert checked(ann, path, "landmarks") == {"main": 1, "header": 1, "footer": 1, "h1": 1, "lang": "en"}, path
    page = ann.go("/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    assert page.locator("[aria-current=page]:visible").all_text_contents() == ["Remembered"]
    assert ann.faults == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_whatever_is_written_stands_out(window: Callable[..., Window], service: Site, scheme: str) -> None:
    service.do(everything)
    ann = window("ann", color_scheme=scheme)
    grounds = set()
    for path in PAGES:
        assert checked(ann, path, "faint") == [], path
        grounds.add(ann.page.evaluate("getComputedStyle(document.documentElement).backgroundColor"))
    assert grounds == {"rgb(250, 249, 246)" if scheme == "light" else "rgb(21, 24, 27)"}


def test_a_phone_shows_every_page_without_scrolling_aside(window: Callable[..., Window], service: Site) -> None:
    service.do(everything)
    ann = window("ann", viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
    for path in PAGES:
        page = ann.go(path)
        assert page.evaluate("document.documentElement.scrollWidth") == 390, path
    page.get_by_text("Menu").tap()
    page.get_by_role("link", name="Notepad").tap()
    page.locator("h1", has_text="Notepad").wait_for()
    assert ann.faults == []
