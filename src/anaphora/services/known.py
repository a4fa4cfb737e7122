"""What is known that may stand in a prompt, from one snapshot, however much is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from anaphora.domain.facts import Fact
from anaphora.domain.keys import SessionKey
from anaphora.domain.search import FactHit, Hit
from anaphora.ports.facts import Reader
from anaphora.ports.store import Unit
from anaphora.rules.facts.asked_for import inherited, shared
from anaphora.rules.facts.shown import Known
from anaphora.rules.language.words import terms
from anaphora.services.retrieve import Asked

#: facts of the own, and of others, that stand by themselves; and that share words with the question
_STANDING: Final = 48
_ALIKE: Final = 32
#: found messages whose facts are looked at
_HITS: Final = 20


def related(
    unit: Unit, reader: Reader, asked: Asked, hits: Sequence[Hit], *, by_words: bool = True
) -> Sequence[FactHit]:
    """Facts that have to do with a question, each once, with how much and why.

    Args:
        unit: the snapshot.
        reader: who asks.
        asked: the question.
        hits: messages that were found for it.
        by_words: also those that share words with the question; else only those learned from the messages.

    """
    found: dict[UUID, FactHit] = {}
    words = terms(asked.text) if by_words else ()
    for fact, having in unit.facts.with_terms(reader, words, limit=_ALIKE):
        share = having / len(words)
        has = shared(asked.words.terms, fact.content)
        found[fact.id] = FactHit(fact=fact, relevance=share, scores={"words": share}, words=has)
    places = {(hit.session_id, hit.message.seq): hit for hit in hits}
    for fact, place in unit.facts.with_sources(reader, places):
        hit = places[place]
        quotes = [source.quote for source in fact.sources if (source.session_id, source.seq) == place]
        weighed = hit.relevance * inherited(hit, [fact.content, *quotes])
        before = found.get(fact.id, FactHit(fact=fact, relevance=0.0))
        found[fact.id] = FactHit(
            fact=fact,
            relevance=max(before.relevance, weighed),
            scores={**before.scores, "message": weighed},
            words=before.words or shared(asked.words.terms, fact.content),
            hit=hit,
        )
    return list(found.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """Which facts a prompt may use."""

    #: tokens that they may take, at most; 0 for none
    tokens: int = 400
    #: an agent uses only what it learned itself, and what the user added
    own_agent: bool = False

    def find(
        self, unit: Unit, key: SessionKey, subject: str | None, asked: Asked | None, hits: Sequence[Hit]
    ) -> tuple[Known, ...]:
        """Facts about the user, and about whom the session is about: a fixed number of queries, each of few rows.

        A fact is as relevant as what it shares of the question's words, or as what it quotes of a message.
        """
        if not self.tokens:
            return ()
        about = ("",) if subject is None else ("", subject)
        reader = Reader(tenant=key.tenant, user=key.user, agent=key.agent if self.own_agent else None, about=about)
        facts: dict[UUID, Fact] = {fact.id: fact for fact in unit.facts.standing(reader, limit=_STANDING)}
        relevance: dict[UUID, float] = {}
        if asked is not None and facts:
            for hit in related(unit, reader, asked, hits[:_HITS]):
                facts[hit.fact.id], relevance[hit.fact.id] = hit.fact, hit.relevance
        named = unit.subjects.get(key.tenant, subject) if subject is not None and facts else None
        return tuple(
            Known(
                fact=fact,
                about=key.user if fact.subject is None else named.name if named is not None else fact.subject,
                relevance=relevance.get(fact.id, 0.0),
            )
            for fact in facts.values()
        )
