"""Versions of summaries and the work on the next ones, together, as one snapshot shows them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from anaphora.domain.jobs import SEED_WORDS, Job, JobKind, JobState
from anaphora.domain.keys import SeqRange, SessionKey, check_limit
from anaphora.domain.moments import AsOf, Moment
from anaphora.domain.summaries import Summary
from anaphora.errors import NotFound
from anaphora.ports.rows import SessionRow
from anaphora.ports.store import Store, Unit
from anaphora.services.settings import Strategies, live_reader

_IN_WORK = (JobState.QUEUED, JobState.RUNNING, JobState.FAILED)
#: jobs of a session that are looked at: at most one of a kind is live, and only the newest failure counts
_JOBS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the list: a version, or a job that has not made one. Exactly one of `summary` and `job` is set."""

    key: SessionKey
    summary: Summary | None = None
    #: the version that `summary` carried on from
    base: Summary | None = None
    #: what contexts show now
    served: bool = False
    job: Job | None = None

    @property
    def status(self) -> str:
        """`processing`, `completed` or `failed`; a version may also be `building`, `stale` or `superseded`."""
        if self.job is not None:
            return SEED_WORDS[self.job.state]
        return self.summary.status.value if self.summary else ""

    @property
    def new(self) -> SeqRange | None:
        """The messages that this version added to what its base said."""
        if self.summary is None:
            return None
        whole = self.summary.range
        start = max(whole.start, self.base.range.stop) if self.base else whole.start
        return SeqRange(min(start, whole.stop), whole.stop)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Which versions are meant, by what they list beside their points; None: any."""

    topic: str | None = None
    entity: str | None = None

    def __bool__(self) -> bool:
        """Whether any version is left out."""
        return self.topic is not None or self.entity is not None

    def has(self, summary: Summary) -> bool:
        """Whether the version is meant."""
        wanted = {"topics": self.topic, "entities": self.entity}
        return all(text is None or summary.structure.names(name, text) for name, text in wanted.items())


#: no version is left out
EVERY = Listing()


def listed(entries: Iterable[Entry], listing: Listing) -> list[Entry]:
    """The entries that are meant: with a listing, versions alone."""
    return [entry for entry in entries if not listing or (entry.summary is not None and listing.has(entry.summary))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """Lists summaries as operators look at them."""

    store: Store
    strategies: Strategies
    #: without one, what waits for a model is not in work
    with_model: bool

    async def of_session(
        self, key: SessionKey, *, limit: int = 20, as_of: AsOf | None = None, listing: Listing = EVERY
    ) -> Sequence[Entry]:
        """Every version of one session, newest first, after the work on the next one.

        With a `listing`, of the newest `limit` versions only those that are meant, and no work. With `as_of`, the
        versions that there were then; what work was under way is not kept.

        Raises:
            NotFound: no such session.
            InvalidInput: a limit out of range, or an `as_of` that is not in the session's past.

        """
        check_limit(limit)

        def look(unit: Unit) -> Sequence[Entry]:
            row = unit.sessions.find(key)
            if row is None:
                raise NotFound(f"there is no session {key.session!r} of user {key.user!r} with agent {key.agent!r}")
            moment = None if as_of is None else unit.history.moment(row, as_of)
            if moment is None:
                return listed(self._entries(unit, row, versions=limit), listing)
            return listed(self._entries_then(unit, row, moment, versions=limit), listing)

        return await self.store.read(key.tenant, look)

    async def of_sessions(
        self,
        tenant: str,
        *,
        user: str | None = None,
        agent: str | None = None,
        chain: bool = False,
        limit: int = 20,
        listing: Listing = EVERY,
    ) -> Sequence[Entry]:
        """The newest version (with `chain`, all) of the sessions that were last used, up to `limit` entries."""
        check_limit(limit)

        def look(unit: Unit) -> Sequence[Entry]:
            found: list[Entry] = []
            for row in unit.sessions.list(tenant, user=user, agent=agent, limit=limit):
                found.extend(listed(self._entries(unit, row, versions=limit if chain else 1), listing))
                if len(found) >= limit:
                    break
            return found[:limit]

        return await self.store.read(tenant, look)

    def _entries(self, unit: Unit, row: SessionRow, *, versions: int) -> Iterator[Entry]:
        tenant, strategy = row.key.tenant, self.strategies.get(row.strategy).name
        served = unit.summaries.head(tenant, row.id, live_reader(strategy)).summary_id
        chain = unit.summaries.chain(tenant, row.id, strategy=strategy, limit=versions)
        jobs = unit.jobs.list(tenant, states=_IN_WORK, session_id=row.id, limit=_JOBS)
        for job in jobs:
            if job.state is JobState.FAILED and chain and job.updated_at < chain[0].created_at:
                continue
            if job.kind is JobKind.EMBED or (job.needs_model and not self.with_model):
                continue
            yield Entry(key=row.key, job=job)
        yield from self._versions(unit, row, chain, served)

    def _entries_then(self, unit: Unit, row: SessionRow, moment: Moment, *, versions: int) -> Iterator[Entry]:
        tenant, strategy = row.key.tenant, self.strategies.get(row.strategy).name
        head = unit.history.head(tenant, row.id, live_reader(strategy), moment=moment)
        chain = unit.history.chain(tenant, row.id, strategy=strategy, moment=moment, limit=versions)
        yield from self._versions(unit, row, chain, head.summary_id)

    def _versions(self, unit: Unit, row: SessionRow, chain: Sequence[Summary], served: UUID | None) -> Iterator[Entry]:
        by_id = {summary.id: summary for summary in chain}
        for summary in chain:
            base = by_id.get(summary.base_id) if summary.base_id else None
            if summary.base_id is not None and base is None:
                base = unit.summaries.get(row.key.tenant, summary.base_id)
            yield Entry(key=row.key, summary=summary, base=base, served=summary.id == served)
