"""One browser for all tests; each has its own service and its own windows."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.browser.site import Site, chromium, site


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    # imported here: the driver is installed by `make test-browser` alone
    playwright = importlib.import_module("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path / "memory.db", "ann", "bob") as made:
        yield made


class Window:
    """A window of somebody, who notes what should not happen in it."""

    def __init__(self, page: Any, url: str) -> None:
        self.page = page
        self.url = url
        #: dialogs, errors of scripts and of the content security policy, requests to other hosts
        self.faults: list[str] = []
        page.set_default_timeout(10_000)
        page.on("dialog", self._dialog)
        page.on("pageerror", lambda error: self.faults.append(f"script: {error}"))
        page.on("console", lambda said: self.faults.append(said.text) if _is_fault(said) else None)
        page.on("request", lambda asked: None if asked.url.startswith(f"{url}/") else self.faults.append(asked.url))

    def _dialog(self, dialog: Any) -> None:
        self.faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def go(self, path: str) -> Any:
        """To a page of the service."""
        self.page.goto(f"{self.url}{path}")
        return self.page


def _is_fault(said: Any) -> bool:
    return said.type == "error" or "Content Security Policy" in said.text or "Content-Security-Policy" in said.text


@pytest.fixture
def window(browser: Any, service: Site) -> Iterator[Callable[..., Window]]:
    """Opens windows: of whom, and how."""
    opened = []

    def make(user: str | None, **options: Any) -> Window:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        opened.append(context)
        made = Window(context.new_page(), service.url)
        if user is not None:
            page = made.go("/login")
            page.get_by_label("API key").fill(service.keys[user])
            page.get_by_role("button", name="Sign in").click()
            page.wait_for_selector("h1:has-text('What is remembered')")
        return made

    yield make
    for context in opened:
        context.close()
