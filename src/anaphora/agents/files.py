"""Configurations of agents from files and mappings, and every mistake in them by file, key and fix."""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias, get_args

from pydantic import BaseModel, ValidationError

from anaphora.agents import names
from anaphora.agents.config import AgentConfig, checked_agent_id
from anaphora.bootstrap.yaml_text import parsed_yaml
from anaphora.errors import ConfigError, InvalidInput, NotFound, UnknownName
from anaphora.models.settings import reranking_model
from anaphora.rules.documents import Chunking
from anaphora.rules.phrases import Phrases

#: a configuration: the path of a file, or what would stand in it
Source: TypeAlias = str | PathLike[str] | Mapping[str, Any]

#: bytes of a file
MAX_BYTES: Final = 1 << 20
#: what stands for the file where there is none
NO_FILE: Final = "configuration"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """What is wrong with a configuration."""

    #: as it was named
    file: str
    #: the keys down to it, with dots; empty where the file as a whole is meant
    key: str
    #: what is wrong, and what to write instead
    text: str
    #: the nearest valid name, if a name is wrong
    nearest: str | None = None

    def __str__(self) -> str:
        return ": ".join(part for part in (self.file, self.key, self.text) if part)


def read(source: Source) -> AgentConfig:
    """The configuration of an agent.

    Args:
        source: the path of a JSON, TOML or YAML file, or a mapping.

    Raises:
        ConfigError: one line a mistake: the file, the key, what is wrong and what to write.
        MissingExtra: it is YAML, and the package for that is not installed.

    """
    found = examine(source)
    if isinstance(found, AgentConfig):
        return found
    raise ConfigError("\n".join(map(str, found)))


