"""Remember the conversations, then ask every question in a session in which nothing was said."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

import anyio.to_thread

from anaphora.bootstrap import Services
from anaphora.bootstrap.process import settled
from anaphora.domain.context import Context
from anaphora.domain.jobs import JobKind
from anaphora.domain.keys import SessionKey
from anaphora.domain.search import SearchResult
from anaphora.errors import InvalidInput, ModelError
from anaphora.evals import archived
from anaphora.evals.baselines import Bm25
from anaphora.evals.cases import Case, Place, Question
from anaphora.evals.figures import BUDGETS, DEPTHS, Answered, Spent, report
from anaphora.memory import Memory
from anaphora.ports.models import Embedder
from anaphora.services.importing.into_log import IntoLog
from anaphora.services.importing.run import import_conversations
from anaphora.services.retrieve import Whose, space_of

#: passages among which the closest messages are chosen: a long message has dozens
_PASSAGES: Final = 2000

Tell = Callable[[str], None]


async def evaluate(
    services: Services, cases: Sequence[Case], tell: Tell, *, archive_only: bool = False
) -> dict[str, Any]:
    """Import the cases and ask their questions; what is found and shown, beside BM25 alone and vectors alone.

    Args:
        services: over a database that remembers nothing of these users; it does afterwards.
        cases: at least one question among them.
        tell: told how far it is.
        archive_only: archive everything then, and ask again for that alone; see `archived`.

    Returns:
        The document of `figures.report`; with `archive_only`, under that name what `archived.evaluate` returns.

    Raises:
        InvalidInput: the database remembers one of the users already; nothing was written.
        ModelError: the embedder failed.
        StoreError: the database failed.

    """
    memory = Memory(services)
    await _check_unknown(memory, cases)
    messages = await _remember(services, cases)
    tell(f"{messages:,} messages imported")
    seconds = await _work(services, cases)
    embedded = None if services.retrieve.embedder is None else seconds / messages
    tell("background work done")
    answers: list[Answered] = []
    total = sum(len(case.questions) for case in cases)
    for case in cases:
        with Bm25(case.texts()) as words, settled():
            asking = _Asking(services=services, memory=memory, case=case, words=words)
            answers += [await asking.answer(question) for question in case.questions]
        tell(f"{len(answers):,} of {total:,} questions asked")
    document = report(answers, embedded=embedded)
    if archive_only:
        document["archive_only"] = await archived.evaluate(services, cases)
        tell("asked again of archived conversations and facts alone")
    return document


def shown_messages(context: Context) -> frozenset[Place]:
    """The messages that were found for the question and stand in the prompt whole.

    Of a long message a prompt may show the passage that answers: then the message is not among these.
    """
    whole = (line.message for line in context.lines if line.included and line.whole and line.message is not None)
    return frozenset((key.session, seq) for key, seq in whole)


async def _check_unknown(memory: Memory, cases: Iterable[Case]) -> None:
    for case in cases:
        if await memory.sessions(user=case.user, limit=1):
            raise InvalidInput(
                f"the database already remembers user {case.user!r}: give one that knows none of the file's users"
            )


async def _remember(services: Services, cases: Iterable[Case]) -> int:
    """How many messages were appended: all, with their own times and speakers."""
    settings = services.settings
    imported = await import_conversations(
        IntoLog(services.ingest),
        chain.from_iterable(case.sessions for case in cases),
        default_user=None,
        agent=settings.agent,
        tenant=settings.tenant,
    )
    return imported.messages


async def _work(services: Services, cases: Iterable[Case]) -> float:
    """Do all that is due; how many seconds of it went into vectors."""
    worker, seconds = services.worker, 0.0
    while (job := await worker.claim()) is not None:
        started = time.perf_counter()
        await worker.do(job)
        if job.kind is JobKind.EMBED:
            seconds += time.perf_counter() - started
    embedder = services.retrieve.embedder
    if embedder is not None:
        await _check_embedded(services, cases, embedder)
    return seconds


async def _check_embedded(services: Services, cases: Iterable[Case], embedder: Embedder) -> None:
    tenant, space = services.settings.tenant, space_of(embedder)
    users = [case.user for case in cases]
    behind = await services.store.read(
        tenant,
        lambda unit: [
            user for user in users if unit.embedding.is_behind(tenant, user, agent=None, session_id=None, space=space)
        ],
    )
    if behind:
        raise ModelError(f"messages of {behind[0]!r} got no vectors: see why with -v, or leave them out: --no-embedder")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asking:
    """The questions of one user."""

    services: Services
    memory: Memory
    case: Case
    words: Bm25

    async def answer(self, question: Question) -> Answered:
        """Ask for messages, for prompts, and of the baselines."""
        started = time.perf_counter()
        hits = await self.memory.search(question.text, user=self.case.user, limit=DEPTHS[-1])
        whole = time.perf_counter() - started
        search, cpu = await self._timed(question.text)
        return Answered(
            question=question,
            found=[(hit.key.session, hit.message.seq) for hit in hits],
            shown={budget: await self._shown(question.text, budget) for budget in BUDGETS},
            baselines=await self._baselines(question.text),
            spent=Spent(search=search, cpu=cpu, whole=whole),
        )

    async def _timed(self, question: str) -> tuple[float, float]:
        """Seconds and processor time of the same search when the question's vector is there."""
        retrieve, tenant = self.services.retrieve, self.services.settings.tenant
        asked = await retrieve.ask(question)
        whose = Whose(tenant=tenant, user=self.case.user)
        look: Callable[[Any], SearchResult] = lambda unit: retrieve.look(unit, asked, whose, DEPTHS[-1])  # noqa: E731
        started, cpu = time.perf_counter(), time.process_time()
        await self.services.store.read(tenant, look)
        return time.perf_counter() - started, time.process_time() - cpu

    async def _shown(self, question: str, budget: int) -> frozenset[Place]:
        fresh = self.memory.session(user=self.case.user, session=self.case.unused_session())
        return shown_messages(await fresh.context(question, budget=budget))

    async def _baselines(self, question: str) -> Mapping[str, Sequence[Place]]:
        found: dict[str, Sequence[Place]] = {"bm25": self.words.find(question, DEPTHS[-1])}
        embedder = self.services.retrieve.embedder
        if embedder is not None:
            found["vectors"] = await self._by_vectors(embedder, question)
        return found

    async def _by_vectors(self, embedder: Embedder, question: str) -> Sequence[Place]:
        """Messages by their closest passage, best first."""
        tenant, vector = self.services.settings.tenant, await anyio.to_thread.run_sync(embedder.embed_query, question)
        matches = await self.services.store.read(
            tenant,
            lambda unit: unit.vectors.nearest(
                tenant,
                self.case.user,
                agent=None,
                session_id=None,
                space=space_of(embedder),
                vector=vector,
                limit=_PASSAGES,
            ),
        )
        keys: Iterable[tuple[SessionKey, int]] = ((match.key, match.seq) for match in matches)
        return list(dict.fromkeys((key.session, seq) for key, seq in keys))[: DEPTHS[-1]]
