"""Which of the messages that were found answer a question best. Pure.

To what words and meaning say (`rules.evidence`) two priors are added: a question that names one of the speakers asks
about what that person said, and of several the first is who it is about; and what the user said tells more about the
user than what the assistant answered. Who said what thus decides among the best only, and is asked of them only: of
the `promising`, then of those that are `undecided`.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from heapq import nlargest
from operator import attrgetter
from typing import Final, NamedTuple
from uuid import UUID

from anaphora.domain.keys import SessionKey
from anaphora.domain.messages import Role
from anaphora.ports.rows import Voice
from anaphora.rules.evidence import WEIGHTS, Candidate, Evidence, Weights

#: what stands behind a name that is not alone what is asked about: "and Bob", "'s friend Bob"
_TOGETHER: Final = re.compile(r"['’]s(?!\w)|\s*(?:,|&|,?\s*and\b|,?\s*or\b)\s*\Z")

#: how many times more messages than are wanted it is asked of who said them, before it is known what that matters
_AHEAD: Final = 3
#: sums of the same numbers in another order may differ by so little
_SLACK: Final = 1e-9
_SCORE: Final = attrgetter("score")
_WEIGHT: Final = attrgetter("weight")

#: a message: its session and its number
Place = tuple[UUID, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A message with all that speaks for it."""

    place: Place
    key: SessionKey
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


def promising(evidence: Evidence, limit: int) -> list[Place]:
    """The messages of which it is worth knowing first who said them, if the best `limit` are looked for."""
    first = nlargest(_AHEAD * limit, evidence.candidates, key=_WEIGHT)
    return [_place(evidence, candidate) for candidate in first]


def undecided(
    question: str, evidence: Evidence, voices: Mapping[Place, Voice], limit: int, *, weights: Weights = WEIGHTS
) -> list[Place]:
    """The messages that could still be among the best `limit`, depending on who said them."""
    if limit < 1:
        return []
    scores = nlargest(limit, [told.score for told in _told(question, evidence, voices, weights)])
    least = scores[-1] - weights.speaker - weights.user - _SLACK if len(scores) == limit else -math.inf
    possible = (_place(evidence, candidate) for candidate in evidence.candidates if candidate.weight >= least)
    return [place for place in possible if place not in voices]


def rank(
    question: str,
    evidence: Evidence,
    voices: Mapping[Place, Voice],
    *,
    weights: Weights = WEIGHTS,
    limit: int | None = None,
) -> list[Ranked]:
    """The messages that were found, best first; of equals, those that the searches found first.

    Args:
        question: as it was asked.
        evidence: what was found.
        voices: who said it; messages that are not in it are left out.
        weights: how much it counts who said what.
        limit: how many of them at most; None for all.

    """
    whole = math.fsum(evidence.rarities) or 1.0
    # sorting is stable: of equals those that the searches found first stay first
    best = sorted(_told(question, evidence, voices, weights), key=_SCORE, reverse=True)[:limit]
    ranked: list[Ranked] = []
    for told in best:
        passage = evidence.passage(told.candidate)
        ranked.append(
            Ranked(
                place=told.place,
                key=evidence.sessions[told.candidate.session][1],
                part=passage.part,
                score=told.score,
                scores=_scores(told, evidence),
                similarity=passage.similarity,
                words=passage.words,
                share=math.fsum([evidence.rarities[word] for word in passage.words]) / whole,
            )
        )
    return ranked


class _Told(NamedTuple):
    """A message of which it is known who said it."""

    score: float
    candidate: Candidate
    place: Place
    speaker: float | None
    user: float | None


def _told(question: str, evidence: Evidence, voices: Mapping[Place, Voice], weights: Weights) -> list[_Told]:
    """All of which it is known who said them, in the order of being found."""
    priors = _priors(question, set(voices.values()), weights)
    # few of many are known, and numbers are looked up sooner than ids
    known: dict[UUID, dict[int, Voice]] = defaultdict(dict)
    for (session_id, seq), voice in voices.items():
        known[session_id][seq] = voice
    by_session = [known.get(session_id, {}) for session_id, _ in evidence.sessions]
    told: list[_Told] = []
    for candidate in evidence.candidates:
        said = by_session[candidate.session].get(candidate.seq)
        if said is not None:
            speaker, user = priors[said]
            score = candidate.weight + (speaker or 0.0) + (user or 0.0)
            told.append(_Told(score, candidate, _place(evidence, candidate), speaker, user))
    return told


def _priors(
    question: str, voices: Collection[Voice], weights: Weights
) -> Mapping[Voice, tuple[float | None, float | None]]:
    """What it counts that somebody said something: whether the question is about them, and whether it is the user."""
    named = _named(question, voices)
    return {
        voice: (
            weights.speaker if named is not None and voice.name == named else None,
            weights.user if voice.role is Role.USER else None,
        )
        for voice in voices
    }


def _scores(told: _Told, evidence: Evidence) -> dict[str, float]:
    """What the score of a message is made of."""
    scores = {
        "words": told.candidate.words,
        "meaning": told.candidate.meaning if evidence.compared else None,
        "speaker": told.speaker,
        "user": told.user,
        "session": evidence.supports[told.candidate.session],
    }
    return {name: value for name, value in scores.items() if value is not None}


def _place(evidence: Evidence, candidate: Candidate) -> Place:
    return (evidence.sessions[candidate.session][0], candidate.seq)


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
