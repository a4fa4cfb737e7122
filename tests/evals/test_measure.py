"""Questions are asked of a memory that remembers the file, by words and by meaning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.evals.conversations import neutral, written

from anaphora.bench.peers.embedding import HashedEmbedder
from anaphora.bootstrap import Overrides, Services, open_services
from anaphora.domain.context import Context
from anaphora.errors import InvalidInput, ModelError, ModelUnavailable
from anaphora.evals.measure import evaluate, shown_messages
from anaphora.evals.neutral import cases
from anaphora.memory import Memory
from anaphora.ports.models import Embedder
from anaphora.settings import Settings

pytestmark = pytest.mark.anyio

KEYS = [
    "questions",
    *("recall@5", "recall@10", "recall@20"),
    *("coverage@500", "coverage@1000", "coverage@2000"),
    *("by_category", "baselines", "search_ms", "embed_ms"),
]


class Broken(HashedEmbedder):
    """An embedder whose model is gone."""

    def embed(self, texts: object) -> list[list[float]]:
        raise ModelUnavailable(f"no vectors for {texts!r:.20}")


def opened(folder: Path, embedder: Embedder | None) -> Any:
    chosen = "none" if embedder is None else "local"
    settings = Settings(db=str(folder / "eval.db"), embedder=chosen, encoding="cl100k_base")
    return open_services(settings, Overrides(embedder=embedder))


def file(folder: Path, **changes: Any) -> Path:
    return Path(written(folder / "recall.json", neutral(**changes)))


def quiet(_text: str) -> None:
    """Nobody listens."""


async def measured(folder: Path, embedder: Embedder | None, **changes: Any) -> dict[str, Any]:
    async with opened(folder, embedder) as services:
        return await evaluate(services, cases(file(folder, **changes)), quiet)


async def test_a_document_has_the_keys_of_the_reference(tmp_path: Path) -> None:
    document = await measured(tmp_path, HashedEmbedder())
    assert list(document) == KEYS
    assert set(document["baselines"]) == {"bm25", "vectors"}
    assert set(document["search_ms"]) == {"p50", "p99", "cpu_p50", "with_question_p50"}


async def test_an_embedder_is_timed_and_measured_alone(tmp_path: Path) -> None:
    document = await measured(tmp_path, HashedEmbedder())
    assert document["embed_ms"] > 0
    assert document["baselines"]["vectors"]["recall@5"] == 1.0


async def test_without_an_embedder_no_vectors_are_told_of(tmp_path: Path) -> None:
    document = await measured(tmp_path, None)
    assert document["embed_ms"] is None
    assert set(document["baselines"]) == {"bm25"}


async def test_what_no_word_leads_to_is_not_recalled(tmp_path: Path) -> None:
    questions = [
        {"type": "found", "question": "Momo?", "evidence": ["m1"]},
        {"type": "lost", "question": "Momo?", "evidence": ["m4"]},
    ]
    document = await measured(tmp_path, None, questions=questions)
    assert {name: part["recall@20"] for name, part in document["by_category"].items()} == {"found": 1.0, "lost": 0.0}
    assert {name: part["coverage@500"] for name, part in document["by_category"].items()} == {"found": 1.0, "lost": 0.0}


async def asked(services: Services, question: str, budget: int) -> Context:
    return await Memory(services).session(user="ann", session="elsewhere").context(question, budget=budget)


async def test_a_message_of_which_a_passage_is_shown_is_not_covered(tmp_path: Path) -> None:
    long = " ".join(f"Sentence {number} tells of the harbour." for number in range(120))
    said = neutral()["messages"]
    said[1]["content"] = f"The boiler needs a new valve. {long}"
    path = file(tmp_path, messages=said, questions=[{"question": "Which valve?", "evidence": ["m2"]}])
    async with opened(tmp_path, None) as services:
        [case] = cases(path)
        document = await evaluate(services, [case], quiet)
        context = await asked(services, "Which valve?", 500)
        assert [line.message[1] for line in context.lines if line.included and line.message is not None] == [0]
        assert "needs a new valve" in "".join(message.content for message in context.messages)
        assert shown_messages(context) == frozenset()
    assert (document["recall@5"], document["coverage@500"]) == (1.0, 0.0)


async def test_a_question_leaves_nothing_behind(tmp_path: Path) -> None:
    async with opened(tmp_path, HashedEmbedder()) as services:
        await evaluate(services, cases(file(tmp_path)), quiet)
        sessions = await Memory(services).sessions(user="ann")
        assert {row.key.session: row.head for row in sessions} == {"spring": 2, "autumn": 2}


async def test_a_database_that_knows_one_of_the_users_is_left_as_it_was(tmp_path: Path) -> None:
    async with opened(tmp_path, None) as services:
        chat = Memory(services).session(user="ann", session="1")
        await chat.add("user", "I was here before.")
        with pytest.raises(InvalidInput, match="already remembers user 'ann'"):
            await evaluate(services, cases(file(tmp_path)), quiet)
        assert [row.key.session for row in await Memory(services).sessions(user="ann")] == ["1"]


async def test_an_embedder_that_fails_gives_no_figures(tmp_path: Path) -> None:
    async with opened(tmp_path, Broken()) as services:
        with pytest.raises(ModelError, match="messages of 'ann' got no vectors"):
            await evaluate(services, cases(file(tmp_path)), quiet)
        jobs = await Memory(services).jobs.list()
        assert any("no vectors for" in (job.reason or "") for job in jobs)
