"""Build the services of one process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import anyio

from anaphora.bootstrap.background import schedule_from, worker_and_jobs
from anaphora.bootstrap.ground import Ground, Overrides, World
from anaphora.bootstrap.providers import ChatModels, counter_from, embedder_from, reranker_from, talkers_from
from anaphora.bootstrap.stores import open_store
from anaphora.bootstrap.system import SystemClock, failpoint_from, system_randomness
from anaphora.parsers.files import FileParser
from anaphora.ports.clock import Clock
from anaphora.ports.store import Store
from anaphora.rules.conversations import Wanted
from anaphora.rules.facts.keeping import Limits
from anaphora.rules.relevant import Thresholds
from anaphora.services.access import Audit, Keys
from anaphora.services.changes import Changes
from anaphora.services.chat import Chat
from anaphora.services.context import Contexts, Recall
from anaphora.services.conversations import Conversations, Reach
from anaphora.services.documents import Documents
from anaphora.services.editing import Editing
from anaphora.services.erase import Erase
from anaphora.services.export import Export
from anaphora.services.facts import Facts
from anaphora.services.importing.restore import Restore
from anaphora.services.ingest import Ingest
from anaphora.services.jobs import Jobs
from anaphora.services.keeping import Keeping
from anaphora.services.known import Knowledge
from anaphora.services.learning import Learning
from anaphora.services.notepads import Notepads
from anaphora.services.pausing import Pausing
from anaphora.services.planning import Planning
from anaphora.services.reindex import Reindex
from anaphora.services.reranking import Reranking
from anaphora.services.retention import Retain
from anaphora.services.retrieve import Retrieve
from anaphora.services.searching import Search
from anaphora.services.segments import Segments
from anaphora.services.sessions import Sessions
from anaphora.services.settings import Strategies, live_reader
from anaphora.services.subjects import Subjects
from anaphora.services.topical import Topical
from anaphora.settings import AgentSettings, Settings
from anaphora.worker.loop import Worker

__all__ = ["Overrides", "Services", "open_services"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Everything that the public API stands on."""

    settings: Settings
    store: Store
    clock: Clock
    strategies: Strategies
    ingest: Ingest
    editing: Editing
    contexts: Contexts
    sessions: Sessions
    retrieve: Retrieve
    search: Search
    jobs: Jobs
    chat: Chat
    export: Export
    restore: Restore
    reindex: Reindex
    facts: Facts
    subjects: Subjects
    segments: Segments
    notepads: Notepads
    pausing: Pausing
    changes: Changes
    keys: Keys
    audit: Audit
    documents: Documents
    erase: Erase
    retain: Retain
    worker: Worker


@asynccontextmanager
async def open_services(
    settings: Settings, overrides: Overrides | None = None, *, read_only: bool = False
) -> AsyncIterator[Services]:
    """The services over the configured database, closed at the end.

    Raises:
        ConfigError: a setting that cannot work.
        StoreError: the database cannot be opened.

    """
    given = overrides or Overrides()
    world = World(
        clock=given.clock or SystemClock(),
        randomness=given.randomness or system_randomness,
        failpoint=given.failpoint or failpoint_from(settings.failpoint),
    )
    work, strategies = settings.work(), settings.strategies()
    embeds = given.embedder is not None or settings.embedder != "none"
    schedule = schedule_from(settings)
    planning = Planning(strategies=strategies, randomness=world.randomness, work=work, embeds=embeds, schedule=schedule)
    planning = replace(planning, notes=settings.notes())
    models = ChatModels()
    async with open_store(
        settings,
        planner=planning.due,
        reader_of=lambda strategy: live_reader(strategies.get(strategy).name),
        max_attempts=work.retry.max_attempts,
        embeds=embeds,
        schedule=schedule,
        read_only=read_only,
        clock=world.clock,
        time=given.clock,
        randomness=world.randomness,
        failpoint=world.failpoint,
    ) as store:
        secret = await store.secret()
        embedder, counter = given.embedder or embedder_from(settings, models), given.counter or counter_from(settings)
        ground = Ground(
            settings=settings,
            world=world,
            store=store,
            planning=planning,
            learning=Learning(randomness=world.randomness, secret=secret, keeping=_keeping(settings, strategies)),
            models=models,
            chat_model=given.chat_model,
            memory_model=given.memory_model or given.chat_model,
            embedder=embedder,
            reranker=given.reranker or reranker_from(settings, models, embedder, counter, secret),
            counter=counter,
            secret=secret,
        )
        try:
            yield _services(ground)
        finally:
            with anyio.CancelScope(shield=True):
                await models.aclose()


