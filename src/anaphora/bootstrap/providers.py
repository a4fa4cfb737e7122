"""Models from settings. Optional packages are imported here, when they are first needed."""

from __future__ import annotations

from collections.abc import Mapping

from anaphora.domain.summaries import Method
from anaphora.errors import ConfigError, MissingExtra
from anaphora.models.extractive import ExtractiveSummariser
from anaphora.models.files import BGE_SMALL_FILES, find
from anaphora.models.tokenizer import TiktokenCounter
from anaphora.ports.models import ChatModel, Embedder, Summariser, TokenCounter
from anaphora.services.chat import Talker
from anaphora.services.summarisers import ModelSummariser
from anaphora.settings import ModelSettings, Settings


def counter_from(settings: Settings) -> TokenCounter:
    """The configured tokenizer."""
    return TiktokenCounter(settings.encoding)


def chat_model_from(model: ModelSettings) -> ChatModel | None:
    """The model behind the settings, or None if none is named.

    Raises:
        MissingExtra: the packages for language models are not installed.
        ConfigError: no such provider, or its key is missing.

    """
    if model.model is None:
        return None
    try:
        from anaphora.models.chat import PydanticAIChat  # noqa: PLC0415 - optional packages
    except ImportError:
        raise MissingExtra(f"the model {model.model!r}", "llm") from None
    return PydanticAIChat.from_name(
        model.model,
        base_url=model.base_url,
        api_key=model.api_key.get_secret_value() if model.api_key else None,
        timeout=model.timeout or 60.0,
    )


def embedder_from(settings: Settings) -> Embedder | None:
    """The local embedder, or None where its packages or files are not there: words alone work too."""
    if settings.embedder == "none":
        return None
    try:
        from anaphora.models.embedders.onnx import OnnxEmbedder  # noqa: PLC0415 - optional packages
        from anaphora.models.embedders.profiles import BGE_SMALL  # noqa: PLC0415 - optional packages
    except ImportError:
        return None
    try:
        files = find(settings.models_folder(), BGE_SMALL_FILES)
    except ConfigError:
        return None
    if files is None:
        return None
    return OnnxEmbedder(files.model, files.tokenizer, BGE_SMALL)


def talkers_from(settings: Settings, chat_model: ChatModel | None) -> tuple[Talker | None, Mapping[str, Talker]]:
    """The model that answers, and the agents that have one of their own."""
    base = settings.chat_model()
    model = chat_model or chat_model_from(base)
    default = Talker(model=model, options=settings.chat_options(base)) if model else None
    own: dict[str, Talker] = {}
    for agent in settings.agents:
        wanted = settings.chat_model(agent)
        if wanted == base:
            continue
        same_model = (wanted.model, wanted.base_url) == (base.model, base.base_url)
        mine = model if same_model else chat_model_from(wanted)
        if mine is not None:
            own[agent] = Talker(model=mine, options=settings.chat_options(wanted))
    return default, own


def summarisers_from(
    settings: Settings, memory_model: ChatModel | None, counter: TokenCounter
) -> tuple[Summariser | None, Mapping[str, Summariser]]:
    """The model that summarises, and the agents that have one of their own."""
    base = settings.memory_model_for()
    model = memory_model or chat_model_from(base)
    default = _summariser(model, base, settings, counter) if model else None
    own: dict[str, Summariser] = {}
    for agent in settings.agents:
        wanted = settings.memory_model_for(agent)
        mine = None if wanted == base else chat_model_from(wanted)
        if mine is not None:
            own[agent] = _summariser(mine, wanted, settings, counter)
    return default, own


def extractive_from(counter: TokenCounter, embedder: Embedder | None, method: Method) -> Summariser:
    """The summariser that chooses sentences."""
    return ExtractiveSummariser(counter, embedder, method)


def _summariser(model: ChatModel, wanted: ModelSettings, settings: Settings, counter: TokenCounter) -> ModelSummariser:
    return ModelSummariser(
        model=model,
        counter=counter,
        temperature=settings.memory_temperature if wanted.temperature is None else wanted.temperature,
        input_tokens=settings.worker.input_tokens,
    )
