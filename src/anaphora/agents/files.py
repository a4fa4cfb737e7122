"""Configurations of agents from files and mappings, and every mistake in them by file, key and fix."""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias, get_args

from pydantic import BaseModel, ValidationError

from anaphora.agents.config import AgentConfig, checked_agent_id
from anaphora.agents.mistakes import Mistake, in_line, near, shown
from anaphora.agents.together import together
from anaphora.bootstrap.yaml_text import parsed_yaml
from anaphora.errors import ConfigError, InvalidInput, NotFound, UnknownName

#: a configuration: the path of a file, or what would stand in it
Source: TypeAlias = str | PathLike[str] | Mapping[str, Any]

#: bytes of a file
MAX_BYTES: Final = 1 << 20
#: what stands for the file where there is none
NO_FILE: Final = "configuration"


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
        found = [(tuple(item["loc"]), _mistake(file, item)) for item in error.errors(include_url=False)]
        return (*(mistake for _, mistake in found), *_beside(file, data, found))
    return tuple(together(file, config)) or config


def _beside(
    file: str, data: Mapping[str, Any], found: Sequence[tuple[tuple[Any, ...], Mistake]]
) -> tuple[Mistake, ...]:
    """What else is wrong, as far as that can be said without the keys that are wrong by themselves."""
    rest: dict[str, Any] = dict(data)
    without: set[str] = set()
    for loc, mistake in found:
        names_of = [str(part) for part in loc]
        without |= {".".join(names_of[:most]) for most in range(1, len(loc) + 1)}
        if mistake.nearest is not None:
            # it may have been meant
            without |= {mistake.nearest, ".".join((*names_of[:-1], mistake.nearest))}
        if not loc:  # a key that is no text
            return ()
        _drop(rest, loc)
    try:
        config = AgentConfig.model_validate({"agent_id": "a", **rest})
    except ValidationError:
        return ()
    return tuple(together(file, config, without=frozenset(without)))


def _drop(data: dict[str, Any], loc: Sequence[Any]) -> None:
    """Take out a key, or the list that it is in; what is in the data of the caller stays there."""
    at = data
    for part in loc[:-1]:
        inner = at.get(part)
        if not isinstance(inner, Mapping):
            at.pop(part, None)
            return
        at[part] = dict(inner)
        at = at[part]
    at.pop(loc[-1], None)


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
    except InvalidInput:
        raise
    except ValueError:  # nothing else is left
        raise InvalidInput("not valid JSON: a number has too many digits") from None
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
    except ValueError:  # nothing else is left
        raise InvalidInput("not valid TOML: a number has too many digits") from None


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
    key = in_line(".".join(map(str, loc)))
    match item["type"]:
        case "extra_forbidden":
            text, nearest = _unknown_key(loc)
            return Mistake(file=file, key=key, text=text, nearest=nearest)
        case "literal_error":
            known = _choices(loc)
            wrong = UnknownName(_WHAT.get(str(loc[0]), "value"), str(item["input"]), known)
            return Mistake(file=file, key=key, text=str(wrong), nearest=near(str(item["input"]), known))
        case "missing":
            return Mistake(file=file, key=key, text="not set: every agent needs one")
        case "value_error":
            return Mistake(file=file, key=key, text=str(item["ctx"]["error"]))
        case _:
            wanted = _WANTED.get(item["type"]) or str(item["msg"]).removeprefix("Input should be ")
            return Mistake(file=file, key=key, text=f"should be {wanted}, not {shown(item['input'])}")


#: types in people's words
_WANTED: Final = MappingProxyType(
    {
        "bool_type": "true or false",
        "int_type": "a whole number",
        "float_type": "a number",
        "string_type": "text in quotation marks",
        "string_unicode": "valid Unicode text",
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
    return str(UnknownName("key", name, known)), near(name, known)


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
