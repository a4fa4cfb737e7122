"""Messages for topics, with vectors that point where a test wants them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from anaphora.domain.messages import Role
from anaphora.domain.topics import OpenTopic, Utterance, Verdict
from anaphora.domain.vectors import Scale
from anaphora.rules.topics.detector import Track, carry_on, follow

#: of cosines; that of the local embedder
SCALE = Scale(mean=0.515, spread=0.06)
#: what the vectors of any two texts share: their cosine, with one as the next
_SHARED = 0.4


def towards(subject: int) -> tuple[float, ...]:
    """A unit vector: the same for one subject, with a cosine of 0.4 for two."""
    own = math.sqrt(1 - _SHARED)
    return (math.sqrt(_SHARED), *(own if axis == subject else 0.0 for axis in range(4)))


def user(text: str, vector: Sequence[float] | None = None) -> Utterance:
    return Utterance(role=Role.USER, text=text, vector=vector)


def assistant(text: str, vector: Sequence[float] | None = None) -> Utterance:
    return Utterance(role=Role.ASSISTANT, text=text, vector=vector)


def topic(*said: Utterance) -> OpenTopic:
    """The open topic of these messages."""
    opened = OpenTopic()
    for message in said:
        opened = carry_on(opened, message)
    return opened


def followed(*said: Utterance) -> tuple[Track, list[Verdict]]:
    track, verdicts = Track(), []
    for message in said:
        track, verdict = follow(track, message, scale=SCALE)
        verdicts.append(verdict)
    return track, verdicts


BREAD = (
    user("Which flour do I need for sourdough bread?"),
    assistant("Strong wheat flour or rye flour makes good sourdough bread."),
    user("How warm should the sourdough stand?"),
    assistant("Keep the sourdough at about 26 degrees until the dough doubles."),
)
TRAIN = user("By the way, another question: I need a train to Hamburg on Friday.")
HAMBURG = (
    TRAIN,
    assistant("There is a direct train to Hamburg at nine on Friday."),
    user("How much is the ticket?"),
    assistant("The ticket for that train costs 40 euros."),
)
