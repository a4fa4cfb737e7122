"""What earlier sessions of a user said, for a question: which of them may be read, and what is looked through."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

from anaphora.domain.documents import ARCHIVE, CONVERSATION, conversations_of
from anaphora.domain.filters import And, Equals, Field, Filter, Not, Or
from anaphora.domain.keys import SessionKey
from anaphora.domain.search import DocumentHit, Hit
from anaphora.ports.documents import Shelf
from anaphora.ports.store import Unit
from anaphora.rules.conversations import Wanted, asked_for
from anaphora.rules.phrases import Phrases
from anaphora.rules.query_words import query_words
from anaphora.services.documents import Documents
from anaphora.services.retrieve import Asked

#: whose sessions an agent may read: its own, those of all agents with the same user, or those of these agents
Agents: TypeAlias = Literal["own", "all"] | tuple[str, ...]

_AGENT: Final = Field.of("agent_id")
_SESSION: Final = Field.of("session_id")
#: chunks that are looked at for each that may be shown
_BESIDE: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How far back a question reaches, by the agent that it is asked."""

    #: whether messages of other sessions are looked for, and archived conversations
    sessions: bool = True
    conversations: bool = False
    agents: Agents = "own"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversations:
    """Finds what earlier sessions said."""

    documents: Documents | None = None
    reach: Reach = field(default_factory=Reach)
    by_agent: Mapping[str, Reach] = field(default_factory=dict)
    wanted: Wanted = field(default_factory=Wanted)
    phrases: Phrases = field(default_factory=Phrases)

    def of(self, agent: str) -> Reach:
        """How far back an agent may reach."""
        return self.by_agent.get(agent, self.reach)

    def wanted_for(self, text: str) -> Wanted:
        """How much is wanted for a question."""
        return asked_for(self.wanted, self.phrases.found_in(text))

    def scope(self, agent: str) -> str | None:
        """The one agent whose messages are to be searched; None: those of several, see `readable`."""
        return agent if self.of(agent).agents == "own" else None

    def agents(self, agent: str, *, paused: bool) -> Collection[str] | None:
        """Whose sessions may be read beside the one that is asked in; None: those of all agents."""
        reach = self.of(agent)
        if paused or not reach.sessions:
            return ()
        if reach.agents == "all":
            return None
        return (agent,) if isinstance(reach.agents, str) else (agent, *reach.agents)

    def readable(self, key: SessionKey, hits: Sequence[Hit]) -> Sequence[Hit]:
        """Those of the messages that the agent may read."""
        reach = self.of(key.agent)
        if not reach.sessions:
            return [hit for hit in hits if hit.key == key]
        if isinstance(reach.agents, str):
            return hits
        return [hit for hit in hits if hit.key.agent in {key.agent, *reach.agents}]

    def find(self, unit: Unit, key: SessionKey, asked: Asked, wanted: Wanted) -> tuple[DocumentHit, ...]:
        """Chunks of archived conversations that the agent may read, best first; none of this session's.

        What left the prompt of this session is found in its own messages, word by word (hole 1.16).
        """
        reach = self.of(key.agent)
        if self.documents is None or not reach.conversations or not wanted.limit:
            return ()
        shelf = Shelf(
            tenant=key.tenant,
            namespaces=(conversations_of(key.user),),
            doc_types=(CONVERSATION,),
            where=_others(key, reach.agents),
        )
        found = self.documents.look(unit, _without(asked, wanted.phrase), shelf, _BESIDE * wanted.limit)
        # whoever puts documents there by hand does not say what was said in a session
        return tuple(hit for hit in found.hits if hit.document.source == ARCHIVE)


def _without(asked: Asked, phrase: str | None) -> Asked:
    """The question without the words that only say that it asks: no summary has them, and they count."""
    asking = set(query_words(phrase).terms) if phrase else set()
    terms = tuple(term for term in asked.words.terms if term not in asking)
    return replace(asked, words=replace(asked.words, terms=terms)) if terms else asked


def _others(key: SessionKey, agents: Agents) -> Filter:
    """Of sessions of agents that may be read, but not of this one."""
    this = And((Equals(_AGENT, key.agent), Equals(_SESSION, key.session)))
    if agents == "all":
        return Not(this)
    named = () if isinstance(agents, str) else agents
    mine = Or(tuple(Equals(_AGENT, agent) for agent in dict.fromkeys((key.agent, *named))))
    return And((Not(this), mine))
