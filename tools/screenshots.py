"""Take the pictures of the review page for the docs, with the beginning of the demo's conversation.

python tools/screenshots.py FOLDER
"""

from __future__ import annotations

import asyncio
import importlib
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
site = importlib.import_module("tests.browser.site")

from anaphora import Memory  # noqa: E402 - after the path
from anaphora.demo.replay import Replay  # noqa: E402
from anaphora.demo.script import load  # noqa: E402

#: file, path, width, height
PICTURES = (
    ("facts.png", "/", 1280, 900),
    ("session.png", "/sessions/default/spring", 1280, 900),
    ("facts-phone.png", "/", 390, 760),
)


async def remembered(memory: Memory) -> None:
    """What is on the pictures."""
    async for _ in Replay(memory, load().cut(24)).run():
        pass
    user = load().user
    await memory.subjects.create("garden", user=user, name="The garden", members=["ben"])
    plum = await memory.facts.add("The plum tree was planted in 2019.", user=user, subject="garden", importance=7)
    await memory.facts.share(plum.id, user=user)
    await memory.facts.add("Answer in short sentences.", user=user, category="instruction", importance=9, pinned=True)


def main(folder: Path) -> None:
    """Take them all."""
    user = load().user
    folder.mkdir(parents=True, exist_ok=True)
    playwright = importlib.import_module("playwright.sync_api")
    with tempfile.TemporaryDirectory() as where, site.site(Path(where) / "memory.db", user, worker=True) as service:
        asyncio.run_coroutine_threadsafe(remembered(service.memory), service.loop).result(300)
        with playwright.sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=site.chromium(), args=["--no-sandbox"])
            for name, path, width, height in PICTURES:
                page = browser.new_context(viewport={"width": width, "height": height}).new_page()
                page.goto(f"{service.url}/login")
                page.get_by_label("API key").fill(service.keys[user])
                page.get_by_role("button", name="Sign in").click()
                page.goto(f"{service.url}{path}")
                page.screenshot(path=folder / name)
            browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
