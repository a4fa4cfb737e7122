"""Full-text search on PostgreSQL.

The words of a message are cut and folded here, as FTS5 cuts and folds them, and stemmed by the server with the same
rules (Porter's), so that both databases find the same messages. Beside the words stand the tokens of their scopes.
Texts of scripts without spaces are kept whole as well, under a trigram index.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from anaphora.domain.keys import SessionKey
from anaphora.ports.rows import WordHit
from anaphora.storage.messages import MESSAGE_COLUMNS, message_from
from anaphora.storage.scope import Scope, tokens_of
from anaphora.storage.tables import messages, metadata, sessions
from anaphora.storage.types import UtcTime
from anaphora.storage.word_search import Counts, WordSearch
from anaphora.storage.words import Indexed, has_unspaced_script, rarity, usable, weight

#: a message has a row for every so many words: PostgreSQL counts no positions beyond 16,383, and rows have limits
_WORDS_PER_ROW = 8_000
_CHARS_PER_ROW = 200_000
#: longer words are cut, in texts and in questions alike
_LONGEST_WORD = 400
#: a word that more messages of the scope have than this is no reason to look at a message
_COMMON = 5_000

index_metadata = sa.MetaData(naming_convention=metadata.naming_convention)
message_words = sa.Table(
    "message_words",
    index_metadata,
    sa.Column("tenant_id", sa.Text, nullable=False),
    sa.Column("session_uid", sa.Uuid, nullable=False),
    sa.Column("seq", sa.Integer, nullable=False),
    sa.Column("part", sa.Integer, nullable=False),
    #: in which order messages came: by the server's clock, for nothing else
    sa.Column("added", UtcTime(), nullable=False),
    sa.Column("words", postgresql.TSVECTOR, nullable=False),
    sa.Column("unspaced", sa.Text),
    sa.PrimaryKeyConstraint("tenant_id", "session_uid", "seq", "part"),
    sa.ForeignKeyConstraint(["tenant_id", "session_uid"], ["sessions.tenant_id", "sessions.id"], ondelete="CASCADE"),
)

_ADD = sa.text(
    "INSERT INTO message_words (tenant_id, session_uid, seq, part, added, words, unspaced)"
    " VALUES (:tenant, :uid, :seq, :part, coalesce(:added, clock_timestamp()),"
    " to_tsvector('anaphora', :text) || array_to_tsvector(ARRAY[:owner, :agent, :session]), :unspaced)"
).bindparams(
    *(sa.bindparam(name, type_=sa.Text) for name in ("tenant", "text", "owner", "agent", "session", "unspaced")),
    sa.bindparam("uid", type_=sa.Uuid),
    sa.bindparam("added", type_=UtcTime()),
    *(sa.bindparam(name, type_=sa.Integer) for name in ("seq", "part")),
)
_OF_SESSION = (
    message_words.c.tenant_id == sa.bindparam("b_tenant"),
    message_words.c.session_uid == sa.bindparam("b_uid"),
)
_FORGET = sa.delete(message_words).where(*_OF_SESSION)
_FORGET_ONE = _FORGET.where(message_words.c.seq == sa.bindparam("b_seq")).returning(message_words.c.added)
_TEXTS = sa.bindparam("texts", type_=postgresql.ARRAY(sa.Text))
#: what the words of each text are in the index, and where they stand in it
_LEXEMES = sa.text(
    "SELECT t.at, u.lexeme, u.positions FROM unnest(CAST(:texts AS text[])) WITH ORDINALITY AS t (text, at)"
    " CROSS JOIN LATERAL unnest(to_tsvector('anaphora', t.text)) AS u (lexeme, positions, weights)"
).bindparams(_TEXTS)
#: in how many messages of the scope each text stands; common ones are not counted to the end
_HOW_MANY = sa.text(
    "SELECT t.at, (SELECT count(*) FROM (SELECT 1 FROM message_words AS w WHERE w.tenant_id = :tenant"
    " AND w.words @@ (CAST(:scope AS tsquery) && phraseto_tsquery('anaphora', t.text)) LIMIT :most) AS few)"
    " FROM unnest(CAST(:texts AS text[])) WITH ORDINALITY AS t (text, at)"
).bindparams(_TEXTS, sa.bindparam("tenant", type_=sa.Text), sa.bindparam("scope", type_=sa.Text))
#: the messages whose words are rarest together
_PROMISING = sa.text(
    "SELECT w.session_uid, w.seq FROM"
    " unnest(CAST(:texts AS text[]), CAST(:rarities AS float8[])) AS t (text, rare) CROSS JOIN LATERAL"
    " (SELECT m.session_uid, m.seq, m.added FROM message_words AS m WHERE m.tenant_id = :tenant"
    " AND m.words @@ (CAST(:scope AS tsquery) && phraseto_tsquery('anaphora', t.text)) LIMIT :most) AS w"
    " GROUP BY w.session_uid, w.seq ORDER BY sum(t.rare) DESC, max(w.added) DESC, w.session_uid DESC, w.seq DESC"
    " LIMIT :keep"
).bindparams(
    _TEXTS,
    sa.bindparam("rarities", type_=postgresql.ARRAY(sa.Double)),
    sa.bindparam("tenant", type_=sa.Text),
    sa.bindparam("scope", type_=sa.Text),
)
_PLACES = (
    sa.bindparam("uids", type_=postgresql.ARRAY(sa.Uuid)),
    sa.bindparam("seqs", type_=postgresql.ARRAY(sa.Integer)),
)
_OCCURRENCES = (
    sa.text(
        "SELECT w.session_uid, w.seq, w.part, u.lexeme, u.positions"
        " FROM unnest(CAST(:uids AS uuid[]), CAST(:seqs AS integer[])) AS k (uid, seq)"
        " JOIN message_words AS w ON w.tenant_id = :tenant AND w.session_uid = k.uid AND w.seq = k.seq"
        " CROSS JOIN LATERAL unnest(w.words) AS u (lexeme, positions, weights)"
        " WHERE u.lexeme = ANY (CAST(:lexemes AS text[]))"
    )
    .bindparams(
        *_PLACES, sa.bindparam("lexemes", type_=postgresql.ARRAY(sa.Text)), sa.bindparam("tenant", type_=sa.Text)
    )
    .columns(session_uid=sa.Uuid, seq=sa.Integer, part=sa.Integer, lexeme=sa.Text)
)
_UNSPACED = (
    sa.select(message_words.c.session_uid, message_words.c.seq, message_words.c.unspaced)
    .where(
        message_words.c.tenant_id == sa.bindparam("tenant"),
        sa.text("words @@ CAST(:scope AS tsquery)").bindparams(sa.bindparam("scope", type_=sa.Text)),
        message_words.c.unspaced.is_not(None),
        sa.text("unspaced ILIKE ALL (CAST(:patterns AS text[]))").bindparams(
            sa.bindparam("patterns", type_=postgresql.ARRAY(sa.Text))
        ),
    )
    .order_by(message_words.c.added.desc(), message_words.c.session_uid.desc(), message_words.c.seq.desc())
    .limit(sa.bindparam("most", type_=sa.Integer))
)
_places = sa.func.unnest(
    sa.cast(_PLACES[0], postgresql.ARRAY(sa.Uuid)), sa.cast(_PLACES[1], postgresql.ARRAY(sa.Integer))
)
_PLACE = _places.table_valued(sa.column("uid", sa.Uuid), sa.column("seq", sa.Integer), name="k").render_derived()
_HITS = (
    sa.select(
        message_words.c.added,
        sessions.c.id,
        sessions.c.tenant_id,
        sessions.c.user_id,
        sessions.c.agent_id,
        sessions.c.session_id,
        *MESSAGE_COLUMNS,
    )
    .join_from(_PLACE, messages, (messages.c.session_uid == _PLACE.c.uid) & (messages.c.seq == _PLACE.c.seq))
    .join(sessions, (sessions.c.tenant_id == messages.c.tenant_id) & (sessions.c.id == messages.c.session_uid))
    .join(
        message_words,
        (message_words.c.tenant_id == messages.c.tenant_id)
        & (message_words.c.session_uid == messages.c.session_uid)
        & (message_words.c.seq == messages.c.seq)
        & (message_words.c.part == 0),
    )
)

#: a message: its session and its number
_Place = tuple[UUID, int]
_Positions = Mapping[str, Sequence[int]]


class TsWords(WordSearch[_Place]):
    """`storage.words.Words` over one transaction."""

    def add(self, entries: Sequence[Indexed]) -> None:
        """Index messages that were appended in this transaction."""
        rows = [row for entry in entries for row in _rows(entry, entry.body)]
        if rows:
            self._connection.execute(_ADD, rows)

    def replace(self, old: Indexed, body: str | None) -> None:
        """Another text in the place of that of a message; None takes it out of the index."""
        where = {"b_tenant": old.key.tenant, "b_uid": old.session_id, "b_seq": old.seq}
        first = self._connection.execute(_FORGET_ONE, where).scalars().first()
        if body is not None:
            self._connection.execute(_ADD, list(_rows(old, body, added=first)))

    def forget(self, tenant: str, session_id: UUID) -> None:
        """Take every message of a session out of the index."""
        self._connection.execute(_FORGET, {"b_tenant": tenant, "b_uid": session_id})

    def _by_words(self, scope: Scope, terms: Sequence[str], documents: int, keep: int) -> dict[_Place, Counts]:
        """The most promising messages: for each its words' rarities and counts."""
        texts = list(dict.fromkeys(text for text in map(_plain, usable(terms)) if text))
        if not texts:
            return {}
        where = {"tenant": scope.tenant, "scope": _asked(scope), "most": _COMMON}
        found = self._connection.execute(_HOW_MANY, {**where, "texts": texts})
        having: dict[int, int] = {at: count for at, count in found}  # noqa: C416 - rows are no pairs to a type checker
        rarities = {text: rarity(documents, having[at]) for at, text in enumerate(texts, start=1) if having[at]}
        if not rarities:
            return {}
        telling = [text for at, text in enumerate(texts, start=1) if 0 < having[at] < _COMMON]
        telling = telling or [max(rarities, key=rarities.__getitem__)]
        looked_for = {"texts": telling, "rarities": [rarities[text] for text in telling], "keep": keep}
        places = [(uid, seq) for uid, seq in self._connection.execute(_PROMISING, {**where, **looked_for})]
        return self._counted(scope, places, rarities)

    def _counted(self, scope: Scope, places: Sequence[_Place], rarities: Mapping[str, float]) -> dict[_Place, Counts]:
        """How often each of the texts stands in each of the messages."""
        texts = list(rarities)
        phrases: list[list[tuple[int, str]]] = [[] for _ in texts]
        for at, lexeme, positions in self._connection.execute(_LEXEMES, {"texts": texts}):
            phrases[at - 1].extend((position, lexeme) for position in positions)
        lexemes = {lexeme for phrase in phrases for _, lexeme in phrase}
        wanted = {**_parameters(places), "tenant": scope.tenant, "lexemes": list(lexemes)}
        rows: dict[_Place, dict[int, dict[str, Sequence[int]]]] = defaultdict(lambda: defaultdict(dict))
        for uid, seq, part, lexeme, positions in self._connection.execute(_OCCURRENCES, wanted):
            rows[uid, seq][part][lexeme] = positions or ()
        found: dict[_Place, Counts] = {}
        for place in places:
            each = [sum(_occurrences(sorted(phrase), there) for there in rows[place].values()) for phrase in phrases]
            found[place] = [(rarities[text], hits) for text, hits in zip(texts, each, strict=True) if hits]
        return found

    def _by_trigrams(self, scope: Scope, strings: Sequence[str], documents: int, keep: int) -> dict[_Place, Counts]:
        wanted = [unicodedata.normalize("NFC", text) for text in usable(strings)]
        if not wanted:
            return {}
        where = {"tenant": scope.tenant, "scope": _asked(scope), "most": keep}
        rows = self._connection.execute(_UNSPACED, {**where, "patterns": [f"%{_escaped(text)}%" for text in wanted]})
        folded = [text.casefold() for text in wanted]
        found: dict[_Place, list[int]] = {}
        for uid, seq, text in rows:
            hits = [text.casefold().count(piece) for piece in folded]
            if all(hits):
                found[uid, seq] = hits
        rare = rarity(documents, len(found))
        return {place: [(rare, count) for count in hits] for place, hits in found.items()}

    def _hits(
        self, scope: Scope, counts: Mapping[_Place, Counts], average: float
    ) -> Iterable[tuple[datetime, WordHit]]:
        """The messages, if they are in the scope, with their scores, and when they came."""
        if not counts:
            return
        query = _HITS.where(messages.c.tenant_id == scope.tenant, *scope.conditions())
        for added, uid, tenant, user, agent, session, *rest in self._connection.execute(
            query, _parameters(list(counts))
        ):
            message = message_from(rest)
            score = sum(rare * weight(count, message.tokens, average) for rare, count in counts[uid, message.seq])
            key = SessionKey(tenant=tenant, user=user, agent=agent, session=session)
            yield added, WordHit(session_id=uid, key=key, message=message, score=score)


