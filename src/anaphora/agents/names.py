"""The providers of models under the names that configurations use, as pydantic-ai has them."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from anaphora.errors import UnknownName

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
#: every name that a configuration may use for a provider
ALL: Final = tuple(sorted({*CHAT, *EMBEDDING, *_LOCAL, _ONNX, *_OTHER_NAMES}))


def chat_model(provider: str, model: str) -> str:
    """The name under which `Settings.model` takes a model.

    Raises:
        UnknownName: no such provider; names the nearest.

    """
    return f"{_known(provider, CHAT)}:{model}"


def embedder(provider: str, model: str | None) -> str:
    """The name under which `Settings.embedder` takes an embedder.

    Raises:
        UnknownName: no such provider; names the nearest.

    """
    return provider if provider in _LOCAL else f"{_known(provider, EMBEDDING | _LOCAL)}:{model}"


def needs_model(provider: str) -> bool:
    """Whether a model must be named beside the provider."""
    return provider not in _LOCAL


def rerank_provider(provider: str) -> str:
    """The name under which `Settings.rerank_provider` takes whoever reranks.

    Raises:
        UnknownName: no such provider; names the nearest.

    """
    local = _LOCAL | {_ONNX}
    return provider if provider in local else _known(provider, CHAT | local)


def _known(provider: str, known: frozenset[str]) -> str:
    name = _OTHER_NAMES.get(provider, provider)
    if name not in known:
        raise UnknownName("provider", provider, [*known, *_OTHER_NAMES])
    return name
