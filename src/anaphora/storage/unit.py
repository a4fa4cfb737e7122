"""One transaction with all its repositories."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import sqlalchemy as sa

from anaphora.ports.search import VectorIndex
from anaphora.storage.chunks import SqlChunks
from anaphora.storage.effects import Effects
from anaphora.storage.embedding import SqlEmbedding
from anaphora.storage.exchange import SqlExchange
from anaphora.storage.facts import SqlFacts
from anaphora.storage.history import SqlHistory
from anaphora.storage.jobs import SqlJobs
from anaphora.storage.lookup import SqlLookup
from anaphora.storage.messages import SqlMessages
from anaphora.storage.notepads import SqlNotepads
from anaphora.storage.policy import AppendPolicy
from anaphora.storage.sessions import SqlSessions
from anaphora.storage.subjects import SqlSubjects
from anaphora.storage.summaries import SqlSummaries
from anaphora.storage.topics import SqlTopics
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
        vectors: VectorIndex,
        policy: AppendPolicy,
        *,
        now: Callable[[], datetime],
        writing: bool = False,
    ) -> None:
        self._now = now
        self.effects = Effects()
        self.words = words
        self.vectors = vectors
        self.sessions = SqlSessions(connection, words, self.effects, writing=writing)
        self.jobs = SqlJobs(connection, policy, self.effects, writing=writing)
        self.messages = SqlMessages(connection, self.sessions, self.jobs, words)
        self.summaries = SqlSummaries(connection)
        self.history = SqlHistory(connection)
        self.exchange = SqlExchange(connection, words)
        self.embedding = SqlEmbedding(connection)
        self.lookup = SqlLookup(connection)
        self.facts = SqlFacts(connection, self.effects)
        self.subjects = SqlSubjects(connection)
        self.chunks = SqlChunks(connection)
        self.topics = SqlTopics(connection)
        self.notepads = SqlNotepads(connection, self.effects)

    def now(self) -> datetime:
        """The time on the clock that all users of the database share."""
        return self._now()
