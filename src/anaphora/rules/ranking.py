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
question that names one of the speakers asks about what that person said, and of several the first is who it is about;
and what the user said tells more about the user than what the assistant answered.

The shares were measured on LoCoMo and on BEAM together, see docs/explanation/retrieval.md.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Final
from uuid import UUID

from anaphora.domain.messages import Role
from anaphora.ports.rows import VectorMatch, Voice, WordMatch, WordMatches

#: how many of a session speak for the rest of it
_BEST_OF_SESSION: Final = 3
#: passages of one message that can stand between two others within reach
_PARTS: Final = 4

#: what stands behind a name that is not alone what is asked about: "and Bob", "'s friend Bob"
_TOGETHER: Final = re.compile(r"['’]s(?!\w)|\s*(?:,|&|,?\s*and\b|,?\s*or\b)\s*\Z")

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
    #: the question asks about this speaker
    speaker: float = 2.0
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
    limit: int | None = None,
) -> list[Ranked]:
    """The messages that were found, best first; of equals, those that the searches found first.

    Args:
        question: as it was asked.
        words: what was found by words.
        meaning: what was found by meaning, best first; empty without an embedder.
        voices: who said what was found; messages that are not in it are left out.
        scale: of the embedder; None without one.
        weights: how much what counts.
        limit: how many of them at most; None for all.

    """
    sessions: dict[UUID, int] = {}
    by_words = _by_words(words, meaning, sessions, weights)
    by_meaning = _by_meaning(meaning, sessions)
    compared = bool(by_meaning) and scale is not None
    ids = list(sessions)
    named = _named(question, set(voices.values()))
    candidates = [
        (spot, worded, meant, weights.speaker if named is not None and voice.name == named else 0.0, voice.role)
        for spot, worded, meant in _totals(words, by_words, by_meaning, scale, weights)
        if (voice := voices.get((ids[spot[0]], spot[1]))) is not None
    ]
    supports = _supports(candidates, weights.session)
    rarities = _rarities(words)
    whole = math.fsum(rarities) or 1.0
    ranked: list[Ranked] = []
    for score, at in _best(candidates, supports, weights.user)[:limit]:
        spot = candidates[at][0]
        found, close = by_words.get(spot), by_meaning.get(spot)
        has = found[2] if found else ()
        ranked.append(
            Ranked(
                place=(ids[spot[0]], spot[1]),
                part=found[1] if found and (has or not close) else close[1] if close else 0,
                score=score,
                scores=_scores(candidates[at], supports, weights.user, worded=bool(found), compared=compared),
                similarity=close[0] if close else None,
                words=has,
                share=math.fsum([rarities[word] for word in has]) / whole,
            )
        )
    return ranked


def _best(candidates: Sequence[_Candidate], supports: Mapping[int, float], prior: float) -> list[tuple[float, int]]:
    """Scores, and whose they are by place, best first."""
    user = Role.USER
    scores = [
        (worded + meant + speaker + (prior if role is user else 0.0) + supports[spot[0]], at)
        for at, (spot, worded, meant, speaker, role) in enumerate(candidates)
    ]
    # sorting is stable: of equals those that the searches found first stay first
    return sorted(scores, key=_SCORE, reverse=True)


def _scores(
    candidate: _Candidate, supports: Mapping[int, float], prior: float, *, worded: bool, compared: bool
) -> dict[str, float]:
    """What the score of a message is made of."""
    (session, _), by_words, meant, speaker, role = candidate
    scores = {
        "words": by_words if worded else None,
        "meaning": meant if compared else None,
        "speaker": speaker or None,
        "user": prior if role is Role.USER else None,
        "session": supports[session],
    }
    return {name: value for name, value in scores.items() if value is not None}


_SCORE: Final = itemgetter(0)
#: a message, its session by the order of being found
_Spot = tuple[int, int]
#: a message, what words, meaning and the name of who spoke say of it, and whose it is
_Candidate = tuple[_Spot, float, float, float, Role]
#: how much words speak for a message, its passage for which they do most, and which of them that has
_Worded = tuple[float, int, tuple[int, ...]]
#: session, message, part, of how many, its place among those that were found, and which words it has
_Passage = tuple[int, int, int, int, int, tuple[int, ...]]


def _rarities(words: WordMatches) -> list[float]:
    return [rarity(words.messages, having) for having in words.having]


