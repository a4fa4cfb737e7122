"""The knowledge base through the public API, on every database."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.memory.harness import opened

from anaphora import Memory
from anaphora.bootstrap import Overrides
from anaphora.domain.documents import checked_namespace, namespace_from, namespace_text
from anaphora.domain.filters import And, Contains, Equals, Exists, Field, Filter, Not, Or
from anaphora.errors import InvalidInput, ModelUnavailable, NotFound
from anaphora.ports.models import EmbedderProfile
from anaphora.rules.filters import matches
from anaphora.testing import FakeClock
from anaphora.testing.embeddings import by_topics

pytestmark = pytest.mark.anyio

FRUIT, KEYS = "Bananas are yellow. They ripen slowly.", "Tokens expire after one hour."
_EMBED = by_topics({"fruit": ["bananas", "yellow", "tropical"], "auth": ["tokens", "login", "expire"]})


class Topical:
    """An embedder that may be away."""

    def __init__(self) -> None:
        self.profile = EmbedderProfile(
            id="topical",
            dimensions=32,
            max_tokens=512,
            pooling="none",
            query_prefix="",
            relevance_threshold=0.5,
            same_topic_threshold=0.5,
        )
        self.away = False

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        if self.away:
            raise ModelUnavailable("the embedder is away")
        return [_EMBED(text) for text in texts]

    def embed_query(self, text: str) -> Sequence[float]:
        return self.embed([text])[0]


async def titles(memory: Memory, query: str, **how: Any) -> list[str]:
    """Of the documents that answer, best first."""
    return [hit.document.title for hit in await memory.knowledge.search(query, **{"user": "ann", **how})]


async def test_a_document_is_found_by_its_words_at_once_and_by_its_meaning_when_it_was_embedded(tmp_path: Path) -> None:
    """I17: until then the answer says that it is degraded."""
    async with Memory.open(str(tmp_path / "m.db"), embedder=Topical(), worker=False) as memory:
        await memory.knowledge.add(FRUIT, user="ann", title="Fruit")
        await memory.knowledge.add(KEYS, user="ann", title="Keys")
        found = await memory.knowledge.search("tokens?", user="ann")
        assert ([hit.document.title for hit in found], found.degraded) == (["Keys"], ("vectors",))
        assert not await memory.idle(0.01)
        assert await memory.work() == 2
        assert await memory.idle(5)
        found = await memory.knowledge.search("tropical", user="ann")
        assert (found[0].document.title, found.degraded) == ("Fruit", ())
        assert found[0].chunk.text == FRUIT
        assert found[0].document.content is None
        assert found[0].relevance > found[1].relevance
        assert found[0].score == pytest.approx(sum(found[0].scores.values()))


async def test_what_cannot_be_embedded_waits_longer_each_time_and_is_embedded_in_the_end(tmp_path: Path) -> None:
    """I9, I17: an embedder that is away stops nothing, and loses nothing."""
    clock, embedder = FakeClock(), Topical()
    async with opened(tmp_path, clock=clock) as plain:
        await plain.knowledge.add("Nobody embeds this.", user="ann")
        assert await plain.work() == 0
    async with Memory.open(
        settings=plain._services.settings.model_copy(update={"embedder": "local"}),
        overrides=Overrides(clock=clock, embedder=embedder),
        worker=False,
    ) as memory:
        document = await memory.knowledge.add(KEYS, user="ann", title="Keys")
        embedder.away = True
        for _ in range(3):
            assert await memory.work() == 1
            assert await memory.work() == 0
            assert (await memory.knowledge.search("login", user="ann")).degraded == ("embedder",)
            clock.jump(3600)
        embedder.away = False
        assert await memory.work() == 1
        assert await titles(memory, "login") == ["Keys"]
        assert await memory._services.reindex.plan(memory._services.settings.tenant) == 1
        assert await memory.work() == 1
        assert (await memory.knowledge.search("login", user="ann")).degraded == ()
        await memory.knowledge.update(document.id, user="ann", text=FRUIT)
        assert (await memory.knowledge.search("login", user="ann")).degraded == ("vectors",)


async def test_a_document_can_be_added_again_listed_changed_and_deleted(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        kb = memory.knowledge
        first = await kb.add(FRUIT, user="ann", metadata={"tags": ["x"]}, doc_type="note")
        assert await kb.add(FRUIT, user="ann", metadata={"tags": ["x"]}, doc_type="note") == first
        keyed = await kb.add("One.", user="ann", key="k")
        again = await kb.add("Two.", user="ann", key="k", title="Second")
        assert (again.id, again.version) == (keyed.id, 2)
        assert [one.id for one in await kb.list(user="ann")] == [again.id, first.id]
        assert [one.id for one in await kb.list(user="ann", before=again.id)] == [first.id]
        assert [one.title for one in await kb.list(user="ann", doc_type="note")] == [
            "Bananas are yellow. They ripen slowly."
        ]
        assert [one.id for one in await kb.list(user="ann", where='tags contains "x"')] == [first.id]
        changed = await kb.update(first.id, user="ann", title="Fruit", metadata={"n": 1})
        assert (changed.content, changed.version) == (FRUIT, 2)
        assert await kb.update(first.id, user="ann", title="Fruit") == changed
        assert await titles(memory, "fruit") == ["Fruit"]
        assert await kb.get(first.id, user="ann") == changed
        await kb.add("Three.", user="ann")
        with pytest.raises(InvalidInput, match="another document"):
            await kb.update(first.id, user="ann", text="Three.")
        assert await kb.delete(first.id, user="ann")
        assert not await kb.delete(first.id, user="ann")
        with pytest.raises(NotFound):
            await kb.get(first.id, user="ann")
        assert await titles(memory, "bananas") == []


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({}, "give either a user or a namespace"),
        ({"user": "ann", "namespace": ["x"]}, "give either a user or a namespace"),
        ({"namespace": "user"}, "a list of names"),
        ({"namespace": []}, "1 to 8 parts"),
        ({"namespace": ["a"] * 9}, "1 to 8 parts"),
        ({"namespace": ["a\x00b"]}, "NUL"),
        ({"namespace": ["a", ""]}, "part 2 of the namespace must not be empty"),
        ({"namespace": ["a", "\ud800"]}, "surrogate"),
        ({"user": "ann", "text": None}, "either a text or a path"),
        ({"user": "ann", "text": " \n"}, "empty"),
        ({"user": "ann", "text": "a\x00b"}, "NUL"),
        ({"user": "ann", "text": "x" * 5000}, "knowledge.max_text_bytes"),
        ({"user": "ann", "title": " "}, "title must not be empty"),
        ({"user": "ann", "title": "x" * 501}, "title is longer"),
        ({"user": "ann", "doc_type": ""}, "doc_type must not be empty"),
        ({"user": "ann", "key": ""}, "key must not be empty"),
        ({"user": "ann", "metadata": {"a b": 1}}, "name of the metadata"),
        ({"user": "ann", "metadata": {"a": {"b": {"c": "d"}}}}, "something else than texts"),
        ({"user": "ann", "metadata": {"a": [[1]]}}, "must be a text, a number"),
        ({"user": "ann", "metadata": {"a": float("nan")}}, "finite"),
        ({"user": "ann", "metadata": {"a": 2**60}}, "beyond 2^53"),
        ({"user": "ann", "metadata": {"a": "x" * 70_000}}, "bytes: 65536 are allowed"),
        ({"user": "ann", "metadata": []}, "must be an object"),
    ],
)
async def test_what_cannot_be_kept_is_told_in_one_line_and_nothing_is_written(
    how: dict[str, Any], said: str, tmp_path: Path
) -> None:
    async with opened(tmp_path, knowledge={"max_text_bytes": 1024}) as memory:
        with pytest.raises(InvalidInput) as error:
            await memory.knowledge.add(**{"text": "x", **how})
        assert said in str(error.value)
        assert "\n" not in str(error.value)
        assert (await memory.knowledge.list(user="ann")) == []


async def test_a_file_is_kept_whole_or_not_at_all(tmp_path: Path) -> None:
    good, bad = tmp_path / "notes.md", tmp_path / "bad.bin"
    good.write_text("# Notes\n\nTokens expire.", encoding="utf-8")
    bad.write_bytes(b"\x00\x01")
    async with opened(tmp_path) as memory:
        kept = await memory.knowledge.add(path=good, user="ann")
        assert (kept.title, kept.source) == ("Notes", "file")
        for path in (bad, tmp_path, tmp_path / "none"):
            with pytest.raises(InvalidInput):
                await memory.knowledge.add(path=path, user="ann")
        assert await memory.knowledge.list(user="ann") == [
            one for one in await memory.knowledge.list(user="ann") if one.id == kept.id
        ]


ODD = ("al", "alice", "user", "conversations", ":", "/", "%", "_", '"', "\\", '","', "[]", "\x01", "\xe9", "e\u0301")
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=12)
HOSTILE = TEXTS | st.sampled_from(ODD)
NAMES = st.lists(HOSTILE.filter(str.strip), min_size=1, max_size=3).map(tuple)


@given(NAMES, NAMES)
def test_no_two_namespaces_have_the_same_text(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    """I11: and each is read back as it was."""
    assert (namespace_text(one) == namespace_text(other)) == (one == other)
    assert namespace_from(namespace_text(one)) == checked_namespace(one) == one


@given(st.lists(NAMES, min_size=2, max_size=5, unique=True))
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_nobody_finds_what_is_in_another_namespace(tmp_path: Path, names: list[tuple[str, ...]]) -> None:
    """I11: whatever namespaces and users are called, by lists, searches, ids and changes."""
    async with opened(Path(mkdtemp(dir=tmp_path))) as memory:
        kb = memory.knowledge
        ids = {name: (await kb.add("The same apples.", namespace=name)).id for name in names}
        for name in names:
            assert [one.id for one in await kb.list(namespace=name)] == [ids[name]]
            assert [hit.document.id for hit in await kb.search("apples", namespace=name)] == [ids[name]]
            for other in names:
                if other != name:
                    with pytest.raises(NotFound):
                        await kb.get(ids[other], namespace=name)
                    assert not await kb.delete(ids[other], namespace=name)
            (user, *_) = name
            own = {ids[each] for each in names if each in {("user", user), ("conversations", user)}}
            assert {one.id for one in await kb.list(user=user)} == own


async def test_a_filter_says_of_stored_documents_what_the_rule_says(tmp_path: Path) -> None:
    """On every database, whatever is asked."""
    chance = random.Random(7)
    scalars: list[Any] = ["a", "", "1", '"%_', "é", 0, 1, 1.5, -2, True, False, None]
    fields = [Field.of(name) for name in ("a", "b", "c", "d.start", "d.end", "a.b")]

    def value() -> Any:
        kind = chance.random()
        if kind < 0.3:
            return [chance.choice(scalars) for _ in range(chance.randrange(3))]
        return chance.choice(scalars)

    def asked(depth: int = 0) -> Filter:
        kind = chance.randrange(6 if depth < 3 else 3)
        field = chance.choice(fields)
        match kind:
            case 0:
                return Equals(field, chance.choice(scalars))
            case 1:
                return Contains(field, chance.choice(scalars))
            case 2:
                return Exists(field)
            case 3:
                return Not(asked(depth + 1))
            case _:
                parts = tuple(asked(depth + 1) for _ in range(chance.randrange(3)))
                return And(parts) if kind == 4 else Or(parts)

    async with opened(tmp_path) as memory:
        said = {}
        for number in range(12):
            metadata = {name: value() for name in "abc" if chance.random() < 0.7}
            if chance.random() < 0.5:
                metadata["d"] = {"start": chance.choice(["a", "1"])}
            document = await memory.knowledge.add(f"Text {number}.", user="ann", metadata=metadata)
            said[document.id] = json.loads(json.dumps(metadata))
        for _ in range(60):
            where = asked()
            found = {one.id for one in await memory.knowledge.list(user="ann", where=where)}
            assert found == {each for each, metadata in said.items() if matches(where, metadata)}, where


async def test_a_document_is_known_by_its_id_as_text_too(tmp_path: Path) -> None:
    """Tools hand out texts."""
    async with opened(tmp_path) as memory:
        kept = await memory.knowledge.add(FRUIT, user="ann")
        assert (await memory.knowledge.get(str(kept.id), user="ann")).id == kept.id
        assert [each.id for each in await memory.knowledge.list(user="ann", before=str(kept.id))] == []
        changed = await memory.knowledge.update(str(kept.id), title="Fruit", user="ann")
        assert changed.title == "Fruit"
        for wrong in ("nothing", "", 7):
            with pytest.raises(InvalidInput, match="is no id of a document"):
                await memory.knowledge.get(wrong, user="ann")  # type: ignore[arg-type]
        assert await memory.knowledge.delete(str(kept.id), user="ann")
