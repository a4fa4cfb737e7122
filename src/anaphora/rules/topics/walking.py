"""A stretch of a session, followed message by message: where its topics end, and where somebody must be asked. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from anaphora.domain.messages import Role
from anaphora.domain.topics import Closed, ClosedTopic, Stage, Utterance, Verdict
from anaphora.domain.vectors import Scale
from anaphora.rules.topics.detector import Limits, Track, advance, judge

_CLOSED_BY: Final = {Stage.SHIFT: Closed.SHIFT, Stage.RETURN: Closed.RETURN, Stage.FULL: Closed.FULL}

#: a message by its number in the session
Numbered: TypeAlias = tuple[int, Utterance]
#: whether a message that may open a topic does, by its number and its verdict; None: nobody knows yet
Settle: TypeAlias = Callable[[int, Verdict], bool | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """An end of a topic."""

    #: the message that opens the next one
    seq: int
    why: Closed
    #: the number that the ended topic has in the track
    number: int
    #: what a return goes back to, as the track calls it
    leads_to: str | None
    #: telling words of the topic that ended
    words: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Walked:
    """How far a stretch was followed."""

    #: as it stands before the message that waits, or at the end
    track: Track
    cuts: tuple[Cut, ...]
    #: the doubtful message at which it stopped; None: it reached the end
    waits_at: int | None


def walk(
    track: Track,
    said: Iterable[Numbered],
    *,
    settle: Settle | None,
    scale: Scale | None = None,
    limits: Limits | None = None,
) -> Walked:
    """Follow messages until one is doubtful and nobody knows.

    Earlier topics are known by their words alone, however long ago they ended: where topics end does not depend on how
    the messages are dealt out to walks.

    Args:
        track: as the session stands before them.
        said: the messages, in order.
        settle: says what is doubtful; None: nobody can be asked, rules decide alone.
        scale: of the embedder's cosines; None: vectors are not compared.
        limits: when a topic may end; None: as they stand.

    """
    cuts: list[Cut] = []
    for seq, utterance in said:
        verdict = judge(
            track.open, utterance, closed=track.closed, model=settle is not None, scale=scale, limits=limits
        )
        if settle is not None and _open_to_answers(track, utterance, verdict, limits or Limits()):
            shifts = settle(seq, verdict)
            if shifts is None:
                return Walked(track=track, cuts=tuple(cuts), waits_at=seq)
            verdict = replace(verdict, stage=Stage.SHIFT if shifts else Stage.SAME)
        if verdict.shifts:
            cuts.append(
                Cut(
                    seq=seq,
                    why=_CLOSED_BY[verdict.stage],
                    number=track.number,
                    leads_to=verdict.continues,
                    words=track.open.words,
                )
            )
        track = _by_words(advance(track, utterance, shifts=verdict.shifts))
    return Walked(track=track, cuts=tuple(cuts), waits_at=None)


def unsettled(_seq: int, verdict: Verdict) -> bool | None:
    """Nobody knows yet what is doubtful."""
    return None if verdict.stage is Stage.DOUBT else False


def settled(answers: Mapping[int, bool], limits: Limits) -> Settle:
    """What was answered, also where it is no longer doubtful; rules alone say the rest."""

    def settle(seq: int, verdict: Verdict) -> bool:
        return answers.get(seq, verdict.stage is Stage.DOUBT and verdict.sameness <= limits.alone)

    return settle


def doubts(track: Track, said: Sequence[Numbered], *, scale: Scale | None, limits: Limits) -> tuple[int, ...]:
    """The messages that may open a topic: if nothing doubtful opens one, and if all of it does."""
    found: set[int] = set()
    for shifts in (False, True):

        def settle(seq: int, verdict: Verdict, shifts: bool = shifts) -> bool:  # noqa: FBT001 - bound here
            if verdict.stage is not Stage.DOUBT:
                return False
            found.add(seq)
            return shifts

        found.update(cut.seq for cut in walk(track, said, settle=settle, scale=scale, limits=limits).cuts)
    return tuple(sorted(found))


def _open_to_answers(track: Track, said: Utterance, verdict: Verdict, limits: Limits) -> bool:
    """Whether the message would open a topic if somebody says so."""
    if verdict.stage is Stage.DOUBT:
        return True
    return verdict.stage is Stage.SAME and said.role is Role.USER and track.open.messages >= limits.least_messages


def _by_words(track: Track) -> Track:
    """The track without what its closed topics mean."""
    if not track.closed or not track.closed[-1].vector:
        return track
    last = track.closed[-1]
    return replace(track, closed=(*track.closed[:-1], ClosedTopic(id=last.id, words=last.words)))
