"""Which of the messages that were found answer a question best. Pure.

Two searches name candidates: by words, and by meaning. Their findings are put on one scale and added up:

- **words**: how rare the words are that a passage shares with the question, within the caller's own messages (what
  others say never changes an answer, I11). Words of the passages just before and after count as well, the less the
  further away: an answer seldom repeats the words of the question that it follows. How often a word stands in a
  passage, and how long that is, matter little: passages are short. The sum is measured against its spread over all
  messages of the scope.
- **meaning**: the cosine, measured against its spread between texts that have nothing to do with each other, which
  belongs to the embedder. A message is as close as the closest of its passages.

Added to that: a share of the three best of the same session (what was talked about around it), and two priors: a
question that names one of the speakers asks about what that person said; and what the user said tells more about the
user than what the assistant answered.

The shares were measured on LoCoMo and on BEAM together, see docs/explanation/retrieval.md.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from anaphora.domain.messages import Role
from anaphora.ports.rows import VectorMatch, Voice, WordMatch, WordMatches

#: how many of a session speak for the rest of it
_BEST_OF_SESSION: Final = 3
#: passages of one message that can stand between two others within reach
_PARTS: Final = 4

#: a message: its session and its number
Place = tuple[UUID, int]


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
    #: the question names this speaker, and no other
    speaker: float = 1.5
    #: the user said it
    user: float = 1.5


WEIGHTS: Final = Weights()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How an embedder's cosines are to be read: those of texts that have nothing to do with each other."""

    mean: float
    spread: float

    def of(self, cosine: float) -> float:
        """How far above chance a cosine is, in spreads."""
        return (cosine - self.mean) / self.spread


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A message with all that speaks for it."""

    place: Place
    #: the passage that speaks for it most
    part: int
    score: float
    #: what the score is made of
    scores: Mapping[str, float]
    #: cosine of its closest passage, if that is among the closest of all
    similarity: float | None
    #: which of the words it has, by their places
    words: tuple[int, ...]
    #: how much of what the question asks for its best passage has, 0 to 1, by the rarity of the words
    share: float


def rarity(messages: int, having: int) -> float:
    """BM25's weight of a word that `having` passages have: positive, higher for rarer words."""
    return math.log1p((max(messages, having) - having + 0.5) / (having + 0.5))


def rank(
    question: str,
    words: WordMatches,
    meaning: Sequence[VectorMatch],
    voices: Mapping[Place, Voice],
    *,
    scale: Scale | None,
    weights: Weights = WEIGHTS,
) -> list[Ranked]:
    """The messages that were found, best first; of equals, those that the searches found first.

    Args:
        question: as it was asked.
        words: what was found by words.
        meaning: what was found by meaning, best first; empty without an embedder.
        voices: who said what was found; messages that are not in it are left out.
        scale: of the embedder; None without one.
        weights: how much what counts.

    """
    sessions: dict[UUID, int] = {}
    for matches in (words.found, meaning):
        for match in matches:
            sessions.setdefault(match.session_id, len(sessions))
    rarities = [rarity(words.messages, having) for having in words.having]
    by_words = _by_words(words.found, rarities, sessions, weights)
    by_meaning = _by_meaning(meaning, sessions)
    totals = _totals(words, by_words, by_meaning, scale, weights)
    ids = list(sessions)
    totals = {spot: scores for spot, scores in totals.items() if (ids[spot[0]], spot[1]) in voices}
    supports = _supports(totals)
    named = _named(question, set(voices.values()))
    whole = sum(rarities) or 1.0
    ranked: list[Ranked] = []
    for (session, seq), scores in totals.items():
        voice = voices[ids[session], seq]
        if named is not None and voice.name == named:
            scores["speaker"] = weights.speaker
        if voice.role is Role.USER:
            scores["user"] = weights.user
        scores["session"] = weights.session * supports[session]
        worded, close = by_words.get((session, seq)), by_meaning.get((session, seq))
        ranked.append(
            Ranked(
                place=(ids[session], seq),
                part=worded.part if worded else close[1] if close else 0,
                score=sum(scores.values()),
                scores=scores,
                similarity=close[0] if close else None,
                words=worded.words if worded else (),
                share=worded.own / whole if worded else 0.0,
            )
        )
    # sorting is stable: of equals those that the searches found first stay first
    return sorted(ranked, key=lambda entry: -entry.score)


#: a message, its session by the order of being found
_Spot = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Worded:
    weight: float
    #: of its own words alone
    own: float
    part: int
    words: tuple[int, ...]


