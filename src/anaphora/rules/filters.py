"""Filters as people write them, and what they say of metadata. Pure.

    author = "Ann" and (tags contains "api" or not exists date_range.start)

`=` and `!=` compare with a text in double quotes, a number, `true`, `false` or `null`; `contains` asks for an entry of
a list; `exists` asks whether there is such a value. `not` binds closest, then `and`, then `or`. Nothing of it ever
becomes the text of a query.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from anaphora.domain.filters import And, Contains, Equals, Exists, Field, Filter, Not, Or, Scalar, checked_filter
from anaphora.errors import InvalidInput

MAX_CHARS: Final = 4_000
_TOKEN: Final = re.compile(
    r"\s*(?:(?P<text>\"(?:[^\"\\]|\\.)*\")|(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.]))"
    r"|(?P<name>[^\W\d][\w-]*(?:\.[^\W\d][\w-]*)*)|(?P<sign>!=|=|\(|\)))"
)
_WORDS: Final = frozenset({"and", "or", "not", "exists", "contains"})
_VALUES: Final[Mapping[str, Scalar]] = {"true": True, "false": False, "null": None}
_EXAMPLE: Final = 'for example: author = "Ann" and tags contains "api"'


class _Token(NamedTuple):
    kind: str
    text: str


def parse_filter(text: str) -> Filter:
    """The filter that is written so.

    Raises:
        InvalidInput: it cannot be read; the message says where.

    """
    if len(text) > MAX_CHARS:
        raise InvalidInput(f"the filter is longer than {MAX_CHARS} characters")
    reader = _Reader(_tokens(text))
    found = reader.alternatives(0)
    if (rest := reader.peek()).kind:
        raise InvalidInput(f"the filter ends before {rest.text!r}: join its parts with and or or; {_EXAMPLE}")
    return checked_filter(found)


def filter_text(asked: Filter) -> str:
    """The filter as people write it: `parse_filter` reads one from it that asks the same.

    Raises:
        InvalidInput: it joins nothing, which cannot be written.

    """
    match asked:
        case Not(part):
            return f"not ({filter_text(part)})"
        case And(parts) | Or(parts):
            if not parts:
                raise InvalidInput("a filter that joins nothing cannot be written: leave it out")
            return (" and " if isinstance(asked, And) else " or ").join(f"({filter_text(part)})" for part in parts)
        case Equals(field, value):
            return f"{field} = {json.dumps(value)}"
        case Contains(field, value):
            return f"{field} contains {json.dumps(value)}"
        case Exists(field):
            return f"exists {field}"


def matches(asked: Filter, metadata: Mapping[str, Any]) -> bool:
    """Whether it holds of the metadata: what every store must say too."""
    match asked:
        case Not(part):
            return not matches(part, metadata)
        case And(parts):
            return all(matches(part, metadata) for part in parts)
        case Or(parts):
            return any(matches(part, metadata) for part in parts)
    there, value = _value(asked.field, metadata)
    match asked:
        case Equals(value=wanted):
            return there and _same(value, wanted)
        case Contains(value=wanted):
            return there and isinstance(value, list | tuple) and any(_same(entry, wanted) for entry in value)
        case Exists():
            return there


def _value(field: Field, metadata: Mapping[str, Any]) -> tuple[bool, object]:
    value: object = metadata
    for name in field.names:
        if not isinstance(value, Mapping) or name not in value:
            return False, None
        value = value[name]
    return True, value


def _same(value: object, wanted: Scalar) -> bool:
    if isinstance(wanted, bool) or isinstance(value, bool) or wanted is None:
        return value is wanted
    if isinstance(wanted, str):
        return isinstance(value, str) and value == wanted
    return isinstance(value, int | float) and value == wanted


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    at, end = 0, len(text.rstrip())
    while at < end:
        token = _TOKEN.match(text, at)
        if token is None:
            rest = text[at:].lstrip()[:20]
            raise InvalidInput(f"the filter cannot be read from {rest!r} on: texts stand in double quotes; {_EXAMPLE}")
        found.append(_Token(str(token.lastgroup), token[str(token.lastgroup)]))
        at = token.end()
    return found


class _Reader:
    """Reads a filter from its tokens."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._at = 0

    def peek(self) -> _Token:
        """The next token; one of no kind behind the last."""
        return self._tokens[self._at] if self._at < len(self._tokens) else _Token("", "")

    def alternatives(self, depth: int) -> Filter:
        """Parts between which `or` stands."""
        parts = [self._conditions(depth)]
        while self._took("or"):
            parts.append(self._conditions(depth))
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def _conditions(self, depth: int) -> Filter:
        parts = [self._condition(depth)]
        while self._took("and"):
            parts.append(self._condition(depth))
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _condition(self, depth: int) -> Filter:
        if depth > _DEEPEST:
            raise InvalidInput("the filter is too deep: use fewer brackets")
        if self._took("not"):
            return Not(self._condition(depth + 1))
        if self._took("("):
            inner = self.alternatives(depth + 1)
            if not self._took(")"):
                raise self._unexpected("a closing bracket")
            return inner
        if self._took("exists"):
            return Exists(self._field())
        field = self._field()
        if self._took("="):
            return Equals(field, self._value())
        if self._took("!="):
            return Not(Equals(field, self._value()))
        if self._took("contains"):
            return Contains(field, self._value())
        raise self._unexpected("=, != or contains")

    def _took(self, word: str) -> bool:
        token = self.peek()
        found = token.kind in {"name", "sign"} and token.text.lower() == word
        self._at += found
        return found

    def _field(self) -> Field:
        token = self.peek()
        if token.kind != "name" or token.text.lower() in _WORDS:
            raise self._unexpected("the name of a value")
        self._at += 1
        return Field.of(token.text)

    def _value(self) -> Scalar:
        token = self.peek()
        self._at += 1
        if token.kind == "name" and token.text.lower() in _VALUES:
            return _VALUES[token.text.lower()]
        if token.kind == "number":
            return float(token.text) if set(token.text) & set(".eE") else int(token.text)
        if token.kind == "text":
            try:
                value = json.loads(token.text)
            except ValueError:
                raise InvalidInput(f"the filter has a text that is no JSON string: {token.text[:40]}") from None
            return str(value)
        self._at -= 1
        raise self._unexpected("a text in double quotes, a number, true, false or null")

    def _unexpected(self, wanted: str) -> InvalidInput:
        token = self.peek()
        where = f"before {token.text!r}" if token.kind else "at its end"
        return InvalidInput(f"the filter lacks {wanted} {where}; {_EXAMPLE}")


_DEEPEST: Final = 32
