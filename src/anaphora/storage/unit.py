"""One transaction with all its repositories."""

from __future__ import annotations

import sqlalchemy as sa

from anaphora.storage.effects import Effects
from anaphora.storage.exchange import SqlExchange
from anaphora.storage.history import SqlHistory
from anaphora.storage.jobs import SqlJobs
from anaphora.storage.messages import SqlMessages
from anaphora.storage.policy import AppendPolicy
from anaphora.storage.sessions import SqlSessions
from anaphora.storage.summaries import SqlSummaries
from anaphora.storage.words import Words


class SqlUnit:
    """`ports.store.Unit`: the repositories over one connection that is in a transaction."""

    def __init__(self, connection: sa.Connection, words: Words, policy: AppendPolicy) -> None:
        self.effects = Effects()
        self.words = words
        self.sessions = SqlSessions(connection, words, self.effects)
        self.jobs = SqlJobs(connection, policy, self.effects)
        self.messages = SqlMessages(connection, self.sessions, self.jobs, words)
        self.summaries = SqlSummaries(connection)
        self.history = SqlHistory(connection)
        self.exchange = SqlExchange(connection, words)