def read_by_id(folder: str | PathLike[str], agent_id: str) -> AgentConfig:
    """The configuration of the agent in a folder: `AGENT_ID.json`, `.toml`, `.yaml` or `.yml`.

    Raises:
        InvalidInput: an id that could name something else than a file of the folder.
        NotFound: there is no such file; the line names the nearest.
        ConfigError: the file is wrong, or is that of another agent, or there are two.

    """
    try:
        checked_agent_id(agent_id)
    except ValueError as error:
        raise InvalidInput(str(error)) from None
    base = Path(folder)
    here = [base / f"{agent_id}{suffix}" for suffix in _PARSERS]
    found = [path for path in here if path.is_file()]
    if not found:
        near = difflib.get_close_matches(agent_id, ids_in(base), n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"write {here[0].name} there, or name another folder"
        raise NotFound(f"there is no agent {agent_id!r} in {base}: {hint}")
    if len(found) > 1:
        raise ConfigError(f"{base}: {' and '.join(path.name for path in found)} are the same agent: leave one out")
    config = read(found[0])
    if config.agent_id != agent_id:
        raise ConfigError(
            f"{found[0]}: agent_id: {config.agent_id!r} is not the name of the file: write {agent_id!r}, or rename it"
        )
    return config


def ids_in(folder: str | PathLike[str]) -> Sequence[str]:
    """The ids of the agents whose files are in a folder, in order."""
    base = Path(folder)
    if not base.is_dir():
        return ()
    stems = {path.stem for path in base.iterdir() if path.suffix in _PARSERS and path.is_file()}
    return sorted(stem for stem in stems if _is_id(stem))


def examine(source: Source) -> AgentConfig | tuple[Mistake, ...]:
    """The configuration, or what is wrong with it.

    Raises:
        MissingExtra: it is YAML, and the package for that is not installed.

    """
    file = NO_FILE if isinstance(source, Mapping) else str(source)
    try:
        data = dict(source) if isinstance(source, Mapping) else _parsed(Path(source))
    except InvalidInput as error:
        return (Mistake(file=file, key="", text=str(error)),)
    try:
        config = AgentConfig.model_validate(data)
    except ValidationError as error:
        return tuple(_mistake(file, item) for item in error.errors(include_url=False))
    return tuple(_together(file, config)) or config


def _parsed(path: Path) -> dict[str, Any]:
    """What the file says.

    Raises:
        InvalidInput: it cannot be read as what its name says.

    """
    parse = _PARSERS.get(path.suffix.lower())
    if parse is None:
        raise InvalidInput(f"not the name of a configuration: use {', '.join(_PARSERS)}")
    try:
        with path.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise InvalidInput(f"cannot be read: {error.strerror or type(error).__name__}") from None
    if len(raw) > MAX_BYTES:
        raise InvalidInput(f"larger than {MAX_BYTES:,} bytes: this is no configuration of an agent")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput("not UTF-8 text: save it as UTF-8") from None
    data = parse(text)
    if not isinstance(data, dict):
        raise InvalidInput('not an object: write { "agent_id": ... }')
    return {str(key): value for key, value in data.items()}


def _json(text: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        raise InvalidInput(f"line {error.lineno}, column {error.colno}: not valid JSON: {error.msg}") from None
    except RecursionError:
        raise InvalidInput("not valid JSON: nested too deep") from None


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in pairs:
        if key in out:
            raise InvalidInput(f"not valid JSON: {key!r} stands twice in one object: leave one out")
        out[key] = value
    return out


def _toml(text: str) -> object:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidInput(f"not valid TOML: {error}") from None


def _yaml(text: str) -> object:
    try:
        return parsed_yaml(text)
    except InvalidInput as error:
        raise InvalidInput(f"not valid YAML: {error}") from None


#: what reads a file, by the end of its name
_PARSERS: Final[Mapping[str, Callable[[str], object]]] = MappingProxyType(
    {".json": _json, ".toml": _toml, ".yaml": _yaml, ".yml": _yaml}
)


def _is_id(text: str) -> bool:
    try:
        checked_agent_id(text)
    except ValueError:
        return False
    return True


def _mistake(file: str, item: Mapping[str, Any]) -> Mistake:
    loc = tuple(item["loc"])
    key = ".".join(map(str, loc))
    match item["type"]:
        case "extra_forbidden":
            text, nearest = _unknown_key(loc)
            return Mistake(file=file, key=key, text=text, nearest=nearest)
        case "literal_error":
            known = _choices(loc)
            wrong = UnknownName(_WHAT.get(str(loc[0]), "value"), str(item["input"]), known)
            return Mistake(file=file, key=key, text=str(wrong), nearest=_near(str(item["input"]), known))
        case "missing":
            return Mistake(file=file, key=key, text="not set: every agent needs one")
        case "value_error":
            return Mistake(file=file, key=key, text=str(item["ctx"]["error"]))
        case _:
            wanted = _WANTED.get(item["type"]) or str(item["msg"]).removeprefix("Input should be ")
            return Mistake(file=file, key=key, text=f"should be {wanted}, not {_shown(item['input'])}")


#: types in people's words
_WANTED: Final = MappingProxyType(
    {
        "bool_type": "true or false",
        "int_type": "a whole number",
        "float_type": "a number",
        "string_type": "text in quotation marks",
        "tuple_type": "a list",
        "model_type": "an object",
        "model_attributes_type": "an object",
        "string_pattern_mismatch": "a name without blanks",
    }
)
_WHAT: Final = MappingProxyType({"resources": "resource", "allowed_regular_tools": "tool"})


def _unknown_key(loc: tuple[Any, ...]) -> tuple[str, str | None]:
    """What to say of a key that nobody knows: where it belongs, or what it may have been meant to be."""
    name = str(loc[-1])
    elsewhere = [path for path in _paths(AgentConfig) if path[-1] == name]
    if elsewhere:
        place = ".".join(elsewhere[0][:-1])
        where = f"in {place}" if place else "at the top"
        return f"unknown key {name!r} here: it belongs {where}", ".".join(elsewhere[0])
    known = list(_model_at(loc[:-1]).model_fields)
    return str(UnknownName("key", name, known)), _near(name, known)


def _near(name: str, known: Sequence[str]) -> str | None:
    return next(iter(difflib.get_close_matches(name, known, n=1)), None)


def _model_at(loc: Sequence[Any]) -> type[BaseModel]:
    model: type[BaseModel] = AgentConfig
    for part in loc:
        inner = model.model_fields[str(part)].annotation
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            break
        model = inner
    return model


def _paths(model: type[BaseModel], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, field in model.model_fields.items():
        yield (*above, name)
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from _paths(inner, (*above, name))


def _choices(loc: Sequence[Any]) -> list[str]:
    """The values that may stand in a list of names."""
    inner = _model_at(loc).model_fields[str(loc[-2])].annotation
    return [str(value) for value in get_args(get_args(inner)[0])]


def _shown(value: object) -> str:
    """A wrong value, short."""
    text = json.dumps(value, ensure_ascii=False, default=lambda other: type(other).__name__)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _together(file: str, config: AgentConfig) -> Iterator[Mistake]:
    """What is wrong with values that must go together."""
    known = config.knowledge
    try:
        Chunking(size=known.chunk_size, overlap=known.chunk_overlap)
    except InvalidInput as error:
        yield Mistake(file=file, key="resource_config.knowledge_base.chunk_overlap", text=str(error))
    for at, phrase in enumerate(known.search_triggers):
        try:
            Phrases((phrase,))
        except InvalidInput as error:
            yield Mistake(file=file, key=f"resource_config.knowledge_base.search_triggers.{at}", text=str(error))
    chat = _Pair(keys=("provider", "model"), provider=config.provider, model=config.model, join=names.chat_model)
    yield from chat.mistakes(file)
    base = "resource_config.knowledge_base."
    vectors = _Pair(
        keys=(f"{base}embedding_provider", f"{base}embedding_model"),
        provider=known.embedding_provider,
        model=known.embedding_model,
        join=names.embedder,
    )
    yield from vectors.mistakes(file)
    try:
        provider = known.rerank_provider
        reranking_model("" if provider is None else names.rerank_provider(provider), known.rerank_model)
    except UnknownName as error:
        yield Mistake(file=file, key=f"{base}rerank_provider", text=str(error), nearest=_near(error.name, names.ALL))
    except InvalidInput as error:
        key, _, text = str(error).partition(": ")
        yield Mistake(file=file, key=f"{base}{key}", text=text)


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
        except UnknownName as error:
            yield Mistake(file=file, key=provider_key, text=str(error), nearest=_near(error.name, names.ALL))
