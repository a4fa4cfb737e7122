"""The tables of facts, of their subjects, and of chunks. The laws of `storage.tables` hold for them too."""

from __future__ import annotations

import sqlalchemy as sa

from anaphora.domain.facts import FactAction, FactState, Visibility
from anaphora.domain.messages import Trust
from anaphora.domain.summaries import Method
from anaphora.storage.columns import (
    metadata,
    of_session_key,
    one_of,
    tenant_column,
    text_column,
    time_column,
    uuid_column,
)
from anaphora.storage.types import json_type


def _of_fact() -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["tenant_id", "fact_id"], ["facts.tenant_id", "facts.id"], ondelete="CASCADE")


#: whom or what facts are about, beside the users themselves
subjects = sa.Table(
    "subjects",
    metadata,
    tenant_column(),
    text_column("id"),
    text_column("name"),
    text_column("owner_id"),
    time_column("created_at"),
    sa.PrimaryKeyConstraint("tenant_id", "id"),
    sa.Index(None, "tenant_id", "owner_id"),
)

subject_members = sa.Table(
    "subject_members",
    metadata,
    tenant_column(),
    text_column("subject_id"),
    text_column("user_id"),
    time_column("added_at"),
    sa.PrimaryKeyConstraint("tenant_id", "subject_id", "user_id"),
    sa.ForeignKeyConstraint(["tenant_id", "subject_id"], ["subjects.tenant_id", "subjects.id"], ondelete="CASCADE"),
    sa.Index(None, "tenant_id", "user_id"),
)

facts = sa.Table(
    "facts",
    metadata,
    tenant_column(),
    uuid_column("id"),
    text_column("user_id"),
    text_column("agent_id", nullable=True),
    #: '' = about its owner
    text_column("subject_id"),
    text_column("category"),
    text_column("content"),
    #: what contents have in common that say the same letter by letter
    text_column("content_key"),
    sa.Column("importance", sa.Integer, nullable=False),
    #: which come first when nothing is asked: see `Fact.standing`
    sa.Column("standing", sa.Integer, nullable=False),
    text_column("visibility"),
    text_column("state"),
    sa.Column("pinned", sa.Boolean, nullable=False),
    text_column("trust"),
    text_column("doubt", nullable=True),
    time_column("valid_from"),
    time_column("valid_to", nullable=True),
    uuid_column("superseded_by", nullable=True),
    sa.Column("version", sa.Integer, nullable=False),
    time_column("created_at"),
    time_column("updated_at"),
    #: since when all that it was learned from is out of sight; None: it is not
    time_column("expired_at", nullable=True),
    sa.PrimaryKeyConstraint("tenant_id", "id"),
    sa.Index(None, "tenant_id", "user_id", "subject_id", "state", "standing"),
    sa.Index(None, "tenant_id", "subject_id", "visibility", "state", "standing"),
    sa.Index(None, "tenant_id", "superseded_by"),
    one_of("visibility", Visibility),
    one_of("state", FactState),
    one_of("trust", Trust),
    sa.CheckConstraint("content <> ''", name="content"),
    sa.CheckConstraint("importance >= 1 AND importance <= 10", name="importance"),
    sa.CheckConstraint("version >= 1", name="version"),
)
_believed = sa.text(f"state IN ('{FactState.ACTIVE.value}', '{FactState.REVIEW.value}')")
sa.Index(
    "uq_facts_content",
    facts.c.tenant_id,
    facts.c.user_id,
    facts.c.subject_id,
    facts.c.content_key,
    unique=True,
    sqlite_where=_believed,
    postgresql_where=_believed,
)

#: each fact as it was after each change
fact_versions = sa.Table(
    "fact_versions",
    metadata,
    tenant_column(),
    uuid_column("fact_id"),
    sa.Column("version", sa.Integer, nullable=False),
    text_column("action"),
    time_column("at"),
    text_column("category"),
    text_column("content"),
    sa.Column("importance", sa.Integer, nullable=False),
    text_column("visibility"),
    text_column("state"),
    sa.Column("pinned", sa.Boolean, nullable=False),
    text_column("trust"),
    text_column("doubt", nullable=True),
    time_column("valid_to", nullable=True),
    uuid_column("superseded_by", nullable=True),
    sa.Column("restores", sa.Integer),
    sa.PrimaryKeyConstraint("tenant_id", "fact_id", "version"),
    _of_fact(),
    one_of("action", FactAction),
)

#: the messages that say what a fact says
fact_sources = sa.Table(
    "fact_sources",
    metadata,
    tenant_column(),
    uuid_column("fact_id"),
    uuid_column("session_uid"),
    sa.Column("seq", sa.Integer, nullable=False),
    uuid_column("message_id"),
    text_column("quote"),
    sa.Column("start", sa.Integer, nullable=False),
    sa.Column("stop", sa.Integer, nullable=False),
    text_column("trust"),
    text_column("model", nullable=True),
    text_column("prompt_version", nullable=True),
    time_column("learned_at"),
    sa.PrimaryKeyConstraint("tenant_id", "fact_id", "session_uid", "seq"),
    _of_fact(),
    of_session_key(),
    sa.Index(None, "tenant_id", "session_uid", "seq"),
    one_of("trust", Trust),
    sa.CheckConstraint("start >= 0 AND start <= seq AND seq < stop", name="span"),
)

#: the words of facts, as `rules.facts.words` cuts them: by them facts are found on every database alike
fact_terms = sa.Table(
    "fact_terms",
    metadata,
    tenant_column(),
    uuid_column("fact_id"),
    text_column("user_id"),
    text_column("subject_id"),
    text_column("term"),
    sa.PrimaryKeyConstraint("tenant_id", "fact_id", "term"),
    _of_fact(),
    sa.Index(None, "tenant_id", "user_id", "term"),
    sa.Index(None, "tenant_id", "subject_id", "term"),
)

#: what was deleted and is not to be learned again: keyed hashes, no content
fact_tombstones = sa.Table(
    "fact_tombstones",
    metadata,
    tenant_column(),
    uuid_column("id"),
    text_column("user_id"),
    text_column("subject_id"),
    sa.Column("marks", json_type(), nullable=False),
    time_column("created_at"),
    sa.PrimaryKeyConstraint("tenant_id", "id"),
    sa.Index(None, "tenant_id", "user_id", "subject_id"),
)

#: what stretches of sessions were about
chunks = sa.Table(
    "chunks",
    metadata,
    tenant_column(),
    uuid_column("id"),
    uuid_column("session_uid"),
    sa.Column("start", sa.Integer, nullable=False),
    sa.Column("stop", sa.Integer, nullable=False),
    text_column("text"),
    sa.Column("tokens", sa.Integer, nullable=False),
    text_column("method"),
    text_column("model", nullable=True),
    text_column("prompt_version", nullable=True),
    text_column("trust"),
    time_column("first_at"),
    time_column("last_at"),
    time_column("created_at"),
    sa.Column("stale", sa.Boolean, nullable=False),
    sa.PrimaryKeyConstraint("tenant_id", "id"),
    of_session_key(),
    sa.UniqueConstraint("tenant_id", "session_uid", "start"),
    one_of("method", Method),
    one_of("trust", Trust),
    sa.CheckConstraint("text <> ''", name="text"),
    sa.CheckConstraint("start >= 0 AND start < stop", name="span"),
)
