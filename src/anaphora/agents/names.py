"""The providers of models under the names that configurations use, as pydantic-ai has them."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import Final

from anaphora.errors import UnknownName


class UnknownProvider(UnknownName):
    """A provider that there is none of, or none for this."""

    def __init__(self, name: str, known: AbstractSet[str]) -> None:
        super().__init__("provider", name, known)
        self.known = known


#: names of seed 001 and of its relatives, and what they are called here
_OTHER_NAMES: Final = MappingProxyType(
    {
        "azure_openai_cc": "azure",
        "azure_openai": "azure",
        "azure-openai": "azure",
        "openai_cc": "openai",
        "gemini": "google",
        "google_gemini": "google",
        "google-gla": "google",
        "aws_bedrock": "bedrock",
        "claude": "anthropic",
        "voyage": "voyageai",
    }
)
#: providers that serve both answers and vectors, as OpenAI does
_LIKE_OPENAI: Final = frozenset(
    {
        "alibaba",
        "azure",
        "cerebras",
        "deepseek",
        "fireworks",
        "github",
        "heroku",
        "litellm",
        "moonshotai",
        "nebius",
        "ollama",
        "openrouter",
        "ovhcloud",
        "sambanova",
        "together",
        "vercel",
        "vllm",
    }
)
#: providers of answers, and of vectors
CHAT: Final = _LIKE_OPENAI | {
    "anthropic",
    "bedrock",
    "cohere",
    "google",
    "google-cloud",
    "groq",
    "huggingface",
    "mistral",
    "openai",
    "openai-chat",
    "openai-responses",
    "xai",
}
EMBEDDING: Final = _LIKE_OPENAI | {"bedrock", "cohere", "google", "google-cloud", "openai", "voyageai"}
#: stand for what needs no provider
_LOCAL: Final = frozenset({"local", "none"})
#: reranks with a file
_ONNX: Final = "onnx"


def chat_model(provider: str, model: str) -> str:
    """The name under which `Settings.model` takes a model.

    Raises:
        UnknownProvider: no such provider; names the nearest.

    """
    return f"{_known(provider, CHAT)}:{model}"


def embedder(provider: str, model: str | None) -> str:
    """The name under which `Settings.embedder` takes an embedder.

    Raises:
        UnknownProvider: no such provider; names the nearest.

    """
    return provider if provider in _LOCAL else f"{_known(provider, EMBEDDING | _LOCAL)}:{model}"


def needs_model(provider: str) -> bool:
    """Whether a model must be named beside the provider."""
    return provider not in _LOCAL


def rerank_provider(provider: str) -> str:
    """The name under which `Settings.rerank_provider` takes whoever reranks.

    Raises:
        UnknownProvider: no such provider; names the nearest.

    """
    local = _LOCAL | {_ONNX}
    return provider if provider in local else _known(provider, CHAT | local)


def _known(provider: str, known: frozenset[str]) -> str:
    name = _OTHER_NAMES.get(provider, provider)
    if name not in known:
        raise UnknownProvider(provider, {*known, *(other for other, meant in _OTHER_NAMES.items() if meant in known)})
    return name
