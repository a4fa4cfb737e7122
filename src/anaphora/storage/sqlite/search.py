"""Full-text search on FTS5.

Words are found through `message_words`, whose `scope` column holds hashes of (tenant, user), of the agent and of
the session beside each text, so that common words of other people cost nothing. Texts of scripts without spaces
are also in `message_trigrams`. Each passage of a message is a document. The hashes only save work: of every hit the
session is compared with the caller's scope exactly (I11).
"""

from __future__ import annotations

import heapq
import json
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, count
from uuid import UUID

import sqlalchemy as sa

from anaphora.rules.evidence import rarity
from anaphora.storage.columns import metadata
from anaphora.storage.scope import Ref, Scope, session_token, tokens_of
from anaphora.storage.sqlite.engine import raw as driver_of
from anaphora.storage.word_search import COMMON, Found, WordSearch, telling
from anaphora.storage.words import Indexed, has_unspaced_script, usable

#: which passage of which message a document of the full-text tables is. Migrations make those by hand; a session's
#: documents are found by its scope, so that an append writes no second index that is ordered by session
index_metadata = sa.MetaData(naming_convention=metadata.naming_convention)
message_docs = sa.Table(
    "message_docs",
    index_metadata,
    sa.Column("doc", sa.Integer, primary_key=True),
    sa.Column("tenant_id", sa.Text, nullable=False),
    sa.Column("session_uid", sa.Uuid, nullable=False),
    sa.Column("seq", sa.Integer, nullable=False),
    sa.Column("part", sa.Integer, nullable=False, server_default="0"),
    sa.Column("parts", sa.Integer, nullable=False, server_default="1"),
)

#: a trigram index cannot look up anything shorter
TRIGRAM = 3
#: texts of scripts without spaces that are looked at for one question
_MOST_TEXTS = 2_000
#: characters of a text by which its document is found
_BEGINNING = 200

_MAX_DOC = sa.select(sa.func.coalesce(sa.func.max(message_docs.c.doc), 0))
# plain SQL: these three run for every message that is ever appended
_ADD_DOCS = "INSERT INTO message_docs (doc, tenant_id, session_uid, seq, part, parts) VALUES (?, ?, ?, ?, ?, ?)"
_ADD_WORDS = "INSERT INTO message_words (rowid, scope, body) VALUES (?, ?, ?)"
_ADD_TRIGRAMS = "INSERT INTO message_trigrams (rowid, body) VALUES (?, ?)"
_DOCS_OF_SESSION = sa.text(
    "SELECT doc FROM message_docs WHERE doc IN"
    " (SELECT rowid FROM message_words WHERE message_words MATCH :scope)"
    " AND tenant_id = :tenant AND session_uid = :uid"
).bindparams(sa.bindparam("uid", type_=sa.Uuid))
_DOCS_OF_MESSAGE = sa.text(
    "SELECT doc FROM message_docs WHERE doc IN"
    " (SELECT rowid FROM message_words WHERE message_words MATCH :query)"
    " AND tenant_id = :tenant AND session_uid = :uid AND seq = :seq"
).bindparams(sa.bindparam("uid", type_=sa.Uuid))
_FORGET = (
    "DELETE FROM message_words WHERE rowid = ?",
    "DELETE FROM message_trigrams WHERE rowid = ?",
    "DELETE FROM message_docs WHERE doc = ?",
)
# plain SQL, by the driver alone: these run for every word that is looked up, and bring many rows
_WITH_WORD = "SELECT rowid FROM message_words WHERE message_words MATCH ? ORDER BY rowid DESC LIMIT ?"
_OF_DOCS = (
    "SELECT doc, session_uid, seq, part, parts FROM json_each(?) AS wanted"
    " CROSS JOIN message_docs ON message_docs.doc = wanted.value"
)
_TRIGRAM_MATCH = sa.text(
    "SELECT rowid, body FROM message_trigrams WHERE message_trigrams MATCH :query"
    " AND rowid IN (SELECT rowid FROM message_words WHERE message_words MATCH :scope)"
    " ORDER BY rowid DESC LIMIT :most"
)
_TRIGRAM_SCAN = sa.text(
    "SELECT rowid, body FROM message_trigrams"
    " WHERE rowid IN (SELECT rowid FROM message_words WHERE message_words MATCH :scope) ORDER BY rowid DESC LIMIT :most"
)


