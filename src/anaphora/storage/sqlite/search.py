"""Full-text search on FTS5.

Words are found through `message_words`, whose `scope` column holds hashes of (tenant, user), of the agent and of
the session beside each text, so that common words of other people cost nothing. Texts of scripts without spaces
are also in `message_trigrams`. The hashes only save work: every hit is joined back to its message and session and
compared with the caller's scope exactly (I11).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from heapq import nlargest
from uuid import UUID

import sqlalchemy as sa

from anaphora.domain.keys import SessionKey
from anaphora.ports.rows import WordHit
from anaphora.storage.messages import MESSAGE_COLUMNS, message_from
from anaphora.storage.scope import Scope, session_token, tokens_of
from anaphora.storage.tables import messages, metadata, sessions
from anaphora.storage.word_search import Counts, WordSearch
from anaphora.storage.words import Indexed, has_unspaced_script, rarity, usable, weight

#: which message a document of the full-text tables is. Those are made by hand in the migration; a session's
#: documents are found by its scope, so that an append writes no second index that is ordered by session
index_metadata = sa.MetaData(naming_convention=metadata.naming_convention)
message_docs = sa.Table(
    "message_docs",
    index_metadata,
    sa.Column("doc", sa.Integer, primary_key=True),
    sa.Column("tenant_id", sa.Text, nullable=False),
    sa.Column("session_uid", sa.Uuid, nullable=False),
    sa.Column("seq", sa.Integer, nullable=False),
)

#: a trigram index cannot look up anything shorter
_TRIGRAM = 3
#: of a word that more messages of the scope have than this, one occurrence is as good as many
_COUNTED_EXACTLY = 2_000
_MARK = "\x01"
#: characters of a text by which its document is found
_BEGINNING = 200

_MAX_DOC = sa.select(sa.func.coalesce(sa.func.max(message_docs.c.doc), 0))
# plain SQL: these three run for every message that is ever appended
_ADD_DOCS = "INSERT INTO message_docs (doc, tenant_id, session_uid, seq) VALUES (?, ?, ?, ?)"
_ADD_WORDS = "INSERT INTO message_words (rowid, scope, body) VALUES (?, ?, ?)"
_ADD_TRIGRAMS = "INSERT INTO message_trigrams (rowid, body) VALUES (?, ?)"
_DOCS_OF_SESSION = sa.text(
    "SELECT doc FROM message_docs WHERE doc IN"
    " (SELECT rowid FROM message_words WHERE message_words MATCH :scope)"
    " AND tenant_id = :tenant AND session_uid = :uid"
).bindparams(sa.bindparam("uid", type_=sa.Uuid))
_words = sa.table("message_words", sa.column("rowid", sa.Integer))
_MATCHES = sa.literal_column("message_words").op("MATCH", return_type=sa.Boolean())
_DOC_OF_MESSAGE = sa.text(
    "SELECT doc FROM message_docs WHERE doc IN"
    " (SELECT rowid FROM message_words WHERE message_words MATCH :query)"
    " AND tenant_id = :tenant AND session_uid = :uid AND seq = :seq"
).bindparams(sa.bindparam("uid", type_=sa.Uuid))
_FORGET = (
    "DELETE FROM message_words WHERE rowid = ?",
    "DELETE FROM message_trigrams WHERE rowid = ?",
    "DELETE FROM message_docs WHERE doc = ?",
)
_HOW_MANY = sa.text("SELECT count(*) FROM message_words WHERE message_words MATCH :query")
#: how often the words of the query occur: each occurrence is marked, and the marks are counted. The plus sign keeps
#: SQLite from running the query anew for each document
_COUNTS = sa.text(
    "SELECT rowid, length(highlight(message_words, 1, :mark, '')) - length(body) AS hits"
    " FROM message_words WHERE message_words MATCH :query AND +rowid IN :docs"
).bindparams(sa.bindparam("docs", expanding=True), mark=_MARK)
_TRIGRAM_MATCH = sa.text(
    "SELECT rowid, body FROM message_trigrams WHERE message_trigrams MATCH :query"
    " AND rowid IN (SELECT rowid FROM message_words WHERE message_words MATCH :scope)"
    " ORDER BY rowid DESC LIMIT :most"
)
_TRIGRAM_SCAN = sa.text(
    "SELECT rowid, body FROM message_trigrams"
    " WHERE rowid IN (SELECT rowid FROM message_words WHERE message_words MATCH :scope) ORDER BY rowid DESC"
)


class FtsWords(WordSearch[int]):
    """`storage.words.Words` over one transaction."""

    def add(self, entries: Sequence[Indexed]) -> None:
        """Index messages that were appended in this transaction."""
        if not entries:
            return
        first = self._connection.execute(_MAX_DOC).scalar_one() + 1
        docs: list[tuple[int, str, str, int]] = []
        words: list[tuple[int, str, str]] = []
        scopes: dict[UUID, str] = {}
        for doc, entry in enumerate(entries, start=first):
            scope = scopes.get(entry.session_id)
            if scope is None:
                scope = scopes[entry.session_id] = " ".join(tokens_of(entry.key, entry.session_id))
            docs.append((doc, entry.key.tenant, entry.session_id.hex, entry.seq))
            words.append((doc, scope, entry.body))
        self._connection.exec_driver_sql(_ADD_DOCS, docs)
        self._connection.exec_driver_sql(_ADD_WORDS, words)
        unspaced = [(doc, body) for doc, _, body in words if has_unspaced_script(body)]
        if unspaced:
            self._connection.exec_driver_sql(_ADD_TRIGRAMS, unspaced)

    def replace(self, old: Indexed, body: str | None) -> None:
        """Another text in the place of that of a message; None takes it out of the index."""
        query = f"scope:{session_token(old.key.tenant, old.session_id)}"
        beginning = _beginning(old.body)
        if beginning:  # few messages of a long session begin so
            query = f"{query} AND body:{_quoted(beginning)}"
        where = {"query": query, "tenant": old.key.tenant, "uid": old.session_id, "seq": old.seq}
        doc = self._connection.execute(_DOC_OF_MESSAGE, where).scalar_one()
        words, trigrams, docs = _FORGET
        self._connection.exec_driver_sql(words, (doc,))
        self._connection.exec_driver_sql(trigrams, (doc,))
        if body is None:
            self._connection.exec_driver_sql(docs, (doc,))
            return
        self._connection.exec_driver_sql(_ADD_WORDS, (doc, " ".join(tokens_of(old.key, old.session_id)), body))
        if has_unspaced_script(body):
            self._connection.exec_driver_sql(_ADD_TRIGRAMS, (doc, body))

    def forget(self, tenant: str, session_id: UUID) -> None:
        """Take every message of a session out of the index."""
        where = {"scope": f"scope:{session_token(tenant, session_id)}", "tenant": tenant, "uid": session_id}
        docs = [(doc,) for doc in self._connection.execute(_DOCS_OF_SESSION, where).scalars()]
        if docs:
            for statement in _FORGET:
                self._connection.exec_driver_sql(statement, docs)

    def _by_words(self, scope: Scope, terms: Sequence[str], documents: int, keep: int) -> dict[int, Counts]:
        """The most promising documents: for each its words' rarities and counts."""
        rarities: dict[str, float] = {}
        exact: list[str] = []
        for term in usable(terms):
            query = f"scope:{scope.token} AND body:{_quoted(term)}"
            having = self._connection.execute(_HOW_MANY, {"query": query}).scalar_one()
            if having:
                rarities[query] = rarity(documents, having)
                if having <= _COUNTED_EXACTLY:
                    exact.append(query)
        if not rarities:
            return {}
        best = self._most_promising(rarities, keep)
        found = {doc: dict.fromkeys(queries, 1) for doc, queries in best.items()}
        for query in exact:
            for doc, hits in self._connection.execute(_COUNTS, {"query": query, "docs": list(best)}):
                found[doc][query] = max(1, hits)
        return {doc: [(rarities[q], hits) for q, hits in counted.items()] for doc, counted in found.items()}

    def _most_promising(self, rarities: Mapping[str, float], keep: int) -> dict[int, list[str]]:
        """The documents whose words are rarest together, each with the queries that it answers."""
        queries = list(rarities)
        answers = sa.union_all(
            *(
                sa.select(
                    _words.c.rowid.label("doc"), sa.literal(rarities[query]).label("rare"), sa.literal(at).label("at")
                ).where(_MATCHES(sa.literal(query)))
                for at, query in enumerate(queries)
            )
        ).subquery()
        promise = sa.func.sum(answers.c.rare)
        which = sa.func.group_concat(answers.c.at)
        rows = self._connection.execute(
            sa.select(answers.c.doc, which)
            .group_by(answers.c.doc)
            .order_by(promise.desc(), answers.c.doc.desc())
            .limit(keep)
        )
        return {doc: [queries[int(at)] for at in which.split(",")] for doc, which in rows}

    def _by_trigrams(self, scope: Scope, strings: Sequence[str], documents: int, keep: int) -> dict[int, Counts]:
        wanted = [unicodedata.normalize("NFC", text) for text in usable(strings)]
        if not wanted:
            return {}
        long = [text for text in wanted if len(text) >= _TRIGRAM]
        where = {"scope": f"scope:{scope.token}"}
        if long:
            query = " AND ".join(_quoted(text) for text in long)
            rows = self._connection.execute(_TRIGRAM_MATCH, {**where, "query": query, "most": keep}).all()
        else:
            rows = self._connection.execute(_TRIGRAM_SCAN, where).all()
        found: dict[int, Counts] = {}
        folded = [text.casefold() for text in wanted]
        for doc, body in rows:
            text = body.casefold()
            hits = [text.count(piece) for piece in folded]
            if all(hits):
                found[doc] = [(0.0, count) for count in hits]
        rare = rarity(documents, len(found))
        kept = nlargest(keep, found)
        return {doc: [(rare, count) for _, count in found[doc]] for doc in kept}

    def _hits(self, scope: Scope, counts: Mapping[int, Counts], average: float) -> Iterable[tuple[int, WordHit]]:
        """The messages of the documents, if they are in the scope, with their scores."""
        if not counts:
            return
        query = (
            sa.select(
                message_docs.c.doc,
                sessions.c.id,
                sessions.c.tenant_id,
                sessions.c.user_id,
                sessions.c.agent_id,
                sessions.c.session_id,
                *MESSAGE_COLUMNS,
            )
            .join_from(
                message_docs,
                messages,
                (messages.c.tenant_id == message_docs.c.tenant_id)
                & (messages.c.session_uid == message_docs.c.session_uid)
                & (messages.c.seq == message_docs.c.seq),
            )
            .join(
                sessions,
                (sessions.c.tenant_id == messages.c.tenant_id) & (sessions.c.id == messages.c.session_uid),
            )
            .where(message_docs.c.doc.in_(counts), *scope.conditions())
        )
        for doc, uid, tenant, user, agent, session, *rest in self._connection.execute(query):
            message = message_from(rest)
            score = sum(rare * weight(count, message.tokens, average) for rare, count in counts[doc])
            key = SessionKey(tenant=tenant, user=user, agent=agent, session=session)
            yield doc, WordHit(session_id=uid, key=key, message=message, score=score)


def _quoted(text: str) -> str:
    """The text as an FTS5 string: nothing in it is syntax."""
    escaped = unicodedata.normalize("NFC", text).replace('"', '""')
    return f'"{escaped}"'


def _beginning(body: str) -> str:
    """The first words of a text, none of them cut; empty if that cannot be told, or if there is nothing to look for."""
    head = body[:_BEGINNING].replace("\x00", " ")
    if len(body) > _BEGINNING:
        head = head.rpartition(" ")[0]
    return head if any(char.isalnum() for char in head) else ""