def _rows(entry: Indexed, body: str, *, added: datetime | None = None) -> Iterator[dict[str, Any]]:
    """A row for each piece of the body, at least one."""
    owner, agent, session = map(_beside, tokens_of(entry.key, entry.session_id))
    unspaced = body if has_unspaced_script(body) else None
    for part, text in enumerate(_pieces(_plain(body))):
        yield {
            "tenant": entry.key.tenant,
            "uid": entry.session_id,
            "seq": entry.seq,
            "part": part,
            "added": added,
            "text": text,
            "owner": owner,
            "agent": agent,
            "session": session,
            "unspaced": None if part else unspaced,
        }


def _beside(token: str) -> str:
    """The token of a scope as it stands among the words: no word has a slash."""
    return f"/{token}"


def _asked(scope: Scope) -> str:
    """The scope as a query."""
    return f"'{_beside(scope.token)}'"


def _plain(text: str) -> str:
    """The words of a text as FTS5 sees them: letters and digits, without marks, in lower case."""
    if text.isascii():
        words = re.split(r"[\W_]+", text.lower())
    else:
        marked = unicodedata.normalize("NFD", text)
        bare = unicodedata.normalize("NFC", _MARKS.sub("", marked))
        words = re.split(r"[\W_]+", bare.lower())
    return " ".join(word[:_LONGEST_WORD] for word in words if word)