def _services(ground: Ground) -> Services:
    store, world, planning = ground.store, ground.world, ground.planning
    retrieve = Retrieve(store=store, embedder=ground.embedder, by_meaning=planning.embeds, reranking=_reranking(ground))
    search, documents = Search(store=store, retrieve=retrieve), _documents(ground, retrieve)
    ingest, contexts, sessions = _ingest(ground), _contexts(ground, retrieve, documents), _sessions(ground)
    talker, talkers = talkers_from(ground.settings, ground.chat_model, ground.models)
    erase = _erase(ground)
    retain = Retain(
        store=store,
        erase=erase,
        planning=ground.planning,
        policy=ground.settings.retain(),
        clock=world.clock,
        failpoint=world.failpoint,
    )
    worker, jobs = worker_and_jobs(ground, [erase.finish_all, retain.run_all])
    return Services(
        settings=ground.settings,
        store=store,
        clock=world.clock,
        strategies=planning.strategies,
        ingest=ingest,
        editing=_editing(ground),
        contexts=contexts,
        sessions=sessions,
        retrieve=retrieve,
        search=search,
        jobs=jobs,
        chat=Chat(
            ingest=ingest,
            contexts=contexts,
            sessions=sessions,
            search=search,
            talker=talker,
            talker_by_agent=talkers,
        ),
        export=Export(store=store),
        restore=_restore(ground),
        reindex=Reindex(
            store=store, planning=planning, embedder=ground.embedder, clock=world.clock, failpoint=world.failpoint
        ),
        facts=_facts(ground),
        subjects=Subjects(store=store, clock=world.clock, failpoint=world.failpoint),
        segments=Segments(store=store, strategies=planning.strategies),
        notepads=_notepads(ground),
        pausing=Pausing(store=store, clock=world.clock, failpoint=world.failpoint),
        changes=Changes(store, world.clock),
        keys=Keys(store=store, clock=world.clock, randomness=world.randomness, failpoint=world.failpoint),
        audit=Audit(store=store, clock=world.clock, secret=ground.secret, failpoint=world.failpoint),
        documents=documents,
        erase=erase,
        retain=retain,
        worker=worker,
    )


def _reranking(ground: Ground) -> Reranking:
    settings = ground.settings
    return Reranking(reranker=ground.reranker, candidates=settings.rerank_candidates, timeout=settings.rerank_timeout)


def _ingest(ground: Ground) -> Ingest:
    return Ingest(
        store=ground.store,
        counter=ground.counter,
        clock=ground.world.clock,
        randomness=ground.world.randomness,
        failpoint=ground.world.failpoint,
        secret=ground.secret,
        max_message_bytes=ground.settings.max_message_bytes,
    )


def _editing(ground: Ground) -> Editing:
    return Editing(
        store=ground.store,
        planning=ground.planning,
        learning=ground.learning,
        counter=ground.counter,
        clock=ground.world.clock,
        failpoint=ground.world.failpoint,
        max_message_bytes=ground.settings.max_message_bytes,
    )


