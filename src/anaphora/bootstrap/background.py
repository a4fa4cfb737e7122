"""Build what works in the background: the handlers of jobs, and the worker."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from anaphora.bootstrap.ground import Ground
from anaphora.bootstrap.providers import (
    extractive_from,
    extractors_from,
    reflectors_from,
    sentence_topics_from,
    spoken_from,
    summarisers_from,
    topic_models_from,
)
from anaphora.domain.jobs import JobKind
from anaphora.domain.keys import uuid7
from anaphora.domain.summaries import Method
from anaphora.services.archiving import Archiving
from anaphora.services.describing import Describe
from anaphora.services.document_vectors import DocumentVectors
from anaphora.services.embed import Embed
from anaphora.services.extract import Extract
from anaphora.services.following import Follow
from anaphora.services.jobs import Jobs
from anaphora.services.meanings import Meanings
from anaphora.services.planning import ReadingSchedule
from anaphora.services.reflect import Reflect
from anaphora.services.summarise import Summarise
from anaphora.settings import Settings
from anaphora.worker.handlers import Handler
from anaphora.worker.loop import Worker
from anaphora.worker.upkeep import Upkeep


def schedule_from(settings: Settings) -> ReadingSchedule | None:
    """When sessions are read for facts; None: never."""
    if settings.extraction == "none":
        return None
    return ReadingSchedule(extraction=settings.batches(), idle_seconds=settings.batch_extraction.idle_seconds)


def worker_and_jobs(ground: Ground, upkeep: Sequence[Callable[[], Awaitable[object]]]) -> tuple[Worker, Jobs]:
    """Who does background work, and who tells of it."""
    world = ground.world
    extract = _extract(ground)
    summarise = _summarise(ground, extract)
    reflect = _reflect(ground)
    with_model = any(service.model is not None or service.model_by_agent for service in (summarise, extract, reflect))
    handlers: dict[JobKind, Handler] = {
        JobKind.SUMMARISE: summarise,
        JobKind.REBUILD: summarise,
        JobKind.EXTRACT: extract,
        JobKind.REEXTRACT: extract,
        JobKind.REFLECT: reflect,
    }
    handlers |= _of_topics(ground)
    if ground.embedder is not None:
        handlers[JobKind.EMBED] = Embed(
            store=ground.store,
            planning=ground.planning,
            embedder=ground.embedder,
            meanings=Meanings(ground.embedder),
            clock=world.clock,
            failpoint=world.failpoint,
        )
    owner = str(uuid7(world.clock.now(), world.randomness(10)))
    worker = Worker(
        store=ground.store,
        handlers=handlers,
        clock=world.clock,
        randomness=world.randomness,
        failpoint=world.failpoint,
        work=ground.planning.work,
        owner=owner,
        with_model=with_model,
        beside=_of_documents(ground, owner),
        upkeep=Upkeep(tasks=upkeep),
    )
    jobs = Jobs(
        store=ground.store,
        clock=world.clock,
        failpoint=world.failpoint,
        with_model=with_model,
        with_embedder=JobKind.EMBED in handlers,
    )
    return worker, jobs


def _of_documents(ground: Ground, owner: str) -> DocumentVectors | None:
    """Who embeds documents."""
    if ground.embedder is None:
        return None
    return DocumentVectors(
        store=ground.store,
        embedder=ground.embedder,
        clock=ground.world.clock,
        randomness=ground.world.randomness,
        failpoint=ground.world.failpoint,
        work=ground.planning.work,
        owner=owner,
    )


def _of_topics(ground: Ground) -> dict[JobKind, Handler]:
    """Who finds where topics end, and who describes them."""
    world, meanings = ground.world, Meanings(ground.embedder)
    model, by_agent = topic_models_from(ground.settings, ground.memory_model, ground.counter, ground.models)
    follow = Follow(
        store=ground.store,
        strategies=ground.planning.strategies,
        planning=ground.planning,
        meanings=meanings,
        judge=model,
        judge_by_agent=by_agent,
        counter=ground.counter,
        clock=world.clock,
        randomness=world.randomness,
        failpoint=world.failpoint,
    )
    describe = Describe(
        store=ground.store,
        strategies=ground.planning.strategies,
        planning=ground.planning,
        meanings=meanings,
        model=model,
        model_by_agent=by_agent,
        sentences=sentence_topics_from(ground.counter, ground.embedder, Method.EXTRACTIVE),
        digest=sentence_topics_from(ground.counter, ground.embedder, Method.DIGEST),
        counter=ground.counter,
        clock=world.clock,
        failpoint=world.failpoint,
    )
    return {JobKind.FOLLOW: follow, JobKind.DESCRIBE: describe}


def _summarise(ground: Ground, extract: Extract) -> Summarise:
    settings, world = ground.settings, ground.world
    model, by_agent = summarisers_from(settings, ground.memory_model, ground.counter, ground.models)
    joins = ground.planning.schedule is not None and settings.one_model_for_all()
    return Summarise(
        store=ground.store,
        strategies=ground.planning.strategies,
        planning=ground.planning,
        model=model,
        model_by_agent=by_agent,
        extractive=extractive_from(ground.counter, ground.embedder, Method.EXTRACTIVE),
        digest=extractive_from(ground.counter, ground.embedder, Method.DIGEST),
        archiving=Archiving(count=ground.counter.count, chunking=settings.chunking()),
        counter=ground.counter,
        clock=world.clock,
        randomness=world.randomness,
        failpoint=world.failpoint,
        work=ground.planning.work,
        retention=settings.retain(),
        extract=extract if joins else None,
    )


def _extract(ground: Ground) -> Extract:
    settings, world = ground.settings, ground.world
    model, by_agent = extractors_from(settings, ground.memory_model, ground.counter, ground.models)
    return Extract(
        store=ground.store,
        extraction=settings.batches(),
        planning=ground.planning,
        learning=ground.learning,
        model=model,
        model_by_agent=by_agent,
        spoken=spoken_from(ground.counter, ground.embedder),
        counter=ground.counter,
        clock=world.clock,
        randomness=world.randomness,
        failpoint=world.failpoint,
        work=ground.planning.work,
        categories=settings.facts.categories,
        chunk_tokens=settings.batch_extraction.chunk_tokens,
    )


def _reflect(ground: Ground) -> Reflect:
    model, by_agent = reflectors_from(ground.settings, ground.memory_model, ground.counter, ground.models)
    return Reflect(
        store=ground.store,
        planning=ground.planning,
        model=model,
        model_by_agent=by_agent,
        counter=ground.counter,
        clock=ground.world.clock,
        failpoint=ground.world.failpoint,
        work=ground.planning.work,
    )
