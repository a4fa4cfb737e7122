"""What archived conversations and facts alone bring back: no message is in the prompt, nor in the search.

Every session ends and is archived to its last message, without a model. A document speaks of a whole stretch of a
session, so what is found by its range is coarser than a message that is found; what stands word by word is told beside.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Final
from uuid import UUID

from anaphora.bootstrap import Services
from anaphora.domain.context import Context
from anaphora.domain.documents import CONVERSATION, Document
from anaphora.domain.facts import Fact
from anaphora.domain.wire import SectionName
from anaphora.errors import ModelError
from anaphora.evals.cases import Case, Place, Question
from anaphora.evals.figures import DEPTHS
from anaphora.memory import Memory
from anaphora.rules.text import one_line
from anaphora.settings import AgentSettings, Settings

#: who is asked: an agent that sees archived conversations and facts, and no messages
AGENT: Final = "archive-only"
#: tokens of the prompts: those of all figures, and the default of the settings
PROMPTS: Final = (500, 1000, 2000, 4000)

#: tokens that no session has: nothing is archived before a session ends
_NEVER: Final = 1 << 40
_PAGE: Final = 200
_NOTHING: Final[frozenset[Place]] = frozenset()


def archiving(settings: Settings) -> Mapping[str, Any]:
    """What must be changed of the settings, so that `evaluate` can archive."""
    budget = settings.token_budget.model_copy(update={"threshold_tokens": _NEVER, "archive_conversations": True})
    only = AgentSettings(recall_sessions=False, recall_conversations=True, recall_agents="all")
    return {"strategy": "token_budget", "token_budget": budget, "agents": {AGENT: only}}


async def evaluate(services: Services, cases: Sequence[Case]) -> dict[str, Any]:
    """End every session and ask every question of what was archived.

    Args:
        services: over a database that holds the sessions of the cases, opened with the settings of `archiving`.
        cases: at least one question among them.

    Returns:
        Means over questions, of all and by category: `questions`, `recall@N` for the first N hits, `coverage@TOKENS`,
        `facts@TOKENS` and `verbatim@TOKENS`; beside them `documents` and `messages_archived`, a share.

    Raises:
        ModelError: documents got no vectors though there is an embedder.
        StoreError: the database failed.

    """
    memory = Memory(services)
    for case in cases:
        for session in case.sessions:
            await memory.session(user=case.user, session=session.session).end()
    await memory.work()
    shelves = [await _shelf(memory, case) for case in cases]
    answers = [await shelf.answer(question) for shelf in shelves for question in shelf.case.questions]
    categories = sorted({answer.question.category for answer in answers})
    return {
        **_means(answers),
        "by_category": {
            name: _means([answer for answer in answers if answer.question.category == name]) for name in categories
        },
        "documents": sum(len(shelf.documents) for shelf in shelves),
        "messages_archived": _share(
            sum(len(_union(shelf.documents.values())) for shelf in shelves),
            sum(len(session.messages) for case in cases for session in case.sessions),
        ),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Brought:
    """What one question brought: of each, the evidence that it holds, as a share."""

    question: Question
    recall: Mapping[int, float]
    coverage: Mapping[int, float]
    facts: Mapping[int, float]
    verbatim: Mapping[int, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shelf:
    """What is known of one user."""

    memory: Memory
    case: Case
    #: the messages that each document speaks of, and those that say what a fact says
    documents: Mapping[UUID, frozenset[Place]]
    facts: Mapping[UUID, frozenset[Place]]
    texts: Mapping[Place, str]

    async def answer(self, question: Question) -> _Brought:
        """Ask for documents, and for a prompt of each size."""
        evidence = question.evidence
        found = await self.memory.knowledge.search(
            question.text, user=self.case.user, doc_type=CONVERSATION, limit=DEPTHS[-1]
        )
        if "vectors" in found.degraded:
            raise ModelError("archived conversations got no vectors: see why with -v, or leave them out: --no-embedder")
        hits = [self.documents.get(hit.document.id, _NOTHING) for hit in found]
        prompts = {budget: await self._prompt(question, budget) for budget in PROMPTS}
        return _Brought(
            question=question,
            recall={depth: _part(evidence, _union(hits[:depth])) for depth in DEPTHS},
            coverage={
                budget: _part(evidence, _shown(context, SectionName.CONVERSATIONS, self.documents))
                for budget, context in prompts.items()
            },
            facts={
                budget: _part(evidence, _shown(context, SectionName.FACTS, self.facts))
                for budget, context in prompts.items()
            },
            verbatim={budget: _part(evidence, self._said(context, evidence)) for budget, context in prompts.items()},
        )

    async def _prompt(self, question: Question, budget: int) -> Context:
        fresh = self.memory.session(user=self.case.user, session=self.case.unused_session(), agent=AGENT)
        return await fresh.context(question.text, budget=budget)

    def _said(self, context: Context, places: Iterable[Place]) -> frozenset[Place]:
        """The messages whose whole text stands in the prompt, white space aside."""
        told = "\n".join(one_line(each.content) for each in context.messages if each.section is not SectionName.QUERY)
        return frozenset(place for place in places if one_line(self.texts[place]) in told)


async def _shelf(memory: Memory, case: Case) -> _Shelf:
    documents = [document async for document in _documents(memory, case.user)]
    facts = [fact async for fact in _facts(memory, case.user)]
    return _Shelf(
        memory=memory,
        case=case,
        documents={document.id: _speaks_of(document) for document in documents},
        facts={fact.id: frozenset((source.key.session, source.seq) for source in fact.sources) for fact in facts},
        texts=dict(case.texts()),
    )


async def _documents(memory: Memory, user: str) -> AsyncIterator[Document]:
    before: UUID | None = None
    while page := await memory.knowledge.list(user=user, doc_type=CONVERSATION, limit=_PAGE, before=before):
        for document in page:
            yield document
        before = page[-1].id


async def _facts(memory: Memory, user: str) -> AsyncIterator[Fact]:
    after: UUID | None = None
    while page := await memory.facts.list(user=user, limit=_PAGE, after=after):
        for fact in page:
            yield fact
        after = page[-1].id


def _speaks_of(document: Document) -> frozenset[Place]:
    session = str(document.metadata.get("session_id", ""))
    return frozenset((session, seq) for seq in document.range or ())


def _shown(context: Context, section: SectionName, places: Mapping[UUID, frozenset[Place]]) -> frozenset[Place]:
    """The messages that the entries of a section speak of."""
    ids = [line.id for line in context.lines if line.included and line.section is section and line.id is not None]
    return _union(places.get(entry, _NOTHING) for entry in ids)


def _union(places: Iterable[frozenset[Place]]) -> frozenset[Place]:
    return _NOTHING.union(*places)


def _part(evidence: frozenset[Place], found: frozenset[Place]) -> float:
    return len(evidence & found) / len(evidence)


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0


def _means(answers: Sequence[_Brought]) -> dict[str, Any]:
    return {
        "questions": len(answers),
        **{f"recall@{depth}": _mean([each.recall[depth] for each in answers]) for depth in DEPTHS},
        **{f"coverage@{budget}": _mean([each.coverage[budget] for each in answers]) for budget in PROMPTS},
        **{f"facts@{budget}": _mean([each.facts[budget] for each in answers]) for budget in PROMPTS},
        **{f"verbatim@{budget}": _mean([each.verbatim[budget] for each in answers]) for budget in PROMPTS},
    }


def _mean(values: Sequence[float]) -> float:
    return round(fmean(values), 4)
