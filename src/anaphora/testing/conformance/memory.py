"""The laws of a memory, all of them: whatever has the shape of `anaphora.Memory` keeps them."""

from __future__ import annotations

from anaphora.testing.conformance.memory_laws.appends import AppendLaws
from anaphora.testing.conformance.memory_laws.backlogs import BacklogLaws
from anaphora.testing.conformance.memory_laws.base import MemoryLaws
from anaphora.testing.conformance.memory_laws.corrections import CorrectionLaws
from anaphora.testing.conformance.memory_laws.holes_of_seed_000 import HolesOfSeed000
from anaphora.testing.conformance.memory_laws.holes_of_seed_004 import HolesOfSeed004
from anaphora.testing.conformance.memory_laws.past import PastLaws
from anaphora.testing.conformance.memory_laws.refusals import RefusalLaws
from anaphora.testing.conformance.memory_laws.sessions import SessionLaws
from anaphora.testing.conformance.memory_laws.worked_examples import WorkedExamples

__all__ = ["MemoryConformance", "MemoryLaws"]


class MemoryConformance(
    AppendLaws,
    RefusalLaws,
    SessionLaws,
    CorrectionLaws,
    PastLaws,
    BacklogLaws,
    HolesOfSeed000,
    HolesOfSeed004,
    WorkedExamples,
):
    """Every law of a memory: a subclass says how its memory is opened, and pytest collects the laws.

    class TestMyMemory(MemoryConformance):
        @asynccontextmanager
        async def open_memory(self, folder: Path, *, chat, clock, counter, at_work, **options) -> AsyncIterator[Memory]:
            ...
    """
