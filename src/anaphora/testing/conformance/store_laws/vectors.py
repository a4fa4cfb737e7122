"""I11, I12, I19: what is close in meaning is found where the caller may look, and is gone with its message."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import UUID

import pytest

from anaphora.domain.keys import SeqRange, SessionKey
from anaphora.domain.messages import Message
from anaphora.domain.vectors import Space
from anaphora.errors import InvalidInput
from anaphora.ports.rows import PassageVector
from anaphora.ports.store import Store, Unit
from anaphora.testing.conformance.store_laws.base import StoreLaws
from anaphora.testing.conformance.store_laws.tools import KEY, TENANT, after, append, key_of, row_of, session

SPACE = Space(profile="plain", dimensions=2)
#: half precision is enough
NEARLY = 1e-3
#: embedders and lengths that must not be taken for each other
OTHER_SPACES = (
    Space(profile="plain", dimensions=3),
    Space(profile="other", dimensions=2),
    Space(profile="plain/2", dimensions=2),
    Space(profile='it\'s "quoted"; --', dimensions=2),
)


@dataclass(frozen=True, kw_only=True)
class Close:
    """A passage that was found, with its message."""

    session_id: UUID
    key: SessionKey
    message: Message
    part: int
    similarity: float


def at(degrees: float, length: float = 1.0) -> tuple[float, float]:
    """A vector that points there."""
    return (length * math.cos(math.radians(degrees)), length * math.sin(math.radians(degrees)))


async def put(
    store: Store,
    vectors: Mapping[int, Sequence[Sequence[float]]],
    *,
    key: SessionKey = KEY,
    space: Space = SPACE,
    of: Sequence[Message] | None = None,
) -> int:
    """Give messages, by number, a vector for each passage; those of `of`, if they are not the ones of now."""

    def work(unit: Unit) -> int:
        row = row_of(unit, key)
        log = of or unit.messages.range(key.tenant, row.id, SeqRange(0, row.head), limit=100)
        said = {message.seq: message for message in log}
        passages = [
            PassageVector(seq=seq, part=part, message_id=said[seq].id, version=said[seq].version, vector=vector)
            for seq, parts in vectors.items()
            for part, vector in enumerate(parts)
        ]
        return unit.vectors.put(row, space, passages)

    return await store.write(key.tenant, work)


async def nearest(
    store: Store,
    vector: Sequence[float],
    *,
    tenant: str = TENANT,
    user: str = "alice",
    agent: str | None = None,
    within: SessionKey | None = None,
    space: Space = SPACE,
    limit: int = 10,
) -> list[Close]:
    """What is closest in this scope."""
    uid = (await session(store, within)).id if within else None

    def work(unit: Unit) -> list[Close]:
        found = unit.vectors.nearest(tenant, user, agent=agent, session_id=uid, space=space, vector=vector, limit=limit)
        said = unit.lookup.messages(tenant, {(match.session_id, match.seq): None for match in found})
        return [
            Close(
                session_id=match.session_id,
                key=match.key,
                message=said[match.session_id, match.seq],
                part=match.part,
                similarity=match.similarity,
            )
            for match in found
        ]

    return await store.read(tenant, work)


def texts(hits: Sequence[Close]) -> list[str]:
    """What the hits say, best first."""
    return [hit.message.content for hit in hits]


async def spoken(store: Store, key: SessionKey = KEY) -> list[Message]:
    """The messages of a session."""

    def work(unit: Unit) -> list[Message]:
        row = row_of(unit, key)
        return list(unit.messages.range(key.tenant, row.id, SeqRange(0, row.head), limit=100))

    return await store.read(key.tenant, work)


async def amend(store: Store, seq: int, content: str, *, deleted: bool = False) -> None:
    """Another text in the place of a message, or none."""

    def work(unit: Unit) -> None:
        row = row_of(unit)
        (old,) = unit.messages.range(TENANT, row.id, SeqRange(seq, seq + 1), limit=1)
        new = replace(old, content=content, tokens=1, version=old.version + 1, changed_at=after(1), deleted=deleted)
        unit.messages.amend(row, old, new, now=after(1))

    await store.write(TENANT, work)


class VectorLaws(StoreLaws):
    """Search by meaning."""

    async def test_the_closest_passages_come_first_with_their_cosines(self, tmp_path: Path) -> None:
        """Whatever length the vectors have; a hit says which passage of which message it is."""
        async with self.opened(tmp_path) as store:
            await store.append(append("east", "north", "west"))
            assert await put(store, {0: [at(0)], 1: [at(80, 7.5), at(40)], 2: [at(180, 0.01)]}) == 4
            hits = await nearest(store, at(10, 3.0))
            assert [(hit.message.content, hit.part) for hit in hits] == [
                ("east", 0),
                ("north", 1),
                ("north", 0),
                ("west", 0),
            ]
            expected = [math.cos(math.radians(angle)) for angle in (10, 30, 70, 170)]
            assert [hit.similarity for hit in hits] == [pytest.approx(cosine, abs=NEARLY) for cosine in expected]
            (row, log) = (await session(store), await spoken(store))
            assert {(hit.session_id, hit.key) for hit in hits} == {(row.id, KEY)}
            assert hits[0].message == log[0]

    async def test_there_are_as_many_hits_as_asked_for_or_as_there_are(self, tmp_path: Path) -> None:
        """A scope of a few passages among very many others still gets all of its own (2.19)."""
        few = key_of("bob")
        async with self.opened(tmp_path) as store:
            await store.append(append(*(f"m{number}" for number in range(60))))
            await put(store, {seq: [at(seq / 10)] for seq in range(60)})
            await store.append(append("one", "two", "three", key=few))
            await put(store, {seq: [at(90 + seq)] for seq in range(3)}, key=few)
            assert texts(await nearest(store, at(0), limit=4)) == ["m0", "m1", "m2", "m3"]
            assert len(await nearest(store, at(0), limit=100)) == 60
            assert texts(await nearest(store, at(0), user="bob", limit=5)) == ["one", "two", "three"]
            assert texts(await nearest(store, at(0), user="bob", limit=2)) == ["one", "two"]
            assert await nearest(store, at(0), user="nobody") == []
            assert await nearest(store, at(0), limit=0) == []

    async def test_of_passages_that_are_equally_close_the_later_come_first(self, tmp_path: Path) -> None:
        """Those of later sessions, by their ids, before all; a message's own in their order."""
        later = key_of(session="s2")
        async with self.opened(tmp_path) as store:
            await store.append(append("a", "b", "c", session_id=UUID(int=1)))
            await put(store, {seq: [at(30), at(30)] for seq in range(3)})
            await store.append(append("d", key=later, session_id=UUID(int=2)))
            await put(store, {0: [at(30)]}, key=later)
            hits = await nearest(store, at(0), limit=4)
            assert [(hit.message.content, hit.part) for hit in hits] == [("d", 0), ("c", 0), ("c", 1), ("b", 0)]

    async def test_only_the_callers_own_passages_are_compared(self, tmp_path: Path) -> None:
        """By tenant, user, agent and session."""
        keys = [
            key_of(),
            key_of(session="s2"),
            key_of(agent="cook"),
            key_of("bob"),
            key_of(tenant="t2"),
            key_of("alice:default"),
        ]
        async with self.opened(tmp_path) as store:
            for key in keys:
                await store.append(append(str(keys.index(key)), key=key))
                await put(store, {0: [at(5)]}, key=key)
            assert sorted(texts(await nearest(store, at(0)))) == ["0", "1", "2"]
            assert sorted(texts(await nearest(store, at(0), agent="default"))) == ["0", "1"]
            assert texts(await nearest(store, at(0), agent="cook")) == ["2"]
            assert texts(await nearest(store, at(0), within=keys[1])) == ["1"]
            assert texts(await nearest(store, at(0), user="bob")) == ["3"]
            assert texts(await nearest(store, at(0), tenant="t2")) == ["4"]
            assert texts(await nearest(store, at(0), user="alice:default")) == ["5"]
            assert await nearest(store, at(0), user="bob", within=keys[0]) == []

    async def test_vectors_of_two_embedders_are_never_compared(self, tmp_path: Path) -> None:
        """Nor those of one with two lengths; both can be read side by side."""
        async with self.opened(tmp_path) as store:
            await store.append(append("a", "b"))
            await put(store, {0: [at(0)]})
            for space in OTHER_SPACES:
                assert await nearest(store, [1.0] * space.dimensions, space=space) == []
                await put(store, {1: [[1.0] * space.dimensions]}, space=space)
                assert texts(await nearest(store, [1.0] * space.dimensions, space=space)) == ["b"]
            assert texts(await nearest(store, at(0))) == ["a"]

    async def test_new_vectors_of_a_message_take_the_place_of_its_old_ones(self, tmp_path: Path) -> None:
        """All of them: a shorter text has fewer passages. Other messages keep theirs."""
        async with self.opened(tmp_path) as store:
            await store.append(append("a", "b"))
            await put(store, {0: [at(0), at(10), at(20)], 1: [at(30)]})
            await put(store, {0: [at(60)]})
            hits = await nearest(store, at(0))
            assert [(hit.message.content, hit.part) for hit in hits] == [("b", 0), ("a", 0)]
            assert hits[1].similarity == pytest.approx(0.5, abs=NEARLY)

    async def test_a_vector_that_does_not_belong_into_its_space_is_refused(self, tmp_path: Path) -> None:
        """And nothing of what came with it is kept."""
        async with self.opened(tmp_path) as store:
            await store.append(append("a", "b"))
            await put(store, {0: [at(0)]})
            for wrong in ((1.0,), (1.0, 0.0, 0.0), (math.nan, 1.0), (math.inf, 1.0), (0.0, 0.0), ()):
                with pytest.raises(InvalidInput):
                    await put(store, {0: [at(90)], 1: [wrong]})
                with pytest.raises(InvalidInput):
                    await nearest(store, wrong)
            (hit,) = await nearest(store, at(0))
            assert hit.message.content == "a"
            assert hit.similarity == pytest.approx(1.0, abs=NEARLY)
            assert await put(store, {}) == 0

    async def test_an_edited_message_has_no_vector_until_it_gets_a_new_one(self, tmp_path: Path) -> None:
        """Nothing is found by what a message once meant; what was made of the old text is not kept."""
        async with self.opened(tmp_path) as store:
            await store.append(append("a", "b"))
            old = await spoken(store)
            await put(store, {0: [at(0)], 1: [at(5)]})
            await amend(store, 0, "another text")
            assert texts(await nearest(store, at(0))) == ["b"]
            assert await put(store, {0: [at(0)], 1: [at(5)]}, of=old) == 1
            assert texts(await nearest(store, at(0))) == ["b"]
            assert await put(store, {0: [at(0)]}) == 1
            assert texts(await nearest(store, at(0))) == ["another text", "b"]

    async def test_a_deleted_message_has_no_vector_and_gets_none(self, tmp_path: Path) -> None:
        """I12: a text can be guessed from its vector."""
        async with self.opened(tmp_path) as store:
            await store.append(append("a", "b"))
            old = await spoken(store)
            await put(store, {0: [at(0)], 1: [at(5)]})
            await amend(store, 0, "", deleted=True)
            assert texts(await nearest(store, at(0))) == ["b"]
            assert await put(store, {0: [at(0)]}, of=old) == 0
            assert await put(store, {0: [at(0)]}, of=[replace(old[0], version=2)]) == 0
            assert texts(await nearest(store, at(0))) == ["b"]

    async def test_a_reset_takes_the_vectors_along_and_late_ones_are_not_kept(self, tmp_path: Path) -> None:
        """The messages that come after it have the same numbers and are others."""
        async with self.opened(tmp_path) as store:
            await store.append(append("a"))
            old = await spoken(store)
            await put(store, {0: [at(0)]})
            row = await session(store)
            await store.write(TENANT, lambda unit: unit.sessions.reset(TENANT, row.id, now=after(1)))
            await store.append(append("new"))
            assert await nearest(store, at(0)) == []
            assert await put(store, {0: [at(0)]}, of=old) == 0
            assert await nearest(store, at(0)) == []
            assert await put(store, {0: [at(20)]}) == 1
            assert texts(await nearest(store, at(0))) == ["new"]

    async def test_vectors_of_a_transaction_that_failed_are_not_there(self, tmp_path: Path) -> None:
        """They belong to it like everything else."""
        async with self.opened(tmp_path) as store:
            await store.append(append("a"))
            (message,) = await spoken(store)

            def work(unit: Unit) -> None:
                passage = PassageVector(seq=0, part=0, message_id=message.id, version=message.version, vector=at(0))
                assert unit.vectors.put(row_of(unit), SPACE, [passage]) == 1
                raise InvalidInput("no")

            with pytest.raises(InvalidInput, match="no"):
                await store.write(TENANT, work)
            assert await nearest(store, at(0)) == []
