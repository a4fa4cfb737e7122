"""What speaks for each of the messages that were found, whoever said it. Pure.

Two searches name candidates: by words, and by meaning. Their findings are put on one scale and added up:

- **words**: how rare the words are that a passage shares with the question, within the caller's own messages (what
  others say never changes an answer, I11). Words of the passages just before and after count as well, the less the
  further away: an answer seldom repeats the words of the question that it follows. How often a word stands in a
  passage, and how long that is, matter little: passages are short. The sum is measured against its spread over all
  messages of the scope.
- **meaning**: the cosine, measured against its spread between texts that have nothing to do with each other, which
  belongs to the embedder. A message is as close as the closest of its passages.

Added to that: a share of the three best of the same session (what was talked about around it). Who said what is added
by `rules.ranking`, which needs to know it of few of the messages only.

The shares were measured on LoCoMo and on BEAM together, see docs/explanation/retrieval.md.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple
from uuid import UUID

from anaphora.domain.keys import SessionKey
from anaphora.domain.vectors import Scale
from anaphora.ports.rows import VectorMatch, WordMatches

#: how many of a session speak for the rest of it
_BEST_OF_SESSION: Final = 3
#: passages of one message that can stand between two others within reach
_PARTS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """How much each kind of evidence counts."""

    #: words beside meaning; alone they count in full
    words: float = 0.5
    #: a word in the next passage, in the one behind that, and so on
    window: tuple[float, ...] = (0.6, 0.4, 0.2)
    #: how soon more of the same word stops to matter
    saturation: float = 0.9
    #: the three best messages of the same session
    session: float = 0.2
    #: the question asks about this speaker
    speaker: float = 2.0
    #: the user said it
    user: float = 1.5


WEIGHTS: Final = Weights()


class Candidate(NamedTuple):
    """A message that was found."""

    #: its session, by the order of being found
    session: int
    seq: int
    #: what its best passage has of the words of the question, and those around that; None if nothing
    words: float | None
    #: how much closer to the question than chance; as close as the last that was found, if it was not
    meaning: float
    #: all that speaks for it
    weight: float


class Passage(NamedTuple):
    """What speaks for a message."""

    part: int
    #: which of the words it has, by their places
    words: tuple[int, ...]
    #: cosine of the closest passage, if that is among the closest of all
    similarity: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All that was found, in the order of being found, with what speaks for it."""

    candidates: Sequence[Candidate]
    sessions: Sequence[tuple[UUID, SessionKey]]
    #: by session, what its best lend to all of it
    supports: Mapping[int, float]
    #: of each word of the question
    rarities: Sequence[float]
    #: whether meaning was compared at all
    compared: bool
    by_words: Mapping[_Spot, _Worded]
    by_meaning: Mapping[_Spot, tuple[float, int]]

    def passage(self, candidate: Candidate) -> Passage:
        """The passage that speaks for a message most."""
        spot = (candidate.session, candidate.seq)
        found, close = self.by_words.get(spot), self.by_meaning.get(spot)
        has = found[2] if found else ()
        part = found[1] if found and (has or not close) else close[1] if close else 0
        return Passage(part, has, close[0] if close else None)


#: a message, its session by the order of being found
_Spot = tuple[int, int]
#: how much words speak for a message, its passage for which they do most, and which of them that has
_Worded = tuple[float, int, tuple[int, ...]]
#: session, message, part, of how many, its place among those that were found, and which words it has
_Passage = tuple[int, int, int, int, int, tuple[int, ...]]


def rarity(messages: int, having: int) -> float:
    """BM25's weight of a word that `having` passages have: positive, higher for rarer words."""
    return math.log1p((max(messages, having) - having + 0.5) / (having + 0.5))


def weigh(
    words: WordMatches, meaning: Sequence[VectorMatch], *, scale: Scale | None, weights: Weights = WEIGHTS
) -> Evidence:
    """What speaks for each of the messages.

    Args:
        words: what was found by words.
        meaning: what was found by meaning, best first; empty without an embedder.
        scale: of the embedder; None without one.
        weights: how much what counts.

    """
    rarities = [rarity(words.messages, having) for having in words.having]
    sessions = _Sessions()
    worded = [
        (sessions.number(session_id, key), seq, part, parts, at, has)
        for at, (session_id, key, seq, part, parts, has) in enumerate(words.found)
    ]
    meant = [(sessions.number(session_id, key), seq, part, close) for session_id, key, seq, part, close in meaning]
    by_words = _by_words(_passages(worded, meant), rarities, weights)
    by_meaning = _by_meaning(meant)
    compared = bool(by_meaning) and scale is not None
    totals = _totals(words.messages, by_words, by_meaning, scale, weights)
    supports = _supports(totals, weights.session)
    return Evidence(
        candidates=[
            Candidate(session, seq, by_word, meant_, (by_word or 0.0) + meant_ + supports[session])
            for (session, seq), by_word, meant_ in totals
        ],
        sessions=sessions.all,
        supports=supports,
        rarities=rarities,
        compared=compared,
        by_words=by_words,
        by_meaning=by_meaning,
    )


