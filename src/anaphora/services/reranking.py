"""Have somebody look again at what a search found: outside any transaction, and at no risk to the search."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import anyio

from anaphora.domain.search import DocumentHit, Hit
from anaphora.errors import ModelError, ModelOutputInvalid
from anaphora.ports.models import Reranker
from anaphora.rules.rerank import RERANK, AnyHit, is_usable, reranked

log = logging.getLogger("anaphora.rerank")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reranking:
    """Puts the first hits into a better order, if there is somebody who can tell."""

    #: None: the order stays as it is
    reranker: Reranker | None = None
    #: how many of the first hits it looks at
    candidates: int = 30
    #: seconds that a search waits for it
    timeout: float = 10.0

    @property
    def looks_at(self) -> int:
        """How many hits it should be shown, more than are wanted perhaps; 0 where there is nobody."""
        return self.candidates if self.reranker is not None else 0

    async def in_order(self, question: str, hits: Sequence[AnyHit]) -> tuple[tuple[AnyHit, ...], tuple[str, ...]]:
        """The hits, best first, and what was not as it should be.

        Where the reranker fails, takes too long or answers with what no reranker may, the hits are as they were, and
        `rerank` is said. A single hit is not shown to anybody. No transaction is to be open.
        """
        first = hits[: self.candidates]
        if self.reranker is None or len(first) < 2:
            return tuple(hits), ()
        try:
            with anyio.fail_after(self.timeout):
                worth = await self.reranker.rerank(question, [_passage(hit) for hit in first])
            if not is_usable(worth, len(first)):
                raise ModelOutputInvalid("out_of_range", "one number from 0 up was expected for each passage")
        except ModelError as error:
            return self._as_they_were(hits, str(error))
        except TimeoutError:
            return self._as_they_were(hits, f"no answer within {self.timeout:g} s")
        return reranked(hits, worth), ()

    async def both_in_order(
        self, question: str, hits: Sequence[Hit], told: Sequence[DocumentHit]
    ) -> tuple[tuple[Hit, ...], tuple[DocumentHit, ...], tuple[str, ...]]:
        """Messages and chunks of documents, each best first, and what was not as it should be; asked for at once."""
        judged: list[tuple[tuple[DocumentHit, ...], tuple[str, ...]]] = []

        async def judge_told() -> None:
            judged.append(await self.in_order(question, told))

        try:
            async with anyio.create_task_group() as group:
                group.start_soon(judge_told)
                best, late = await self.in_order(question, hits)
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from None
        ((best_told, late_told),) = judged
        return best, best_told, tuple(dict.fromkeys((*late, *late_told)))

    def _as_they_were(self, hits: Sequence[AnyHit], why: str) -> tuple[tuple[AnyHit, ...], tuple[str, ...]]:
        name = self.reranker.name if self.reranker is not None else ""
        extra = {"event": "rerank_failed", "reranker": name, "reason": why}
        log.warning("Not reranked by %s: %s", name, why, extra=extra)
        return tuple(hits), (RERANK,)


def _passage(hit: Hit | DocumentHit) -> str:
    """What is judged of it."""
    return hit.passage if isinstance(hit, Hit) else hit.chunk.text
