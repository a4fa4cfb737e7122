"""F16 on the page: whatever address is opened, whatever form is sent, a page answers, and no fault of the service."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote_from_bytes
from uuid import UUID

import httpx2
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from fastapi.routing import APIRoute
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.databases.chosen import POSTGRES, SQLITE, on
from tests.server.browsing import browsing, mark_on
from tests.server.harness import HERE, Service, served
from tests.server.test_page_entering import found_routes

from anaphora.models.callable import CallableModel
from anaphora.server.page.visits import Whose

EVERY_DAY: Final = 150
DEEP: Final = 5_000
_UNAVAILABLE: Final = 503
_LEFT_OUT: Final = "/account/export"

#: numbers at the edges of what stores and languages hold
NUMBERS: Final = st.sampled_from(
    [
        "0",
        "1",
        "2",
        "-1",
        "999",
        str(2**31 - 1),
        str(2**31),
        str(2**63),
        str(10**30),
        "1" * 5000,
        "1e3",
        "٣",
        "1_0",
        "x",
    ]
)
#: names and texts, as bytes that are no UTF-8, too
ODD: Final = st.one_of(
    st.sampled_from(
        [b"default", b"s1", b"home", b"ann", b"other", b"", b" ", b"\x00", b"a\x00b", b"\xff\xfe", b"\xed\xa0\x80"]
    ),
    st.sampled_from(
        [b"..", b"/", b"%", b"{{7*7}}", b"<b>", b"x" * 300, "ü".encode() * 150, b"+2AA-", b"\r\nSet-Cookie: a=b"]
    ),
    st.binary(max_size=12),
    st.text(max_size=12).map(lambda text: text.encode("utf-8", "surrogatepass")),
    NUMBERS.map(str.encode),
)
#: what forms and queries of the page hold
FIELDS: Final = (
    *(
        "content",
        "category",
        "importance",
        "subject",
        "pinned",
        "shared",
        "name",
        "member",
        "typed",
        "agent",
        "session",
    ),
    *("said", "text", "title", "version", "next", "q", "at", "start", "against", "state", "before", "after", "key"),
)
SAID: Final = st.sampled_from(
    [
        b"[]",
        b"{}",
        b"[[]]",
        b'[["user", "a\\ud800"]]',
        b'[["user", "a\\u0000"]]',
        b'[["assistant", "x"], ["user", "y"]]',
        b"[" * 3000,
        b"1" * 5000,
        b'[[{}, "x"]]',
    ]
)
LOCAL: Final = st.sampled_from(
    [b"/", b"/facts/x", b"/sessions?before=x", b"//evil.example", b"/%00", b"/[", b"/a?b=%zz#c"]
)
CHARSETS: Final = st.sampled_from(
    ["", "; charset=utf-8", "; charset=utf-7", "; charset=undefined", "; charset=raw_unicode_escape", "; charset=x"]
)


@dataclass(frozen=True)
class Asked:
    """A request of a browser."""

    method: str
    url: str
    fields: tuple[tuple[str, bytes], ...]
    #: None: as addresses are written
    multipart: str | None


def _value(name: str) -> st.SearchStrategy[bytes]:
    return {"said": st.one_of(SAID, ODD), "next": st.one_of(LOCAL, ODD)}.get(name, ODD)


def _fields(*, most: int) -> st.SearchStrategy[tuple[tuple[str, bytes], ...]]:
    one = st.sampled_from(FIELDS).flatmap(lambda name: st.tuples(st.just(name), _value(name)))
    return st.lists(one, max_size=most).map(tuple)


def _segment(name: str, ids: Mapping[str, str]) -> st.SearchStrategy[str]:
    """A segment of a path: often one that there is."""
    odd = ODD.map(lambda value: quote_from_bytes(value, safe="") or "%20")
    known = {"agent": "default", "session": "s1", "seq": "1", "version": "1", "subject": "home", **ids}
    numbers = NUMBERS.map(lambda value: quote_from_bytes(value.encode(), safe=""))
    return st.one_of(st.just(known.get(name, UUID(int=0).hex)), numbers if name in {"seq", "version"} else odd, odd)


@st.composite
def asked(draw: st.DrawFn, routes: list[tuple[str, str]], ids: Mapping[str, str]) -> Asked:
    """A request of one of the routes."""
    method, path = draw(st.sampled_from(routes))
    url = re.sub(r"\{(\w+)\}", lambda found: draw(_segment(found[1], ids)), path)
    query = "&".join(f"{name}={quote_from_bytes(value)}" for name, value in draw(_fields(most=3)))
    fields = draw(_fields(most=8)) if method == "POST" else ()
    multipart = draw(st.none() | CHARSETS)
    return Asked(method, f"{url}?{query}" if query else url, fields, multipart)


def _sent(case: Asked, cookie: str, mark: str) -> dict[str, Any]:
    headers = {"Accept": "text/html", "Cookie": cookie}
    if case.method == "GET":
        return {"method": "GET", "url": f"{HERE}{case.url}", "headers": headers}
    fields = (("csrf", mark.encode()), *case.fields)
    if case.multipart is None:
        body = "&".join(f"{name}={quote_from_bytes(value)}" for name, value in fields).encode()
        headers["Content-Type"] = "application/x-www-form-urlencoded"
    else:
        head = b'--XX\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n'
        body = b"".join(head % (name.encode(), value) for name, value in fields) + b"--XX--\r\n"
        headers["Content-Type"] = f"multipart/form-data; boundary=XX{case.multipart}"
    return {"method": "POST", "url": f"{HERE}{case.url}", "headers": headers, "content": body}


async def _signed_in(service: Service, user: str) -> tuple[str, str]:
    """The cookie of somebody who is signed in, and the mark of their forms."""
    async with browsing(service, user) as browser:
        mark = mark_on(await browser.page("/" if user != "operator" else "/operator"))
        return "; ".join(f"{name}={value}" for name, value in browser.client.cookies.items()), mark


async def _begun(service: Service) -> dict[str, str]:
    """Some memory, so that not everything that is opened is missing."""
    memory, whose = service.memory, Whose(user="ann", tenant="t")
    chat = memory.session(session="s1", **whose)
    for number in range(8):
        await chat.add("user", f"What about number {number}, the rye bread?")
        await chat.add("assistant", "", parts=[{"type": "image_url", "image_url": {"url": "https://x.example/a.png"}}])
    await memory.subjects.create("home", members=["bob"], **whose)
    fact = await memory.facts.add("I like rye bread.", subject="home", **whose)
    document = await memory.knowledge.add("Rye needs time.", **whose)
    await memory.notepad.edit("- likes rye", **whose)
    await memory.work()
    return {"fact_id": str(fact.id), "document_id": str(document.id)}


async def _answer(_: object) -> str:
    return "An answer."


@contextmanager
def _service(folder: Path) -> Iterator[tuple[Service, BlockingPortal]]:
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(served(folder, chat=CallableModel("scripted", _answer))) as service,
    ):
        yield service, portal


def check_pages(folder: Path, examples: int) -> None:
    """Open pages and send forms, so many of them, as a person and as an operator who are signed in."""
    with _service(folder) as (service, portal):
        ids = portal.call(_begun, service)
        found: list[APIRoute] = found_routes(service)
        routes = sorted(
            (method, each.path) for each in found for method in each.methods or () if each.path != _LEFT_OUT
        )
        assert len(routes) > 50
        visitors = [portal.call(_signed_in, service, user) for user in ("ann", "operator")]

        async def ask(case: Asked, cookie: str, mark: str) -> httpx2.Response:
            return await service.nobody.request(**_sent(case, cookie, mark))

        @settings(
            max_examples=examples,
            deadline=None,
            database=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.explicit, Phase.generate],
        )
        @given(asked(routes, ids), st.sampled_from([0, 0, 0, 0, 1]))
        def law(case: Asked, visitor: int) -> None:
            response = portal.call(ask, case, *visitors[visitor])
            assert response.status_code < 500 or response.status_code == _UNAVAILABLE, (response.status_code, case)
            if response.status_code >= 400:
                assert response.headers["content-type"].startswith("text/html"), case
            else:
                location = response.headers.get("location", "/")
                assert re.fullmatch(r"/(?![/\\])[\x21-\x7e]*", location), case

        law()


@pytest.mark.anyio
async def test_numbers_and_names_that_no_store_could_hold_are_refused(tmp_path: Path) -> None:
    async with served(tmp_path, chat=CallableModel("scripted", _answer)) as service, browsing(service, "ann") as ann:
        await _begun(service)
        for number in (2**31, 2**63, 10**30, -1):
            for path in (
                f"summaries/{number}",
                f"messages/{number}",
                f"context?at={number}",
                f"summaries/1?against={number}",
            ):
                await ann.page(f"/sessions/default/s1/{path}", 422)
            assert (await ann.send(f"/sessions/default/s1/messages/{number}/delete")).status_code == 422
        for path in (
            "/?subject=%00",
            "/search?q=a%00b",
            "/documents?q=a%00b",
            "/notepad?agent=%00",
            "/temporary?agent=%00",
        ):
            await ann.page(path, 422)
        temporary = {"agent": "default", "content": "x"}
        for wrong in (
            {"said": '[["user", "\\ud800"]]'},
            {"said": '[["user", "\\u0000"]]'},
            {"agent": "\0"},
            {"agent": " "},
        ):
            assert (await ann.send("/temporary", **{**temporary, **wrong})).status_code == 422, wrong


@pytest.mark.anyio
@pytest.mark.parametrize(("charset", "status"), [("utf-7", 422), ("raw_unicode_escape", 422), ("undefined", 400)])
async def test_a_form_in_an_odd_encoding_is_refused(tmp_path: Path, charset: str, status: int) -> None:
    async with served(tmp_path) as service, browsing(service, "ann") as ann:
        for path, field, shown in (("/facts", "content", "/"), ("/login", "key", "/login")):
            case = Asked("POST", path, ((field, b"+2AA-\\ud800"),), f"; charset={charset}")
            page = await ann.page(shown)
            cookie = "; ".join(f"{name}={value}" for name, value in ann.client.cookies.items())
            answer = await service.nobody.request(**_sent(case, cookie, mark_on(page)))
            assert answer.status_code == status, (path, answer.text)


def test_no_page_and_no_form_finds_a_fault(tmp_path: Path) -> None:
    check_pages(tmp_path, EVERY_DAY)


@pytest.mark.deep
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("database", [SQLITE, POSTGRES])
def test_thousands_of_pages_and_forms_find_no_fault(tmp_path: Path, database: str) -> None:
    with on(database):
        check_pages(tmp_path, DEEP)