class _Sessions:
    """Sessions by the order of being found: a number is compared sooner than an id."""

    def __init__(self) -> None:
        self.all: list[tuple[UUID, SessionKey]] = []
        self._numbers: dict[UUID, int] = {}
        #: by where the id is: one that is kept here is nowhere else, and its value need not be looked at again
        self._met: dict[int, tuple[UUID, int]] = {}

    def number(self, session_id: UUID, key: SessionKey) -> int:
        """The number of a session, a new one if it is new."""
        met = self._met.get(id(session_id))
        if met is not None:
            return met[1]
        number = self._numbers.setdefault(session_id, len(self.all))
        if number == len(self.all):
            self.all.append((session_id, key))
        self._met[id(session_id)] = session_id, number
        return number


#: session, message, part, cosine
_Meant = tuple[int, int, int, float]


def _totals(
    messages: int,
    by_words: Mapping[_Spot, _Worded],
    by_meaning: Mapping[_Spot, tuple[float, int]],
    scale: Scale | None,
    weights: Weights,
) -> list[tuple[_Spot, float | None, float]]:
    """What words and meaning say of each message, in the order in which they were found."""
    share = (weights.words if by_meaning else 1.0) / _spread(messages, [each[0] for each in by_words.values()])
    compared = by_meaning if scale is not None else {}
    mean, spread = (scale.mean, scale.spread) if scale is not None else (0.0, 1.0)
    floor = (min([close for close, _ in compared.values()], default=mean), 0)
    return [
        (
            spot,
            share * worded[0] if (worded := by_words.get(spot)) else None,
            (compared.get(spot, floor)[0] - mean) / spread,
        )
        for spot in dict.fromkeys((*by_words, *by_meaning))
    ]


def _by_words(passages: Sequence[_Passage], rarities: Sequence[float], weights: Weights) -> dict[_Spot, _Worded]:
    """Each message with its best passage, in the order in which the messages were found."""
    best: dict[_Spot, _Worded] = {}
    # most passages have one word or two, the same ones
    known: dict[tuple[float, ...], float] = {}
    for passage, near in zip(passages, _nearness(passages, weights.window, len(rarities)), strict=True):
        pattern = tuple(near)
        weight = known.get(pattern)
        if weight is None:
            weight = known[pattern] = _worth(pattern, rarities, weights.saturation)
        if not weight:
            continue
        spot = passage[:2]
        if spot not in best or weight > best[spot][0]:
            best[spot] = (weight, passage[2], passage[5])
    return best


def _worth(near: Sequence[float], rarities: Sequence[float], saturation: float) -> float:
    """How much it is worth that there is so much of each of the words."""
    # exact sums: the order in which a database names the words must not show
    return math.fsum(
        [
            rare * amount * (saturation + 1) / (amount + saturation)
            for rare, amount in zip(rarities, near, strict=True)
            if amount
        ]
    )


def _passages(worded: Sequence[_Passage], meant: Sequence[_Meant]) -> list[_Passage]:
    """All that were found; those that were found by meaning alone have none of the words, but may stand near some."""
    passages = list(worded)
    known = {passage[:3] for passage in passages}
    parts = {passage[:2]: passage[3] for passage in passages}
    for session, seq, part, _ in meant:
        if (session, seq, part) not in known:
            passages.append((session, seq, part, parts.get((session, seq), part + 1), len(passages), ()))
    return passages


def _nearness(passages: Sequence[_Passage], window: Sequence[float], count: int) -> list[list[float]]:
    """For each passage how much there is of each of the words, in it and around it."""
    near = [[0.0] * count for _ in passages]
    for _, _, _, _, at, words in passages:
        mine = near[at]
        for word in words:
            mine[word] = 1.0
    reach = len(window)
    order = sorted(passages)
    for number, (session, seq, part, parts, at, words) in enumerate(order, 1):
        # how far the end of its message is
        left = parts - 1 - part
        mine = near[at]
        for its_session, its_seq, its_part, _, other, its_words in order[number : number + reach * _PARTS]:
            on = its_seq - seq
            if its_session != session or on > reach:
                break
            # passages in between; messages between them have at least one each
            away = left + on + its_part if on else its_part - part
            if away > reach:
                continue
            amount = window[away - 1]
            for word in its_words:
                mine[word] += amount
            if words:
                theirs = near[other]
                for word in words:
                    theirs[word] += amount
    return near


def _by_meaning(meant: Sequence[_Meant]) -> dict[_Spot, tuple[float, int]]:
    """Each message with its closest passage."""
    best: dict[_Spot, tuple[float, int]] = {}
    for session, seq, part, close in meant:
        spot = (session, seq)
        if spot not in best or close > best[spot][0]:
            best[spot] = (close, part)
    return best


def _spread(messages: int, weights: Sequence[float]) -> float:
    """Standard deviation over all messages, of which those that were not found weigh nothing."""
    count = max(messages, len(weights), 1)
    mean = math.fsum(weights) / count
    variance = math.fsum([weight * weight for weight in weights]) / count - mean * mean
    return math.sqrt(variance) if variance > 1e-12 else 1.0


def _supports(totals: Sequence[tuple[_Spot, float | None, float]], weight: float) -> dict[int, float]:
    """What the best of each session lend to all of it."""
    by_session: dict[int, list[float]] = defaultdict(list)
    for (session, _), worded, meant in totals:
        by_session[session].append((worded or 0.0) + meant)
    return {
        session: weight * (sum(best) / len(best))
        for session, values in by_session.items()
        if (best := sorted(values)[-_BEST_OF_SESSION:])
    }
