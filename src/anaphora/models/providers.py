"""Where models are asked for: pydantic-ai's providers, from a name, a base URL and a key."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from openai import OpenAIError
from pydantic_ai import exceptions as failures
from pydantic_ai.providers import Provider, infer_provider, infer_provider_class
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

from anaphora.errors import ConfigError

#: where Ollama answers unless OLLAMA_BASE_URL or a setting says otherwise (its documentation)
OLLAMA_URL = "http://localhost:11434/v1"

_VARIABLE = re.compile(r"`([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)`")


def split_name(name: str, *, base_url: str | None, api_key: str | None, what: str, example: str) -> tuple[str, str]:
    """The provider and the model of `provider:model`, once name, URL and key look like what they should be.

    Raises:
        ConfigError: one of them does not; the line shows neither URL nor key.

    """
    provider, _, model = name.partition(":")
    if not (provider and model) or any(c.isspace() or not c.isprintable() for c in name):
        raise ConfigError(f"the {what} {name!r} has no provider: write it like {example}")
    if base_url is not None and not _is_url(base_url):
        raise ConfigError(f"the base URL of {what} {name} is none: write it like http://localhost:8000/v1")
    if api_key is not None and not re.fullmatch(r"[!-~]+", api_key):
        raise ConfigError(f"the API key of {what} {name} is empty or holds blanks or letters that no key has")
    return provider, model


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return bool(re.fullmatch(r"https?://[!-~]+", text) and parts.hostname and parts.port != 0)
    except ValueError:
        return False


@contextmanager
def named(name: str, *, what: str) -> Iterator[None]:
    """Turn what pydantic-ai raises while it makes a model into one line; `from None`, since theirs may show a key.

    Raises:
        ConfigError: a missing package or key, an unknown provider.

    """
    try:
        yield
    except ImportError:
        provider = name.partition(":")[0]
        raise ConfigError(f"{what} {name} needs more packages: pip install 'pydantic-ai-slim[{provider}]'") from None
    except (failures.UserError, OpenAIError) as error:
        variable = _VARIABLE.search(str(error))
        advice = f"set {variable[1]}" if variable else "check its provider and what that needs to be set"
        raise ConfigError(f"{what} {name} cannot be used yet: {advice}") from None
    except ValueError:
        raise ConfigError(f"{what} {name} names no known provider: openai, azure, ollama, cohere, ...") from None


def provider_of(kind: str, *, base_url: str | None, api_key: str | None) -> Provider[Any]:
    """The provider, ready to be asked.

    With `openai` and a base URL it is any OpenAI-compatible server, to which no key is sent but the one given here:
    pydantic-ai's own provider would send the user's OpenAI key to somebody else's server.

    Raises:
        ConfigError: the provider takes no base URL or no key.

    """
    if kind in {"openai", "openai-chat"} and base_url is not None:
        return OpenAICompatibleProvider("openai-compatible", base_url=base_url, api_key=api_key)
    factory = infer_provider_class(kind)
    if base_url is None and api_key is None:
        try:
            return infer_provider(kind)
        except failures.UserError:
            if kind != "ollama":
                raise
            wanted = {"base_url": OLLAMA_URL}
            return factory(**wanted)
    takes = inspect.signature(factory).parameters
    given = {"azure_endpoint" if "azure_endpoint" in takes else "base_url": base_url, "api_key": api_key}
    wanted = {key: value for key, value in given.items() if value is not None}
    if not wanted.keys() <= takes.keys():
        raise ConfigError(f"provider {kind} takes no {', '.join(sorted(wanted.keys() - takes.keys()))}: leave it out")
    return factory(**wanted)
