"""Documents out of one database and into another, and exports that were made up."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.memory.harness import opened

from anaphora import Memory
from anaphora.domain.keys import SeqRange, SessionKey, uuid7
from anaphora.domain.messages import Trust
from anaphora.errors import InvalidInput
from anaphora.ports.store import Unit
from anaphora.rules.archived import archived, as_document
from anaphora.rules.documents import Chunking
from anaphora.testing.clock import FakeClock

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 3, 1, tzinfo=UTC)
Lines = list[str]


async def archive(memory: Memory, key: SessionKey, stop: int, narrative: str) -> None:
    """Keep a stretch of a session as a document."""

    def put(unit: Unit) -> None:
        row = unit.sessions.find(key)
        assert row is not None
        told = archived(key, SeqRange(0, stop), narrative=narrative, message_count=stop, first_at=NOW, last_at=NOW)
        document, chunks = as_document(
            told,
            SeqRange(0, stop),
            document_id=uuid7(datetime.now(UTC), os.urandom(10)),
            session_id=row.id,
            trust=Trust.OWNER_SAID,
            now=datetime.now(UTC) - timedelta(seconds=1),
            chunking=Chunking(),
            count=len,
        )
        unit.documents.put(key.tenant, document, chunks)

    await memory._services.store.write(key.tenant, put)


async def filled(memory: Memory) -> None:
    """Documents of a user, of a team, and of a session."""
    await memory.knowledge.add("Bananas are yellow.\n東京", user="ann", metadata={"n": [1, None], "d": {"a": "b"}})
    await memory.knowledge.add("Shared.", namespace=["team", "a/b"], key="k", title="Ours", doc_type="note")
    chat = memory.session(user="ann", session="s")
    for text in ("one", "two", "three"):
        await chat.add("user", text)
    await archive(memory, chat.key, 2, "They counted.")


async def exported(memory: Memory, **scope: Any) -> Lines:
    return [line async for line in memory.export(**scope)]


def documents(lines: Lines) -> list[Any]:
    return [record for record in map(json.loads, lines) if record["record"] == "document"]


async def test_documents_are_exported_restored_and_exported_again_byte_for_byte(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await filled(memory)
        lines = await exported(memory)
        assert len(documents(lines)) == 3
        assert [one["namespace"] for one in documents(await exported(memory, user="ann"))] == [
            ["user", "ann"],
            ["conversations", "ann"],
        ]
        assert len(documents(await exported(memory, user="ann", session="s"))) == 1
        assert documents(await exported(memory, user="al")) == []
        await memory.restore(lines)
        assert await exported(memory) == lines
        await memory.restore(lines, tenant="another")
        assert await exported(memory, tenant="another") == lines
        found = await memory.knowledge.search("counted", user="ann", doc_type="conversation", tenant="another")
        assert [hit.document.metadata["session_id"] for hit in found] == ["s"]
        alone = await exported(memory, user="ann")
        await memory.restore(alone, user="bob", tenant="third")
        assert {one.namespace for one in await memory.knowledge.list(user="bob", tenant="third")} == {
            ("user", "bob"),
            ("conversations", "bob"),
        }


@pytest.mark.parametrize("set_back", [False, True], ids=["the clock goes on", "the clock was set back"])
async def test_what_was_deleted_here_does_not_come_back_with_a_document(tmp_path: Path, *, set_back: bool) -> None:
    """I12: a document of a session goes with a message of it, and an older export does not bring it back."""
    async with opened(tmp_path, clock=FakeClock() if set_back else None) as memory:
        await filled(memory)
        lines = await exported(memory)
        chat = memory.session(user="ann", session="s")
        await chat.delete(1)
        assert [one.doc_type for one in await memory.knowledge.list(user="ann")] == ["document"]
        await memory.restore(lines)
        assert [one.doc_type for one in await memory.knowledge.list(user="ann")] == ["document"]
        await archive(memory, chat.key, 1, "They began to count.")
        await chat.reset()
        assert not await memory.knowledge.search("count", user="ann")
        assert [one.doc_type for one in await memory.knowledge.list(user="ann")] == ["document"]


def forged(lines: Lines, change: Callable[[list[dict[str, Any]]], None]) -> Lines:
    """The export with other documents, and a sum that fits."""
    records = [json.loads(line) for line in lines]
    change(records)
    body = [json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n" for record in records[:-1]]
    footer = {**records[-1], "sha256": hashlib.sha256("".join(body).encode()).hexdigest()}
    return [*body, json.dumps(footer) + "\n"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda made: made[-2].update(namespace=["a\x00"]), "NUL"),
        (lambda made: made[-2].update(namespace=[]), "namespace"),
        (lambda made: made[-2].update(metadata={"a b": 1}), "name of the metadata"),
        (lambda made: made[-2].update(content=" "), "a document says something"),
        (lambda made: made[-2].update(id=made[-3]["id"]), "order of their ids"),
        (lambda made: made[-2].update(range=[0, 9]), "messages of a session of this export"),
        (lambda made: made[-2].pop("session"), "names their user, agent and session"),
        (lambda made: made[-2].update(extra=1), "extra"),
        (lambda made: made[-2].update(namespace=made[-3]["namespace"], key="k"), "another document of the namespace"),
        (lambda made: made.insert(1, made[-4]), "documents stand behind all else"),
        (lambda made: made[-1].update(documents=9), "counts"),
    ],
)
async def test_a_made_up_document_is_refused_and_nothing_is_written(
    change: Callable[[list[dict[str, Any]]], None], said: str, tmp_path: Path
) -> None:
    async with opened(tmp_path) as memory:
        await filled(memory)
        lines = forged(await exported(memory), change)
        with pytest.raises(InvalidInput, match=said):
            await memory.restore(lines, tenant="another")
        assert await exported(memory, tenant="another") == await exported(memory, tenant="empty")