def _totals(
    words: WordMatches,
    by_words: Mapping[_Spot, _Worded],
    by_meaning: Mapping[_Spot, tuple[float, int]],
    scale: Scale | None,
    weights: Weights,
) -> Iterator[tuple[_Spot, float, float]]:
    """What words and meaning say of each message, in the order in which they were found."""
    share = (weights.words if by_meaning else 1.0) / _spread(words.messages, [each[0] for each in by_words.values()])
    compared = by_meaning if scale is not None else {}
    mean, spread = (scale.mean, scale.spread) if scale is not None else (0.0, 1.0)
    floor = (min([close for close, _ in compared.values()], default=mean), 0)
    for spot in dict.fromkeys((*by_words, *by_meaning)):
        worded = by_words.get(spot)
        meant = (compared.get(spot, floor)[0] - mean) / spread
        yield spot, share * worded[0] if worded else 0.0, meant


def _by_words(
    words: WordMatches, meaning: Sequence[VectorMatch], sessions: dict[UUID, int], weights: Weights
) -> dict[_Spot, _Worded]:
    """Each message with its best passage, in the order in which the messages were found."""
    rarities, saturation = _rarities(words), weights.saturation
    passages = _passages(words.found, meaning, sessions)
    best: dict[_Spot, _Worded] = {}
    for passage, near in zip(passages, _nearness(passages, weights.window, len(rarities)), strict=True):
        if not any(near):
            continue
        # exact sums: the order in which a database names the words must not show
        weight = math.fsum(
            [
                rare * amount * (saturation + 1) / (amount + saturation)
                for rare, amount in zip(rarities, near, strict=True)
                if amount
            ]
        )
        spot = passage[:2]
        if spot not in best or weight > best[spot][0]:
            best[spot] = (weight, passage[2], passage[5])
    return best


def _passages(found: Sequence[WordMatch], meaning: Sequence[VectorMatch], sessions: dict[UUID, int]) -> list[_Passage]:
    """All that were found; those that were found by meaning alone have none of the words, but may stand near some."""
    passages: list[_Passage] = [
        (sessions.setdefault(match.session_id, len(sessions)), match.seq, match.part, match.parts, at, match.words)
        for at, match in enumerate(found)
    ]
    known = {passage[:3] for passage in passages}
    parts = {passage[:2]: passage[3] for passage in passages}
    for match in meaning:
        spot = (sessions.setdefault(match.session_id, len(sessions)), match.seq)
        if (*spot, match.part) not in known:
            passages.append((*spot, match.part, parts.get(spot, match.part + 1), len(passages), ()))
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


def _by_meaning(meaning: Sequence[VectorMatch], sessions: dict[UUID, int]) -> dict[_Spot, tuple[float, int]]:
    """Each message with its closest passage."""
    best: dict[_Spot, tuple[float, int]] = {}
    for match in meaning:
        spot = (sessions.setdefault(match.session_id, len(sessions)), match.seq)
        if spot not in best or match.similarity > best[spot][0]:
            best[spot] = (match.similarity, match.part)
    return best


def _spread(messages: int, weights: Sequence[float]) -> float:
    """Standard deviation over all messages, of which those that were not found weigh nothing."""
    count = max(messages, len(weights), 1)
    mean = math.fsum(weights) / count
    variance = math.fsum([weight * weight for weight in weights]) / count - mean * mean
    return math.sqrt(variance) if variance > 1e-12 else 1.0


def _supports(candidates: Sequence[_Candidate], weight: float) -> Mapping[int, float]:
    """What the best of each session lend to all of it."""
    by_session: dict[int, list[float]] = defaultdict(list)
    for (session, _), worded, meant, _, _ in candidates:
        by_session[session].append(worded + meant)
    return {
        session: weight * (sum(best) / len(best))
        for session, values in by_session.items()
        if (best := sorted(values)[-_BEST_OF_SESSION:])
    }


def _named(question: str, voices: Collection[Voice]) -> str | None:
    """The speaker whom the question is about: the one that it names first.

    None if it names nobody, several in one breath ("Ann and Bob"), or first somebody's something ("Ann's idea") and
    then somebody else.
    """
    asked = question.casefold()
    names = {voice.name for voice in voices if voice.name}
    where = (
        (found.start(), -found.end(), name)
        for name in names
        if (found := re.search(rf"(?<!\w){re.escape(name.casefold())}(?!\w)", asked))
    )
    named: list[tuple[int, int, str]] = []
    for start, end, name in sorted(where):
        # "Ann Lee" names nobody who is called "Lee"
        if not named or start >= -named[-1][1]:
            named.append((start, end, name))
    if not named:
        return None
    if len(named) > 1 and _TOGETHER.match(asked[-named[0][1] : named[1][0]]):
        return None
    return named[0][2]
