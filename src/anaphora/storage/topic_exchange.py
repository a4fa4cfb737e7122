"""Topics out of the database, a page at a time, and those of another store into this one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import sqlalchemy as sa

from anaphora.domain.topic_records import TopicRecord
from anaphora.domain.topics import Topic
from anaphora.ports.rows import SessionRow
from anaphora.storage.bulk import insert_bulk
from anaphora.storage.topic_tables import topics
from anaphora.storage.topics import TOPIC_COLUMNS, topic_from, topic_values

#: topics that are in memory at once
_ROWS: Final = 500
_PAGE = (
    sa.select(*TOPIC_COLUMNS)
    .where(
        topics.c.tenant_id == sa.bindparam("tenant", type_=sa.Text),
        topics.c.session_uid == sa.bindparam("uid", type_=sa.Uuid),
        topics.c.start >= sa.bindparam("start", type_=sa.Integer),
    )
    .order_by(topics.c.start)
    .limit(_ROWS)
)
_INSERT = sa.insert(topics)


def dump_topics(connection: sa.Connection, row: SessionRow) -> Iterator[TopicRecord]:
    """Every topic of a session, in order."""
    start = 0
    while True:
        lines = connection.execute(_PAGE, {"tenant": row.key.tenant, "uid": row.id, "start": start}).all()
        for line in lines:
            topic = topic_from(line)
            yield TopicRecord.of(topic, record="topic", words=list(topic.words))
        if len(lines) < _ROWS:
            return
        start = lines[-1].stop


def restore_topics(connection: sa.Connection, row: SessionRow, records: Sequence[TopicRecord]) -> None:
    """Insert topics of a session. What they mean is computed here."""
    if records:
        lines = [topic_values(row.key.tenant, _topic(row, record)) for record in records]
        insert_bulk(connection, _INSERT, topics, lines)


def _topic(row: SessionRow, record: TopicRecord) -> Topic:
    said = {name: getattr(record, name) for name in TopicRecord.model_fields if name not in {"record", "words"}}
    return Topic(session_id=row.id, words=tuple(record.words), **said)
