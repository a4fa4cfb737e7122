"""One queue out of several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from uuid import UUID

#: a tenant and the id of a job of it
Due = tuple[str, UUID]


def merged(queues: Sequence[Sequence[Due]], *, limit: int) -> list[Due]:
    """The first of several queues, each of which is fair between its tenants; no tenant is in two of them.

    Every tenant's first job comes before anybody's second; where that leaves a choice, the queues take turns in the
    order in which they are given, and each keeps its own order.
    """
    ranked: list[tuple[int, int, int, Due]] = []
    for turn, queue in enumerate(queues):
        place: Counter[str] = Counter()
        ahead: Counter[int] = Counter()
        for due in queue:
            place[due[0]] += 1
            round_ = place[due[0]]
            ahead[round_] += 1
            ranked.append((round_, ahead[round_], turn, due))
    return [due for *_, due in sorted(ranked)][:limit]
