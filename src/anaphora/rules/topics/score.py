"""From what was seen of a message to one number: how much it looks like more of the same.

The weights were fitted by logistic regression on the development halves of DialSeg_711 and TIAGE, each counting the
same, and for less than half of that on stretches of unrelated conversations with long messages laid end to end; `turns`
was set by hand, for want of examples. Positive ones speak for a shift.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

#: sameness at or below which a model is asked, if there is one
DOUBT: Final = 0.45
#: sameness at or below which a message opens a topic where there is no model to ask
ALONE: Final = 0.12

#: the weights count for a shift; what is left of sameness where nothing speaks for or against one
_EVEN: Final = 0.76
_EVEN_WORDS_ALONE: Final = 0.52

_WITH_VECTORS: Final[Mapping[str, float]] = MappingProxyType(
    {
        "nearest": -0.45,
        "last": -0.29,
        "asks": 0.24,
        "asks about you": 1.73,
        "requests": 1.18,
        "replies": -0.13,
        "points back": -0.55,
        "closes": -1.25,
        "offers": -2.01,
        "turns": 2.0,
        "about me": 0.31,
        "takes up an offer": 2.76,
        "after a question": -0.59,
        "after a request": -2.16,
        "asks again": -0.21,
        "answers": -0.89,
        "says little": -0.74,
        "repeats": -3.93,
        "fresh words": 0.15,
        "length": 0.37,
        "messages": 0.87,
    }
)
_WORDS_ALONE: Final[Mapping[str, float]] = MappingProxyType(
    {
        "asks": 0.33,
        "asks about you": 1.46,
        "requests": 1.0,
        "replies": -0.24,
        "points back": -0.51,
        "closes": -1.77,
        "offers": -2.16,
        "turns": 2.0,
        "about me": 0.27,
        "takes up an offer": 2.68,
        "after a question": -0.94,
        "after a request": -2.52,
        "asks again": -0.4,
        "answers": -0.73,
        "says little": -0.53,
        "repeats": -7.3,
        "fresh words": 0.21,
        "length": -0.02,
        "messages": 0.85,
    }
)


def weighed(evidence: Mapping[str, float]) -> dict[str, float]:
    """What each piece of evidence adds for a shift (positive) or against it.

    Args:
        evidence: of `views.closeness` and `views.cohesion`; without the former words decide alone.

    """
    weights = _WITH_VECTORS if "nearest" in evidence else _WORDS_ALONE
    return {name: weights[name] * value for name, value in evidence.items()}


def sameness(evidence: Mapping[str, float]) -> float:
    """How much a message looks like more of the same, 0 to 1; `DOUBT` and `ALONE` are meant on this scale.

    It is no probability: it is laid so that by the fit one message in seven opens a topic at `DOUBT`, and every second
    one at `ALONE` (of words alone, which see less, somewhat fewer).
    """
    even = _EVEN if "nearest" in evidence else _EVEN_WORDS_ALONE
    return 1 / (1 + math.exp(sum(weighed(evidence).values()) - even))
