"""Who sees a page: nobody without a key, nobody with another's, and no form that was not shown is taken."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fastapi.routing import APIRoute
from tests.server.browsing import browsing, mark_on
from tests.server.harness import HERE, Service, person, served

from anaphora.domain.principals import Permission
from anaphora.server import create_app
from anaphora.server.gate import Open
from anaphora.server.page.sealing import Seal
from anaphora.server.page.visits import COOKIE, SIGNED_IN, PageRoute, is_local

pytestmark = pytest.mark.anyio

OPEN_TO_ALL = {"/login"}


def routes(service: Service, method: str) -> list[str]:
    return [
        route.path.replace("{agent}", "default").replace("{session}", "s1").replace("{seq}", "0")
        for route in found_routes(service)
        if method in (route.methods or ())
    ]


def found_routes(service: Service) -> list[APIRoute]:
    found: list[APIRoute] = []
    waiting = list(service.app.routes)
    while waiting:
        route = waiting.pop()
        if isinstance(route, PageRoute):
            found.append(route)
        waiting += getattr(getattr(route, "original_router", None), "routes", [])
    return found


async def test_nobody_sees_a_page_without_signing_in(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        paths = set(routes(service, "GET")) - OPEN_TO_ALL
        assert len(paths) >= 20
        for path in paths:
            answer = await service.ann.get(path)  # a bearer token signs nobody in here
            assert (answer.status_code, answer.headers["location"].partition("?")[0]) == (303, "/login"), path


async def test_no_form_is_taken_that_nobody_was_shown(tmp_path: Path) -> None:
    async with served(tmp_path) as service, browsing(service, "ann") as ann, browsing(service, "bob") as bob:
        await service.memory.facts.add("I like rye bread.", user="ann", tenant="t")
        before = [line async for line in service.memory.export(tenant="t")]
        foreign = mark_on(await bob.page("/"))
        paths = set(routes(service, "POST")) - OPEN_TO_ALL
        assert len(paths) >= 25
        for path in paths:
            for marks in ({}, {"csrf": ""}, {"csrf": "0" * 64}, {"csrf": "ü"}, {"csrf": foreign}):
                shown = path.replace("{fact_id}", "0" * 32).replace("{document_id}", "0" * 32)
                shown = shown.replace("{key_id}", "0" * 32).replace("{job_id}", "0" * 32).replace("{subject}", "x")
                answer = await ann.client.post(shown, data={**marks, "content": "x", "typed": "ann"})
                assert answer.status_code == 403, (path, answer.status_code)
        assert [line async for line in service.memory.export(tenant="t")] == before


async def test_a_form_of_another_origin_is_not_taken_though_it_has_the_mark(tmp_path: Path) -> None:
    async with served(tmp_path) as service, browsing(service, "ann") as ann:
        form = {"csrf": mark_on(await ann.page("/")), "content": "x", "importance": "5"}
        answer = await ann.client.post("/facts", data=form, headers={"Origin": "https://evil.example"})
        assert answer.status_code == 403
        assert await service.memory.facts.list(user="ann", tenant="t") == []


async def test_signing_in_leads_to_where_one_wanted_to_go_and_never_elsewhere(tmp_path: Path) -> None:
    async with served(tmp_path) as service, browsing(service, None) as somebody:
        answer = await somebody.client.get("/search?q=rye")
        assert answer.headers["location"] == "/login?next=%2Fsearch%3Fq%3Drye"
        answer = await somebody.send("/login", "/login", key="ann", next="/search?q=rye")
        assert answer.headers["location"] == "/search?q=rye"
        cookie = next(value for value in answer.headers.get_list("set-cookie") if value.startswith(COOKIE))
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        for elsewhere in ("https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)", "/a\nb"):
            answer = await somebody.send("/login", "/login", key="ann", next=elsewhere)
            assert answer.headers["location"] == "/"
            assert not is_local(elsewhere)


async def test_a_wrong_key_is_told_of_and_signs_nobody_in(tmp_path: Path) -> None:
    async with served(tmp_path) as service, browsing(service, None) as somebody:
        answer = await somebody.send("/login", "/login", key="nonsense")
        assert answer.status_code == 401
        assert "Nobody is let in with this key" in answer.text
        assert (await somebody.client.get("/")).status_code == 303


async def test_who_is_let_in_no_more_sees_nothing_from_then_on(tmp_path: Path) -> None:
    async with served(tmp_path) as service, browsing(service, "ann") as ann:
        await ann.page("/")
        del service.gate.principals["ann"]
        assert (await ann.client.get("/")).status_code == 303


async def test_signing_out_forgets_who_it_was(tmp_path: Path) -> None:
    async with served(tmp_path) as service, browsing(service, "ann") as ann:
        assert "See what is remembered" in await ann.done("/logout")
        assert (await ann.client.get("/account")).status_code == 303


async def test_over_https_the_cookie_is_for_https_alone(tmp_path: Path) -> None:
    async with served(tmp_path) as service, browsing(service, None) as somebody:
        somebody.client.base_url = HERE.replace("http:", "https:")
        answer = await somebody.send("/login", "/login", key="ann")
        assert all("; Secure" in value or "Max-Age=0" in value for value in answer.headers.get_list("set-cookie"))


async def test_without_authentication_nobody_signs_in(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        app = create_app(service.memory, Open(person("ann")))
        async with browsing(Service(**{**service.__dict__, "app": app}), None) as ann:
            page = await ann.page("/")
            assert "Sign out" not in page
            assert "Kept: I like rye." in await ann.done("/facts", content="I like rye.", importance="5")


async def test_operators_see_what_is_theirs_and_nothing_that_anybody_said(tmp_path: Path) -> None:
    async with served(tmp_path) as service, browsing(service, "operator") as operator:
        await service.memory.session(user="ann", session="s1", tenant="t").add("user", "I like rye bread.")
        await service.memory.facts.add("I like rye bread.", user="ann", tenant="t")
        assert (await operator.client.get("/")).headers["location"] == "/operator"
        mine = {"/operator", "/operator/audit", "/operator/erasures"}
        for path in mine:
            page = await operator.page(path)
            assert "rye" not in page
            assert ">ann<" not in page
        for path in set(routes(service, "GET")) - mine - OPEN_TO_ALL - {"/"}:
            assert "rye" not in await operator.page(path.replace("{version}", "1"), 403)


async def test_people_see_nothing_of_operators(tmp_path: Path) -> None:
    async with served(tmp_path) as service, browsing(service, "ann") as ann:
        for path in ("/operator", "/operator/audit", "/operator/erasures"):
            await ann.page(path, 403)
        assert (await ann.send("/operator/retry")).status_code == 403


async def test_a_key_for_reading_changes_nothing(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        service.gate.principals["reader"] = replace(person("ann", Permission.READ), by="test-reader")
        async with browsing(service, "reader") as reader:
            assert '<form method="post" action="/facts' not in await reader.page("/")
            answer = await reader.send("/facts", content="x", importance="5")
            assert answer.status_code == 403
            assert "it lacks the scope &#39;write&#39;" in answer.text
            await reader.page("/account/export", 403)


def test_a_seal_holds_for_its_purpose_its_time_and_its_key() -> None:
    now = [1000.0]
    seal = Seal(key=b"k" * 32, now=lambda: now[0])
    text = seal.close("session", {"by": "x"}, seconds=SIGNED_IN)
    assert seal.open("session", text) == {"by": "x"}
    body, _, mark = text.partition(".")
    altered = [seal.open("flash", text), seal.open("session", f"{body}A.{mark}"), seal.open("session", body)]
    altered += [seal.open("session", None), seal.open("session", "ü.ü"), seal.open("session", f"{body}.{mark[:-1]}")]
    altered.append(Seal(key=b"l" * 32, now=lambda: now[0]).open("session", text))
    assert altered == [None] * len(altered)
    now[0] += SIGNED_IN
    assert seal.open("session", text) is None
