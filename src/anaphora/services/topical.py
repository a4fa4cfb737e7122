"""Which topics have to do with a question, from one snapshot, however many there are.

A topic is found by what its messages, its name and its summary mean, each for itself: a summary alone stands for how
summaries are written as much as for the matter (seed 003).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from uuid import UUID

from anaphora.domain.keys import SeqRange, SessionKey
from anaphora.domain.messages import Message, Role
from anaphora.domain.moments import Moment
from anaphora.domain.search import Hit
from anaphora.domain.topics import ClosedTopic, OpenTopic, Stage, Topic, TopicMatch, Utterance
from anaphora.ports.models import Embedder
from anaphora.ports.rows import SessionRow
from anaphora.ports.store import Unit
from anaphora.rules.topics.cues import goes_back
from anaphora.rules.topics.detector import MAX_CLOSED, Limits, carry_on, judge
from anaphora.rules.topics.shown import Past, Thread
from anaphora.rules.topics.views import dot
from anaphora.services.retrieve import Asked, space_of
from anaphora.strategies.topics import Topics

#: closed topics of the session that a prompt may speak of
_NEWEST: Final = 64
#: sessions that are looked at because messages of them were found, of those that keep topics
_SESSIONS: Final = 8
#: topics of other sessions that are looked at because of what their names and summaries mean
_BY_MEANING: Final = 24
#: found messages that are looked at
_HITS: Final = 48


@dataclass(frozen=True, slots=True, kw_only=True)
class Here:
    """The session that is asked in."""

    key: SessionKey
    #: None: nothing was said in it yet
    row: SessionRow | None
    #: its newest closed topics, oldest first
    closed: Sequence[Topic]
    #: whose sessions may be read; None: those of all agents
    agents: Collection[str] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Topical:
    """Finds topics."""

    embedder: Embedder | None = None

    def closed(self, unit: Unit, row: SessionRow | None, *, moment: Moment | None = None) -> tuple[Topic, ...]:
        """The session's newest closed topics, oldest first; with a moment, as they were then."""
        if row is None:
            return ()
        # what was closed by then began before its end
        before = None if moment is None else moment.head
        found = unit.topics.list(row.key.tenant, row.id, limit=_NEWEST, before=before)
        return tuple(reversed(found if moment is None else _as_they_were(found, moment)))

    def find(
        self, unit: Unit, here: Here, strategy: Topics, asked: Asked, hits: Sequence[Hit]
    ) -> tuple[tuple[Thread, ...], tuple[Past, ...]]:
        """Threads of the session and topics of other sessions that have to do with the question, best first."""
        keys, elsewhere = self._elsewhere(unit, here, asked, hits)
        candidates = (*here.closed, *elsewhere)
        by_messages = _by_messages(candidates, hits)
        near = self._near(unit, here.key.tenant, asked, [topic.id for topic in candidates])
        best = {topic.id: max(by_messages.get(topic.id, 0.0), near.get(topic.id, 0.0)) for topic in candidates}
        past = [
            Past(topic=topic, key=keys[topic.session_id], relevance=best[topic.id])
            for topic in elsewhere
            # what a stale topic tells may be what was deleted
            if topic.summary is not None and not topic.stale and best[topic.id] > strategy.past_threshold
        ]
        past.sort(key=lambda each: (-each.relevance, each.topic.id))
        return self._threads(unit, here, strategy, asked, best), tuple(past[: strategy.past])

    def _elsewhere(
        self, unit: Unit, here: Here, asked: Asked, hits: Sequence[Hit]
    ) -> tuple[Mapping[UUID, SessionKey], Sequence[Topic]]:
        """Topics of other sessions that hold found messages, or mean what is asked; and whose sessions they are."""
        seqs: dict[UUID, list[int]] = {}
        keys: dict[UUID, SessionKey] = {}
        for hit in hits[:_HITS]:
            if here.row is None or hit.session_id != here.row.id:
                seqs.setdefault(hit.session_id, []).append(hit.message.seq)
                keys[hit.session_id] = hit.key
        found: dict[UUID, Topic] = {}
        with_topics = 0
        for session_id, said in seqs.items():
            holding = unit.topics.at(here.key.tenant, session_id, said)
            found.update((topic.id, topic) for topic in holding)
            with_topics += bool(holding)
            if with_topics == _SESSIONS:
                break
        for match in self._meant(unit, here, asked):
            found[match.topic.id] = match.topic
            keys[match.topic.session_id] = match.key
        return keys, list(found.values())

    def _meant(self, unit: Unit, here: Here, asked: Asked) -> Sequence[TopicMatch]:
        """Topics of other sessions whose names or summaries are close to the question, closest first."""
        if asked.vector is None or self.embedder is None or here.agents == ():
            return ()
        return unit.topics.nearest(
            here.key.tenant,
            here.key.user,
            agents=here.agents,
            besides=here.row.id if here.row is not None else None,
            space=space_of(self.embedder),
            vector=asked.vector,
            limit=_BY_MEANING,
        )

    def _near(self, unit: Unit, tenant: str, asked: Asked, topics: Sequence[UUID]) -> Mapping[UUID, float]:
        """How close names and summaries are to the question, 0 to 1; nothing without vectors."""
        if asked.vector is None or self.embedder is None or not topics:
            return {}
        relevance = self.embedder.profile.relevance
        vectors = unit.topics.vectors(tenant, space_of(self.embedder), topics)
        return {
            topic: max(relevance(dot(asked.vector, one)) for one in views.values()) for topic, views in vectors.items()
        }

    def _threads(
        self, unit: Unit, here: Here, strategy: Topics, asked: Asked, best: Mapping[UUID, float]
    ) -> tuple[Thread, ...]:
        """The topic that the question goes back to, then the closest; each with its messages."""
        row, closed = here.row, here.closed
        if row is None or not closed or not strategy.threads:
            return ()
        back = _with_what_it_continues(_gone_back_to(unit, row, strategy, closed, asked), closed)
        chosen = [topic for topic in closed if topic.id in back or best[topic.id] > strategy.thread_threshold]
        chosen.sort(key=lambda topic: (topic.id not in back, -best[topic.id], -topic.range.start))
        return tuple(
            Thread(
                topic=topic,
                messages=tuple(unit.messages.range(row.key.tenant, row.id, topic.range, limit=strategy.most_messages)),
                relevance=best[topic.id],
                returned=topic.id in back,
            )
            for topic in chosen[: strategy.threads]
            if topic.summary is not None  # what is not described yet stands word by word anyway
        )


