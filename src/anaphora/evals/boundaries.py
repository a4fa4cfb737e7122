"""How far a segmentation is from the one that was written down: Pk, WindowDiff and F1.

A segmentation is a row of marks, one for each place between two messages: True where a segment ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import Final

Marks = Sequence[bool]

#: a window of one place would only compare place by place
_SMALLEST_WINDOW: Final = 2


def marks(lengths: Sequence[int]) -> tuple[bool, ...]:
    """The marks of segments of these lengths, one after the other; each is at least 1."""
    ends = set(accumulate(lengths))
    return tuple(place in ends for place in range(1, sum(lengths)))


def window(lengths: Sequence[int]) -> int:
    """Half the mean length of the segments, rounded, halves up, and at least 2."""
    return max(_SMALLEST_WINDOW, math.floor(sum(lengths) / len(lengths) / 2 + 0.5))


def pk(reference: Marks, found: Marks, size: int) -> float | None:
    """The share of windows of `size` places that have an end in one of the two and none in the other.

    None if there is no such window: the dialogue is too short to be measured.
    """
    return _differing(reference, found, size, lambda one, other: (one > 0) != (other > 0))


def windowdiff(reference: Marks, found: Marks, size: int) -> float | None:
    """The share of windows of `size` places in which the two have a different number of ends; None as for `pk`."""
    return _differing(reference, found, size, lambda one, other: one != other)


def precision_and_recall(pairs: Iterable[tuple[Marks, Marks]]) -> tuple[float, float]:
    """The share of found ends that are there, and of ends that were found, over all (reference, found); 0 of none."""
    right = expected = found = 0
    for reference, ends in pairs:
        right += sum(one and other for one, other in zip(reference, ends, strict=True))
        expected += sum(reference)
        found += sum(ends)
    return right / max(1, found), right / max(1, expected)


def _differing(reference: Marks, found: Marks, size: int, differ: Callable[[int, int], bool]) -> float | None:
    windows = len(reference) - size + 1
    if windows < 1:
        return None
    one, other = ([0, *accumulate(map(int, ends))] for ends in (reference, found))
    counts = ((one[at + size] - one[at], other[at + size] - other[at]) for at in range(windows))
    return sum(differ(*count) for count in counts) / windows
