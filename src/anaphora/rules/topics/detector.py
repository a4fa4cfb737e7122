"""Whether a message carries the open topic on or opens one: decided when it comes, from what came before. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from anaphora.domain.messages import Role
from anaphora.domain.topics import ClosedTopic, OpenTopic, Stage, Traits, Utterance, Verdict
from anaphora.domain.vectors import Scale
from anaphora.rules.topics import cues, score, views

#: closed topics of a `Track` that can be gone back to
MAX_CLOSED: Final = 16
#: by how many spreads a closed topic must be closer than the open one to be what is gone back to
_CLOSER: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """When a topic may end, and when it must."""

    #: messages, of anybody, that a topic has before another may begin: a few quick questions are one topic
    least_messages: int = 3
    #: characters from which on the next message of the user opens a topic, whatever it says
    most_characters: int = 25_000
    #: messages from which on it does so too: what is read to judge the next message stays small
    most_messages: int = 500
    #: sameness at or below which a model is asked
    doubt: float = score.DOUBT
    #: sameness at or below which there is a shift where no model is asked
    alone: float = score.ALONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """A session as its topics are followed: the open one, and the newest closed ones, named by their numbers from 0."""

    open: OpenTopic = field(default_factory=OpenTopic)
    closed: tuple[ClosedTopic, ...] = ()
    #: topics that were closed, also those that are no longer kept
    number: int = 0


def judge(
    topic: OpenTopic,
    said: Utterance,
    *,
    closed: Iterable[ClosedTopic] = (),
    model: bool = False,
    scale: Scale | None = None,
    limits: Limits | None = None,
) -> Verdict:
    """The first stage: what is said of the next message, before it is in the topic.

    Only what a user says can open a topic, and nothing does while the topic has fewer messages than it must have.

    Args:
        topic: the open one.
        said: the next message; without a vector, or where the topic has none, words decide alone.
        closed: topics that the message may go back to, oldest first; vectors of the same embedder as its own.
        model: a model can be asked: what is doubtful is left to it, and only that.
        scale: of the embedder's cosines; None: vectors are not compared.
        limits: when a topic may end; None: as they stand.

    Returns:
        `DOUBT` only where `model` is true.

    """
    limits = limits or Limits()
    if said.role is not Role.USER or topic.messages == 0:
        return Verdict(stage=Stage.SAME, sameness=1.0)
    now = cues.traits(said.text)
    evidence = views.closeness(topic, said.vector, scale) | views.cohesion(topic, now)
    same = score.sameness(evidence)
    reasons = _strongest(score.weighed(evidence))
    if topic.characters >= limits.most_characters or topic.messages >= limits.most_messages:
        return Verdict(stage=Stage.FULL, sameness=same, reasons=reasons)
    if topic.messages < limits.least_messages:
        return Verdict(stage=Stage.SAME, sameness=same, reasons=reasons)
    back = _gone_back_to(topic, said, now, closed, scale)
    if back is not None:
        return Verdict(stage=Stage.RETURN, sameness=same, continues=back, reasons=reasons)
    return Verdict(stage=_stage(same, limits, model=model), sameness=same, reasons=reasons)


def carry_on(topic: OpenTopic, said: Utterance) -> OpenTopic:
    """The open topic with one more message; `carry_on(OpenTopic(), said)` is the topic that a message opens."""
    return views.with_message(topic, said, cues.traits(said.text))


def close(topic: OpenTopic, name: str) -> ClosedTopic:
    """What is kept of a topic that ends, under the caller's name."""
    vectors = [vector for vector in topic.recent if vector is not None]
    mean = [math.fsum(values) for values in zip(*vectors, strict=False)]
    length = math.hypot(*mean)
    return ClosedTopic(id=name, words=topic.words, vector=tuple(value / length for value in mean) if length else ())


def follow(
    track: Track, said: Utterance, *, scale: Scale | None = None, limits: Limits | None = None
) -> tuple[Track, Verdict]:
    """One message further, with nobody to ask: the message that shifts opens the next topic.

    What is said of a message depends on it and on those before it alone.
    """
    verdict = judge(track.open, said, closed=track.closed, scale=scale, limits=limits)
    return advance(track, said, shifts=verdict.shifts), verdict


def advance(track: Track, said: Utterance, *, shifts: bool) -> Track:
    """The track with one more message, which opens a topic if it shifts."""
    if not shifts:
        return replace(track, open=carry_on(track.open, said))
    ended = close(track.open, str(track.number))
    return Track(
        open=carry_on(OpenTopic(), said),
        closed=(*track.closed, ended)[-MAX_CLOSED:],
        number=track.number + 1,
    )


def _stage(sameness: float, limits: Limits, *, model: bool) -> Stage:
    if model:
        return Stage.DOUBT if sameness <= limits.doubt else Stage.SAME
    return Stage.SHIFT if sameness <= limits.alone else Stage.SAME


def _gone_back_to(
    topic: OpenTopic, said: Utterance, now: Traits, closed: Iterable[ClosedTopic], scale: Scale | None
) -> str | None:
    """The closed topic that a message says it goes back to.

    It is the one with most of the message's words that the open topic does not have, else the one that is clearly
    closer than the open topic; of equals the later.
    """
    earlier = list(closed)
    if not earlier or not cues.goes_back(said.text):
        return None
    new = now.words - topic.words
    here = views.closeness(topic, said.vector, scale).get("nearest", 0.0)
    found = [(len(new & one.words), _close(said, one, scale), place) for place, one in enumerate(earlier)]
    shared, close_by, place = max(found)
    if not shared:
        _, close_by, place = max(found, key=lambda each: (each[1], each[2]))
        if close_by < max(here, 0.0) + _CLOSER:
            return None
    return earlier[place].id


def _close(said: Utterance, topic: ClosedTopic, scale: Scale | None) -> float:
    if said.vector is None or scale is None or len(said.vector) != len(topic.vector):
        return 0.0
    return views.spreads(said.vector, topic.vector, scale)


def _strongest(weights: dict[str, float]) -> tuple[tuple[str, float], ...]:
    told = [(name, round(value, 2)) for name, value in weights.items() if abs(value) >= 0.005]
    return tuple(sorted(told, key=lambda each: (-abs(each[1]), each[0])))
