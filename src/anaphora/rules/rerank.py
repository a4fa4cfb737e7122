"""The first of the hits in a better order, once somebody has looked at them again. Pure.

What a reranker says of a passage is added to the score of its hit, as one more kind of evidence: so a hit's score stays
what it is made of, and a reranker that is unsure leaves the order to what is known otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, TypeVar

from anaphora.domain.search import DocumentHit, Hit

#: under this name it stands in the `scores` of a hit
RERANK: Final = "rerank"

#: messages or chunks of documents
AnyHit = TypeVar("AnyHit", Hit, DocumentHit)


def is_usable(worth: Sequence[float | None], count: int) -> bool:
    """Whether it is what a reranker may answer for so many passages: one number each, finite and not below 0."""
    return len(worth) == count and all(value is None or (math.isfinite(value) and value >= 0) for value in worth)


def reranked(hits: Sequence[AnyHit], worth: Sequence[float | None]) -> tuple[AnyHit, ...]:
    """The hits, best first again; none is lost and none is new.

    Those that were judged are put in order among the places that they have together; of equals the one that was first
    stays first. One that was not judged keeps its place: its score is raised to that of the judged hit that follows it,
    if that is more. What stands behind all that were judged stays there.

    Args:
        hits: best first.
        worth: of the first hits, what is added to the score of each; None: not judged. See `is_usable`.

    """
    judged = [at for at, value in enumerate(worth) if value is not None]
    raised = {at: _raised(hits[at], worth[at] or 0.0) for at in judged}
    # sorting is stable
    best = sorted(judged, key=lambda at: -raised[at].score)
    order = list(hits)
    for place, at in zip(judged, best, strict=True):
        order[place] = raised[at]
    least = -math.inf
    for place in reversed(range(len(order))):
        if order[place].score < least:
            order[place] = _raised(order[place], least - order[place].score)
        least = max(least, order[place].score)
    return tuple(order)


def _raised(hit: AnyHit, worth: float) -> AnyHit:
    return replace(hit, score=hit.score + worth, scores={**hit.scores, RERANK: worth})
