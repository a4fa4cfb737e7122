"""I1, I6, I11, I12: the topics of a session, and which of them is to be described."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from anaphora.domain.jobs import JobKind
from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import Trust
from anaphora.domain.plans import State
from anaphora.domain.summaries import Method
from anaphora.domain.topics import Closed, Opened, Topic, View
from anaphora.testing.conformance.store_laws.base import StoreLaws
from anaphora.testing.conformance.store_laws.fact_tools import id_of
from anaphora.testing.conformance.store_laws.tools import (
    KEY,
    TENANT,
    after,
    append,
    jobs_of,
    key_of,
    session,
)
from anaphora.testing.conformance.store_laws.topic_tools import (
    bare,
    between,
    described,
    got,
    put,
    replaced,
    spoilt,
    stale,
    talked,
    topics_of,
    vectors_of,
    wanted,
)

SECOND = key_of(session="s2")
THEIRS = key_of(tenant="t2")


class TopicLaws(StoreLaws):
    """Topics of sessions."""

    async def test_topics_come_back_as_they_were_closed_newest_first(self, tmp_path: Path) -> None:
        """Up to a limit, or only those that start before a message; by their ids too, and after closing."""
        async with self.opened(tmp_path) as store:
            (first,) = await talked(
                store,
                (0, 3),
                closed=Closed.ENDED,
                name='Zoë\'s "tea" 🍵',
                summary="Tea\n100%",
                tokens=9,
                words=("tea", "été"),
                method=Method.EXTRACTIVE,
                model=None,
                prompt_version=None,
                trust=Trust.OTHER,
                stale=True,
            )
            (second,) = await talked(store, (3, 6), opened=Opened.AGAIN, closed=Closed.RETURN, leads_to=first.id)
            (third,) = await talked(
                store, (6, 7), told=False, opened=Opened.RETURN, closed=Closed.FULL, continues=first.id, words=()
            )
            (fourth,) = await talked(store, (7, 9), opened=Opened.FULL, name=None)
        async with self.opened(tmp_path) as store:
            assert await topics_of(store) == [fourth, third, second, first]
            assert await topics_of(store, limit=2) == [fourth, third]
            assert await topics_of(store, limit=1, before=6) == [second]
            assert await topics_of(store, before=3) == [first]
            assert await topics_of(store, before=0) == []
            assert [await got(store, each.id) for each in (third, first, second)] == [third, first, second]
            assert await got(store, id_of(77)) is None

    async def test_topics_of_one_session_are_not_those_of_another(self, tmp_path: Path) -> None:
        """I11: nor those of another tenant's, by any way to get at them."""
        async with self.opened(tmp_path) as store:
            await talked(store, (0, 4), id=id_of(1))
            (second,) = await talked(store, (0, 6), key=SECOND, id=id_of(2), told=False)
            (theirs,) = await talked(store, (0, 8), key=THEIRS, id=id_of(1), name="Theirs")
            uid = (await session(store)).id
            for key, stop in ((KEY, 4), (SECOND, 6), (THEIRS, 8)):
                assert [topic.range.stop for topic in await topics_of(store, key=key)] == [stop]
                assert await between(store, stop - 1, 10, key=key) == [0]
                assert await between(store, stop, 10, key=key) == []
            assert await store.read("t2", lambda unit: unit.topics.list("t2", uid, limit=9)) == []
            assert await store.read("t2", lambda unit: unit.topics.between("t2", uid, SeqRange(0, 9), limit=9)) == []
            assert await got(store, second.id, key=THEIRS) is None
            assert await got(store, theirs.id, key=THEIRS) == theirs
            assert [await wanted(store, key=key) for key in (KEY, SECOND, THEIRS)] == [None, 0, None]
            assert not await spoilt(store, 5)
            assert await spoilt(store, 3, key=SECOND)
            assert [await stale(store, key=key) for key in (KEY, SECOND, THEIRS)] == [[], [0], []]

    async def test_topics_are_found_by_a_span_that_they_hold_messages_of(self, tmp_path: Path) -> None:
        """Whatever part of them: newest first, and of many the newest."""
        async with self.opened(tmp_path) as store:
            await talked(store, (6, 9), (1, 3), (3, 4))
            holding = {1: 1, 2: 1, 3: 3, 6: 6, 7: 6, 8: 6}
            for seq in range(10):
                assert await between(store, seq, seq + 1) == ([holding[seq]] if seq in holding else []), seq
            assert await between(store, 2, 7) == [6, 3, 1]
            assert await between(store, 2, 6) == await between(store, 0, 4) == [3, 1]
            assert await between(store, 4, 6) == await between(store, 9, 10) == []
            assert await between(store, 0, 10, limit=2) == [6, 3]

    async def test_topics_are_found_by_the_messages_that_they_hold(self, tmp_path: Path) -> None:
        """Each once, in order, however far apart the messages are; of this session and tenant alone."""
        async with self.opened(tmp_path) as store:
            one, two, three = await talked(store, (1, 3), (3, 4), (6, 9))
            await talked(store, (0, 5), key=SECOND, id=id_of(50))
            uid = (await session(store)).id

            async def at(*seqs: int, tenant: str = TENANT) -> list[Topic]:
                return list(await store.read(tenant, lambda unit: unit.topics.at(tenant, uid, iter(seqs))))

            assert await at(8, 1, 2, 6) == [one, three]
            assert await at(3) == [two]
            assert await at(0, 4, 5, 9) == await at() == await at(1, 3, tenant="t2") == []

    async def test_a_topic_of_a_changed_message_is_to_be_described_again(self, tmp_path: Path) -> None:
        """I1: the one that holds it and no other; False if there is none."""
        async with self.opened(tmp_path) as store:
            one, two, three = await talked(store, (1, 3), (3, 5), (6, 8))
            assert [await spoilt(store, seq) for seq in (0, 5, 8, 9)] == [False] * 4
            assert await topics_of(store) == [three, two, one]
            assert await spoilt(store, 3)
            assert await topics_of(store) == [three, replace(two, stale=True), one]
            assert await spoilt(store, 4)
            assert await stale(store) == [3]
            assert await spoilt(store, 7)
            assert await stale(store) == [3, 6]

    async def test_the_oldest_topic_that_is_to_be_described_comes_first(self, tmp_path: Path) -> None:
        """Those that never were, and stale ones; where a model is there, also those that none described."""
        async with self.opened(tmp_path) as store:
            (digest,) = await talked(store, (8, 9), method=Method.DIGEST)
            (chosen,) = await talked(store, (2, 4), method=Method.EXTRACTIVE)
            await talked(store, (0, 2))
            (modelled,) = await talked(store, (6, 8))
            assert [await wanted(store, without_model=how) for how in (False, True)] == [None, 2]
            (new,) = await talked(store, (4, 6), told=False)
            await spoilt(store, 7)
            assert [await wanted(store, without_model=how) for how in (False, True)] == [4, 2]
            assert await replaced(store, new, described(new))
            assert [await wanted(store, without_model=how) for how in (False, True)] == [6, 2]
            assert await replaced(store, chosen, None)
            assert [await wanted(store, without_model=how) for how in (False, True)] == [6, 6]
            assert await replaced(store, replace(modelled, stale=True), None)
            assert [await wanted(store, without_model=how) for how in (False, True)] == [None, 8]
            assert await replaced(store, digest, described(digest))
            assert await wanted(store, without_model=True) is None

    async def test_a_description_takes_the_place_of_the_one_that_was_read(self, tmp_path: Path) -> None:
        """I6: all of it; where the topic lies stays as it is, and so do all others. What is gone gets none."""
        async with self.opened(tmp_path) as store:
            one, two = await talked(store, (0, 3), (3, 6), told=False)
            (other,) = await talked(store, (0, 3), key=SECOND, id=id_of(9))
            (theirs,) = await talked(store, (0, 3), key=THEIRS)
            new = described(
                one,
                name="Tea",
                words=("tea",),
                method=Method.DIGEST,
                model=None,
                prompt_version=None,
                trust=Trust.OTHER,
                first_at=after(1),
                last_at=after(50),
                described_head=12,
            )
            moved = replace(new, range=SeqRange(7, 9), closed=Closed.ENDED, closed_head=99, closed_at=after(999))
            assert await replaced(store, one, moved)
            assert await topics_of(store) == [two, new]
            assert not await replaced(store, other, None)
            assert not await replaced(store, two, None, key=SECOND)
            assert not await replaced(store, replace(two, id=id_of(55)), described(two), key=THEIRS)
            assert await replaced(store, two, None)
            assert not await replaced(store, two, None)
            assert not await replaced(store, two, described(two))
            assert await topics_of(store) == [new]
            assert await topics_of(store, key=SECOND) == [other]
            assert await topics_of(store, key=THEIRS) == [theirs]

    async def test_a_topic_that_is_another_since_it_was_read_is_not_replaced(self, tmp_path: Path) -> None:
        """I1, I6: nor does it go; a message of it was changed, or somebody has described it."""
        async with self.opened(tmp_path) as store:
            one, two = await talked(store, (0, 3), (3, 6), told=False)
            await spoilt(store, 1)
            assert not await replaced(store, one, described(one))
            assert not await replaced(store, one, None)
            assert await topics_of(store) == [two, replace(one, stale=True)]
            assert await replaced(store, replace(one, stale=True), described(one))
            first = described(two, name="First")
            assert await replaced(store, two, first)
            assert not await replaced(store, two, described(two, name="Second"))
            assert not await replaced(store, two, None)
            later = described(two, name="Third", described_at=after(500))
            assert await replaced(store, first, later)
            assert not await replaced(store, first, None)
            assert await topics_of(store) == [later, described(one)]

    async def test_a_session_that_is_reset_has_no_topic_any_more(self, tmp_path: Path) -> None:
        """I12: nor what topics mean; others have theirs, and what is said after that can have some again."""
        async with self.opened(tmp_path) as store:
            old = await talked(store, (0, 3), (3, 6))
            (second,) = await talked(store, (0, 3), key=SECOND, id=id_of(9))
            (theirs,) = await talked(store, (0, 3), key=THEIRS)
            await put(store, *((topic, View.NAME, (1, 0)) for topic in (*old, second)))
            await put(store, (theirs, View.NAME, (1, 0)), tenant="t2")
            await spoilt(store, 0)
            uid = (await session(store)).id
            await store.write(TENANT, lambda unit: unit.sessions.reset(TENANT, uid, now=after(1)))
            assert await topics_of(store) == []
            assert await between(store, 0, 10) == await bare(store) == []
            assert [await got(store, topic.id) for topic in old] == [None, None]
            assert await wanted(store, without_model=True) is None
            assert await vectors_of(store, old) == {}
            assert [len(await topics_of(store, key=key)) for key in (SECOND, THEIRS)] == [1, 1]
            assert await vectors_of(store, [second]) == await vectors_of(store, [theirs], tenant="t2") != {}
            again = await talked(store, (0, 3))
            assert await topics_of(store) == again
            assert await vectors_of(store, again) == {}

    async def test_what_an_append_queues_is_of_the_kind_that_is_due(self, tmp_path: Path) -> None:
        """By the session's strategy: one carries a summary on, another follows topics; None queues nothing."""
        kinds = {"topics": JobKind.FOLLOW, "plain": JobKind.SUMMARISE}

        def planner(strategy: str | None, _state: State, /) -> JobKind | None:
            return kinds.get(strategy or "")

        async with self.opened(tmp_path, planner=planner) as store:
            for name in ("topics", "plain", "none"):
                await store.append(append("a", "b", key=key_of(session=name), strategy=name))
            queued = {(job.key.session, job.kind) for job in await jobs_of(store)}
            assert queued == {("topics", JobKind.FOLLOW), ("plain", JobKind.SUMMARISE)}
