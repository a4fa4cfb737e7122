"""The prompt for the next turn, from one snapshot, whatever the length of the history."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

import anyio.to_thread

from anaphora.domain.chunks import Chunk
from anaphora.domain.context import Context
from anaphora.domain.keys import SeqRange, SessionKey, checked_text
from anaphora.domain.messages import Message
from anaphora.domain.moments import AsOf, Moment
from anaphora.domain.notepad import Page
from anaphora.domain.plans import Selection, Snapshot, State
from anaphora.domain.search import DocumentHit, Hit
from anaphora.domain.summaries import Method, Summary, SummaryStatus
from anaphora.domain.topics import Topic
from anaphora.ports.models import TokenCounter
from anaphora.ports.rows import Head, SessionRow
from anaphora.ports.store import Store, Unit
from anaphora.rules.assembly import assemble, fixed_tokens
from anaphora.rules.conversations import Wanted
from anaphora.rules.facts.shown import Known
from anaphora.rules.material import Material
from anaphora.rules.memory_block import delimiter, mark
from anaphora.rules.notepad import page_mark
from anaphora.rules.relevant import Thresholds
from anaphora.rules.topics.shown import Past, Thread
from anaphora.services.conversations import Conversations
from anaphora.services.known import Knowledge
from anaphora.services.retrieve import MAX_LIMIT, MAX_QUERY_CHARS, Asked, Retrieve, Whose
from anaphora.services.settings import Notes, Strategies, live_reader
from anaphora.services.topical import Here, Topical
from anaphora.strategies.topics import Topics

#: messages read at a time, newest first, until the budget is full
_PAGE = 48
#: texts longer than this are counted in a thread
_SLOW_CHARS = 20_000
#: hardly a message that is worth showing has fewer tokens
_LEAST_TOKENS = 12
#: found messages whose chunks are looked at, and chunks that are looked at besides
_CHUNK_HITS = 24
_CHUNKS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    key: SessionKey
    strategy: str | None
    subject: str | None
    #: tokens beside the instructions
    room: int
    as_of: AsOf | None
    asked: Asked | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    head: int
    history_tokens: int
    summary: Summary | None
    selection: Selection
    messages: tuple[Message, ...]
    deleted: tuple[SeqRange, ...] = ()
    session_id: UUID | None = None
    #: best first; more than have room where somebody puts them into a better order
    hits: tuple[Hit, ...] = ()
    #: chunks of archived conversations
    told: tuple[DocumentHit, ...] = ()
    known: tuple[Known, ...] = ()
    #: the newest closed topics of the session; those that have to do with the question; and those of other sessions
    closed: tuple[Topic, ...] = ()
    threads: tuple[Thread, ...] = ()
    past: tuple[Past, ...] = ()
    #: what the notepad says
    page: Page | None = None
    #: what was not as it should be after the snapshot
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """What of the past is quoted for a question."""

    #: tokens that quoted messages may take, at most; 0 for none
    tokens: int = 2000
    thresholds: Thresholds = field(default_factory=Thresholds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contexts:
    """Builds contexts."""

    store: Store
    strategies: Strategies
    counter: TokenCounter
    secret: bytes
    default_budget: int
    retrieve: Retrieve
    recall: Recall = field(default_factory=Recall)
    knowledge: Knowledge = field(default_factory=Knowledge)
    topical: Topical = field(default_factory=Topical)
    conversations: Conversations = field(default_factory=Conversations)
    notes: Notes = field(default_factory=Notes)

    async def build(
        self,
        key: SessionKey,
        query: str | None = None,
        *,
        budget: int | None = None,
        instructions: str | None = None,
        strategy: str | None = None,
        subject: str | None = None,
        as_of: AsOf | None = None,
        asking: str | None = None,
    ) -> Context:
        """What a model should be shown before it answers the query.

        Args:
            key: the session; one that does not exist yet has an empty history.
            query: the next user message, which is not appended yet.
            budget: tokens; None = the configured default.
            instructions: fixed system text of the application.
            strategy: for a session that does not exist yet.
            subject: whom it is about, for a session that does not exist yet.
            as_of: a moment of the past instead of now: when the log held so many messages and before the next came,
                or a time. With the same budget, query and instructions it is what was served then.
            asking: what to look for where the question is appended already; None: the query.

        Raises:
            InvalidInput: an `as_of` that is not in the session's past.
            BudgetTooSmall: less than the instructions and 64 tokens.
            StoreError: the store is down; never an empty history instead (I17).

        """
        if query is not None:
            checked_text(query, "the query")
        limit = self.default_budget if budget is None else budget
        room = limit - fixed_tokens(instructions, limit, self.counter.count)
        asked = await self._asked(query if asking is None else asking, as_of)
        wanted = _Wanted(key=key, strategy=strategy, subject=subject, room=room, as_of=as_of, asked=asked)
        found = await self._reranked(wanted, await self.store.read(key.tenant, lambda unit: self._find(unit, wanted)))
        material = self._material(wanted, found, query, instructions)
        work: Callable[[], Context] = lambda: assemble(material, limit, self.counter.count)  # noqa: E731 - typed
        quoted = (hit.message for hit in found.hits)
        if len(query or "") + sum(len(m.content) for m in (*found.messages, *quoted)) > _SLOW_CHARS:
            return await anyio.to_thread.run_sync(work)
        return work()

    def _material(self, wanted: _Wanted, found: _Found, query: str | None, instructions: str | None) -> Material:
        earlier = self._earlier(wanted)
        return Material(
            instructions=instructions,
            query=query,
            head=found.head,
            history_tokens=found.history_tokens,
            summary_id=found.summary.id if found.summary else None,
            mark=_mark_of_points(self.secret, found),
            selection=found.selection,
            messages=found.messages,
            deleted=found.deleted,
            degraded=(
                *_degraded(found),
                *(wanted.asked.degraded if wanted.asked else ()),
                *found.degraded,
            ),
            hits=found.hits,
            session_id=found.session_id,
            hits_mark=mark(self.secret, b"relevant", *(hit.message.id.bytes for hit in found.hits)),
            hits_tokens=self.recall.tokens,
            thresholds=self._thresholds(earlier),
            told=found.told,
            told_wanted=earlier,
            told_mark=mark(self.secret, b"told", *(hit.chunk.text.encode() for hit in found.told)),
            known=found.known,
            user=wanted.key.user,
            facts_mark=mark(self.secret, b"facts", *(entry.fact.id.bytes for entry in found.known)),
            facts_tokens=self.knowledge.tokens,
            past=found.past,
            threads=found.threads,
            topics_mark=_mark_of_topics(self.secret, found),
            page=found.page,
            page_mark=page_mark(self.secret, found.page),
            page_tokens=self.notes.tokens,
        )

    def _earlier(self, wanted: _Wanted) -> Wanted:
        """How much of earlier conversations is wanted."""
        return self.conversations.wanted_for(wanted.asked.text) if wanted.asked else self.conversations.wanted

    def _thresholds(self, earlier: Wanted) -> Thresholds:
        """How relevant messages must be: those of other sessions half as much where the question asks for them."""
        own = self.recall.thresholds
        return replace(own, elsewhere=own.elsewhere / 2) if earlier.phrase else own

    async def _asked(self, query: str | None, as_of: AsOf | None) -> Asked | None:
        """What to look for; a context of the past is made of what was there, and a search looks at now."""
        if not query or as_of is not None:
            return None
        return await self.retrieve.ask(query[:MAX_QUERY_CHARS])

    async def _reranked(self, wanted: _Wanted, found: _Found) -> _Found:
        """The hits that may have room, best first, and archived conversations, no transaction being open."""
        if wanted.asked is None:
            return found
        least = self._earlier(wanted).threshold
        near = tuple(hit for hit in found.told if hit.relevance >= least)
        hits, told, late = await self.retrieve.reranking.both_in_order(
            wanted.asked.text, found.hits if self.recall.tokens else (), near
        )
        return replace(
            found,
            hits=hits[: self._hits(wanted)] if self.recall.tokens else found.hits,
            told=(*told, *(hit for hit in found.told if hit.relevance < least)),
            degraded=late,
        )

    def _hits(self, wanted: _Wanted) -> int:
        """More hits than have room, few as they are."""
        return max(8, min(MAX_LIMIT, min(wanted.room, self.recall.tokens) // _LEAST_TOKENS))

    def _look(
        self, unit: Unit, key: SessionKey, row: SessionRow | None, asked: Asked, limit: int, *, others: bool
    ) -> tuple[Hit, ...]:
        """Messages that answer the question: of this session, and of those `others` that the agent may read."""
        sessions = others and self.conversations.of(key.agent).sessions
        if not sessions and row is None:
            return ()
        whose = Whose(
            tenant=key.tenant,
            user=key.user,
            agent=self.conversations.scope(key.agent) if sessions else key.agent,
            session_id=None if sessions or row is None else row.id,
        )
        return tuple(self.conversations.readable(key, self.retrieve.look(unit, asked, whose, limit).hits))

    def _answers(
        self, unit: Unit, wanted: _Wanted, row: SessionRow | None, *, others: bool
    ) -> tuple[tuple[Hit, ...], tuple[Hit, ...], tuple[DocumentHit, ...]]:
        """What answers the question: all hits, those that are likely to fit, and archived sessions."""
        if wanted.asked is None:
            return (), (), ()
        fitting = self._hits(wanted)
        most = max(fitting, self.retrieve.reranking.looks_at)
        hits = self._look(unit, wanted.key, row, wanted.asked, most, others=others)
        told = self.conversations.find(unit, wanted.key, wanted.asked, self._earlier(wanted)) if others else ()
        return hits, hits[:fitting], told

    def _find(self, unit: Unit, wanted: _Wanted) -> _Found:
        key, asked, as_of, room = wanted.key, wanted.asked, wanted.as_of, wanted.room
        row = unit.sessions.find(key)
        paused = unit.pauses.lasting(key.tenant, key.user) is not None
        hits, likely, told = self._answers(unit, wanted, row, others=not paused)
        known: tuple[Known, ...] = ()
        if as_of is None and not paused:
            known = self.knowledge.find(unit, key, row.subject if row else wanted.subject, asked, likely)
        compaction = self.strategies.get(row.strategy if row else wanted.strategy)
        moment = None if as_of is None or row is None else unit.history.moment(row, as_of)
        closed = self.topical.closed(unit, row, moment=moment) if isinstance(compaction, Topics) else ()
        threads: tuple[Thread, ...] = ()
        past: tuple[Past, ...] = ()
        if asked is not None and isinstance(compaction, Topics):
            here = Here(key=key, row=row, closed=closed, agents=self.conversations.agents(key.agent, paused=paused))
            threads, past = self.topical.find(unit, here, compaction, asked, likely)
            past = () if paused else past
        page: Page | None = None
        if as_of is None and not paused and self.notes.of(compaction.name):
            page = unit.notepads.newest(key.tenant, key.user, key.agent)
        if row is None:
            empty = State(head=0, covered_to=0, turn_starts=(), turn_finished=True)
            selection = compaction.select(Snapshot(state=empty, summary=None))
            return _Found(
                head=0,
                history_tokens=0,
                summary=None,
                selection=selection,
                messages=(),
                hits=hits,
                told=told,
                known=known,
                past=past,
                page=page,
            )
        view = _Now(unit, row) if moment is None else _Then(unit, unit.history.session(row, moment), moment)
        head, summary = view.served(live_reader(compaction.name))
        chunks = _chunks(unit, row, likely, compaction.shows_chunks)
        state = view.row.state(head.position)
        selection = compaction.select(Snapshot(state=state, summary=summary, chunks=chunks, topics=closed))
        return _Found(
            head=view.row.head,
            history_tokens=view.row.tokens,
            summary=summary,
            selection=selection,
            messages=_newest(view, selection.verbatim, room),
            deleted=view.row.deleted,
            session_id=row.id,
            hits=hits,
            told=told,
            known=known,
            closed=closed,
            threads=threads,
            past=past,
            page=page,
        )


@dataclass(frozen=True, slots=True)
class _Now:
    """The session as it is."""

    unit: Unit
    row: SessionRow

    def served(self, reader: str) -> tuple[Head, Summary | None]:
        return self.unit.summaries.served(self.row.key.tenant, self.row.id, reader)

    def newest(self, span: SeqRange) -> Sequence[Message]:
        return self.unit.messages.newest(self.row.key.tenant, self.row.id, span, limit=_PAGE)


@dataclass(frozen=True, slots=True)
class _Then:
    """The session as it was."""

    unit: Unit
    row: SessionRow
    moment: Moment

    def served(self, reader: str) -> tuple[Head, Summary | None]:
        tenant, history = self.row.key.tenant, self.unit.history
        head = history.head(tenant, self.row.id, reader, moment=self.moment)
        return head, history.summary(tenant, head.summary_id, moment=self.moment) if head.summary_id else None

    def newest(self, span: SeqRange) -> Sequence[Message]:
        return self.unit.history.newest(self.row, span, moment=self.moment, limit=_PAGE)


def _newest(view: _Now | _Then, span: SeqRange, room: int) -> tuple[Message, ...]:
    """The newest messages of the span, as many as could fit, in order; one page more than fits, never the whole log."""
    pages: list[Message] = []
    used, stop = 0, span.stop
    while stop > span.start and used <= room:
        page = view.newest(SeqRange(span.start, stop))
        if not page:
            break
        pages.extend(page)
        # an oversize message will be shortened to a part of the room: it does not end the search
        used += sum(min(message.tokens, max(1, room // 3)) for message in page)
        stop = page[-1].seq
    return tuple(reversed(pages))


def _chunks(unit: Unit, row: SessionRow, hits: Sequence[Hit], wanted: int) -> Sequence[Chunk]:
    """The chunks of the session that hold what was found, best first; then the newest."""
    if not wanted:
        return ()
    seqs = list(dict.fromkeys(hit.message.seq for hit in hits if hit.session_id == row.id))[:_CHUNK_HITS]
    found = unit.chunks.at(row.key.tenant, row.id, seqs)
    best = [chunk for seq in seqs for chunk in found if seq in chunk.range]
    newest = unit.chunks.list(row.key.tenant, row.id, limit=_CHUNKS)
    return tuple({chunk.id: chunk for chunk in (*best, *newest)}.values())


def _degraded(found: _Found) -> tuple[str, ...]:
    points, summary = found.selection.points, found.summary
    made_without = any(point.method is not Method.MODEL for point in points)
    old = {topic.range for topic in found.closed if topic.stale}
    stale = any(point.range in old for point in points) or (
        summary is not None and summary.status is SummaryStatus.STALE and bool(points)
    )
    return (*(("model",) if made_without else ()), *(("stale",) if stale else ()))


def _mark_of_points(secret: bytes, found: _Found) -> str:
    """The delimiter of the memory block: stable as long as the summary is, or the texts that stand in it are."""
    if found.summary is not None:
        return delimiter(secret, found.summary.id)
    return mark(secret, b"points", *(f"{point.range}{point.text}".encode() for point in found.selection.points))


def _mark_of_topics(secret: bytes, found: _Found) -> str:
    shown = (*(entry.topic.id for entry in found.past), *(entry.topic.id for entry in found.threads))
    return mark(secret, b"topics", *(topic.bytes for topic in shown))
