"""What each compaction costs and keeps: the same conversations, turn by turn, through one after the other.

Before every turn the prompt is built as an application would build it; after it all work that is due is done. Where
there are questions, they are asked at the end, in the session that was played.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from anaphora.bootstrap import Overrides, Services, open_services
from anaphora.domain.context import Context
from anaphora.domain.keys import SeqRange, SessionKey
from anaphora.evals.cases import Case, Place, Question
from anaphora.memory import Memory, Session
from anaphora.ports.models import Embedder
from anaphora.rules.timings import percentile
from anaphora.services.importing.values import ImportedConversation
from anaphora.settings import Settings
from anaphora.testing.scripted import ScriptedChat

#: what is compared, the default first
STRATEGIES: Final = ("rolling_pairs", "sliding_window", "token_budget", "topics", "batch_extraction")
#: tokens of the prompts in which the evidence of questions is looked for
BUDGETS: Final = (1000, 2000, 4000)

#: messages of a step: a question and its answer
_STEP: Final = 2
_KINDS: Final = ("verbatim", "summarised", "elided")
#: what counts for each share, of what `_places` gives: verbatim, spoken for, quoted
_SHARES: Final = {"verbatim": (0,), "coverage": (0, 1), "word_by_word": (0, 2), "with_search": (0, 1, 2)}
_NONE: Final[frozenset[Place]] = frozenset()

Tell = Callable[[str], None]


def joined(case: Case) -> Case:
    """The case with all its sessions as one, in their order: a conversation that is long enough to be compacted."""
    first = case.sessions[0]
    starts: dict[str, int] = {}
    said = 0
    for session in case.sessions:
        starts[session.session] = said
        said += len(session.messages)
    whole = replace(first, messages=tuple(chain.from_iterable(session.messages for session in case.sessions)))
    questions = (
        replace(question, evidence=frozenset((first.session, starts[name] + seq) for name, seq in question.evidence))
        for question in case.questions
    )
    return replace(case, sessions=(whole,), questions=tuple(questions))


async def evaluate(
    settings: Settings,
    cases: Sequence[Case],
    folder: Path,
    *,
    embedder: Embedder | None,
    scripted: bool,
    strategies: Sequence[str] = STRATEGIES,
    tell: Tell,
) -> dict[str, Any]:
    """Play the cases once with each strategy.

    Args:
        settings: those of the memory; no model is asked that they name.
        cases: users with their sessions; questions about the last session of each, if any.
        folder: where the databases are made, one a strategy.
        embedder: None: words alone are compared.
        scripted: a model double writes what a model would; else there is none.
        strategies: which.
        tell: told how far it is.

    Returns:
        `model` ("scripted" or None), `embedder`, `budget` of the turns, `messages`, `questions`, and `strategies`: of
        each what `_Seen.to_dict` gives.

    Raises:
        StoreError: the database failed.

    """
    found: dict[str, Any] = {}
    for strategy in strategies:
        model = ScriptedChat() if scripted else None
        own = settings.model_copy(update={"db": str(folder / f"{strategy}.db"), "strategy": strategy})
        if embedder is None:
            own = own.model_copy(update={"embedder": "none"})
        async with open_services(own, Overrides(memory_model=model, embedder=embedder)) as services:
            seen = _Seen()
            for case in cases:
                await _Playing(services=services, memory=Memory(services), case=case, seen=seen).play()
        found[strategy] = seen.to_dict() | ({"model_calls": len(model.prompts)} if model else {})
        tell(f"{strategy}: {len(seen.contexts):,} turns played")
    return {
        "model": "scripted" if scripted else None,
        "embedder": None if embedder is None else embedder.profile.id,
        "budget": settings.context_budget,
        "messages": sum(len(session.messages) for case in cases for session in case.sessions),
        "questions": sum(len(case.questions) for case in cases),
        "strategies": found,
    }


@dataclass(frozen=True, slots=True)
class _Turn:
    """What a prompt cost, and where the messages before it were."""

    tokens: int
    full: int
    counts: dict[str, int]


@dataclass(frozen=True, slots=True)
class _Asked:
    """Of the evidence of a question, by budget: the shares of `_SHARES`."""

    verbatim: dict[int, float]
    coverage: dict[int, float]
    word_by_word: dict[int, float]
    with_search: dict[int, float]


@dataclass(frozen=True, slots=True)
class _Seen:
    """One strategy, all cases."""

    contexts: list[_Turn] = field(default_factory=list)
    asked: list[_Asked] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """The means as JSON types; a share of messages is over all messages before all turns."""
        tokens = [turn.tokens for turn in self.contexts]
        before = {kind: sum(turn.counts[kind] for turn in self.contexts) for kind in _KINDS}
        whole = sum(before.values()) or 1
        return {
            "turns": len(tokens),
            "tokens_mean": round(fmean(tokens), 1),
            "tokens_p95": round(percentile(tokens, 0.95)),
            "tokens_full_history_mean": round(fmean(turn.full for turn in self.contexts), 1),
            **{kind: round(before[kind] / whole, 4) for kind in _KINDS},
            **self._answers(),
        }

    def _answers(self) -> dict[str, float]:
        if not self.asked:
            return {}
        return {
            f"{name}@{budget}": round(fmean(getattr(each, name)[budget] for each in self.asked), 4)
            for name in _SHARES
            for budget in BUDGETS
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Playing:
    """One user, one strategy."""

    services: Services
    memory: Memory
    case: Case
    seen: _Seen

    async def play(self) -> None:
        """Every session in order; questions before the last one ends."""
        *earlier, last = self.case.sessions
        for script in earlier:
            await (await self._session(script)).end()
            await self._work()
        session = await self._session(last)
        for question in self.case.questions:
            self.seen.asked.append(await self._ask(session, question))
        await session.end()
        await self._work()

    async def _session(self, script: ImportedConversation) -> Session:
        session = self.memory.session(user=self.case.user, session=script.session)
        for start in range(0, len(script.messages), _STEP):
            messages = script.messages[start : start + _STEP]
            context = await session.context(messages[0].content)
            self.seen.contexts.append(_Turn(context.tokens, context.tokens_full_history, context.coverage.counts()))
            await self.services.ingest.append(session.key, messages, turns=script.turns)
            await self._work()
        return session

    async def _work(self) -> None:
        while await self.services.worker.step():
            pass

    async def _ask(self, session: Session, question: Question) -> _Asked:
        prompts = {budget: await session.context(question.text, budget=budget) for budget in BUDGETS}
        places = {budget: _places(context, session.key) for budget, context in prompts.items()}
        return _Asked(
            *(
                {
                    budget: len(question.evidence & _NONE.union(*(kinds[which] for which in wanted)))
                    / len(question.evidence)
                    for budget, kinds in places.items()
                }
                for wanted in _SHARES.values()
            )
        )


def _places(context: Context, key: SessionKey) -> tuple[frozenset[Place], ...]:
    """Messages that stand verbatim, that a point speaks for, and that search brought back whole."""

    def of(spans: Sequence[SeqRange]) -> frozenset[Place]:
        return frozenset((key.session, seq) for seq in chain.from_iterable(spans))

    quoted = (line.message for line in context.lines if line.included and line.whole and line.message is not None)
    return (
        of(context.coverage.verbatim),
        of(context.coverage.summarised),
        frozenset((found.session, seq) for found, seq in quoted),
    )
