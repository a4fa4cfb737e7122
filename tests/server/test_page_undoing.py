"""A form never leads back to a page that it took away: there one could not undo what was done."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.server.browsing import browsing
from tests.server.harness import served

pytestmark = pytest.mark.anyio


async def test_a_fact_deleted_on_its_own_page_leads_to_the_list_with_the_undo(tmp_path: Path) -> None:
    async with served(tmp_path) as service, browsing(service, "ann") as ann:
        fact = await service.memory.facts.add("I like rye bread.", user="ann", tenant="t")
        path = f"/facts/{fact.id}"
        for own in (path, path.upper().replace("/FACTS", "/facts"), f"/facts/{fact.id.hex}?a=b#c"):
            fact = (await service.memory.facts.list(user="ann", tenant="t"))[0]
            answer = await ann.send(f"/facts/{fact.id}/delete", next=own)
            assert answer.headers["location"] == "/"
            page = await ann.page("/")
            assert "Undo: add it again" in page
            given = dict(
                re.findall(r'name="(content|category|importance|subject|pinned|shared)" value="([^"]*)"', page)
            )
            assert "It is kept again" in await ann.done("/facts/restore", **given)


async def test_an_addition_undone_on_the_fact_s_own_page_leads_to_the_list(tmp_path: Path) -> None:
    async with served(tmp_path) as service, browsing(service, "ann") as ann:
        fact = await service.memory.facts.add("I like rye bread.", user="ann", tenant="t")
        page = await ann.done(f"/facts/{fact.id}/undo", next=f"/facts/{fact.id}")
        assert "Undone: it is not kept." in page


async def test_other_changes_lead_back_to_where_they_were_made(tmp_path: Path) -> None:
    async with served(tmp_path) as service, browsing(service, "ann") as ann:
        fact = await service.memory.facts.add("I like rye bread.", user="ann", tenant="t")
        path = f"/facts/{fact.id}"
        for what in ("pin", "unpin", "undo"):
            assert (await ann.send(f"{path}/{what}", next=path)).headers["location"] == path
        assert (await ann.send(f"{path}/delete", next="/sessions")).headers["location"] == "/sessions"
