"""The laws of the store, all of them: a store that passes may stand in for any other."""

from __future__ import annotations

from anaphora.testing.conformance.store_laws.access import AccessLaws
from anaphora.testing.conformance.store_laws.appends import AppendLaws
from anaphora.testing.conformance.store_laws.base import StoreLaws
from anaphora.testing.conformance.store_laws.changes import ChangeLaws
from anaphora.testing.conformance.store_laws.chunks import ChunkLaws
from anaphora.testing.conformance.store_laws.concurrency import ConcurrencyLaws
from anaphora.testing.conformance.store_laws.document_search import DocumentSearchLaws, DocumentWorkLaws
from anaphora.testing.conformance.store_laws.documents import DocumentLaws
from anaphora.testing.conformance.store_laws.editing import EditingLaws
from anaphora.testing.conformance.store_laws.embedding import EmbeddingLaws, LookupLaws
from anaphora.testing.conformance.store_laws.erasures import ErasureLaws
from anaphora.testing.conformance.store_laws.fact_ends import FactSourceLaws
from anaphora.testing.conformance.store_laws.fact_keeping import FactKeepingLaws
from anaphora.testing.conformance.store_laws.fact_reading import FactReadingLaws
from anaphora.testing.conformance.store_laws.facts import FactLaws
from anaphora.testing.conformance.store_laws.heads import HeadLaws
from anaphora.testing.conformance.store_laws.history import HistoryLaws
from anaphora.testing.conformance.store_laws.jobs import JobLaws
from anaphora.testing.conformance.store_laws.leases import LeaseLaws
from anaphora.testing.conformance.store_laws.notepads import NotepadLaws
from anaphora.testing.conformance.store_laws.opening import OpeningLaws
from anaphora.testing.conformance.store_laws.pauses import PauseLaws
from anaphora.testing.conformance.store_laws.reading import ReadLaws
from anaphora.testing.conformance.store_laws.reading_schedule import ScheduleLaws
from anaphora.testing.conformance.store_laws.reset import ResetLaws
from anaphora.testing.conformance.store_laws.retries import RetryLaws
from anaphora.testing.conformance.store_laws.sessions import SessionLaws
from anaphora.testing.conformance.store_laws.subjects import SubjectLaws
from anaphora.testing.conformance.store_laws.summaries import SummaryLaws
from anaphora.testing.conformance.store_laws.topic_vectors import TopicVectorLaws
from anaphora.testing.conformance.store_laws.topics import TopicLaws
from anaphora.testing.conformance.store_laws.transactions import TransactionLaws
from anaphora.testing.conformance.store_laws.turns import TurnLaws
from anaphora.testing.conformance.store_laws.vectors import VectorLaws
from anaphora.testing.conformance.store_laws.waiting import WaitLaws
from anaphora.testing.conformance.store_laws.words import WordLaws

__all__ = ["StoreConformance", "StoreLaws"]


class StoreConformance(
    AppendLaws,
    RetryLaws,
    TurnLaws,
    ReadLaws,
    SessionLaws,
    SummaryLaws,
    HeadLaws,
    EditingLaws,
    HistoryLaws,
    JobLaws,
    LeaseLaws,
    WaitLaws,
    WordLaws,
    VectorLaws,
    EmbeddingLaws,
    LookupLaws,
    FactLaws,
    FactSourceLaws,
    FactReadingLaws,
    FactKeepingLaws,
    SubjectLaws,
    ChunkLaws,
    NotepadLaws,
    PauseLaws,
    ChangeLaws,
    AccessLaws,
    TopicLaws,
    TopicVectorLaws,
    DocumentLaws,
    DocumentSearchLaws,
    DocumentWorkLaws,
    ScheduleLaws,
    TransactionLaws,
    OpeningLaws,
    ResetLaws,
    ErasureLaws,
    ConcurrencyLaws,
):
    """Every law of the store: a subclass says how its store is opened, and pytest collects the laws.

    class TestMyStore(StoreConformance):
        @asynccontextmanager
        async def open_store(self, folder: Path, **how: Any) -> AsyncIterator[Store]:
            async with open_my_store(folder / "my.db", **how) as store:
                yield store
    """
