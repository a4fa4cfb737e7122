"""I11, I19: what names and summaries of topics mean, in one space at a time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from anaphora.domain.topics import TopicVector, View
from anaphora.domain.vectors import Space
from anaphora.errors import InvalidInput
from anaphora.ports.store import Unit
from anaphora.testing.conformance.store_laws.base import StoreLaws
from anaphora.testing.conformance.store_laws.fact_tools import id_of
from anaphora.testing.conformance.store_laws.tools import KEY, TENANT, after, key_of, row_of
from anaphora.testing.conformance.store_laws.topic_tools import (
    SPACE,
    bare,
    described,
    nearest,
    put,
    replaced,
    spoilt,
    talked,
    vectors_of,
)

SECOND = key_of(session="s2")
THEIRS = key_of(tenant="t2")
OTHER_SPACES = (Space(profile="plain", dimensions=3), Space(profile="other", dimensions=2))


class TopicVectorLaws(StoreLaws):
    """What topics mean."""

    async def test_what_topics_mean_comes_back_view_by_view(self, tmp_path: Path) -> None:
        """As unit vectors, of those that are asked for; those without are left out. After closing too."""
        async with self.opened(tmp_path) as store:
            one, two, three = await talked(store, (0, 3), (3, 6), (6, 9))
            await put(store, (one, View.NAME, (3, 4)), (two, View.SUMMARY, (0, -2)), (one, View.SUMMARY, (5, 0)))
            await put(store)
        async with self.opened(tmp_path) as store:
            meant = {0: {View.NAME: (0.6, 0.8), View.SUMMARY: (1, 0)}, 3: {View.SUMMARY: (0, -1)}}
            assert await vectors_of(store, [three, two, one]) == meant
            assert await vectors_of(store, [three, two]) == {3: meant[3]}
            assert await vectors_of(store, [three]) == await vectors_of(store, []) == {}

    async def test_what_a_topic_means_takes_the_place_of_what_it_meant(self, tmp_path: Path) -> None:
        """All views of it in this space; other topics and other spaces stay as they are."""
        async with self.opened(tmp_path) as store:
            one, two = await talked(store, (0, 3), (3, 6))
            await put(store, *((topic, view, (1, 0)) for topic in (one, two) for view in View))
            await put(store, (one, View.NAME, (1, 0)), space=OTHER_SPACES[1])
            await put(store, (one, View.SUMMARY, (0, 1)))
            plain = dict.fromkeys(View, (1, 0))
            assert await vectors_of(store, [one, two]) == {0: {View.SUMMARY: (0, 1)}, 3: plain}
            assert await vectors_of(store, [one, two], space=OTHER_SPACES[1]) == {0: {View.NAME: (1, 0)}}

    async def test_what_topics_mean_in_one_space_is_nothing_in_another(self, tmp_path: Path) -> None:
        """I19: of another embedder, or of another length."""
        async with self.opened(tmp_path) as store:
            (one,) = await talked(store, (0, 3))
            await put(store, (one, View.NAME, (1, 0)))
            for space in OTHER_SPACES:
                assert await vectors_of(store, [one], space=space) == {}
                assert await bare(store, space=space) == [0]
            await put(store, (one, View.NAME, (0, 0, 1)), space=OTHER_SPACES[0])
            assert await vectors_of(store, [one], space=OTHER_SPACES[0]) == {0: {View.NAME: (0, 0, 1)}}
            assert await vectors_of(store, [one]) == {0: {View.NAME: (1, 0)}}

    async def test_topics_of_two_tenants_have_nothing_in_common(self, tmp_path: Path) -> None:
        """I11: of one id, each means what was said of it in its own tenant."""
        async with self.opened(tmp_path) as store:
            (one,) = await talked(store, (0, 3))
            (theirs,) = await talked(store, (0, 3), key=THEIRS)
            assert one.id == theirs.id
            await put(store, (one, View.NAME, (1, 0)))
            assert await vectors_of(store, [theirs], tenant="t2") == {}
            assert [await bare(store, key=key) for key in (KEY, THEIRS)] == [[], [0]]
            await put(store, (theirs, View.NAME, (0, 1)), tenant="t2")
            assert await vectors_of(store, [one]) == {0: {View.NAME: (1, 0)}}
            assert await vectors_of(store, [theirs], tenant="t2") == {0: {View.NAME: (0, 1)}}

    async def test_what_a_topic_meant_that_is_gone_is_not_kept(self, tmp_path: Path) -> None:
        """It goes with its topic; what comes for it later is passed over, and the rest of it is kept."""
        async with self.opened(tmp_path) as store:
            one, two = await talked(store, (0, 3), (3, 6))
            await put(store, (one, View.NAME, (1, 0)))
            assert await replaced(store, one, None)
            assert await vectors_of(store, [one]) == {}
            never = replace(one, id=id_of(99))
            await put(store, (one, View.NAME, (1, 0)), (two, View.NAME, (0, 1)), (never, View.NAME, (1, 0)))
            assert await vectors_of(store, [one, two, never]) == {3: {View.NAME: (0, 1)}}
            (again,) = await talked(store, (0, 3))
            assert await vectors_of(store, [again]) == {}

    async def test_a_vector_that_does_not_belong_into_the_space_changes_nothing(self, tmp_path: Path) -> None:
        """Of another length, without a direction, or of values that are no numbers: nor do those beside it."""
        async with self.opened(tmp_path) as store:
            one, two = await talked(store, (0, 3), (3, 6))
            await put(store, (one, View.NAME, (1, 0)))

            def refused(unit: Unit) -> None:
                for wrong in ((1.0, 0.0, 0.0), (1.0,), (0.0, 0.0), (1.0, float("nan")), (float("inf"), 1.0)):
                    vectors = [
                        TopicVector(topic_id=one.id, view=View.NAME, vector=(0, 1)),
                        TopicVector(topic_id=two.id, view=View.NAME, vector=wrong),
                    ]
                    with pytest.raises(InvalidInput):
                        unit.topics.put_vectors(TENANT, SPACE, vectors)

            await store.write(TENANT, refused)
            assert await vectors_of(store, [one, two]) == {0: {View.NAME: (1, 0)}}

    async def test_what_an_old_description_meant_goes_with_it(self, tmp_path: Path) -> None:
        """I1: in every space; as long as the old one is shown, even if it is stale, it means what it meant."""
        async with self.opened(tmp_path) as store:
            one, two = await talked(store, (0, 3), (3, 6))
            for space, vector in ((SPACE, (1, 0)), (OTHER_SPACES[0], (1, 0, 0))):
                await put(store, (one, View.NAME, vector), (two, View.NAME, vector), space=space)
            await spoilt(store, 1)
            assert sorted(await vectors_of(store, [one, two])) == [0, 3]
            assert not await replaced(store, one, described(one, name="Late", described_at=after(500)))
            assert sorted(await vectors_of(store, [one, two])) == [0, 3]
            new = described(one, name="New", described_at=after(500))
            assert await replaced(store, replace(one, stale=True), new)
            for space in (SPACE, OTHER_SPACES[0]):
                assert sorted(await vectors_of(store, [one, two], space=space)) == [3]

    async def test_topics_of_a_user_are_found_by_what_they_mean_closest_first(self, tmp_path: Path) -> None:
        """I11, I19: by the closer of name and summary, of this user and these agents, in this space."""
        async with self.opened(tmp_path) as store:
            one, two, three = await talked(store, (0, 3), (3, 6), (6, 9))
            (four,) = await talked(store, (0, 3), key=key_of(agent="other", session="s3"), id=id_of(60))
            (foreign,) = await talked(store, (0, 3), key=key_of(user="nobody"), id=id_of(70))
            (theirs,) = await talked(store, (0, 3), key=THEIRS)
            await put(store, (one, View.NAME, (0, 1)), (one, View.SUMMARY, (3, 4)), (two, View.NAME, (1, 0)))
            await put(store, (three, View.SUMMARY, (-1, 0)), (four, View.NAME, (4, 3)), (foreign, View.NAME, (1, 0)))
            await put(store, (theirs, View.NAME, (1, 0)), tenant="t2")
            closest = [two.id, four.id, one.id, three.id]
            assert await nearest(store, (2, 0)) == closest
            assert await nearest(store, (2, 0), limit=2) == closest[:2]
            assert await nearest(store, (2, 0), agents=["other"]) == [four.id]
            assert await nearest(store, (2, 0), agents=[]) == []
            assert await nearest(store, (2, 0, 0), space=OTHER_SPACES[0]) == []
            assert await nearest(store, (2, 0), besides=one.session_id) == [four.id]
            assert await nearest(store, (2, 0), tenant="t2") == [theirs.id]

    async def test_what_is_stale_or_out_of_sight_is_not_found_by_what_it_means(self, tmp_path: Path) -> None:
        """I1: what is told of it may be what was deleted."""
        async with self.opened(tmp_path) as store:
            one, two = await talked(store, (0, 3), (3, 6))
            (other,) = await talked(store, (0, 3), key=SECOND, id=id_of(50))
            await put(store, *((topic, View.NAME, (1, 0)) for topic in (one, two, other)))
            await spoilt(store, 1)
            assert await nearest(store, (1, 0)) == [two.id, other.id]
            await store.write(TENANT, lambda unit: unit.sessions.expire(row_of(unit, SECOND), now=after(900)))
            assert await nearest(store, (1, 0)) == [two.id]

    async def test_described_topics_without_vectors_are_found_oldest_first(self, tmp_path: Path) -> None:
        """Of this session and no other; stale ones too, but none that nothing is said of."""
        async with self.opened(tmp_path) as store:
            await talked(store, (8, 9))
            one, two, _ = await talked(store, (0, 2), (2, 4), (6, 8))
            await talked(store, (4, 6), told=False)
            await talked(store, (0, 5), key=SECOND, id=id_of(50))
            assert await bare(store) == [0, 2, 6, 8]
            assert await bare(store, limit=2) == [0, 2]
            await spoilt(store, 6)
            await put(store, (two, View.SUMMARY, (1, 0)))
            assert await bare(store) == [0, 6, 8]
            await put(store, (one, View.NAME, (1, 0)), space=OTHER_SPACES[1])
            assert await bare(store) == [0, 6, 8]
            assert await bare(store, space=OTHER_SPACES[1]) == [2, 6, 8]
            assert await bare(store, key=SECOND) == [0]
