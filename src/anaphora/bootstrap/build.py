"""Build the services of one process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio

from anaphora.bootstrap.providers import (
    ChatModels,
    counter_from,
    embedder_from,
    extractive_from,
    summarisers_from,
    talkers_from,
)
from anaphora.bootstrap.stores import open_store
from anaphora.bootstrap.system import SystemClock, failpoint_from, system_randomness
from anaphora.domain.jobs import JobKind
from anaphora.domain.keys import uuid7
from anaphora.domain.summaries import Method
from anaphora.ports.clock import Clock, Failpoint, Randomness
from anaphora.ports.models import ChatModel, Embedder, TokenCounter
from anaphora.ports.store import Store
from anaphora.rules.relevant import Thresholds
from anaphora.services.chat import Chat
from anaphora.services.context import Contexts, Recall
from anaphora.services.editing import Editing
from anaphora.services.embed import Embed
from anaphora.services.export import Export
from anaphora.services.importing.restore import Restore
from anaphora.services.ingest import Ingest
from anaphora.services.jobs import Jobs
from anaphora.services.planning import Planning
from anaphora.services.reindex import Reindex
from anaphora.services.retrieve import Retrieve
from anaphora.services.sessions import Sessions
from anaphora.services.settings import Strategies, live_reader
from anaphora.services.summarise import Summarise
from anaphora.settings import Settings
from anaphora.worker.loop import Worker


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """Adapters that the caller brings instead of those that the settings name."""

    chat_model: ChatModel | None = None
    memory_model: ChatModel | None = None
    embedder: Embedder | None = None
    counter: TokenCounter | None = None
    clock: Clock | None = None
    randomness: Randomness | None = None
    failpoint: Failpoint | None = None


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
    jobs: Jobs
    chat: Chat
    export: Export
    restore: Restore
    reindex: Reindex
    worker: Worker


@dataclass(frozen=True, slots=True, kw_only=True)
class _World:
    clock: Clock
    randomness: Randomness
    failpoint: Failpoint


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
    world = _World(
        clock=given.clock or SystemClock(),
        randomness=given.randomness or system_randomness,
        failpoint=given.failpoint or failpoint_from(settings.failpoint),
    )
    work, strategies = settings.work(), settings.strategies()
    embeds = given.embedder is not None or settings.embedder != "none"
    planning = Planning(strategies=strategies, randomness=world.randomness, work=work, embeds=embeds)
    models = ChatModels()
    async with open_store(
        settings,
        planner=planning.is_due,
        reader_of=lambda strategy: live_reader(strategies.get(strategy).name),
        max_attempts=work.retry.max_attempts,
        embeds=embeds,
        read_only=read_only,
        clock=world.clock,
        time=given.clock,
        randomness=world.randomness,
        failpoint=world.failpoint,
    ) as store:
        try:
            yield await _services(settings, given, world, store, planning, models)
        finally:
            with anyio.CancelScope(shield=True):
                await models.aclose()


async def _services(
    settings: Settings, given: Overrides, world: _World, store: Store, planning: Planning, models: ChatModels
) -> Services:
    strategies = planning.strategies
    counter = given.counter or counter_from(settings)
    secret = await store.secret()
    ingest = _ingest(settings, world, store, counter, secret)
    editing = Editing(
        store=store,
        planning=planning,
        counter=counter,
        clock=world.clock,
        failpoint=world.failpoint,
        max_message_bytes=settings.max_message_bytes,
    )
    embedder = given.embedder or embedder_from(settings)
    retrieve = Retrieve(store=store, embedder=embedder, by_meaning=planning.embeds)
    contexts = _contexts(settings, store, strategies, counter, secret, retrieve)
    sessions = Sessions(
        store=store,
        strategies=strategies,
        planning=planning,
        clock=world.clock,
        randomness=world.randomness,
        failpoint=world.failpoint,
    )
    talker, talkers = talkers_from(settings, given.chat_model, models)
    summarise, with_model = _summarise(
        settings, given, world, store, planning, models, counter=counter, embedder=embedder
    )
    embed = _embed(world, store, planning, embedder)
    return Services(
        settings=settings,
        store=store,
        clock=world.clock,
        strategies=strategies,
        ingest=ingest,
        editing=editing,
        contexts=contexts,
        sessions=sessions,
        retrieve=retrieve,
        jobs=_jobs(world, store, with_model=with_model, with_embedder=embed is not None),
        chat=Chat(
            ingest=ingest,
            contexts=contexts,
            sessions=sessions,
            retrieve=retrieve,
            talker=talker,
            talker_by_agent=talkers,
        ),
        export=Export(store=store),
        restore=_restore(settings, world, store, planning),
        reindex=Reindex(
            store=store, planning=planning, embedder=embedder, clock=world.clock, failpoint=world.failpoint
        ),
        worker=_worker(world, store, planning, summarise, embed, with_model=with_model),
    )


def _contexts(
    settings: Settings,
    store: Store,
    strategies: Strategies,
    counter: TokenCounter,
    secret: bytes,
    retrieve: Retrieve,
) -> Contexts:
    thresholds = Thresholds(elsewhere=settings.recall.threshold, here=settings.recall.threshold_here)
    return Contexts(
        store=store,
        strategies=strategies,
        counter=counter,
        secret=secret,
        default_budget=settings.context_budget,
        retrieve=retrieve,
        recall=Recall(tokens=settings.recall.tokens, thresholds=thresholds),
    )


def _jobs(world: _World, store: Store, *, with_model: bool, with_embedder: bool) -> Jobs:
    return Jobs(
        store=store,
        clock=world.clock,
        failpoint=world.failpoint,
        with_model=with_model,
        with_embedder=with_embedder,
    )


def _embed(world: _World, store: Store, planning: Planning, embedder: Embedder | None) -> Embed | None:
    if embedder is None:
        return None
    return Embed(store=store, planning=planning, embedder=embedder, clock=world.clock, failpoint=world.failpoint)


def _worker(
    world: _World,
    store: Store,
    planning: Planning,
    summarise: Summarise,
    embed: Embed | None,
    *,
    with_model: bool,
) -> Worker:
    return Worker(
        store=store,
        handlers={
            JobKind.SUMMARISE: summarise,
            JobKind.REBUILD: summarise,
            **({JobKind.EMBED: embed} if embed is not None else {}),
        },
        clock=world.clock,
        randomness=world.randomness,
        failpoint=world.failpoint,
        work=planning.work,
        owner=str(uuid7(world.clock.now(), world.randomness(10))),
        with_model=with_model,
    )


def _ingest(settings: Settings, world: _World, store: Store, counter: TokenCounter, secret: bytes) -> Ingest:
    return Ingest(
        store=store,
        counter=counter,
        clock=world.clock,
        randomness=world.randomness,
        failpoint=world.failpoint,
        secret=secret,
        max_message_bytes=settings.max_message_bytes,
    )


def _restore(settings: Settings, world: _World, store: Store, planning: Planning) -> Restore:
    return Restore(
        store=store,
        planning=planning,
        clock=world.clock,
        randomness=world.randomness,
        failpoint=world.failpoint,
        max_message_bytes=settings.max_message_bytes,
    )


def _summarise(
    settings: Settings,
    given: Overrides,
    world: _World,
    store: Store,
    planning: Planning,
    models: ChatModels,
    *,
    counter: TokenCounter,
    embedder: Embedder | None,
) -> tuple[Summarise, bool]:
    model, by_agent = summarisers_from(settings, given.memory_model or given.chat_model, counter, models)
    service = Summarise(
        store=store,
        strategies=planning.strategies,
        planning=planning,
        model=model,
        model_by_agent=by_agent,
        extractive=extractive_from(counter, embedder, Method.EXTRACTIVE),
        digest=extractive_from(counter, embedder, Method.DIGEST),
        counter=counter,
        clock=world.clock,
        randomness=world.randomness,
        failpoint=world.failpoint,
        work=planning.work,
    )
    return service, model is not None or bool(by_agent)
