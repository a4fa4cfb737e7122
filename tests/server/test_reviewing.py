"""The lines of the page about reviewing do what it says."""

from __future__ import annotations

import shlex
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from tests.gates.test_docs_examples import ROOT, blocks
from tests.server.harness import Service, served

pytestmark = pytest.mark.anyio

PAGE = ROOT / "docs" / "how-to" / "reviewing.md"


async def curled(client: httpx2.AsyncClient, words: list[str], folder: Path) -> httpx2.Response:
    """What curl would do."""
    given = iter(words)
    method, headers, out, url = "", {}, None, ""
    sent: dict[str, Any] = {}
    for word in given:
        match word:
            case "-X":
                method = next(given)
            case "-H":
                name, _, value = next(given).partition(": ")
                headers[name] = value
            case "--json":
                sent["content"] = next(given)
                headers["Content-Type"] = "application/json"
            case "--data-binary":
                sent["content"] = (folder / next(given).removeprefix("@")).read_bytes()
            case "-F":
                name, _, value = next(given).partition("=")
                if value.startswith("@"):
                    sent["files"] = {name: (value[1:], (folder / value[1:]).read_bytes())}
                else:
                    sent["data"] = {**sent.get("data", {}), name: value}
            case "-o":
                out = folder / next(given)
            case _:
                assert not word.startswith("-"), f"what would curl do with {word}?"
                url = word
    found = urlsplit(url)
    path = f"{found.path}?{found.query}" if found.query else found.path
    answer = await client.request(method or ("POST" if sent else "GET"), path, headers=headers, **sent)
    if out is not None:
        out.write_bytes(answer.content)
    return answer


async def learned(service: Service) -> str:
    chat = service.memory.session(user="ann", session="s1")
    await chat.add("user", "I'm allergic to peanuts.")
    await chat.add("assistant", "Noted.")
    await service.memory.work()
    (fact,) = await service.memory.facts.list(user="ann")
    return str(fact.id)


async def test_the_lines_of_the_page_work_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "bread.md").write_text("# Bread\n\nHeat the oven to 220 degrees: that is how hot it is.\n")
    lines = [line[2:] for block in blocks(PAGE, language="console") for line in block.body.splitlines()]
    async with served(tmp_path, extraction="turn") as service:
        known = {"KEY": "ann", "FACT": await learned(service)}
        answers: dict[str, httpx2.Response] = {}
        for line in lines:
            name, assigned, value = line.partition("=")
            if assigned and name.isupper():
                known.setdefault(name, Template(value.strip('"')).substitute(known))
                continue
            command, *words = [Template(word).substitute(known) for word in shlex.split(line)]
            assert command == "curl"
            answer = answers[line] = await curled(service.nobody, words, tmp_path)
            assert answer.is_success, f"{line}: {answer.text}"
            if "Barks at night" in line:
                known["RULE"] = answer.json()["id"]
        shown = {line.rpartition("$HERE")[2]: answer for line, answer in answers.items()}
        assert shown["/knowledge/search"].json()["hits"][0]["document"]["title"] == "Bread"
        assert shown["/restore"].json()["held"] == 2
        assert (await service.ann.get("/v1/facts")).json() == []
        assert (await service.ann.get("/v1/sessions")).json() == []
