"""A law that cannot fail is none: every law of the store catches at least one store that was broken on purpose."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import ModuleType

import pytest
from tests.conformance import (
    broken_access,
    broken_changes,
    broken_chunks,
    broken_documents,
    broken_embedding,
    broken_erasures,
    broken_fact_ends,
    broken_fact_keeping,
    broken_fact_reading,
    broken_facts,
    broken_history,
    broken_jobs,
    broken_logs,
    broken_notepads,
    broken_pauses,
    broken_schedule,
    broken_sessions,
    broken_together,
    broken_topic_vectors,
    broken_topics,
    broken_vectors,
)
from tests.conformance.broken import Broken, Suite

from anaphora.errors import AnaphoraError
from anaphora.testing.conformance.laws import Laws
from anaphora.testing.conformance.store import StoreConformance
from anaphora.testing.conformance.store_laws import tools
from anaphora.testing.conformance.store_laws.fact_ends import FactSourceLaws
from anaphora.testing.conformance.store_laws.heads import HeadLaws
from anaphora.testing.conformance.store_laws.opening import OpeningLaws
from anaphora.testing.conformance.store_laws.reset import ResetLaws
from anaphora.testing.conformance.store_laws.transactions import TransactionLaws
from anaphora.testing.conformance.store_laws.waiting import WaitLaws

#: five hundred stores are opened, to look at laws that seldom change
pytestmark = [pytest.mark.anyio, pytest.mark.deep]

MODULES: tuple[ModuleType, ...] = (
    broken_logs,
    broken_sessions,
    broken_jobs,
    broken_together,
    broken_history,
    broken_vectors,
    broken_embedding,
    broken_facts,
    broken_fact_ends,
    broken_fact_reading,
    broken_fact_keeping,
    broken_chunks,
    broken_notepads,
    broken_changes,
    broken_pauses,
    broken_topics,
    broken_topic_vectors,
    broken_documents,
    broken_schedule,
    broken_erasures,
    broken_access,
)
BROKEN = [
    broken
    for module in MODULES
    for _, broken in inspect.getmembers(module, inspect.isclass)
    if issubclass(broken, Broken) and broken.__module__ == module.__name__ and broken.laws
]
LAWS = sorted(StoreConformance.law_names() - Laws.law_names())
#: laws that go through every method of a store and every repository of its units
CONTROLS = {
    name
    for laws in (FactSourceLaws, HeadLaws, OpeningLaws, ResetLaws, TransactionLaws, WaitLaws)
    for name in laws.law_names() - Laws.law_names()
}
CAUGHT = (AssertionError, pytest.fail.Exception, AnaphoraError)


@pytest.mark.parametrize(
    ("broken", "law"), [pytest.param(b, law, id=f"{b.__name__}-{law}") for b in BROKEN for law in b.laws]
)
async def test_a_broken_store_is_caught_by_its_law(
    broken: type[Broken], law: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools, "PATIENCE", 2.0)
    with pytest.raises(CAUGHT):
        await getattr(Suite(broken), law)(tmp_path)


@pytest.mark.parametrize("law", sorted(CONTROLS))
async def test_the_wrapper_by_itself_breaks_no_law(law: str, tmp_path: Path) -> None:
    await getattr(Suite(Broken), law)(tmp_path)
    assert not Broken.laws


def test_every_law_catches_a_broken_store() -> None:
    assert set(LAWS) - {law for broken in BROKEN for law in broken.laws} == set()
