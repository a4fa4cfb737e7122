"""One transaction with all its repositories."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import sqlalchemy as sa

from anaphora.domain.figures import Figures
from anaphora.storage.access import SqlApiKeys, SqlAudit
from anaphora.storage.changes import SqlChanges
from anaphora.storage.chunks import SqlChunks
from anaphora.storage.document_search import DocumentSearch
from anaphora.storage.documents import SqlDocuments
from anaphora.storage.effects import Effects
from anaphora.storage.embedding import SqlEmbedding
from anaphora.storage.erasures import SqlErasures
from anaphora.storage.exchange import SqlExchange
from anaphora.storage.facts import SqlFacts
from anaphora.storage.figures import figures
from anaphora.storage.history import SqlHistory
from anaphora.storage.jobs import SqlJobs
from anaphora.storage.lookup import SqlLookup
from anaphora.storage.messages import SqlMessages
from anaphora.storage.notepads import SqlNotepads
from anaphora.storage.pauses import SqlPauses
from anaphora.storage.policy import AppendPolicy
from anaphora.storage.purging import SqlPurging
from anaphora.storage.sessions import SqlSessions
from anaphora.storage.subjects import SqlSubjects
from anaphora.storage.summaries import SqlSummaries
from anaphora.storage.topics import SqlTopics
from anaphora.storage.vectors import VectorSearch
from anaphora.storage.words import Words


class SqlUnit:
    """`ports.store.Unit`: the repositories over one connection that is in a transaction.

    With `writing`, what is looked up to be changed is locked until the end of the transaction; where one transaction
    writes at a time that makes no difference.
    """

    def __init__(
        self,
        connection: sa.Connection,
        words: Words,
        vectors: VectorSearch,
        documents: DocumentSearch,
        policy: AppendPolicy,
        *,
        now: Callable[[], datetime],
        writing: bool = False,
    ) -> None:
        self._now = now
        self._connection = connection
        self._policy = policy
        self.effects = Effects()
        self.words = words
        self.vectors = vectors
        self.documents = SqlDocuments(connection, documents, self.effects, embeds=policy.embeds, writing=writing)
        self.sessions = SqlSessions(connection, words, self.documents, self.effects, writing=writing)
        self.jobs = SqlJobs(connection, policy, self.effects, writing=writing)
        self.erasures = SqlErasures(connection, self.effects)
        self.messages = SqlMessages(connection, self.sessions, self.jobs, words, self.erasures, self.effects)
        self.summaries = SqlSummaries(connection, self.effects)
        self.history = SqlHistory(connection)
        self.exchange = SqlExchange(connection, words, self.effects)
        self.embedding = SqlEmbedding(connection)
        self.lookup = SqlLookup(connection)
        self.facts = SqlFacts(connection, self.effects)
        self.subjects = SqlSubjects(connection)
        self.chunks = SqlChunks(connection)
        self.topics = SqlTopics(connection, self.effects)
        self.notepads = SqlNotepads(connection, self.effects)
        self.pauses = SqlPauses(connection)
        self.api_keys = SqlApiKeys(connection)
        self.audit = SqlAudit(connection)
        self.changes = SqlChanges(connection, self.effects)
        self.purging = SqlPurging(connection, self.effects, vectors)

    def due_count(self, *, now: datetime | None, with_model: bool, with_embedder: bool) -> int:
        """Jobs and documents of all tenants that wait for a worker, see `ports.store.Store`."""
        jobs = self.jobs.due_count(now=now, with_model=with_model, with_embedder=with_embedder)
        return jobs + (self.documents.queue.due_count(now=now) if with_embedder else 0)

    def figures(self, *, stuck_before: datetime, with_model: bool, with_embedder: bool) -> Figures:
        """Counts of all tenants together, see `ports.store.Store`."""
        return figures(
            self._connection,
            reader_of=self._policy.reader_of,
            stuck_before=stuck_before,
            with_model=with_model,
            with_embedder=with_embedder,
        )

    def now(self) -> datetime:
        """The time on the clock that all users of the database share, or when the transaction began by it."""
        return self._now()
