"""Documents over HTTP: texts and files, found, changed and taken out by whose they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from tests.server.harness import Service, served

pytestmark = pytest.mark.anyio

BREAD = {"text": "Bake the bread at 220 degrees.", "title": "Bread", "metadata": {"author": "Ann", "tags": ["oven"]}}


async def titles(client: httpx2.AsyncClient, **params: Any) -> list[str]:
    return [each["title"] for each in (await client.get("/v1/knowledge", params=params)).json()]


async def sent(service: Service, name: str, data: bytes, **fields: str) -> httpx2.Response:
    return await service.ann.post("/v1/knowledge/files", files={"file": (name, data)}, data=fields)


async def test_a_text_is_kept_found_changed_and_taken_out(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        kept = await service.ann.post("/v1/knowledge", json=BREAD)
        assert (kept.status_code, kept.json()["namespace"]) == (201, ["user", "ann"])
        again = await service.ann.post("/v1/knowledge", json=BREAD)
        assert again.json()["id"] == kept.json()["id"]
        at = f"/v1/knowledge/{kept.json()['id']}"
        assert (await service.ann.get(at)).json()["content"] == BREAD["text"]
        (listed,) = (await service.ann.get("/v1/knowledge")).json()
        assert (listed["title"], listed["content"]) == ("Bread", None)
        found = (await service.ann.post("/v1/knowledge/search", json={"query": "degrees of the oven?"})).json()
        assert found["hits"][0]["document"]["title"] == "Bread"
        assert "220 degrees" in found["hits"][0]["chunk"]["text"]
        changed = await service.ann.patch(at, json={"title": "Rolls", "text": "Bake the rolls at 200."})
        assert (changed.json()["title"], changed.json()["version"]) == ("Rolls", 2)
        assert (await service.ann.delete(at)).status_code == 204
        assert (await service.ann.delete(at)).status_code == 404
        assert (await service.ann.get(at)).status_code == 404


async def test_a_list_and_a_search_are_narrowed_by_kind_and_by_what_is_said_of_documents(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        await service.ann.post("/v1/knowledge", json=BREAD)
        soup = {"text": "Cook the soup for 20 minutes.", "title": "Soup", "doc_type": "note"}
        newest = (await service.ann.post("/v1/knowledge", json=soup)).json()
        assert await titles(service.ann) == ["Soup", "Bread"]
        assert await titles(service.ann, doc_type="note") == ["Soup"]
        assert await titles(service.ann, where='author = "Ann" and tags contains "oven"') == ["Bread"]
        assert await titles(service.ann, before=newest["id"], limit=1) == ["Bread"]
        for narrowed, title in (({"doc_type": "note"}, "Soup"), ({"where": "exists author"}, "Bread")):
            question = {"query": "the bread and the soup", "limit": 5, **narrowed}
            hits = (await service.ann.post("/v1/knowledge/search", json=question)).json()["hits"]
            assert [hit["document"]["title"] for hit in hits] == [title]


async def test_documents_are_whose_they_are_and_no_parameter_reaches_further(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        document = (await service.ann.post("/v1/knowledge", json=BREAD)).json()["id"]
        await service.memory.knowledge.add("Bread of the team.", namespace=["team"])
        await service.memory.knowledge.add("Bread of yesterday.", namespace=["user"])
        for other in (service.bob, service.eve):
            assert await titles(other) == []
            for more in ({}, {"namespace": "user", "user": "ann", "tenant": "t"}):
                assert (await other.get("/v1/knowledge", params=more)).json() == []
            search = await other.post("/v1/knowledge/search", json={"query": "bread"})
            assert search.json()["hits"] == []
            search = await other.post("/v1/knowledge/search", json={"query": "bread", "namespace": ["team"]})
            assert search.status_code == 422
            for method, body in (("GET", None), ("PATCH", {"title": "mine"}), ("DELETE", None)):
                nothing = str(uuid4())
                foreign = await other.request(method, f"/v1/knowledge/{document}", json=body)
                absent = await other.request(method, f"/v1/knowledge/{nothing}", json=body)
                assert foreign.status_code == absent.status_code == 404
                assert foreign.text.replace(document, "ID") == absent.text.replace(nothing, "ID")
        assert await titles(service.ann) == ["Bread"]


FILES: list[tuple[str, bytes, str]] = [
    ("bread.txt", b"Bake at 220 degrees.", "Bake at 220 degrees."),
    ("bread", "Bäckt bei 220°.".encode(), "Bäckt bei 220°."),
    ("BREAD.MD", b"# Bread\n\nBake at 220 degrees.", "Bread"),
    ("../../etc/bread.html", b"<title>Bread</title><body>Bake<script>evil()</script>", "Bread"),
    ("a\u202eb/\u2603.html", b"<html><title>Bread</title><body>Bake", "Bread"),
]


async def test_a_file_is_read_as_its_name_says_wherever_it_claims_to_lie(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        for name, data, title in FILES:
            answer = await sent(service, name, data)
            assert (answer.status_code, answer.json().get("title")) == (201, title), answer.text
            assert "evil" not in answer.json()["content"]


async def test_a_file_comes_with_what_is_said_of_it(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        said = {"title": "Bread", "doc_type": "recipe", "metadata": json.dumps({"author": "Ann"}), "key": "bread"}
        first = (await sent(service, "b.txt", b"Bake at 220.", **said)).json()
        assert {name: first[name] for name in ("title", "doc_type", "metadata", "key", "source")} == {
            **said,
            "metadata": {"author": "Ann"},
            "source": "file",
        }
        second = (await sent(service, "b.txt", b"Bake at 200.", **said)).json()
        assert (second["id"], second["content"]) == (first["id"], "Bake at 200.")


async def test_a_file_that_is_too_large_is_refused_before_it_is_kept(tmp_path: Path) -> None:
    async with served(tmp_path, knowledge={"max_bytes": 2048}) as service:
        assert (await sent(service, "a.txt", b"a " * 1024)).status_code == 201
        slightly = await sent(service, "a.txt", b"b " * 1025)
        assert slightly.status_code == 422
        assert "knowledge.max_bytes" in slightly.json()["detail"]
        much = await sent(service, "a.txt", b"b" * 400_000)
        assert much.status_code == 413

        async def endless() -> Any:
            yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
            for _ in range(1_000):
                yield b"c" * 100_000

        headers = {"Content-Type": "multipart/form-data; boundary=x"}
        assert (await service.ann.post("/v1/knowledge/files", content=endless(), headers=headers)).status_code == 413
        (kept,) = await titles(service.ann)
        assert kept.startswith("a a a")


BROKEN: list[tuple[str, bytes]] = [
    ("a.txt", b""),
    ("a.txt", b"  "),
    ("a.txt", b"\xff\xfe\xfd"),
    ("a.txt", b"a\x00b"),
    ("a.pdf", b"no PDF at all"),
    ("a.txt", b"%PDF-1.7\n1 0 obj"),
    ("a.html", b"<script>only</script>"),
]


async def test_a_file_that_is_no_document_is_refused(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        for name, data in BROKEN:
            answer = await sent(service, name, data)
            assert answer.status_code == 422, f"{name} {data!r}: {answer.text}"
            assert "/" not in answer.json()["detail"], "no path of the host is told"
        assert await titles(service.ann) == []


PART = b'--x\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n%s\r\n'
FILE = PART % (b"file", b'; filename="a.txt"', b"Bake.")
FORM = "multipart/form-data; boundary=x"
FORMS: dict[str, tuple[str, bytes, int]] = {
    "JSON": ("application/json", b'{"file": "a"}', 415),
    "no type": ("", FILE + b"--x--", 415),
    "no boundary": ("multipart/form-data", FILE + b"--x--", 422),
    "another encoding": (f"{FORM}; charset=punycode", FILE + b"--x--", 415),
    "nothing": (FORM, b"", 422),
    "no file": (FORM, PART % (b"title", b"", b"Bread") + b"--x--", 422),
    "a field instead of a file": (FORM, PART % (b"file", b"", b"Bread") + b"--x--", 422),
    "two files": (FORM, FILE + FILE + b"--x--", 422),
    "an unknown field": (FORM, FILE + PART % (b"namespace", b"", b'["team"]') + b"--x--", 422),
    "a field twice": (FORM, FILE + (PART % (b"title", b"", b"Bread")) * 2 + b"--x--", 422),
    "many fields": (FORM, FILE + (PART % (b"title", b"", b"Bread")) * 2_000 + b"--x--", 422),
    "a large field": (FORM, FILE + PART % (b"title", b"", b"B" * (257 << 10)) + b"--x--", 422),
    "metadata that is no JSON": (FORM, FILE + PART % (b"metadata", b"", b"{") + b"--x--", 422),
    "metadata that is no object": (FORM, FILE + PART % (b"metadata", b"", b"[1]") + b"--x--", 422),
    "deep metadata": (FORM, FILE + PART % (b"metadata", b"", b'{"a":' * 9_999) + b"--x--", 422),
    "no name": (FORM, b"--x\r\nContent-Disposition: form-data\r\n\r\nBake.\r\n--x--", 422),
    "broken": (FORM, b"--y\r\n\r\n", 422),
}


async def test_a_form_that_is_none_is_refused(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        for form, (kind, content, status) in FORMS.items():
            answer = await service.ann.post("/v1/knowledge/files", content=content, headers={"Content-Type": kind})
            assert answer.status_code == status, f"{form}: {answer.text}"
            assert answer.json()["detail"].count("\n") == 0
        assert await titles(service.ann) == []


IMPOSSIBLE: list[tuple[str, str, dict[str, object] | None]] = [
    ("POST", "", {}),
    ("POST", "", {"text": "  "}),
    ("POST", "", {"text": "a", "path": "/etc/passwd"}),
    ("POST", "", {"text": "a", "namespace": ["team"]}),
    ("POST", "", {"text": "a", "title": "x" * 501}),
    ("POST", "", {"text": "a", "doc_type": "x" * 101}),
    ("POST", "", {"text": "a", "key": "x" * 201}),
    ("POST", "", {"text": "a", "metadata": {"n": 10**30}}),
    ("POST", "", {"text": "a", "metadata": {"n": {"m": {"deep": 1}}}}),
    ("POST", "", {"text": "a", "metadata": {"a b": 1}}),
    ("POST", "", {"text": "a", "metadata": {f"n{at}": 1 for at in range(101)}}),
    ("POST", "/search", {"query": ""}),
    ("POST", "/search", {"query": "x" * 100_001}),
    ("POST", "/search", {"query": "a", "limit": 201}),
    ("POST", "/search", {"query": "a", "limit": True}),
    ("POST", "/search", {"query": "a", "where": "(" * 4_000}),
    ("POST", "/search", {"query": "a", "where": "not " * 999 + "exists a"}),
    ("POST", "/search", {"query": "a", "doc_type": "\x00"}),
    ("GET", "?limit=0", None),
    ("GET", "?before=1", None),
    ("GET", "?where=author", None),
    ("GET", "/1", None),
    ("DELETE", "/%00", None),
]


async def test_what_cannot_be_kept_or_asked_is_refused(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        for method, path, body in IMPOSSIBLE:
            answer = await service.ann.request(method, f"/v1/knowledge{path}", json=body)
            assert answer.status_code == 422, f"{method} {path} {str(body)[:200]}: {answer.text[:500]}"
        assert await titles(service.ann) == []