def _contexts(ground: Ground, retrieve: Retrieve, documents: Documents) -> Contexts:
    settings = ground.settings
    thresholds = Thresholds(elsewhere=settings.recall.threshold, here=settings.recall.threshold_here)
    return Contexts(
        store=ground.store,
        strategies=ground.planning.strategies,
        counter=ground.counter,
        secret=ground.secret,
        default_budget=settings.context_budget,
        retrieve=retrieve,
        recall=Recall(tokens=settings.recall.tokens, thresholds=thresholds),
        knowledge=Knowledge(tokens=settings.facts.tokens, own_agent=settings.facts.agents == "own"),
        topical=Topical(embedder=ground.embedder),
        conversations=_conversations(settings, documents),
        notes=settings.notes(),
    )


def _conversations(settings: Settings, documents: Documents) -> Conversations:
    own = settings.recall
    reach = Reach(sessions=own.sessions, conversations=own.conversations, agents=own.agents)
    return Conversations(
        documents=documents,
        reach=reach,
        by_agent={name: _reach(reach, agent) for name, agent in settings.agents.items()},
        wanted=Wanted(threshold=own.conversation_threshold, limit=own.conversation_limit),
        phrases=settings.triggers(),
    )


def _reach(reach: Reach, agent: AgentSettings) -> Reach:
    return Reach(
        sessions=reach.sessions if agent.recall_sessions is None else agent.recall_sessions,
        conversations=reach.conversations if agent.recall_conversations is None else agent.recall_conversations,
        agents=reach.agents if agent.recall_agents is None else agent.recall_agents,
    )


def _sessions(ground: Ground) -> Sessions:
    return Sessions(
        store=ground.store,
        strategies=ground.planning.strategies,
        planning=ground.planning,
        learning=ground.learning,
        clock=ground.world.clock,
        randomness=ground.world.randomness,
        failpoint=ground.world.failpoint,
    )


def _facts(ground: Ground) -> Facts:
    return Facts(
        store=ground.store,
        learning=ground.learning,
        clock=ground.world.clock,
        randomness=ground.world.randomness,
        failpoint=ground.world.failpoint,
        categories=ground.settings.facts.categories,
    )


def _notepads(ground: Ground) -> Notepads:
    return Notepads(
        store=ground.store,
        notes=ground.planning.notes,
        counter=ground.counter,
        clock=ground.world.clock,
        failpoint=ground.world.failpoint,
    )


def _documents(ground: Ground, retrieve: Retrieve) -> Documents:
    own = ground.settings.knowledge
    return Documents(
        store=ground.store,
        retrieve=retrieve,
        parser=FileParser(max_bytes=own.max_bytes, max_pages=own.max_pages, max_seconds=own.max_seconds),
        counter=ground.counter,
        clock=ground.world.clock,
        randomness=ground.world.randomness,
        failpoint=ground.world.failpoint,
        chunking=ground.settings.chunking(),
        max_text_bytes=own.max_text_bytes,
        max_seconds=own.max_seconds,
    )


def _erase(ground: Ground) -> Erase:
    return Erase(
        store=ground.store,
        planning=ground.planning,
        learning=ground.learning,
        secret=ground.secret,
        clock=ground.world.clock,
        randomness=ground.world.randomness,
        failpoint=ground.world.failpoint,
    )


def _keeping(settings: Settings, strategies: Strategies) -> Keeping:
    facts = settings.facts
    return Keeping(
        strategies=strategies,
        limits=Limits(capacity=facts.capacity, per_message=facts.per_message, per_session=facts.per_session),
        least=facts.min_importance,
        least_by_agent={
            name: agent.min_importance for name, agent in settings.agents.items() if agent.min_importance is not None
        },
    )


def _restore(ground: Ground) -> Restore:
    return Restore(
        store=ground.store,
        counter=ground.counter,
        chunking=ground.settings.chunking(),
        planning=ground.planning,
        clock=ground.world.clock,
        randomness=ground.world.randomness,
        failpoint=ground.world.failpoint,
        max_message_bytes=ground.settings.max_message_bytes,
    )
