"""A hundred facts that are attacks are a hundred lines of text."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.browser.conftest import Window
from tests.browser.site import Site

from anaphora import Memory
from anaphora.domain.facts import MAX_CONTENT

pytestmark = pytest.mark.browser

ALERT = "alert(1)"
SEEDS = [
    f"<script>{ALERT}</script>",
    f"<img src=x onerror={ALERT}>",
    f"<svg onload={ALERT}>",
    f'"><script>{ALERT}</script>',
    f"' onmouseover='{ALERT}",
    f"</textarea><script>{ALERT}</script>",
    f"</title><script>{ALERT}</script>",
    f"<iframe srcdoc='<script>{ALERT}</script>'></iframe>",
    f"<a href=javascript:{ALERT}>x</a>",
    f"<style>@import 'javascript:{ALERT}'</style>",
    f"<meta http-equiv=refresh content='0;url=javascript:{ALERT}'>",
    "<base href=https://evil.example/>",
    "<link rel=stylesheet href=https://evil.example/x.css>",
    "<form action=https://evil.example><button>x</button></form>",
    "<!-- comment -->",
    "<![CDATA[ x ]]>",
    "{{ 7 * 7 }}",
    "{% for x in y %}",
    "&lt;b&gt; &amp;amp; &#60;script&#62;",
    f"<details open ontoggle={ALERT}>",
    "\u202eevil\u202c \u2066right to left\u2069",
    "%3Cscript%3E \\u003cscript\\u003e",
    "<math><mtext><table><mglyph><style><img src=x>",
    "${alert(1)} `x`",
    f"<button autofocus onfocus={ALERT}>",
]
FRAMES = ["{}", "I like {} very much", "\u00e9\u4e2d {} \U0001f9d1", "{}\tand {}"]
HOSTILE = [frame.replace("{}", seed)[:MAX_CONTENT] for seed in SEEDS for frame in FRAMES]


async def say_them(memory: Memory) -> None:
    for number, text in enumerate(HOSTILE):
        await memory.facts.add(f"{number} {text}", user="ann")


def test_a_hundred_hostile_facts_are_text_and_nothing_else(window: Callable[..., Window], service: Site) -> None:
    service.do(say_them)
    assert len(HOSTILE) == 100
    ann = window("ann")
    shown = ann.page.locator("li.fact p.said").all_text_contents()
    assert sorted(map(str.strip, shown)) == sorted(f"{number} {text}" for number, text in enumerate(HOSTILE))
    ids = ann.page.locator("li.fact p.said a").evaluate_all("links => links.map(link => link.getAttribute('href'))")
    for path in ids[::10]:
        page = ann.go(path)
        told = page.locator("h1").text_content()
        assert page.get_by_label("In one sentence").input_value() == told
        page.get_by_role("link", name="Anaphora").hover()
    page = ann.go("/search?q=" + "alert+evil+like")
    page.locator("h1").wait_for()
    assert page.locator("script").count() == 1
    assert page.locator("iframe, style, base, form[action^=http], main a[href^=javascript]").count() == 0
    assert ann.faults == []
