"""Every kind of part that the log takes is shown, as text, wherever its message is; nothing of it is loaded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from tests.server.browsing import browsing, text_of
from tests.server.harness import Service, served

from anaphora.server.page.pieces import Piece, pieces

pytestmark = pytest.mark.anyio

_DATA: Final = "data:image/png;base64," + "iVBORw0KGgo" * 900
_HOSTILE: Final = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>{{7*7}}"
#: a part of the log, and what is shown of it
PARTS: Final[tuple[tuple[dict[str, Any], str], ...]] = (
    ({"type": "image_url", "image_url": {"url": "https://elsewhere.example/cat.png"}}, "elsewhere.example/cat.png"),
    ({"type": "image_url", "image_url": {"url": _DATA, "detail": "low"}}, "detail: low"),
    ({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA" * 900}}, "image/png"),
    ({"type": "image", "caption": "a heron at dawn", "url": "file:///a"}, "a heron at dawn"),
    ({"type": "input_image", "image_url": "https://elsewhere.example/dog.png"}, "elsewhere.example/dog.png"),
    ({"type": "text", "text": "Words of a part."}, "Words of a part."),
    ({"type": "text"}, "text"),
    ({"type": "tool_call", "id": "c1", "name": "weather", "arguments": {"city": "Graz", "days": [1, 2]}}, '"Graz"'),
    ({"type": "tool_call", "id": "c2", "name": "odd", "arguments": "not JSON"}, "not JSON"),
    ({"type": "tool_call", "id": "c3", "name": "bare"}, "bare"),
    ({"type": "tool_result", "id": "c1", "content": "Rain."}, "Rain."),
    ({"type": "tool_result", "id": "c2"}, "c2"),
    ({"type": "tool_result", "id": "c3", "content": [{"type": "text", "text": "Snow."}]}, "Snow."),
    ({"type": "x", "name": {"a": 1}, "id": None, "text": 7, "b": [True, [2.5, 1 << 900], {}]}, "2.5"),
    ({"type": ""}, "part"),
    ({"type": _HOSTILE, _HOSTILE: _HOSTILE}, _HOSTILE),
    ({"type": "t" * 5000, "k" * 5000: "v" * 5000, "items": [], "get": None, "keys": "K"}, "keys: K"),
)


async def _said(service: Service, part: dict[str, Any], session: str) -> None:
    chat = service.memory.session(user="ann", session=session, tenant="t")
    await chat.add("user", "", parts=[part])


async def test_every_kind_of_part_is_shown_where_its_message_is(tmp_path: Path) -> None:
    async with served(tmp_path) as service, browsing(service, "ann") as ann:
        for at, (part, shown) in enumerate(PARTS):
            await _said(service, part, f"p{at}")
            for path in ("", "/messages/0", "/context"):
                page = await ann.page(f"/sessions/default/p{at}{path}")
                assert shown in text_of(page), (part["type"][:20], path)
                assert "<img" not in page
                assert "<script>" not in page
                assert len(page) < 40_000, "what is no text is described, not written out"


async def test_all_kinds_of_parts_stand_in_one_message_beside_its_words(tmp_path: Path) -> None:
    async with served(tmp_path) as service, browsing(service, "ann") as ann:
        chat = service.memory.session(user="ann", session="s1", tenant="t")
        await chat.add("user", "Look at these.", parts=[part for part, _ in PARTS])
        for path in ("", "/messages/0", "/context"):
            said = text_of(await ann.page(f"/sessions/default/s1{path}"))
            assert [shown for _, shown in PARTS if shown not in said] == [], path
            assert "Look at these." in said


async def test_what_the_words_say_already_is_not_said_twice(tmp_path: Path) -> None:
    async with served(tmp_path) as service, browsing(service, "ann") as ann:
        chat = service.memory.session(user="ann", session="s1", tenant="t")
        call = {"type": "tool_call", "id": "c1", "name": "weather", "arguments": {}}
        await chat.add("assistant", "Let me see.", parts=[call])
        await chat.add(
            "tool", "Rain until noon.", parts=[{"type": "tool_result", "id": "c1", "content": "Rain until noon."}]
        )
        for path in ("", "/context"):
            assert (await ann.page(f"/sessions/default/s1{path}")).count("Rain until noon.") == 1, path


async def test_the_context_of_a_turn_shows_the_whole_call(tmp_path: Path) -> None:
    async with served(tmp_path) as service, browsing(service, "ann") as ann:
        chat = service.memory.session(user="ann", session="s1", tenant="t")
        arguments = {"text": " ".join(f"word{number}" for number in range(300))}
        await chat.add(
            "assistant", None, parts=[{"type": "tool_call", "id": "c", "name": "note", "arguments": arguments}]
        )
        assert json.dumps(arguments) in text_of(await ann.page("/sessions/default/s1/context"))
        assert "word299" not in await ann.page("/sessions/default/s1")


def test_a_part_is_described_in_few_words_however_large_it_is() -> None:
    (piece,) = pieces("", [{"type": "image_url", "image_url": {"url": _DATA}}])
    assert piece == Piece(kind="image url", name="", text="url: data:image/png, 9,922 characters")
    (piece,) = pieces("", [{"type": "many", **{str(at): "x" * 1000 for at in range(1000)}}])
    assert len(piece.text) < 4000
    assert piece.text.endswith("…")
