"""Models from settings. Optional packages are imported here, when they are first needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeAlias, TypeVar

import anyio.to_thread

from anaphora.domain.summaries import Method
from anaphora.errors import ConfigError, MissingExtra, UnknownName
from anaphora.models.embedders.profiles import BGE_SMALL, GENERIC
from anaphora.models.extractive import ExtractiveSummariser
from anaphora.models.files import BGE_SMALL_FILES, HOW_TO_PULL, find
from anaphora.models.sentence_topics import SentenceTopics
from anaphora.models.settings import LOCAL_RERANKER, ONNX_RERANKER, ModelSettings
from anaphora.models.spoken import SpokenExtractor
from anaphora.models.tokenizer import TiktokenCounter
from anaphora.ports.extraction import Extractor
from anaphora.ports.models import ChatModel, Embedder, Reranker, Summariser, TokenCounter
from anaphora.ports.reflection import Reflector
from anaphora.ports.topics import TopicDescriber
from anaphora.services.chat import Talker
from anaphora.services.extractors import ModelExtractor
from anaphora.services.reflectors import ModelReflector
from anaphora.services.rerankers import ModelReranker
from anaphora.services.summarisers import ModelSummariser
from anaphora.services.topic_models import ModelTopics
from anaphora.settings import Settings, Task

T = TypeVar("T")
#: of a model, and how it is to be asked
_Make: TypeAlias = Callable[[ChatModel, ModelSettings], T]


def counter_from(settings: Settings) -> TokenCounter:
    """The configured tokenizer."""
    return TiktokenCounter(settings.encoding)


class ChatModels:
    """Makes the models that settings name, each once, and closes those that it made."""

    def __init__(self) -> None:
        self._made: dict[tuple[object, ...], ChatModel] = {}
        self._closing = AsyncExitStack()

    def get(self, model: ModelSettings) -> ChatModel | None:
        """The model behind the settings, or None if none is named.

        Raises:
            MissingExtra: the packages for language models are not installed.
            ConfigError: no such provider, or its key is missing.

        """
        if model.model is None:
            return None
        key = model.api_key.get_secret_value() if model.api_key else None
        wanted = (model.model, model.base_url, key, model.timeout)
        if wanted not in self._made:
            self._made[wanted] = self._make(model.model, model.base_url, key, model.timeout or 60.0)
        return self._made[wanted]

    def _make(self, name: str, base_url: str | None, key: str | None, timeout: float) -> ChatModel:
        try:
            from anaphora.models.chat import PydanticAIChat  # noqa: PLC0415 - optional packages
        except ImportError:
            raise MissingExtra(f"the model {name!r}", "llm") from None
        made = PydanticAIChat.from_name(name, base_url=base_url, api_key=key, timeout=timeout)
        self._closing.push_async_callback(made.aclose)
        return made

    def also_close(self, close: Callable[[], None]) -> None:
        """Close something else with the models, in a thread."""
        self._closing.push_async_callback(anyio.to_thread.run_sync, close)

    async def aclose(self) -> None:
        """Close the connections of every model that was made; none is used after this."""
        await self._closing.aclose()


def embedder_from(settings: Settings, models: ChatModels | None = None) -> Embedder | None:
    """The configured embedder, or None where there is none: words alone work too. No network is touched.

    The local one is None where its packages or files are not there; one that was named must be there.

    Args:
        settings: what is configured.
        models: closes a remote embedder with its own; None: it is closed when nobody has it any more.

    Raises:
        MissingExtra: a remote one, and the packages for language models are not installed.
        ConfigError: no such embedder or provider, or its key is missing.

    """
    if settings.embedder == "none":
        return None
    if settings.embedder == "local":
        return _local_embedder(settings)
    if ":" not in settings.embedder:
        known = ("local", "none", "openai:MODEL", "ollama:MODEL", "PROVIDER:MODEL")
        raise ConfigError(str(UnknownName("embedder", settings.embedder, known)))
    try:
        from anaphora.models.embedders.remote import RemoteEmbedder  # noqa: PLC0415 - optional packages
    except ImportError:
        raise MissingExtra(f"the embedder {settings.embedder!r}", "llm") from None
    key = settings.embedder_api_key
    made = RemoteEmbedder.from_name(
        settings.embedder,
        base_url=settings.embedder_base_url,
        api_key=key.get_secret_value() if key else None,
        dimensions=settings.embedder_dimensions,
        timeout=settings.embedder_timeout,
        profile=replace(GENERIC, **settings.embedder_profile.model_dump()),
    )
    if models is not None:
        models.also_close(made.close)
    return made


def _local_embedder(settings: Settings) -> Embedder | None:
    try:
        from anaphora.models.embedders.onnx import OnnxEmbedder  # noqa: PLC0415 - optional packages
    except ImportError:
        return None
    try:
        files = find(settings.models_folder(), BGE_SMALL_FILES)
    except ConfigError:
        return None
    if files is None:
        return None
    return OnnxEmbedder(files.model, files.tokenizer, BGE_SMALL)


def reranker_from(
    settings: Settings, models: ChatModels, embedder: Embedder | None, counter: TokenCounter, secret: bytes
) -> Reranker | None:
    """What puts the first of what was found into a better order, or None if nobody is named. No network is touched.

    Args:
        settings: what is configured.
        models: makes and closes language models.
        embedder: whose encoder is used for MaxSim, if it is the local one; else that is opened.
        counter: the token counter.
        secret: the store's own.

    Raises:
        MissingExtra: the packages that it needs are not installed.
        ConfigError: its files are not here, there is no such provider, or its key is missing.

    """
    wanted = settings.reranker()
    model = None if wanted is None else models.get(wanted)
    if model is not None:
        return ModelReranker(model=model, counter=counter, secret=secret, input_tokens=settings.worker.input_tokens)
    if settings.rerank_provider == ONNX_RERANKER:
        return cross_encoder_from(settings)
    return _max_sim(settings, embedder) if settings.rerank_provider == LOCAL_RERANKER else None


def cross_encoder_from(settings: Settings) -> Reranker:
    """The user's own cross-encoder.

    Raises:
        MissingExtra: the packages that run it are not installed.
        ConfigError: its files are not there, are broken, or are something else.

    """
    try:
        from anaphora.models.cross_encoder import CrossEncoder  # noqa: PLC0415 - optional packages
    except ImportError:
        raise MissingExtra(f"rerank_provider = {ONNX_RERANKER!r}", "local") from None
    try:
        return CrossEncoder(Path(settings.rerank_model or "").expanduser())
    except (ConfigError, RuntimeError) as error:
        raise ConfigError(f"rerank_model: {error}") from error


def _max_sim(settings: Settings, embedder: Embedder | None) -> Reranker:
    try:
        from anaphora.models.embedders.onnx import OnnxEmbedder  # noqa: PLC0415 - optional packages
        from anaphora.models.rerank import MaxSim  # noqa: PLC0415 - likewise
    except ImportError:
        raise MissingExtra(f"rerank_provider = {LOCAL_RERANKER!r}", "local") from None
    # one encoder does for both, if it is the one whose closeness was measured
    is_it = isinstance(embedder, OnnxEmbedder) and embedder.profile == BGE_SMALL
    encoder = embedder if is_it else _local_embedder(settings)
    if not isinstance(encoder, OnnxEmbedder):
        raise ConfigError(
            f"rerank_provider: {LOCAL_RERANKER!r} needs the files of the local embedder: {HOW_TO_PULL}, or leave it out"
        )
    return MaxSim(encoder, name=f"{LOCAL_RERANKER} ({encoder.profile.id})")


def talkers_from(
    settings: Settings, chat_model: ChatModel | None, models: ChatModels
) -> tuple[Talker | None, Mapping[str, Talker]]:
    """The model that answers, and the agents that have one of their own."""
    base = settings.chat_model()
    model = chat_model or models.get(base)
    default = Talker(model=model, options=settings.chat_options(base)) if model else None
    own: dict[str, Talker] = {}
    for agent in settings.agents:
        wanted = settings.chat_model(agent)
        if wanted == base:
            continue
        same_model = (wanted.model, wanted.base_url) == (base.model, base.base_url)
        mine = model if same_model else models.get(wanted)
        if mine is not None:
            own[agent] = Talker(model=mine, options=settings.chat_options(wanted))
    return default, own


def summarisers_from(
    settings: Settings, memory_model: ChatModel | None, counter: TokenCounter, models: ChatModels
) -> tuple[Summariser | None, Mapping[str, Summariser]]:
    """The model that summarises, and the agents that have one of their own."""
    make: _Make[Summariser] = partial(_asking, ModelSummariser, settings, counter)
    return _for_agents(settings, "summarise", memory_model, models, make)


def extractors_from(
    settings: Settings, memory_model: ChatModel | None, counter: TokenCounter, models: ChatModels
) -> tuple[Extractor | None, Mapping[str, Extractor]]:
    """The model that reads for facts, and the agents that have one of their own."""
    make: _Make[Extractor] = partial(_asking, ModelExtractor, settings, counter)
    return _for_agents(settings, "extract", memory_model, models, make)


def topic_models_from(
    settings: Settings, memory_model: ChatModel | None, counter: TokenCounter, models: ChatModels
) -> tuple[ModelTopics | None, Mapping[str, ModelTopics]]:
    """The model that is asked about topics, and the agents that have one of their own."""
    make: _Make[ModelTopics] = partial(_asking, ModelTopics, settings, counter)
    return _for_agents(settings, "topics", memory_model, models, make)


def sentence_topics_from(counter: TokenCounter, embedder: Embedder | None, method: Method) -> TopicDescriber:
    """Who describes topics without a model."""
    return SentenceTopics(sentences=extractive_from(counter, embedder, method))


def reflectors_from(
    settings: Settings, memory_model: ChatModel | None, counter: TokenCounter, models: ChatModels
) -> tuple[Reflector | None, Mapping[str, Reflector]]:
    """The model that reflects upon sessions, and the agents that have one of their own."""
    make: _Make[Reflector] = partial(_asking, ModelReflector, settings, counter)
    return _for_agents(settings, "reflect", memory_model, models, make)


def spoken_from(counter: TokenCounter, embedder: Embedder | None) -> Extractor:
    """The extractor that needs no model."""
    return SpokenExtractor(sentences=extractive_from(counter, embedder, Method.EXTRACTIVE))


def extractive_from(counter: TokenCounter, embedder: Embedder | None, method: Method) -> Summariser:
    """The summariser that chooses sentences."""
    return ExtractiveSummariser(counter, embedder, method)


def _for_agents(
    settings: Settings,
    task: Task,
    memory_model: ChatModel | None,
    models: ChatModels,
    make: _Make[T],
) -> tuple[T | None, Mapping[str, T]]:
    """Who does a task for everybody, and for the agents that have a model of their own."""
    base = settings.memory_model_for(task=task)
    model = memory_model or models.get(base)
    own: dict[str, T] = {}
    for agent in settings.agents:
        wanted = settings.memory_model_for(agent, task=task)
        mine = None if wanted == base else models.get(wanted)
        if mine is not None:
            own[agent] = make(mine, wanted)
    return (make(model, base) if model else None), own


def _asking(
    kind: Callable[..., T], settings: Settings, counter: TokenCounter, model: ChatModel, wanted: ModelSettings
) -> T:
    return kind(
        model=model,
        counter=counter,
        temperature=settings.memory_temperature if wanted.temperature is None else wanted.temperature,
        input_tokens=settings.worker.input_tokens,
    )