def _totals(
    words: WordMatches,
    by_words: Mapping[_Spot, _Worded],
    by_meaning: Mapping[_Spot, tuple[float, int]],
    scale: Scale | None,
    weights: Weights,
) -> dict[_Spot, dict[str, float]]:
    """What words and meaning say of each message, in the order in which they were found."""
    share = weights.words if by_meaning else 1.0
    spread = _spread(words.messages, [found.weight for found in by_words.values()])
    floor = min((close for close, _ in by_meaning.values()), default=0.0)
    totals: dict[_Spot, dict[str, float]] = {}
    for spot in dict.fromkeys((*by_words, *by_meaning)):
        scores = totals[spot] = {}
        worded = by_words.get(spot)
        if worded is not None:
            scores["words"] = share * worded.weight / spread
        if by_meaning and scale is not None:
            close = by_meaning.get(spot)
            scores["meaning"] = scale.of(close[0] if close else floor)
    return totals


def _by_words(
    found: Sequence[WordMatch], rarities: Sequence[float], sessions: Mapping[UUID, int], weights: Weights
) -> dict[_Spot, _Worded]:
    """Each message with its best passage, in the order in which the messages were found."""
    numbers = [sessions[match.session_id] for match in found]
    saturation = weights.saturation
    best: dict[_Spot, _Worded] = {}
    for number, match, near in zip(numbers, found, _nearness(found, numbers, weights.window), strict=True):
        # exact sums: the order in which a database names the words must not show
        weight = math.fsum(
            [rarities[word] * amount * (saturation + 1) / (amount + saturation) for word, amount in near.items()]
        )
        spot = (number, match.seq)
        if spot not in best or weight > best[spot].weight:
            own = math.fsum([rarities[word] for word in match.words])
            best[spot] = _Worded(weight, own, match.part, match.words)
    return best


def _nearness(found: Sequence[WordMatch], sessions: Sequence[int], window: Sequence[float]) -> list[dict[int, float]]:
    """For each passage how much there is of each word, in it and around it."""
    near: list[dict[int, float]] = [dict.fromkeys(match.words, 1.0) for match in found]
    reach = len(window)
    order = sorted(range(len(found)), key=lambda at: (sessions[at], found[at].seq, found[at].part))
    for number, at in enumerate(order):
        first = found[at]
        for other in order[number + 1 : number + 1 + reach * _PARTS]:
            second = found[other]
            if sessions[other] != sessions[at] or second.seq - first.seq > reach:
                break
            away = _distance(first, second)
            if away <= reach:
                _lend(near[at], second.words, window[away - 1])
                _lend(near[other], first.words, window[away - 1])
    return near


def _distance(first: WordMatch, second: WordMatch) -> int:
    """How many passages on the second is; messages between them have at least one each."""
    if first.seq == second.seq:
        return second.part - first.part
    return (first.parts - 1 - first.part) + (second.seq - first.seq - 1) + 1 + second.part


def _lend(near: dict[int, float], words: Sequence[int], amount: float) -> None:
    for word in words:
        near[word] = near.get(word, 0.0) + amount


def _by_meaning(meaning: Sequence[VectorMatch], sessions: Mapping[UUID, int]) -> dict[_Spot, tuple[float, int]]:
    """Each message with its closest passage."""
    best: dict[_Spot, tuple[float, int]] = {}
    for match in meaning:
        spot = (sessions[match.session_id], match.seq)
        if spot not in best or match.similarity > best[spot][0]:
            best[spot] = (match.similarity, match.part)
    return best


def _spread(messages: int, weights: Sequence[float]) -> float:
    """Standard deviation over all messages, of which those that were not found weigh nothing."""
    count = max(messages, len(weights), 1)
    mean = math.fsum(weights) / count
    variance = math.fsum([weight * weight for weight in weights]) / count - mean * mean
    return math.sqrt(variance) if variance > 1e-12 else 1.0


def _supports(totals: Mapping[_Spot, Mapping[str, float]]) -> Mapping[int, float]:
    """What the best of each session come to, on average."""
    by_session: dict[int, list[float]] = defaultdict(list)
    for (session, _), scores in totals.items():
        by_session[session].append(sum(scores.values()))
    return {
        session: sum(best) / len(best)
        for session, values in by_session.items()
        if (best := sorted(values)[-_BEST_OF_SESSION:])
    }


def _named(question: str, voices: Collection[Voice]) -> str | None:
    """The one speaker whose name stands in the question; None if it names none of them, or several."""
    asked = question.casefold()
    names = {voice.name for voice in voices if voice.name}
    named = [name for name in names if re.search(rf"(?<!\w){re.escape(name.casefold())}(?!\w)", asked)]
    return named[0] if len(named) == 1 else None
