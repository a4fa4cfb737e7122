"""Stores that break the laws of topics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar
from uuid import UUID

from tests.conformance.broken import Broken, caught_by

from anaphora.domain.jobs import JobKind
from anaphora.domain.keys import SeqRange
from anaphora.domain.plans import State
from anaphora.domain.summaries import Method
from anaphora.domain.topics import Topic
from anaphora.ports.rows import SessionRow
from anaphora.ports.store import Unit
from anaphora.testing.conformance.store_laws.tools import TENANT


def every(unit: Unit, row: SessionRow) -> Sequence[Topic]:
    """All topics of a session, newest first."""
    return unit.topics.list(row.key.tenant, row.id, limit=99)


# -- kept and found ------------------------------------------------------------------------------------------------


@caught_by("test_topics_come_back_as_they_were_closed_newest_first")
class ListsTheOldestTopicFirst(Broken):
    def topics_list(self, unit: Unit, *args: Any, **how: Any) -> Sequence[Topic]:
        return unit.topics.list(*args, **how)[::-1]


@caught_by("test_topics_come_back_as_they_were_closed_newest_first")
class ListsTheTopicThatStartsThere(Broken):
    def topics_list(self, unit: Unit, *args: Any, before: int | None = None, **how: Any) -> Sequence[Topic]:
        return unit.topics.list(*args, before=None if before is None else before + 1, **how)


@caught_by("test_topics_come_back_as_they_were_closed_newest_first")
class TakesZeroForNoLimit(Broken):
    def topics_list(self, unit: Unit, *args: Any, before: int | None = None, **how: Any) -> Sequence[Topic]:
        return unit.topics.list(*args, before=before or None, **how)


@caught_by("test_topics_come_back_as_they_were_closed_newest_first")
class ForgetsWhatATopicContinues(Broken):
    def topics_insert(self, unit: Unit, row: SessionRow, topic: Topic) -> None:
        unit.topics.insert(row, replace(topic, continues=None))


@caught_by("test_topics_come_back_as_they_were_closed_newest_first")
class KeepsPlainWordsOnly(Broken):
    def topics_insert(self, unit: Unit, row: SessionRow, topic: Topic) -> None:
        unit.topics.insert(row, replace(topic, words=tuple(word for word in topic.words if word.isascii())))


@caught_by("test_topics_of_one_session_are_not_those_of_another")
class ListsTopicsForAnybody(Broken):
    def topics_list(self, unit: Unit, tenant: str, session_id: UUID, **how: Any) -> Sequence[Topic]:
        return unit.topics.list(tenant, session_id, **how) or unit.topics.list(TENANT, session_id, **how)


@caught_by("test_topics_of_one_session_are_not_those_of_another")
class GetsTopicsForAnybody(Broken):
    def topics_get(self, unit: Unit, _tenant: str, topic_id: UUID) -> Topic | None:
        return unit.topics.get(TENANT, topic_id)


@caught_by("test_topics_of_one_session_are_not_those_of_another")
class FindsTopicsOfTheTenant(Broken):
    def topics_between(
        self, unit: Unit, tenant: str, _session_id: UUID, span: SeqRange, *, limit: int
    ) -> Sequence[Topic]:
        rows = unit.sessions.list(tenant, limit=99)
        return [topic for row in rows for topic in unit.topics.between(tenant, row.id, span, limit=limit)]


@caught_by("test_topics_of_one_session_are_not_those_of_another")
class SpoilsTopicsOfOtherSessions(Broken):
    def topics_mark_stale(self, unit: Unit, row: SessionRow, seq: int) -> bool:
        return any([unit.topics.mark_stale(each, seq) for each in unit.sessions.list(row.key.tenant, limit=99)])  # noqa: C419 - all


@caught_by("test_topics_are_found_by_a_span_that_they_hold_messages_of")
class FindsOnlyWholeTopics(Broken):
    def topics_between(self, unit: Unit, *which: Any, **how: Any) -> Sequence[Topic]:
        span = which[-1]
        found = unit.topics.between(*which, **how)
        return [topic for topic in found if span.start <= topic.range.start and topic.range.stop <= span.stop]


@caught_by("test_topics_are_found_by_a_span_that_they_hold_messages_of")
class FindsTheNeighboursToo(Broken):
    def topics_between(self, unit: Unit, tenant: str, session_id: UUID, span: SeqRange, **how: Any) -> Sequence[Topic]:
        return unit.topics.between(tenant, session_id, SeqRange(max(0, span.start - 1), span.stop), **how)


@caught_by("test_topics_are_found_by_a_span_that_they_hold_messages_of")
class FindsTheOldestTopics(Broken):
    def topics_between(self, unit: Unit, *which: Any, limit: int) -> Sequence[Topic]:
        return unit.topics.between(*which, limit=99)[-limit:]


# -- described -----------------------------------------------------------------------------------------------------


@caught_by("test_topics_are_found_by_the_messages_that_they_hold")
class FindsTopicsBetweenTheMessages(Broken):
    def topics_at(self, unit: Unit, tenant: str, session_id: UUID, seqs: Iterable[int]) -> Sequence[Topic]:
        asked = sorted(seqs)
        span = SeqRange(asked[0], asked[-1] + 1) if asked else SeqRange(0, 0)
        return unit.topics.between(tenant, session_id, span, limit=99)[::-1]


@caught_by("test_a_topic_of_a_changed_message_is_to_be_described_again")
class SpoilsAllTopicsThatFollow(Broken):
    def topics_mark_stale(self, unit: Unit, row: SessionRow, seq: int) -> bool:
        found = [unit.topics.mark_stale(row, at) for at in range(seq, row.head)]
        return found[0]


@caught_by("test_a_topic_of_a_changed_message_is_to_be_described_again")
class SpoilsTopicsOnlyInWords(Broken):
    def topics_mark_stale(self, unit: Unit, row: SessionRow, seq: int) -> bool:
        return bool(unit.topics.between(row.key.tenant, row.id, SeqRange(seq, seq + 1), limit=1))


@caught_by("test_a_topic_of_a_changed_message_is_to_be_described_again")
class SaysNothingOfTheSpoiltTopic(Broken):
    def topics_mark_stale(self, unit: Unit, row: SessionRow, seq: int) -> bool:
        unit.topics.mark_stale(row, seq)
        return False


class Describes(Broken):
    """Describes other topics: by default those that it should."""

    methods: ClassVar[Sequence[Method]] = (Method.EXTRACTIVE, Method.DIGEST)

    def topics_to_describe(self, unit: Unit, tenant: str, session_id: UUID, *, without_model: bool) -> Topic | None:
        topics = self.order(unit.topics.list(tenant, session_id, limit=99))
        methods = self.methods if without_model else ()
        return next((topic for topic in topics if self.is_due(topic) or topic.method in methods), None)

    def is_due(self, topic: Topic) -> bool:
        return topic.stale or topic.summary is None

    def order(self, newest_first: Sequence[Topic]) -> Sequence[Topic]:
        return newest_first[::-1]


@caught_by("test_the_oldest_topic_that_is_to_be_described_comes_first")
class DescribesTheNewest(Describes):
    def order(self, newest_first: Sequence[Topic]) -> Sequence[Topic]:
        return newest_first


@caught_by("test_the_oldest_topic_that_is_to_be_described_comes_first")
class DescribesWithoutAModel(Describes):
    def topics_to_describe(self, unit: Unit, *which: Any, **_: Any) -> Topic | None:
        return unit.topics.to_describe(*which, without_model=True)


@caught_by("test_the_oldest_topic_that_is_to_be_described_comes_first")
class LeavesDigestsAsTheyAre(Describes):
    methods = (Method.EXTRACTIVE,)


@caught_by("test_the_oldest_topic_that_is_to_be_described_comes_first")
class DescribesOnlyWhatIsNew(Describes):
    def is_due(self, topic: Topic) -> bool:
        return topic.summary is None


@caught_by("test_the_oldest_topic_that_is_to_be_described_comes_first")
class DescribesOnlyWhatIsStale(Describes):
    def is_due(self, topic: Topic) -> bool:
        return topic.stale


@caught_by("test_a_description_takes_the_place_of_the_one_that_was_read")
class MovesTopics(Broken):
    def topics_replace(self, unit: Unit, row: SessionRow, old: Topic, new: Topic | None) -> bool:
        there = unit.topics.replace(row, old, None)
        if there and new is not None:
            unit.topics.insert(row, new)
        return there


@caught_by("test_a_description_takes_the_place_of_the_one_that_was_read")
class KeepsTheOldWords(Broken):
    def topics_replace(self, unit: Unit, row: SessionRow, old: Topic, new: Topic | None) -> bool:
        return unit.topics.replace(row, old, new and replace(new, words=old.words))


@caught_by("test_a_description_takes_the_place_of_the_one_that_was_read")
class DescribesWhatIsGone(Broken):
    def topics_replace(self, unit: Unit, row: SessionRow, old: Topic, new: Topic | None) -> bool:
        if unit.topics.get(row.key.tenant, old.id) is None and new is not None:
            unit.topics.insert(row, new)
        return unit.topics.replace(row, old, new)


@caught_by("test_a_description_takes_the_place_of_the_one_that_was_read")
class ReplacesInOtherSessions(Broken):
    def topics_replace(self, unit: Unit, row: SessionRow, old: Topic, new: Topic | None) -> bool:
        rows = unit.sessions.list(row.key.tenant, limit=99)
        return unit.topics.replace(next((each for each in rows if each.id == old.session_id), row), old, new)


@caught_by("test_a_topic_that_is_another_since_it_was_read_is_not_replaced")
class ReplacesWhateverTopicIsThere(Broken):
    def topics_replace(self, unit: Unit, row: SessionRow, old: Topic, new: Topic | None) -> bool:
        there = unit.topics.get(row.key.tenant, old.id)
        return there is not None and unit.topics.replace(row, there, new)


@caught_by("test_a_topic_that_is_another_since_it_was_read_is_not_replaced")
class ReplacesTopicsThatWereSpoilt(Broken):
    def topics_replace(self, unit: Unit, row: SessionRow, old: Topic, new: Topic | None) -> bool:
        there = unit.topics.get(row.key.tenant, old.id)
        return unit.topics.replace(row, replace(old, stale=there is not None and there.stale), new)


@caught_by("test_a_topic_that_is_another_since_it_was_read_is_not_replaced")
class ReplacesWhatSomebodyDescribed(Broken):
    def topics_replace(self, unit: Unit, row: SessionRow, old: Topic, new: Topic | None) -> bool:
        there = unit.topics.get(row.key.tenant, old.id)
        return unit.topics.replace(row, replace(old, described_at=there.described_at if there else None), new)


@caught_by("test_a_topic_that_is_another_since_it_was_read_is_not_replaced")
class DropsWhateverTopicIsThere(Broken):
    def topics_replace(self, unit: Unit, row: SessionRow, old: Topic, new: Topic | None) -> bool:
        there = unit.topics.get(row.key.tenant, old.id)
        return unit.topics.replace(row, there if there is not None and new is None else old, new)


# -- gone, and due -------------------------------------------------------------------------------------------------


@caught_by("test_a_session_that_is_reset_has_no_topic_any_more")
class KeepsTopicsOverAReset(Broken):
    def sessions_reset(self, unit: Unit, tenant: str, session_id: UUID, **how: Any) -> int:
        row = unit.sessions.get(tenant, session_id)
        assert row is not None
        left = every(unit, row)
        gone = unit.sessions.reset(tenant, session_id, **how)
        for topic in left:
            unit.topics.insert(row, topic)
        return gone


@caught_by("test_a_session_that_is_reset_has_no_topic_any_more")
class ForgetsAllTopics(Broken):
    def sessions_reset(self, unit: Unit, tenant: str, session_id: UUID, **how: Any) -> int:
        for row in unit.sessions.list(tenant, limit=99):
            for topic in every(unit, row):
                unit.topics.replace(row, topic, None)
        return unit.sessions.reset(tenant, session_id, **how)


@caught_by("test_what_an_append_queues_is_of_the_kind_that_is_due")
class QueuesSummariesOnly(Broken):
    @classmethod
    def how(cls, how: Mapping[str, Any]) -> Mapping[str, Any]:
        def planner(strategy: str | None, state: State, /) -> JobKind | None:
            return JobKind.SUMMARISE if how["planner"](strategy, state) is not None else None

        return {**how, "planner": planner}


@caught_by("test_what_an_append_queues_is_of_the_kind_that_is_due")
class AsksForTheUsualStrategy(Broken):
    @classmethod
    def how(cls, how: Mapping[str, Any]) -> Mapping[str, Any]:
        return {**how, "planner": lambda _strategy, state: how["planner"]("topics", state)}
