"""The failpoints are read from the source, so that neither a new one nor a commit without one goes unnoticed."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.faults.failpoint_names import Unreadable, failpoints, names_in, silent_commits, working_sources
from tests.faults.test_command_kills import PLAN as COMMANDS
from tests.faults.test_killed_changes import CHANGES, MANAGED
from tests.faults.test_killed_documents import DOCUMENTS
from tests.faults.test_killed_embedding import EMBEDDING
from tests.faults.test_killed_erasures import ERASURES
from tests.faults.test_killed_extraction import EXTRACTION
from tests.faults.test_killed_reflection import REFLECTION
from tests.faults.test_killed_topics import TOPICS
from tests.faults.test_kills import ELSEWHERE, PLAN

CHOSEN = """
kind = "append" if first else "write"
self._failpoint(f"{kind}.before_commit")
failpoint("worker.done")
"""
SILENT = """
async def claim(self):
    await self.store.write(one)
    self.failpoint("one")
    await self.store.write(two)
    if late:
        await self.store.write(three)
    self.failpoint("three")
    return await self.store.write(four)
"""


def test_every_failpoint_of_the_package_has_cases_and_no_case_has_lost_its_failpoint() -> None:
    assert failpoints() == sorted({*PLAN, *ELSEWHERE})
    by_command = {name for name, plan in COMMANDS.items() if plan}
    elsewhere = (CHANGES, MANAGED, DOCUMENTS, EMBEDDING, ERASURES, EXTRACTION, REFLECTION, TOPICS)
    assert by_command.union(*elsewhere) >= ELSEWHERE


@pytest.mark.parametrize("path", list(working_sources()), ids=lambda path: path.name)
def test_a_worker_reaches_a_failpoint_after_every_commit(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert silent_commits(source) == []


def test_names_are_read_from_literals_and_from_chosen_words() -> None:
    assert names_in(CHOSEN) == {"append.before_commit", "write.before_commit", "worker.done"}


@pytest.mark.parametrize("call", ["failpoint(name)", "self.failpoint(f'{kind}.done')", "failpoint()", "failpoint(1)"])
def test_a_name_that_cannot_be_read_is_an_error(call: str) -> None:
    with pytest.raises(Unreadable):
        names_in(call)


def test_commits_without_a_failpoint_are_found() -> None:
    assert silent_commits(SILENT) == [5, 9]
