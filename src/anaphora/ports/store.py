"""The store: transactions, and the small repositories that live inside one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from uuid import UUID

from anaphora.domain.figures import Figures
from anaphora.domain.jobs import JobKind
from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import Message, Receipt
from anaphora.domain.plans import State
from anaphora.domain.summaries import Summary
from anaphora.ports.access import ApiKeys, Audit
from anaphora.ports.changes import Changes
from anaphora.ports.documents import Documents
from anaphora.ports.erasures import Erasures, Purging
from anaphora.ports.facts import Chunks, Facts, Subjects
from anaphora.ports.history import History
from anaphora.ports.jobs import Jobs
from anaphora.ports.notepads import Notepads
from anaphora.ports.pauses import Pauses
from anaphora.ports.rows import Append, Head, SessionRow, StoredReceipt
from anaphora.ports.search import Embedding, Lookup, VectorIndex, WordIndex
from anaphora.ports.sessions import Sessions
from anaphora.ports.topics import Topics

if TYPE_CHECKING:
    from anaphora.ports.exchange import Exchange

T = TypeVar("T")


class Planner(Protocol):
    """Decides inside the append's transaction which work is due."""

    def __call__(self, strategy: str | None, state: State, /) -> JobKind | None:
        """The job by which the live reader goes on, if it has something to do."""
        ...


class Schedule(Protocol):
    """Decides inside the append's transaction when a session is to be read for facts."""

    @property
    def reader(self) -> str:
        """The name of the reader."""
        ...

    def run_at(self, row: SessionRow, position: int, now: datetime) -> datetime | None:
        """When to read what is behind the reader's position: now, or when nothing more was said for a while."""
        ...


class Messages(Protocol):
    """The log."""

    def append(self, appends: Sequence[Append], planner: Planner) -> Sequence[Receipt | Exception]:
        """Append to many sessions with a fixed number of statements; one result for each, in order."""
        ...

    def range(
        self, tenant: str, session_id: UUID, span: SeqRange, *, limit: int, deleted: bool = False
    ) -> Sequence[Message]:
        """Messages of the range in order, the first `limit` of them; with `deleted`, tombstones among them."""
        ...

    def newest(
        self, tenant: str, session_id: UUID, span: SeqRange, *, limit: int, deleted: bool = False
    ) -> Sequence[Message]:
        """The last `limit` messages of the range, newest first; with `deleted`, tombstones among them."""
        ...

    def amend(self, row: SessionRow, old: Message, new: Message, *, now: datetime) -> SessionRow:
        """Put the next version, or a tombstone, in the place of a message; the old version is kept.

        Returns:
            The session as it is after that: its tokens, and what is deleted of it.

        """
        ...

    def receipt_for(self, tenant: str, session_id: UUID, idempotency_key: str) -> Receipt | None:
        """The receipt of the append that came with the key, or None."""
        ...

    def receipt(self, tenant: str, receipt_id: UUID) -> StoredReceipt | None:
        """What a receipt stands for, or None. Receipts outlive what they stand for."""
        ...


class Summaries(Protocol):
    """Versions, their points, and the heads of the readers."""

    def head(self, tenant: str, session_id: UUID, reader: str) -> Head:
        """How far the reader is; the start if it never ran."""
        ...

    def served(self, tenant: str, session_id: UUID, reader: str) -> tuple[Head, Summary | None]:
        """The head, and the version that it serves, with its points."""
        ...

    def move_head(
        self, row: SessionRow, reader: str, *, old: Head, new: Head, now: datetime, counts: bool = False
    ) -> bool:
        """Compare and swap, noted for `History`: False, and nothing changed, if the head is not `old` any more.

        With `counts`, the head knows its tokens from then on; they follow every edit (`Head.tokens`).
        """
        ...

    def drop_head(self, tenant: str, session_id: UUID, reader: str) -> None:
        """Forget a reader and where it ever was."""
        ...

    def get(self, tenant: str, summary_id: UUID) -> Summary | None:
        """A version with its points."""
        ...

    def chain(
        self, tenant: str, session_id: UUID, *, strategy: str, limit: int, before: int | None = None
    ) -> Sequence[Summary]:
        """Versions, newest first; with `before`, those with a smaller version number."""
        ...

    def base_for(self, tenant: str, session_id: UUID, *, strategy: str, stop: int) -> Summary | None:
        """The newest completed version that ends at or before `stop`."""
        ...

    def next_version(self, tenant: str, session_id: UUID, strategy: str) -> int:
        """One more than the highest version number."""
        ...

    def insert(self, row: SessionRow, summary: Summary, *, now: datetime) -> None:
        """Store a version with its points."""
        ...

    def mark_stale(self, row: SessionRow, seq: int, *, now: datetime) -> int:
        """Completed versions whose range holds the message become stale, whatever their strategy; how many."""
        ...

    def replace_chain(self, row: SessionRow, *, strategy: str, after_version: int, now: datetime) -> None:
        """Versions after that one: completed and stale ones become superseded, building ones completed."""
        ...

    def drop_building(self, row: SessionRow, *, strategy: str, now: datetime) -> None:
        """Building versions become superseded: the rebuild was given up."""
        ...

    def stats(self, tenant: str, *, user: str | None = None) -> Mapping[str, Any]:
        """`count`, `avg_ms`, `max_ms` of the versions that took measurable time, and `by_method`."""
        ...


