"""Which of many vectors are closest to one, exactly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np

from anaphora.storage.vectors import Found

#: vectors in memory at a time
_BLOCK = 4_096


def closest(rows: Iterable[Sequence[Any]], vector: Sequence[float], limit: int) -> list[Found]:
    """The closest passages: at least `limit` if there are so many, and all that are as close as the last of them.

    Args:
        rows: session, number, part, and the embedding as bytes; every vector has length 1.
        vector: what they are compared with, of length 1.
        limit: at least 1.

    """
    wanted = np.asarray(vector, dtype="<f4")
    stream = iter(rows)
    best: list[Found] = []
    while block := list(islice(stream, _BLOCK)):
        vectors = np.frombuffer(b"".join(row[3] for row in block), dtype="<f4").reshape(len(block), len(wanted))
        cosines = vectors @ wanted
        least = _limit_th([*cosines.tolist(), *(close for *_, close in best)], limit)
        best = [found for found in best if found[3] >= least]
        best += [(*block[at][:3], float(cosines[at])) for at in np.flatnonzero(cosines >= np.float32(least))]
    return best


def _limit_th(values: Sequence[float], limit: int) -> float:
    """The `limit`-th largest value, or the smallest if there are fewer."""
    if limit >= len(values):
        return min(values)
    return float(np.partition(np.asarray(values), -limit)[-limit])
