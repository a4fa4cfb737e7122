"""Take a conversation through a memory as an application would, and measure every turn.

Nothing here knows how the memory works inside: it uses the public API only, and checks the memory's account of the
conversation against what it has itself handed over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any

import anyio

from anaphora.demo.script import Evidence, Question, Script, ScriptMessage, ScriptSession, ScriptTurn
from anaphora.domain.context import Context
from anaphora.domain.messages import Message
from anaphora.domain.summaries import Summary
from anaphora.errors import InvalidInput
from anaphora.memory import Memory, Session

#: seconds that background work may take between two turns before the conversation goes on without it
CATCH_UP = 60.0
#: messages that a person would look at after a search
FOUND = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One turn: what the prompt cost with memory and without, and where every earlier message was."""

    #: counts from 1 through all sessions
    turn: int
    session: str
    #: messages in the session before this turn
    head: int
    tokens: int
    tokens_full_history: int
    summarised: int
    verbatim: int
    elided: int
    #: why the account does not hold; None = every message is accounted for exactly once
    fault: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One link of the chain of summaries."""

    session: str
    version: int
    #: the version that it carried on from
    base: int | None
    #: the messages that it speaks for, half-open
    start: int
    stop: int
    method: str
    model: str | None
    tokens: int
    points: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one turn brought: a measure, and the versions that were made after it."""

    measure: Measure
    versions: tuple[Version, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A question of the far past and what a search brought back."""

    question: Question
    #: best first
    found: tuple[tuple[str, Message], ...]
    #: place of the evidence among them, from 1; None = not among them
    rank: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """The whole run in numbers."""

    turns: int
    messages: int
    tokens: int
    tokens_full_history: int
    #: turns whose account held
    intact: int
    versions: int
    #: messages that were elided when their session had ended
    elided: int

    @property
    def saved(self) -> float:
        """The part of all prompt tokens that the memory saved, 0 to 1."""
        return 1 - self.tokens / self.tokens_full_history if self.tokens_full_history else 0.0

    @property
    def elided_share(self) -> float:
        """The part of all messages that is declared elided at the end, 0 to 1."""
        return self.elided / self.messages if self.messages else 0.0

    def to_dict(self) -> dict[str, Any]:
        """The numbers as JSON types."""
        return {**asdict(self), "saved": round(self.saved, 4), "elided_share": round(self.elided_share, 4)}


class Replay:
    """One run of a script through a memory.

    Args:
        memory: with a worker.
        script: the conversation.
        strategy: the compaction; None = the configured default.
        pause: seconds between two turns, for those who watch.

    """

    def __init__(self, memory: Memory, script: Script, *, strategy: str | None = None, pause: float = 0.0) -> None:
        self._memory = memory
        self._script = script
        self._strategy = strategy
        self._pause = pause
        self._measures: list[Measure] = []
        self._versions: list[Version] = []
        self._elided = 0
        self._messages = 0

    @property
    def measures(self) -> Sequence[Measure]:
        """The turns so far."""
        return self._measures

    @property
    def versions(self) -> Sequence[Version]:
        """The summaries so far, in the order in which they were made."""
        return self._versions

    async def run(self) -> AsyncGenerator[Step]:
        """Turn by turn; a session ends after its last turn.

        Raises:
            InvalidInput: a session of the script has messages already.

        """
        for script in self._script.sessions:
            session = self._memory.session(user=self._script.user, session=script.session, strategy=self._strategy)
            if await session.messages(limit=1):
                raise InvalidInput(
                    f"session {script.session!r} of {self._script.user!r} is in this database already: "
                    "give the demo a new file with --db"
                )
            turns = script.turns
            for index, turn in enumerate(turns):
                yield await self._turn(session, script, index, turn)
                if self._pause:
                    await anyio.sleep(self._pause)
            self._elided += (await session.context()).coverage.counts()["elided"]
            self._messages += 2 * len(turns)

    async def _turn(self, session: Session, script: ScriptSession, index: int, turn: ScriptTurn) -> Step:
        """Ask for the prompt, answer, hand both messages over, and let the worker catch up."""
        context = await session.context(turn.user.content)
        counts = context.coverage.counts()
        measure = Measure(
            turn=len(self._measures) + 1,
            session=script.session,
            head=2 * index,
            tokens=context.tokens,
            tokens_full_history=context.tokens_full_history,
            summarised=counts["summarised"],
            verbatim=counts["verbatim"],
            elided=counts["elided"],
            fault=fault(context, script.messages[: 2 * index]),
        )
        self._measures.append(measure)
        await session.add_turn([_as_given(turn.user), _as_given(turn.assistant)])
        if index + 1 == len(script.turns):
            await session.end()
        await self._memory.idle(CATCH_UP)
        return Step(measure=measure, versions=await self._new_versions(session, script.session))

    async def _new_versions(self, session: Session, name: str) -> tuple[Version, ...]:
        """The versions since the last look, oldest first."""
        known = max((v.version for v in self._versions if v.session == name), default=0)
        made: list[Summary] = []
        before: int | None = None
        while page := await session.summaries(limit=20, before=before):
            made += [summary for summary in page if summary.version > known]
            before = page[-1].version
            if before <= known + 1:
                break
        numbers = {summary.id: summary.version for summary in chain(page, made)}
        new = tuple(_version(summary, name, numbers) for summary in reversed(made))
        self._versions += new
        return new

    async def ask(self) -> tuple[Finding, ...]:
        """Search for the answer to every question with the words that go with it."""
        return tuple([await self._find(question) for question in self._script.questions])

    async def _find(self, question: Question) -> Finding:
        hits = await self._memory.search(question.search, user=self._script.user, limit=FOUND)
        places = [Evidence(session=hit.key.session, seq=hit.message.seq) for hit in hits]
        rank = next((at for at, place in enumerate(places, start=1) if place in question.evidence), None)
        return Finding(question=question, found=tuple((hit.key.session, hit.message) for hit in hits), rank=rank)

    def totals(self) -> Totals:
        """The run so far."""
        return Totals(
            turns=len(self._measures),
            messages=self._messages,
            tokens=sum(m.tokens for m in self._measures),
            tokens_full_history=sum(m.tokens_full_history for m in self._measures),
            intact=sum(m.fault is None for m in self._measures),
            versions=len(self._versions),
            elided=self._elided,
        )


def fault(context: Context, said: Sequence[ScriptMessage]) -> str | None:
    """Why a context does not account for what was said, message by message; None = it does.

    Checked from the outside: each message is in exactly one of the three parts, what is declared verbatim stands in
    the prompt as it was said, and the prompt costs what it says and no more than its budget.
    """
    parts = context.coverage
    seen = Counter(chain.from_iterable(chain(parts.summarised, parts.verbatim, parts.elided)))
    wrong = [seq for seq in {*seen, *range(len(said))} if seen[seq] != (1 if seq < len(said) else 0)]
    if wrong:
        return f"message {min(wrong)} is accounted for {seen[min(wrong)]} times"
    shown = {message.seq: message for message in context.messages if message.seq is not None}
    if set(shown) != set(chain.from_iterable(parts.verbatim)):
        return "the messages in the prompt are not those that are declared verbatim"
    changed = [seq for seq, message in shown.items() if not message.shortened and message.content != said[seq].content]
    if changed:
        return f"message {min(changed)} is not in the prompt as it was said"
    if context.tokens != sum(message.tokens for message in context.messages) or context.tokens > context.budget:
        return f"the prompt is over its budget: {context.tokens} of {context.budget} tokens"
    return None


def _as_given(message: ScriptMessage) -> dict[str, Any]:
    return {"role": message.role, "content": message.content, "created_at": message.created_at}


def _version(summary: Summary, session: str, numbers: dict[Any, int]) -> Version:
    return Version(
        session=session,
        version=summary.version,
        base=numbers.get(summary.base_id),
        start=summary.range.start,
        stop=summary.range.stop,
        method=summary.method.value,
        model=summary.model,
        tokens=summary.tokens,
        points=tuple(point.text for point in summary.points),
    )