class FtsWords(WordSearch):
    """`storage.words.Words` over one transaction."""

    def add(self, entries: Sequence[Indexed]) -> None:
        """Index messages that were appended in this transaction."""
        if not entries:
            return
        self._add(entries, ())

    def _add(self, entries: Sequence[Indexed], free: Iterable[int]) -> None:
        """Index passages under the numbers that are free, then under new ones."""
        new = count(self._connection.execute(_MAX_DOC).scalar_one() + 1)
        numbers = chain(free, new)
        docs: list[tuple[int, str, str, int, int, int]] = []
        words: list[tuple[int, str, str]] = []
        scopes: dict[UUID, str] = {}
        for entry in entries:
            scope = scopes.get(entry.session_id)
            if scope is None:
                scope = scopes[entry.session_id] = " ".join(tokens_of(entry.key, entry.session_id))
            parts = len(entry.passages)
            for part, text in enumerate(entry.passages):
                doc = next(numbers)
                docs.append((doc, entry.key.tenant, entry.session_id.hex, entry.seq, part, parts))
                words.append((doc, scope, text))
        self._connection.exec_driver_sql(_ADD_DOCS, docs)
        self._connection.exec_driver_sql(_ADD_WORDS, words)
        unspaced = [(doc, text) for doc, _, text in words if has_unspaced_script(text)]
        if unspaced:
            self._connection.exec_driver_sql(_ADD_TRIGRAMS, unspaced)

    def replace(self, old: Indexed, passages: tuple[str, ...]) -> None:
        """Other passages in the place of those of a message; none take it out of the index."""
        query = f"scope:{session_token(old.key.tenant, old.session_id)}"
        beginnings = [beginning for beginning in map(_beginning, old.passages) if beginning]
        if len(beginnings) == len(old.passages):  # few passages of a long session begin so
            query = f"{query} AND body:({' OR '.join(map(quoted, beginnings))})"
        where = {"query": query, "tenant": old.key.tenant, "uid": old.session_id, "seq": old.seq}
        docs = sorted(self._connection.execute(_DOCS_OF_MESSAGE, where).scalars())
        for statement in _FORGET:
            self._connection.exec_driver_sql(statement, [(doc,) for doc in docs])
        if passages:
            self._add([replace(old, passages=passages)], docs)

    def forget(self, tenant: str, session_id: UUID) -> None:
        """Take every message of a session out of the index."""
        where = {"scope": f"scope:{session_token(tenant, session_id)}", "tenant": tenant, "uid": session_id}
        docs = [(doc,) for doc in self._connection.execute(_DOCS_OF_SESSION, where).scalars()]
        if docs:
            for statement in _FORGET:
                self._connection.exec_driver_sql(statement, docs)

    def _by_words(
        self, scope: Scope, terms: Sequence[str], messages: int, limit: int
    ) -> tuple[Sequence[Found], Sequence[int]]:
        having = [0] * len(terms)
        with_word: dict[int, list[int]] = {}
        driver = driver_of(self._connection)
        for term, at in usable(terms).items():
            query = f"scope:{scope.token} AND body:{quoted(term)}"
            docs = [doc for (doc,) in driver.execute(_WITH_WORD, (query, COMMON)).fetchall()]
            if docs:
                having[at], with_word[at] = len(docs), docs
        promise: dict[int, float] = defaultdict(float)
        has: dict[int, list[int]] = defaultdict(list)
        for at in telling(having):
            rare = rarity(messages, having[at])
            for doc in with_word[at]:
                promise[doc] += rare
                has[doc].append(at)
        best = heapq.nlargest(limit, [(worth, doc) for doc, worth in promise.items()])
        places = self._places([doc for _, doc in best])
        return [(*places[doc], tuple(has[doc])) for _, doc in best if doc in places], having

    def _places(self, docs: Sequence[int]) -> Mapping[int, tuple[Ref, int, int, int]]:
        """Which passages the documents are."""
        rows = driver_of(self._connection).execute(_OF_DOCS, (json.dumps(docs),)).fetchall() if docs else ()
        return {doc: (uid, seq, part, parts) for doc, uid, seq, part, parts in rows}

    def _by_pieces(self, scope: Scope, pieces: Sequence[str], limit: int) -> tuple[Sequence[Found], Sequence[int]]:
        having = [0] * len(pieces)
        wanted = {unicodedata.normalize("NFC", text): at for text, at in usable(pieces).items()}
        if not wanted:
            return (), having
        where = {"scope": f"scope:{scope.token}", "most": _MOST_TEXTS}
        if all(len(text) >= TRIGRAM for text in wanted):
            query = " OR ".join(map(quoted, wanted))
            rows = self._connection.execute(_TRIGRAM_MATCH, {**where, "query": query}).all()
        else:
            rows = self._connection.execute(_TRIGRAM_SCAN, where).all()
        found: dict[int, tuple[int, ...]] = {}
        for doc, body in rows:
            text = body.casefold()
            has = tuple(at for piece, at in wanted.items() if piece.casefold() in text)
            for at in has:
                having[at] += 1
            if has and len(found) < limit:
                found[doc] = has
        places = self._places(list(found))
        return [(*places[doc], has) for doc, has in found.items()], having


def quoted(text: str) -> str:
    """The text as an FTS5 string: nothing in it is syntax."""
    escaped = unicodedata.normalize("NFC", text).replace('"', '""')
    return f'"{escaped}"'


def _beginning(body: str) -> str:
    """The first words of a text, none of them cut; empty if that cannot be told, or if there is nothing to look for."""
    head = body[:_BEGINNING].replace("\x00", " ")
    if len(body) > _BEGINNING:
        head = head.rpartition(" ")[0]
    return head if any(char.isalnum() for char in head) else ""
