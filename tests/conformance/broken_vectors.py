"""Stores that break the laws of search by meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.conformance.broken import Broken, caught_by

from anaphora.domain.keys import SeqRange
from anaphora.domain.vectors import Space
from anaphora.errors import InvalidInput
from anaphora.ports.rows import PassageVector, SessionRow, VectorMatch
from anaphora.ports.store import Store, Unit


class FindsOtherwise(Broken):
    """Search shows only some hits, or others."""

    def sifted(self, hits: Sequence[VectorMatch]) -> Sequence[VectorMatch]:
        return hits

    def vectors_nearest(self, unit: Unit, *args: Any, **how: Any) -> Sequence[VectorMatch]:
        return self.sifted(unit.vectors.nearest(*args, **how))


@caught_by("test_the_closest_passages_come_first_with_their_cosines")
class ComparesByLength(FindsOtherwise):
    """A distance that is not the cosine's."""

    def sifted(self, hits: Sequence[VectorMatch]) -> Sequence[VectorMatch]:
        return [hit._replace(similarity=hit.similarity**2) for hit in hits]


@caught_by("test_the_closest_passages_come_first_with_their_cosines")
class CountsMessages(FindsOtherwise):
    """One passage of each message."""

    def sifted(self, hits: Sequence[VectorMatch]) -> Sequence[VectorMatch]:
        return list({(hit.session_id, hit.seq): hit for hit in reversed(hits)}.values())[::-1]


@caught_by("test_of_passages_that_are_equally_close_the_later_come_first")
class LeavesTheOrderOfEqualsToChance(FindsOtherwise):
    def sifted(self, hits: Sequence[VectorMatch]) -> Sequence[VectorMatch]:
        return sorted(hits, key=lambda hit: (-hit.similarity, hit.session_id, hit.seq, hit.part))


@caught_by("test_there_are_as_many_hits_as_asked_for_or_as_there_are")
class LooksAtTheScopeLast(Broken):
    """The closest of everybody, and then those of the caller (2.19)."""

    def vectors_nearest(self, unit: Unit, tenant: str, user: str, **how: Any) -> Sequence[VectorMatch]:
        everybody = [hit for name in ("alice", "bob") for hit in unit.vectors.nearest(tenant, name, **how)]
        closest = sorted(everybody, key=lambda hit: -hit.similarity)[: how["limit"]]
        return [hit for hit in closest if hit.key.user == user]


@caught_by("test_only_the_callers_own_passages_are_compared")
class IgnoresTheAgent(Broken):
    def vectors_nearest(self, unit: Unit, *args: Any, **how: Any) -> Sequence[VectorMatch]:
        return unit.vectors.nearest(*args, **how | {"agent": None})


@caught_by("test_vectors_of_two_embedders_are_never_compared")
class KnowsOneEmbedder(Broken):
    def vectors_put(self, unit: Unit, row: SessionRow, space: Space, passages: Sequence[PassageVector]) -> int:
        return unit.vectors.put(row, _plain(space), passages)

    def vectors_nearest(self, unit: Unit, *args: Any, space: Space, **how: Any) -> Sequence[VectorMatch]:
        return unit.vectors.nearest(*args, space=_plain(space), **how)


def _plain(space: Space) -> Space:
    return replace(space, profile="plain")


@caught_by("test_new_vectors_of_a_message_take_the_place_of_its_old_ones")
class KeepsOldPassages(FindsOtherwise):
    """Replaces passage by passage."""

    def __init__(self, real: Store, folder: Path) -> None:
        super().__init__(real, folder)
        self.parts: dict[int, dict[int, PassageVector]] = {}

    def vectors_put(self, unit: Unit, row: SessionRow, space: Space, passages: Sequence[PassageVector]) -> int:
        for passage in passages:
            self.parts.setdefault(passage.seq, {})[passage.part] = passage
        return unit.vectors.put(row, space, [part for parts in self.parts.values() for part in parts.values()])


@caught_by("test_a_vector_that_does_not_belong_into_its_space_is_refused")
class KeepsWhatIsSound(Broken):
    def vectors_put(self, unit: Unit, row: SessionRow, space: Space, passages: Sequence[PassageVector]) -> int:
        for passage in passages:
            try:
                unit.vectors.put(row, space, [passage])
            except InvalidInput:
                continue
        return len(passages)


@caught_by(
    "test_an_edited_message_has_no_vector_until_it_gets_a_new_one",
    "test_a_deleted_message_has_no_vector_and_gets_none",
    "test_a_reset_takes_the_vectors_along_and_late_ones_are_not_kept",
)
class TakesWhateverComes(Broken):
    """Vectors are kept by number, whatever they were made of."""

    def vectors_put(self, unit: Unit, row: SessionRow, space: Space, passages: Sequence[PassageVector]) -> int:
        kept = 0
        for passage in passages:
            log = unit.messages.range(
                row.key.tenant, row.id, SeqRange(passage.seq, passage.seq + 1), limit=1, deleted=True
            )
            now = [replace(passage, message_id=message.id, version=message.version) for message in log]
            kept += max(unit.vectors.put(row, space, now), len(now))
        return kept


@caught_by("test_vectors_of_a_transaction_that_failed_are_not_there")
class FindsWhatNeverWas(Broken):
    """Hits come from beside the database."""

    def __init__(self, real: Store, folder: Path) -> None:
        super().__init__(real, folder)
        self.seen: list[VectorMatch] = []

    def vectors_put(self, unit: Unit, row: SessionRow, space: Space, passages: Sequence[PassageVector]) -> int:
        kept = unit.vectors.put(row, space, passages)
        self.seen += unit.vectors.nearest(
            row.key.tenant,
            row.key.user,
            agent=None,
            session_id=None,
            space=space,
            vector=passages[0].vector,
            limit=1,
        )
        return kept

    def vectors_nearest(self, _unit: Unit, *_: Any, **__: Any) -> Sequence[VectorMatch]:
        return self.seen
