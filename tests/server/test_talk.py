"""Prompts, turns and streams over HTTP say what the library says; the log can be corrected; nobody else's is there."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from string import Template
from typing import Any

import pytest
from pydantic import TypeAdapter
from tests.gates.test_docs_examples import ROOT, blocks
from tests.server.harness import Service, served
from tests.server.test_reviewing import curled

from anaphora.domain.context import Context
from anaphora.domain.messages import Message
from anaphora.errors import ModelUnavailable
from anaphora.services.chat import Answer
from anaphora.testing.scripted import ScriptedChat

pytestmark = pytest.mark.anyio

S1 = "/v1/sessions/s1"
QUESTION = {"content": "What can I cook?"}


async def begun(service: Service, *contents: str) -> None:
    turn = [{"role": "user" if at % 2 == 0 else "assistant", "content": content} for at, content in enumerate(contents)]
    assert (await service.ann.post(f"{S1}/turns", json={"messages": turn})).status_code == 201


def events_of(text: str) -> list[tuple[str, Any]]:
    told = []
    for block in filter(None, text.split("\n\n")):
        lines = dict(line.split(": ", 1) for line in block.splitlines())
        if "event" in lines:
            told.append((lines["event"], json.loads(lines["data"])))
    return told


async def test_a_turn_is_appended_whole_or_not_at_all(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        await begun(service, "Hello.", "Hi!")
        bad = {"messages": [{"role": "user", "content": "Lost?"}, {"role": "nobody", "content": "x"}]}
        refused = await service.ann.post(f"{S1}/turns", json=bad)
        assert (refused.status_code, refused.json()["error"]) == (422, "UnknownName")
        listed = (await service.ann.get(f"{S1}/messages")).json()
        assert [message["content"] for message in listed] == ["Hello.", "Hi!"]
        assert {message["turn"] for message in listed} == {0}


async def test_a_correction_keeps_what_was_said_and_shows_it_as_of_then(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        await begun(service, "I like nuts.", "Noted.")
        edited = await service.ann.patch(f"{S1}/messages/0", json={"content": "I like figs."})
        assert (edited.json()["content"], edited.json()["version"]) == ("I like figs.", 2)
        assert (await service.ann.delete(f"{S1}/messages/1")).json() is True
        assert (await service.ann.delete(f"{S1}/messages/1")).json() is False
        versions = (await service.ann.get(f"{S1}/messages/0/versions")).json()
        assert [message["content"] for message in versions] == ["I like nuts.", "I like figs."]
        (now,) = (await service.ann.get(f"{S1}/messages")).json()
        assert now["content"] == "I like figs."
        at = versions[0]["created_at"]
        for as_of in (2, at):
            then = await service.ann.get(f"{S1}/messages", params={"as_of": as_of})
            assert then.status_code == 200, then.text
        assert (await service.ann.patch(f"{S1}/messages/9", json={"content": "x"})).status_code == 404
        assert (await service.bob.patch(f"{S1}/messages/0", json={"content": "x"})).status_code == 404


@pytest.mark.parametrize(
    "as_of",
    [
        "99999999999999999999",
        "-1",
        "5.5",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-12:00",
        "today",
        "2026-01-05",
    ],
)
async def test_a_moment_that_is_none_is_refused(tmp_path: Path, as_of: str) -> None:
    async with served(tmp_path) as service:
        await begun(service, "Hello.")
        for answer in (
            await service.ann.get(f"{S1}/messages", params={"as_of": as_of}),
            await service.ann.get(f"{S1}/summaries", params={"as_of": as_of}),
            await service.ann.post(f"{S1}/context", json={"as_of": as_of}),
        ):
            assert answer.status_code == 422, answer.text
            assert answer.json()["detail"]


@pytest.mark.parametrize("number", [2**31, 2**63, 2**64, 10**30, -1])
async def test_numbers_that_no_store_holds_are_wrong_input_everywhere(tmp_path: Path, number: int) -> None:
    async with served(tmp_path) as service:
        await begun(service, "Hello.")
        for name in ("start", "stop", "limit"):
            assert (await service.ann.get(f"{S1}/messages", params={name: number})).status_code == 422
        for path in (
            f"messages/{number}/versions",
            f"summaries/{number}",
            f"topics/{number}",
            f"summaries/1/diff?since={number}",
        ):
            assert (await service.ann.get(f"{S1}/{path}")).status_code in {404, 422}
        for path, body in (
            ("context", {"budget": number}),
            ("rebuild", {"from_seq": number}),
            ("recall", {"limit": number}),
        ):
            assert (await service.ann.post(f"{S1}/{path}", json=body)).status_code == 422
        kept = {"role": "user", "content": "x", "metadata": {"n": number}}
        assert (await service.ann.post(f"{S1}/messages", json=kept)).status_code == 201
        assert (await service.ann.get(f"{S1}/messages")).json()[-1]["metadata"] == {"n": number}


async def test_a_prompt_is_that_of_the_library_in_each_shape(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        await begun(service, "I'm allergic to peanuts.", "Noted.")
        asked = {"query": "What can I cook?", "budget": 2000}
        here = await service.memory.session(user="ann", session="s1").context(asked["query"], budget=2000)  # type: ignore[arg-type]
        told = await service.ann.post(f"{S1}/context", json=asked)
        assert TypeAdapter(Context).validate_json(told.content) == here
        openai = await service.ann.post(f"{S1}/context?format=openai", json=asked)
        assert openai.json() == here.to_openai()
        anthropic = await service.ann.post(f"{S1}/context?format=anthropic", json=asked)
        assert anthropic.json() == here.to_anthropic()
        assert "peanuts" not in (await service.bob.post(f"{S1}/context", json=asked)).text


async def test_no_request_sets_the_instructions(tmp_path: Path) -> None:
    async with served(tmp_path, instructions="Be brief.") as service:
        for body in ({"instructions": "Obey me."}, {"query": "x", "instructions": None}):
            assert (await service.ann.post(f"{S1}/context", json=body)).status_code == 422
        prompt = (await service.ann.post(f"{S1}/context?format=openai&instructions=Obey", json={"query": "x"})).json()
        assert [message["content"] for message in prompt if message["role"] == "system"] == ["Be brief."]


async def test_without_a_chat_model_turns_are_refused_and_nothing_is_stored(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        for path in ("send", "stream"):
            refused = await service.ann.post(f"{S1}/{path}", json=QUESTION)
            assert (refused.status_code, refused.json()["error"]) == (409, "ConfigError")
        assert (await service.ann.get(f"{S1}/messages")).json() == []


async def test_a_turn_is_answered_whole_or_in_pieces_and_a_retry_is_harmless(tmp_path: Path) -> None:
    async with served(tmp_path, chat=ScriptedChat()) as service:
        key = {"Idempotency-Key": "k"}
        first = await service.ann.post(f"{S1}/send", json=QUESTION, headers=key)
        answer = TypeAdapter(Answer).validate_json(first.content)
        assert answer.text.strip() == "You said: What can I cook?"
        streamed = await service.ann.post("/v1/sessions/s2/stream", json=QUESTION, headers=key)
        assert streamed.headers["content-type"].startswith("text/event-stream")
        told = events_of(streamed.text)
        assert "".join(data["text"] for kind, data in told if kind == "piece") == answer.text
        kind, data = told[-1]
        assert kind == "answer"
        assert TypeAdapter(Answer).validate_python(data).text == answer.text
        again = await service.ann.post(f"{S1}/send", json=QUESTION, headers=key)
        assert again.json()["text"] == answer.text
        for session in ("s1", "s2"):
            kept = (await service.ann.get(f"/v1/sessions/{session}/messages")).content
            assert [m.content for m in TypeAdapter(list[Message]).validate_json(kept)] == [
                "What can I cook?",
                answer.text,
            ]


async def test_a_model_that_fails_is_told_as_a_problem(tmp_path: Path) -> None:
    def fail(*_: object) -> str:
        raise ModelUnavailable("it is down", retry_after=7)

    async with served(tmp_path, chat=ScriptedChat(fail)) as service:
        refused = await service.ann.post(f"{S1}/send", json=QUESTION)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "7")
        streamed = await service.ann.post("/v1/sessions/s2/stream", json=QUESTION)
        assert streamed.status_code == 503 or events_of(streamed.text)[-1][0] == "problem"


async def test_what_was_said_is_found_by_its_owner_alone(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        await begun(service, "I'm allergic to peanuts.", "Noted.")
        found = (
            await service.ann.get("/v1/search", params={"q": "allergic peanuts", "kinds": ["messages", "facts"]})
        ).json()
        assert found["hits"][0]["message"]["content"] == "I'm allergic to peanuts."
        recalled = (await service.ann.post(f"{S1}/recall", json={"content": "peanuts"})).json()
        assert recalled[0]["message"]["seq"] == 0
        for other in (service.bob, service.eve):
            assert (await other.get("/v1/search", params={"q": "allergic peanuts"})).json()["hits"] == []
            assert (await other.post(f"{S1}/recall", json={"content": "peanuts"})).json() == []
        wrongs: tuple[dict[str, Any], ...] = (
            {},
            {"q": ""},
            {"q": "x" * 10_001},
            {"q": "x", "kinds": "all"},
            {"q": "x\0"},
            {"q": "x", "limit": 0},
        )
        for wrong in wrongs:
            assert (await service.ann.get("/v1/search", params=wrong)).status_code == 422


async def test_the_lines_of_the_page_work_in_their_order(tmp_path: Path) -> None:
    page = ROOT / "docs" / "how-to" / "talking.md"
    lines = [line[2:] for block in blocks(page, language="console") for line in block.body.splitlines()]
    known = {"KEY": "ann"}
    async with served(tmp_path, chat=ScriptedChat()) as service:
        for line in lines:
            name, assigned, value = line.partition("=")
            if assigned and name.isupper():
                known.setdefault(name, Template(value.strip('"')).substitute(known))
                continue
            command, *words = [Template(word).substitute(known) for word in shlex.split(line)]
            assert command == "curl"
            answer = await curled(service.nobody, [word for word in words if word != "-N"], tmp_path)
            assert answer.is_success, f"{line}: {answer.text}"
