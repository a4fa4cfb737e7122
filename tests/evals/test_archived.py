"""Archived conversations and facts are measured alone: no message is searched or shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.evals.conversations import neutral, written

from anaphora.bootstrap import Services, open_services
from anaphora.domain.wire import SectionName
from anaphora.evals import archived
from anaphora.evals.measure import evaluate
from anaphora.evals.neutral import cases
from anaphora.memory import Memory
from anaphora.settings import Settings

pytestmark = pytest.mark.anyio

QUESTIONS = [
    {"type": "first", "question": "How is the cat called, Momo?", "evidence": ["m1"]},
    {"type": "other", "question": "How is the cat called, Momo?", "evidence": ["m4"]},
]


def opened(folder: Path, *, archive: bool = True) -> Any:
    settings = Settings(db=str(folder / "eval.db"), embedder="none", encoding="cl100k_base")
    return open_services(settings.model_copy(update=dict(archived.archiving(settings)) if archive else {}))


async def measured(services: Services, folder: Path, *, archive: bool, **changes: Any) -> dict[str, Any]:
    path = Path(written(folder / "recall.json", neutral(**changes)))
    return await evaluate(services, cases(path), lambda _: None, archive_only=archive)


async def test_a_message_counts_as_found_within_the_range_of_a_document_that_is(tmp_path: Path) -> None:
    async with opened(tmp_path) as services:
        found = (await measured(services, tmp_path, archive=True, questions=QUESTIONS))["archive_only"]
    assert (found["documents"], found["messages_archived"]) == (2, 1.0)
    parts = found["by_category"]
    assert {name: part["recall@5"] for name, part in parts.items()} == {"first": 1.0, "other": 0.0}
    assert {name: part["coverage@2000"] for name, part in parts.items()} == {"first": 1.0, "other": 0.0}
    assert {name: part["verbatim@2000"] for name, part in parts.items()} == {"first": 1.0, "other": 0.0}


async def test_a_message_of_the_range_that_no_sentence_was_taken_of_is_not_verbatim(tmp_path: Path) -> None:
    said = neutral()["messages"]
    said[2]["content"] = "Thanks!"
    questions = [{"question": "How is the cat called, Momo?", "evidence": ["m3"]}]
    async with opened(tmp_path) as services:
        found = (await measured(services, tmp_path, archive=True, messages=said, questions=questions))["archive_only"]
    assert (found["coverage@2000"], found["verbatim@2000"]) == (1.0, 0.0)


async def test_no_message_is_shown_to_who_is_asked(tmp_path: Path) -> None:
    async with opened(tmp_path) as services:
        await measured(services, tmp_path, archive=True)
        chat = Memory(services).session(user="ann", session="fresh", agent=archived.AGENT)
        context = await chat.context("How is the cat called, Momo?", budget=2000)
    shown = {message.section for message in context.messages}
    assert SectionName.CONVERSATIONS in shown
    assert shown <= {SectionName.CONVERSATIONS, SectionName.FACTS, SectionName.QUERY}


async def test_the_usual_figures_are_those_without_it(tmp_path: Path) -> None:
    documents = []
    for archive in (False, True):
        folder = tmp_path / str(archive)
        folder.mkdir()
        async with opened(folder, archive=archive) as services:
            documents.append(await measured(services, folder, archive=archive))
    plain, both = ({**document, "search_ms": None} for document in documents)
    assert {name: value for name, value in both.items() if name != "archive_only"} == plain
