"""The open topic from several sides, as the next message is held against it. Pure; no numpy.

An open topic keeps its newest vectors and its words; a message costs at most four dot products.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from anaphora.domain.messages import Role
from anaphora.domain.topics import OpenTopic, Traits, Utterance
from anaphora.domain.vectors import Scale

#: how many of the newest vectors are kept
RECENT: Final = 4
#: words of a message up to which its cues count in full: what is said in many words is told by its matter
_BRIEF: Final = 10
#: telling words of a message from which on it is telling whether any of them was said before
_TELLING: Final = 8
#: beyond these, more new words, words or messages tell nothing
_MOST_FRESH: Final = 6
_MOST_WORDS: Final = 30
_MOST_MESSAGES: Final = 12
#: of cosines in spreads
_FARTHEST: Final = 5.0

Vector = Sequence[float]


def spreads(one: Vector, other: Vector, scale: Scale) -> float:
    """How far two unit vectors are above strangers, in spreads of their cosine, -5 to 5; 0 if it is no number."""
    found = scale.of(dot(one, other))
    return max(-_FARTHEST, min(_FARTHEST, found)) if math.isfinite(found) else 0.0


def heard(role: Role) -> bool:
    """Whether a message tells what is talked about: what tools return and what systems are told does not."""
    return role in {Role.USER, Role.ASSISTANT}


def closeness(topic: OpenTopic, vector: Vector | None, scale: Scale | None) -> dict[str, float]:
    """How close a message is to the open topic, in spreads; empty where there are no vectors to compare.

    `nearest`: to the closest of its newest messages; `last`: to the very last that has a vector.
    """
    if vector is None or scale is None:
        return {}
    known = [earlier for earlier in topic.recent if earlier is not None and len(earlier) == len(vector)]
    if not known:
        return {}
    each = [spreads(vector, earlier, scale) for earlier in known]
    return {"nearest": max(each), "last": each[-1]}


def cohesion(topic: OpenTopic, now: Traits) -> dict[str, float]:
    """How a message hangs together with the open topic by its words, and how it carries on what was said last."""
    last = topic.last
    brief, brief_before = _brief(now), _brief(last)
    cues = {
        "asks": now.asks,
        "asks about you": now.about_you,
        "requests": now.requests,
        "replies": now.replies,
        "points back": now.points_back,
        "closes": now.closes,
        "offers": now.offers,
        "turns": now.turns,
        "about me": now.about_me,
        "takes up an offer": last.offers and not now.replies and not now.closes,
    }
    before = {"after a question": last.asks, "after a request": last.requests}
    repeated = len(now.words & topic.words) / max(1, len(now.words))
    return {
        **{name: brief * flag for name, flag in cues.items()},
        **{name: brief_before * flag for name, flag in before.items()},
        "asks again": brief * now.asks * topic.questions / (topic.turns + 1),
        "answers": min(brief, brief_before) * (last.asks and not now.asks),
        "says little": float(not now.words),
        "repeats": repeated * min(1.0, len(now.words) / _TELLING),
        "fresh words": float(min(_MOST_FRESH, len(now.words - topic.words))),
        "length": math.log1p(min(_MOST_WORDS, now.length)),
        "messages": math.log(min(_MOST_MESSAGES, max(1, topic.messages))),
    }


def with_message(topic: OpenTopic, said: Utterance, now: Traits) -> OpenTopic:
    """The topic after one more message, of which `now` are the traits."""
    counted = replace(topic, messages=topic.messages + 1, characters=topic.characters + len(said.text))
    if not heard(said.role):
        return counted
    users = said.role is Role.USER
    return replace(
        counted,
        turns=topic.turns + users,
        questions=topic.questions + (users and now.asks),
        words=topic.words | now.words,
        recent=(*topic.recent, said.vector)[-RECENT:],
        last=now,
    )


def dot(one: Vector, other: Vector) -> float:
    """Of unit vectors: their cosine."""
    return sum(map(operator.mul, one, other), start=0.0)


def _brief(said: Traits) -> float:
    """What the cues of a message weigh, 0 to 1."""
    return min(1.0, _BRIEF / max(1, said.length))
