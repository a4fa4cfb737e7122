"""How many facts there are, and how often they were said: what decides which are kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

import sqlalchemy as sa

from anaphora.domain.facts import Fact, FactState
from anaphora.domain.keeping import Held
from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import Trust
from anaphora.ports.facts import Reader
from anaphora.storage.fact_reading import own
from anaphora.storage.fact_rows import FACT_COLUMNS, fact_from
from anaphora.storage.fact_tables import fact_sources, facts

_BELIEVED = [FactState.ACTIVE.value, FactState.REVIEW.value]
_OF_SUBJECT = (
    facts.c.tenant_id == sa.bindparam("tenant"),
    facts.c.user_id == sa.bindparam("owner"),
    facts.c.subject_id == sa.bindparam("subject"),
)
_IN_STATE = facts.c.state == sa.bindparam("state")
_KEYED = sa.select(facts.c.content_key, *FACT_COLUMNS).where(
    *_OF_SUBJECT, facts.c.content_key.in_(sa.bindparam("keys", expanding=True, type_=sa.Text))
)
#: not ordered here: SQLite would walk through the whole tenant in that order
_SAYING = (
    _KEYED.where(sa.text("facts.state IN ('active', 'review')")),  # as the index has it: parameters would not use it
    _KEYED.where(facts.c.state == sa.bindparam("aside", FactState.ASIDE.value)),
)
_COUNT = sa.select(sa.func.count()).select_from(facts).where(*_OF_SUBJECT, _IN_STATE)
_SAYS_IT = (fact_sources.c.tenant_id == facts.c.tenant_id, fact_sources.c.fact_id == facts.c.id)
_HELD = (
    sa.select(
        *FACT_COLUMNS,
        sa.select(sa.func.count(fact_sources.c.session_uid.distinct()))
        .where(*_SAYS_IT)
        .scalar_subquery()
        .label("sessions"),
        sa.select(sa.func.max(fact_sources.c.learned_at)).where(*_SAYS_IT).scalar_subquery().label("said_at"),
    )
    .where(*_OF_SUBJECT, _IN_STATE)
    .order_by(facts.c.standing, facts.c.id)
    .limit(sa.bindparam("most"))
)
_other = fact_sources.alias("other")
_ELSEWHERE = sa.select(sa.literal(1)).where(
    _other.c.tenant_id == fact_sources.c.tenant_id,
    _other.c.fact_id == fact_sources.c.fact_id,
    sa.or_(
        _other.c.session_uid != fact_sources.c.session_uid,
        _other.c.seq < sa.bindparam("start"),
        _other.c.seq >= sa.bindparam("stop"),
    ),
)
_RESTING = (
    sa.select(sa.func.count(fact_sources.c.fact_id.distinct()))
    .join(facts, (facts.c.tenant_id == fact_sources.c.tenant_id) & (facts.c.id == fact_sources.c.fact_id))
    .where(
        fact_sources.c.tenant_id == sa.bindparam("tenant"),
        fact_sources.c.session_uid == sa.bindparam("session", type_=sa.Uuid),
        fact_sources.c.seq >= sa.bindparam("start"),
        fact_sources.c.seq < sa.bindparam("stop"),
        facts.c.state.in_(_BELIEVED),
        facts.c.trust != Trust.OWNER_CONFIRMED.value,
        sa.not_(facts.c.pinned),
        ~_ELSEWHERE.exists(),
    )
)
_RESTING_ON = _RESTING.where(facts.c.valid_from >= sa.bindparam("since"), facts.c.valid_from < sa.bindparam("until"))


class SqlKeepFacts:
    """The part of `ports.facts.Facts` that counts, over one transaction."""

    _connection: sa.Connection

    def saying(self, tenant: str, owner: str, subject: str, keys: Iterable[str]) -> Sequence[tuple[str, Fact]]:
        """The owner's facts with these content keys that are not closed, each with its key; the newest first."""
        wanted = sorted(set(keys))
        if not wanted:
            return ()
        where = {"tenant": tenant, "owner": owner, "subject": subject, "keys": wanted}
        rows = [row for part in _SAYING for row in self._connection.execute(part, where)]
        return [(row.content_key, fact_from(row)) for row in sorted(rows, key=lambda row: row.id, reverse=True)]

    def count(self, tenant: str, owner: str, subject: str, state: FactState) -> int:
        """How many facts of a subject the owner has in a state."""
        where = {"tenant": tenant, "owner": owner, "subject": subject, "state": state.value}
        return self._connection.execute(_COUNT, where).scalar_one()

    def counts(self, reader: Reader) -> Sequence[tuple[FactState, str | None, int]]:
        """How many facts of the reader's own are in each state; of those set aside, how many for each reason."""
        reason = sa.case((facts.c.state == FactState.ASIDE.value, facts.c.doubt)).label("reason")
        query = own(sa.select(facts.c.state, reason, sa.func.count().label("many")), reader)
        rows = self._connection.execute(query.group_by(facts.c.state, reason))
        return [(FactState(row.state), row.reason, row.many) for row in rows]

    def held(self, tenant: str, owner: str, subject: str, state: FactState, *, limit: int) -> Sequence[Held]:
        """Facts of a subject in a state with how often they were said, by `Fact.standing`, lowest first."""
        where = {"tenant": tenant, "owner": owner, "subject": subject, "state": state.value, "most": limit}
        rows = self._connection.execute(_HELD, where)
        return [Held(fact=fact_from(row), sessions=row.sessions, said_at=row.said_at) for row in rows]

    def resting(self, tenant: str, session_id: UUID, span: SeqRange, *, day: date | None = None) -> int:
        """How many facts nothing but these messages of a session says; with `day`, that are true since that day."""
        where = {"tenant": tenant, "session": session_id, "start": span.start, "stop": span.stop}
        if day is None:
            return self._connection.execute(_RESTING, where).scalar_one()
        since = datetime(day.year, day.month, day.day, tzinfo=UTC)
        until = since + timedelta(days=1)
        return self._connection.execute(_RESTING_ON, {**where, "since": since, "until": until}).scalar_one()
