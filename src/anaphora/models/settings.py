"""How one language model is configured, and what it inherits. Values only: nothing is read from anywhere here."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from anaphora.errors import InvalidInput

#: stand for nobody who reranks
NO_RERANKER = frozenset({"", "none"})
#: reranks without a language model
LOCAL_RERANKER = "local"
#: reranks with a cross-encoder of the user's own, in a file
ONNX_RERANKER = "onnx"


class ModelSettings(BaseModel):
    """One language model and how it is asked; what is not set is inherited."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str | None = None
    base_url: str | None = None
    api_key: SecretStr | None = None
    temperature: float | None = Field(default=None, ge=0, le=2)
    timeout: float | None = Field(default=None, gt=0)


class ChatModelSettings(ModelSettings):
    """A model that answers; how long a summary may be is its strategy's to say."""

    max_tokens: int | None = Field(default=None, ge=1)


M = TypeVar("M", bound=ModelSettings)


def over(base: ModelSettings, own: ModelSettings, kind: type[M]) -> M:
    """The base with what `own` sets; another provider or endpoint does not inherit the base's endpoint and key."""
    values = {name: getattr(own, name) for name in kind.model_fields if getattr(own, name) is not None}
    inherited = {name: getattr(base, name) for name in kind.model_fields}
    elsewhere = own.base_url is not None and own.base_url != base.base_url
    if elsewhere or (own.model and base.model and _provider(own.model) != _provider(base.model)):
        inherited |= {"base_url": None, "api_key": None}
    return kind(**(inherited | values))


def _provider(model: str) -> str:
    return model.partition(":")[0]


def reranking_model(provider: str, model: str | None) -> str | None:
    """The name of the language model that reranks, as `provider:model`; None: none does.

    Raises:
        InvalidInput: the two do not go together; its text is one line that names both and says what to write.

    """
    if provider == LOCAL_RERANKER or provider in NO_RERANKER:
        if model and provider != "none":
            wrong = f"{LOCAL_RERANKER!r} asks no model" if provider else "it has no provider"
            raise InvalidInput(f"rerank_model: {wrong}: name its provider as rerank_provider, or leave the model out")
        return None
    if provider == ONNX_RERANKER:
        if not model:
            raise InvalidInput("rerank_model: not set: name the folder or the .onnx file of your cross-encoder")
        return None
    if ":" in provider or not provider.strip():
        kind, _, named = provider.partition(":")
        raise InvalidInput(
            f"rerank_provider: {provider!r} is no provider: write rerank_provider = {kind.strip() or 'openai'!r} and "
            f"rerank_model = {named or 'gpt-4.1-mini'!r}, or {LOCAL_RERANKER!r}"
        )
    if not model:
        raise InvalidInput(
            f"rerank_model: not set: name the model of {provider!r} that reranks ({LOCAL_RERANKER!r} needs none)"
        )
    return f"{provider}:{model}"
