"""What is wrong with values of a configuration that must go together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from anaphora.agents import names
from anaphora.agents.config import AgentConfig
from anaphora.agents.mistakes import Mistake, near
from anaphora.domain.keys import checked_text
from anaphora.errors import InvalidInput
from anaphora.models.settings import reranking_model
from anaphora.rules.documents import Chunking
from anaphora.rules.phrases import Phrases

_KB: Final = "resource_config.knowledge_base."


def together(file: str, config: AgentConfig, *, without: frozenset[str] = frozenset()) -> Iterator[Mistake]:
    """What is wrong with values that must go together, or that other parts of the configuration give a meaning.

    Args:
        file: as it was named.
        config: what is right by itself.
        without: keys that are not: nothing is said of what depends on them.

    """
    known = config.knowledge
    if not without & {f"{_KB}chunk_size", f"{_KB}chunk_overlap"}:
        try:
            Chunking(size=known.chunk_size, overlap=known.chunk_overlap)
        except InvalidInput as error:
            yield Mistake(file=file, key=f"{_KB}chunk_overlap", text=str(error))
    for at, phrase in enumerate(known.search_triggers):
        try:
            Phrases((checked_text(phrase, "the phrase"),))
        except InvalidInput as error:
            yield Mistake(file=file, key=f"{_KB}search_triggers.{at}", text=str(error))
    for pair in _pairs(config):
        if not without & set(pair.keys):
            yield from pair.mistakes(file)
    if not without & {f"{_KB}rerank_provider", f"{_KB}rerank_model"}:
        yield from _of_reranking(file, config)


def _pairs(config: AgentConfig) -> Iterator[_Pair]:
    known = config.knowledge
    yield _Pair(keys=("provider", "model"), provider=config.provider, model=config.model, join=names.chat_model)
    yield _Pair(
        keys=(f"{_KB}embedding_provider", f"{_KB}embedding_model"),
        provider=known.embedding_provider,
        model=known.embedding_model,
        join=names.embedder,
    )


def _of_reranking(file: str, config: AgentConfig) -> Iterator[Mistake]:
    known = config.knowledge
    try:
        provider = known.rerank_provider
        reranking_model("" if provider is None else names.rerank_provider(provider), known.rerank_model)
    except names.UnknownProvider as error:
        yield Mistake(file=file, key=f"{_KB}rerank_provider", text=str(error), nearest=near(error.name, error.known))
    except InvalidInput as error:
        key, _, text = str(error).partition(": ")
        yield Mistake(file=file, key=f"{_KB}{key}", text=text)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """A provider and a model, which go together."""

    keys: tuple[str, str]
    provider: str | None
    model: str | None
    join: Callable[[str, str], str]

    def mistakes(self, file: str) -> Iterator[Mistake]:
        """What is wrong with them: one without the other, or a name nobody knows."""
        provider_key, model_key = self.keys
        if self.provider is None:
            if self.model is not None:
                text = f"not set: name the provider of {self.model!r}, such as 'azure_openai_cc' or 'ollama'"
                yield Mistake(file=file, key=provider_key, text=text)
            return
        if self.model is None and names.needs_model(self.provider):
            yield Mistake(file=file, key=model_key, text=f"not set: name the model of {self.provider!r}")
            return
        try:
            self.join(self.provider, self.model or "")
        except names.UnknownProvider as error:
            yield Mistake(file=file, key=provider_key, text=str(error), nearest=near(error.name, error.known))
