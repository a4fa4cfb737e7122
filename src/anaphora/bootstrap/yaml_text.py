"""YAML, as far as a configuration needs it: plain values, no tags, no references, no key twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from anaphora.errors import InvalidInput, MissingExtra


def parsed_yaml(text: str) -> object:
    """The value that the text says.

    Raises:
        InvalidInput: it is no such YAML; the line says where.
        MissingExtra: the package for YAML is not installed.

    """
    try:
        import yaml  # noqa: PLC0415 - an optional package
    except ImportError:
        raise MissingExtra("YAML", "yaml") from None
    try:
        # a few lines of references can become gigabytes
        events = yaml.parse(text, Loader=yaml.SafeLoader)
        aliases = [event for event in events if isinstance(event, yaml.AliasEvent)]
        twice = [] if aliases else list(_twice(yaml.compose(text, Loader=yaml.SafeLoader)))
        value = None if aliases or twice else yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        where = error.problem_mark or error.context_mark
        place = f"line {where.line + 1}: " if where else ""
        raise InvalidInput(f"{place}{error.problem or error.context}") from None
    except (yaml.YAMLError, RecursionError) as error:
        raise InvalidInput(" ".join(str(error).split()) or "nested too deep") from None
    except (ValueError, TypeError) as error:
        raise InvalidInput(f"a value cannot be read: {type(error).__name__}") from None
    for alias in aliases:
        raise InvalidInput(f"line {alias.start_mark.line + 1}: references (*name) are not taken: write it out")
    for key in twice:
        raise InvalidInput(f"line {key.start_mark.line + 1}: {key.value!r} stands there twice: leave one out")
    return value


def _twice(node: Any) -> Iterator[Any]:  # noqa: ANN401 - a node of the library
    """Keys that stand in one mapping before."""
    seen: set[str] = set()
    for child in getattr(node, "value", ()) if node is not None and node.id != "scalar" else ():
        pair = child if isinstance(child, tuple) else (None, child)
        if pair[0] is not None:
            if str(pair[0].value) in seen:
                yield pair[0]
            seen.add(str(pair[0].value))
        yield from _twice(pair[1])