_MARKS = re.compile("[\u0300-\u036f]+")


def _pieces(plain: str) -> Iterator[str]:
    """The text in pieces that one row can hold."""
    if len(plain) <= _CHARS_PER_ROW and plain.count(" ") < _WORDS_PER_ROW:
        yield plain
        return
    words = plain.split(" ")
    piece: list[str] = []
    size = 0
    for word in words:
        if size + len(word) > _CHARS_PER_ROW or len(piece) == _WORDS_PER_ROW:
            yield " ".join(piece)
            piece, size = [], 0
        piece.append(word)
        size += len(word) + 1
    yield " ".join(piece)


def _occurrences(phrase: Sequence[tuple[int, str]], there: _Positions) -> int:
    """How often the words of a phrase stand one after the other."""
    if not phrase:
        return 0
    start, first = phrase[0]
    rest = [(position - start, set(there.get(lexeme, ()))) for position, lexeme in phrase[1:]]
    return sum(all(at + offset in positions for offset, positions in rest) for at in there.get(first, ()))


def _escaped(text: str) -> str:
    return re.sub(r"([\\%_])", r"\\\1", text)


def _parameters(places: Sequence[_Place]) -> dict[str, Any]:
    return {"uids": [uid for uid, _ in places], "seqs": [seq for _, seq in places]}