def _by_messages(topics: Sequence[Topic], hits: Sequence[Hit]) -> Mapping[UUID, float]:
    """How relevant the best message of each topic is."""
    best: dict[UUID, float] = {}
    for hit in hits:
        for topic in topics:
            if topic.session_id == hit.session_id and hit.message.seq in topic.range:
                best[topic.id] = max(best.get(topic.id, 0.0), hit.relevance)
    return best


def _gone_back_to(unit: Unit, row: SessionRow, strategy: Topics, closed: Sequence[Topic], asked: Asked) -> UUID | None:
    """The closed topic that the question says it goes back to: judged as its message will be, by words alone."""
    if not goes_back(asked.text):
        return None
    opened = SeqRange(closed[-1].range.stop, max(closed[-1].range.stop, row.head))
    topic = OpenTopic()
    said = list(unit.messages.range(row.key.tenant, row.id, opened, limit=strategy.most_messages))
    if said and said[-1].role is Role.USER and said[-1].content.startswith(asked.text):
        said.pop()  # the question itself, which is appended already
    for message in said:
        topic = carry_on(topic, _utterance(message))
    verdict = judge(
        # a return may come as the very first message of a topic's session again
        replace(topic, messages=max(topic.messages, strategy.least_messages)),
        Utterance(role=Role.USER, text=asked.text),
        closed=[ClosedTopic(id=str(each.id), words=frozenset(each.words)) for each in closed[-MAX_CLOSED:]],
        limits=Limits(least_messages=strategy.least_messages),
    )
    return UUID(verdict.continues) if verdict.stage is Stage.RETURN and verdict.continues else None


def _with_what_it_continues(back: UUID | None, closed: Sequence[Topic]) -> frozenset[UUID]:
    """A topic that somebody goes back to, and the earlier parts of it."""
    links = {topic.id: topic.continues for topic in closed}
    parts: set[UUID] = set()
    while back is not None and back in links and back not in parts:
        parts.add(back)
        back = links[back]
    return frozenset(parts)


def _utterance(message: Message) -> Utterance:
    return Utterance(role=message.role, text=message.content)


def _as_they_were(topics: Sequence[Topic], moment: Moment) -> Sequence[Topic]:
    """Topics that were closed by then; what was described later, was not."""
    return [
        topic
        if _was(topic.described_at, topic.described_head, moment)
        else replace(topic, name=None, summary=None, tokens=0, method=None, described_at=None, described_head=None)
        for topic in topics
        if _was(topic.closed_at, topic.closed_head, moment)
    ]


def _was(at: datetime | None, head: int | None, moment: Moment) -> bool:
    """Whether something had happened by then that happened at this time, when the log was that long."""
    if at is None or head is None:
        return False
    return head <= moment.head if moment.at is None else at <= moment.at