class Unit(Protocol):
    """One transaction: everything in it happens together or not at all."""

    def now(self) -> datetime:
        """When the transaction began or later, on the clock that all users of the database share: that of leases."""
        ...

    @property
    def sessions(self) -> Sessions:
        """Conversations."""
        ...

    @property
    def messages(self) -> Messages:
        """The log."""
        ...

    @property
    def summaries(self) -> Summaries:
        """What was derived, and the readers' heads."""
        ...

    @property
    def history(self) -> History:
        """The past."""
        ...

    @property
    def exchange(self) -> Exchange:
        """Whole sessions, out and in."""
        ...

    @property
    def jobs(self) -> Jobs:
        """Background work."""
        ...

    @property
    def words(self) -> WordIndex:
        """Full-text search."""
        ...

    @property
    def vectors(self) -> VectorIndex:
        """Search by meaning."""
        ...

    @property
    def embedding(self) -> Embedding:
        """How far the vectors are."""
        ...

    @property
    def lookup(self) -> Lookup:
        """What was found."""
        ...

    @property
    def facts(self) -> Facts:
        """Single statements."""
        ...

    @property
    def subjects(self) -> Subjects:
        """Whom or what they are about."""
        ...

    @property
    def chunks(self) -> Chunks:
        """What stretches of sessions were about."""
        ...

    @property
    def topics(self) -> Topics:
        """Segments of sessions that are over."""
        ...

    @property
    def notepads(self) -> Notepads:
        """What agents make of their sessions with users."""
        ...

    @property
    def pauses(self) -> Pauses:
        """Times in which nothing is learned of a user."""
        ...

    @property
    def api_keys(self) -> ApiKeys:
        """Keys that let principals in."""
        ...

    @property
    def audit(self) -> Audit:
        """The account of changes."""
        ...

    @property
    def changes(self) -> Changes:
        """What changed, and when last."""
        ...

    @property
    def documents(self) -> Documents:
        """What is kept beside the log."""
        ...

    @property
    def erasures(self) -> Erasures:
        """What was erased, and is not to come back."""
        ...

    @property
    def purging(self) -> Purging:
        """How it is taken out."""
        ...


class Store(Protocol):
    """A database. `work` runs with a sync unit, and must not block on anything else.

    A unit is of one tenant: what it is asked of another is not there. `work` may run more than once before one of its
    transactions holds: it must act through its unit alone.
    """

    async def read(self, tenant: str, work: Callable[[Unit], T]) -> T:
        """Run in one snapshot."""
        ...

    async def write(self, tenant: str, work: Callable[[Unit], T]) -> T:
        """Run in a transaction; when this returns, it is on disk. Nothing is written if `work` raises.

        A session that is looked up is nobody else's to change until the end of the transaction.
        """
        ...

    async def append(self, append: Append) -> Receipt:
        """Append; many callers share one transaction."""
        ...

    async def due_jobs(
        self, *, now: datetime | None, lease_seconds: float, with_model: bool, limit: int, with_embedder: bool = True
    ) -> Sequence[tuple[str, UUID]]:
        """Tenant and id of jobs of all tenants that could be claimed at `now`, oldest first, fair between tenants.

        None: by the clock of `Unit.now`.
        """
        ...

    async def due_documents(
        self, *, now: datetime | None, lease_seconds: float, limit: int
    ) -> Sequence[tuple[str, UUID]]:
        """Tenant and id of documents of all tenants that wait for vectors and could be taken on at `now`.

        Those that wait longest first, fair between tenants. None: by the clock of `Unit.now`.
        """
        ...

    async def due_count(self, *, now: datetime | None, with_model: bool, with_embedder: bool = True) -> int:
        """Live jobs of all tenants that a worker could take at `now` (None: at any time), running ones included.

        A document that waits for vectors counts as one, where there is an embedder.
        """
        ...

    async def tenants(self, *, after: str, limit: int) -> Sequence[str]:
        """Who keeps anything here: names behind `after`, by code points, the first `limit`. For upkeep only."""
        ...

    async def unfinished(self, *, limit: int) -> Sequence[str]:
        """The tenants of which something is still to be erased, or may expire in its own time."""
        ...

    async def has_keys(self) -> bool:
        """Whether any tenant has a key, whatever it lets in."""
        ...

    async def figures(self, *, stuck_before: datetime, with_model: bool, with_embedder: bool = True) -> Figures:
        """Counts of all tenants together. `stuck_before`: jobs that a worker could have done by then are stuck."""
        ...

    async def wait_for_work(self, timeout: float) -> None:
        """Return when jobs may have been planned, by this process or another, or after the time-out."""
        ...

    async def secret(self) -> bytes:
        """The store's own secret, made once: keys the delimiters of the memory block."""
        ...

    async def close(self) -> None:
        """Finish what was handed in, then close. Twice is harmless."""
        ...


class OpenStore(Protocol):
    """Opens a store."""

    def __call__(self, url: str, /) -> AbstractAsyncContextManager[Store]:
        """The store behind the URL."""
        ...
