"""Stores that break the laws of what topics mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar
from uuid import UUID

from tests.conformance.broken import Broken, caught_by

from anaphora.domain.keys import SessionKey
from anaphora.domain.topics import Topic, TopicMatch, TopicVector, View
from anaphora.domain.vectors import Space
from anaphora.errors import InvalidInput
from anaphora.ports.rows import SessionRow
from anaphora.ports.store import Unit
from anaphora.testing.conformance.store_laws.tools import TENANT


class Means(Broken):
    """Keeps other vectors: by default those that it should."""

    def topics_put_vectors(self, unit: Unit, tenant: str, space: Space, vectors: Sequence[TopicVector]) -> None:
        unit.topics.put_vectors(tenant, space, [each for each in vectors if self.keeps(unit, tenant, each)])

    def keeps(self, _unit: Unit, _tenant: str, _vector: TopicVector) -> bool:
        return True


@caught_by("test_what_topics_mean_comes_back_view_by_view")
class KeepsOnlyNames(Means):
    def keeps(self, _unit: Unit, _tenant: str, vector: TopicVector) -> bool:
        return vector.view is View.NAME


@caught_by("test_what_topics_mean_comes_back_view_by_view")
class KeepsVectorsAsTheyCome(Broken):
    """Of whatever length they are."""

    def topics_vectors(self, unit: Unit, *which: Any) -> Mapping[UUID, Mapping[View, Sequence[float]]]:
        found = unit.topics.vectors(*which)
        return {each: {view: [5 * x for x in at] for view, at in views.items()} for each, views in found.items()}


@caught_by("test_what_topics_mean_comes_back_view_by_view")
class NamesTopicsWithoutVectors(Broken):
    def topics_vectors(
        self, unit: Unit, tenant: str, space: Space, topics: Iterable[UUID]
    ) -> Mapping[UUID, Mapping[View, Sequence[float]]]:
        asked = list(topics)
        return {**{each: {} for each in asked}, **unit.topics.vectors(tenant, space, asked)}


@caught_by("test_what_a_topic_means_takes_the_place_of_what_it_meant")
class AddsToWhatTopicsMean(Broken):
    def topics_put_vectors(self, unit: Unit, tenant: str, space: Space, vectors: Sequence[TopicVector]) -> None:
        known = unit.topics.vectors(tenant, space, {each.topic_id for each in vectors})
        new = {(each.topic_id, each.view): each for each in vectors}
        old = {
            (topic_id, view): TopicVector(topic_id=topic_id, view=view, vector=vector)
            for topic_id, views in known.items()
            for view, vector in views.items()
        }
        unit.topics.put_vectors(tenant, space, list({**old, **new}.values()))


@caught_by("test_what_a_topic_means_takes_the_place_of_what_it_meant")
class KeepsTheFirstMeaning(Broken):
    def topics_put_vectors(self, unit: Unit, tenant: str, space: Space, vectors: Sequence[TopicVector]) -> None:
        known = unit.topics.vectors(tenant, space, {each.topic_id for each in vectors})
        unit.topics.put_vectors(tenant, space, [each for each in vectors if each.topic_id not in known])


@caught_by("test_what_topics_mean_in_one_space_is_nothing_in_another")
class ComparesSpacesOfOneLength(Broken):
    """Whoever has made the vectors."""

    @staticmethod
    def any_of(space: Space) -> Space:
        return Space(profile="any", dimensions=space.dimensions)

    def topics_put_vectors(self, unit: Unit, tenant: str, space: Space, vectors: Sequence[TopicVector]) -> None:
        unit.topics.put_vectors(tenant, self.any_of(space), vectors)

    def topics_vectors(self, unit: Unit, tenant: str, space: Space, topics: Iterable[UUID]) -> Any:
        return unit.topics.vectors(tenant, self.any_of(space), topics)


@caught_by("test_topics_of_two_tenants_have_nothing_in_common")
class KeepsMeaningsForBothTenants(Broken):
    def topics_vectors(self, unit: Unit, _tenant: str, space: Space, topics: Iterable[UUID]) -> Any:
        return unit.topics.vectors(TENANT, space, topics)


@caught_by("test_what_a_topic_meant_that_is_gone_is_not_kept")
class RefusesWhatIsGone(Means):
    """And all that came with it."""

    def topics_put_vectors(self, unit: Unit, tenant: str, space: Space, vectors: Sequence[TopicVector]) -> None:
        if all(unit.topics.get(tenant, each.topic_id) is not None for each in vectors):
            unit.topics.put_vectors(tenant, space, vectors)


@caught_by("test_what_a_topic_meant_that_is_gone_is_not_kept")
class RemembersWhatIsGone(Broken):
    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.ever: dict[UUID, dict[View, Sequence[float]]] = {}

    def topics_put_vectors(self, unit: Unit, tenant: str, space: Space, vectors: Sequence[TopicVector]) -> None:
        for each in vectors:
            self.ever.setdefault(each.topic_id, {})[each.view] = tuple(each.vector)
        unit.topics.put_vectors(tenant, space, vectors)

    def topics_vectors(self, _unit: Unit, _tenant: str, _space: Space, topics: Iterable[UUID]) -> Any:
        return {each: self.ever[each] for each in topics if each in self.ever}


@caught_by("test_a_vector_that_does_not_belong_into_the_space_changes_nothing")
class KeepsWhatCameBeforeAWrongVector(Broken):
    def topics_put_vectors(self, unit: Unit, tenant: str, space: Space, vectors: Sequence[TopicVector]) -> None:
        for each in vectors:
            unit.topics.put_vectors(tenant, space, [each])


@caught_by("test_a_vector_that_does_not_belong_into_the_space_changes_nothing")
class PassesOverWrongVectors(Broken):
    def topics_put_vectors(self, unit: Unit, tenant: str, space: Space, vectors: Sequence[TopicVector]) -> None:
        try:
            unit.topics.put_vectors(tenant, space, vectors)
        except InvalidInput:
            return


@caught_by("test_what_an_old_description_meant_goes_with_it")
class KeepsWhatWasMeantOnce(Broken):
    space: ClassVar[Space] = Space(profile="plain", dimensions=2)

    def topics_replace(self, unit: Unit, row: SessionRow, old: Topic, new: Topic | None) -> bool:
        known = unit.topics.vectors(row.key.tenant, self.space, [old.id])
        there = unit.topics.replace(row, old, new)
        kept = [
            TopicVector(topic_id=old.id, view=view, vector=vector) for view, vector in known.get(old.id, {}).items()
        ]
        unit.topics.put_vectors(row.key.tenant, self.space, kept)
        return there


@caught_by("test_what_an_old_description_meant_goes_with_it")
class ForgetsOnlyTheOtherSpace(KeepsWhatWasMeantOnce):
    space = Space(profile="plain", dimensions=3)


@caught_by("test_topics_of_a_user_are_found_by_what_they_mean_closest_first")
class FindsTopicsOfAllAgents(Broken):
    def topics_nearest(self, unit: Unit, *which: Any, **how: Any) -> Sequence[TopicMatch]:
        return unit.topics.nearest(*which, **{**how, "agents": None})


@caught_by("test_topics_of_a_user_are_found_by_what_they_mean_closest_first")
class FindsTheFarthestTopicsFirst(Broken):
    def topics_nearest(self, unit: Unit, *which: Any, **how: Any) -> Sequence[TopicMatch]:
        return unit.topics.nearest(*which, **{**how, "limit": 99})[::-1][: how["limit"]]


@caught_by("test_what_is_stale_or_out_of_sight_is_not_found_by_what_it_means")
class FindsWhatIsStaleByWhatItMeans(Broken):
    """And sessions that are out of sight."""

    def topics_nearest(self, unit: Unit, tenant: str, user: str, *, limit: int, **_: Any) -> Sequence[TopicMatch]:
        keys = [SessionKey(tenant=tenant, user=user, agent="a", session=session) for session in ("s", "s2")]
        rows = [row for key in keys if (row := unit.sessions.find(key)) is not None]
        found = [
            TopicMatch(topic=topic, key=row.key) for row in rows for topic in unit.topics.list(tenant, row.id, limit=99)
        ]
        return found[:limit]


@caught_by("test_described_topics_without_vectors_are_found_oldest_first")
class FindsTheNewestWithoutVectors(Broken):
    def topics_without_vectors(self, unit: Unit, row: SessionRow, space: Space, *, limit: int) -> Sequence[Topic]:
        return unit.topics.without_vectors(row, space, limit=99)[::-1][:limit]


@caught_by("test_described_topics_without_vectors_are_found_oldest_first")
class WantsVectorsOfWhatIsNotDescribed(Broken):
    def topics_without_vectors(self, unit: Unit, row: SessionRow, space: Space, *, limit: int) -> Sequence[Topic]:
        topics = unit.topics.list(row.key.tenant, row.id, limit=99)[::-1]
        known = unit.topics.vectors(row.key.tenant, space, [topic.id for topic in topics])
        return [topic for topic in topics if topic.id not in known][:limit]


@caught_by("test_described_topics_without_vectors_are_found_oldest_first")
class WantsNoVectorsOfWhatIsStale(Broken):
    def topics_without_vectors(self, unit: Unit, row: SessionRow, space: Space, *, limit: int) -> Sequence[Topic]:
        return [topic for topic in unit.topics.without_vectors(row, space, limit=limit) if not topic.stale]
