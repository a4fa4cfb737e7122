"""Answers of any shape that a route may give."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from enum import Enum
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from pydantic import BaseModel, JsonValue

from anaphora.domain.context import Coverage
from anaphora.domain.keys import SeqRange
from anaphora.domain.summaries import Point, Summary
from anaphora.errors import InvalidInput

_names = st.text(min_size=1, max_size=8).filter(lambda text: bool(text.strip()) and "\0" not in text)
_json: SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)
_simple: Mapping[Any, SearchStrategy[Any]] = {
    str: _names,
    int: st.integers(0, 2**31),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    type(None): st.none(),
    datetime: st.datetimes(timezones=st.just(UTC)),
    UUID: st.uuids(),
    Any: _json,
    object: _json,
}


def answers(kind: Any) -> SearchStrategy[Any]:  # noqa: PLR0911 - one for each shape
    """Values of a type that routes answer with."""
    if kind in _simple:
        return _simple[kind]
    if kind in _BUILT:
        return _BUILT[kind]()
    origin, given = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return answers(given[0])
    if kind is JsonValue:
        return _json
    if origin in {Union, types.UnionType}:
        return st.one_of(*map(answers, given))
    if origin is tuple and Ellipsis not in given:
        return st.tuples(*map(answers, given))
    if origin in {tuple, frozenset}:
        return st.lists(answers(given[0]), max_size=2).map(origin)
    if origin in {list, Sequence}:
        return st.lists(answers(given[0]), max_size=2)
    if origin in {set, AbstractSet}:
        return st.sets(answers(given[0]), max_size=2)
    if origin in {dict, Mapping}:
        return st.dictionaries(answers(given[0]), answers(given[1]), max_size=2)
    return _whole(kind)


def _whole(kind: Any) -> SearchStrategy[Any]:
    if isinstance(kind, type) and issubclass(kind, Enum):
        return st.sampled_from(kind)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return st.fixed_dictionaries({name: answers(f.annotation) for name, f in kind.model_fields.items()}).map(
            lambda values: kind(**values)
        )
    hints = get_type_hints(kind, include_extras=True)
    parts = {field.name: answers(hints[field.name]) for field in dataclasses.fields(kind)}
    return st.fixed_dictionaries(parts).map(_made(kind)).filter(lambda value: value is not None)


def _made(kind: Any) -> Callable[[Mapping[str, Any]], Any]:
    """The object, or None where the values do not go together."""

    def make(values: Mapping[str, Any]) -> Any:
        try:
            return kind(**values)
        except InvalidInput:
            return None

    return make


def _ranges() -> SearchStrategy[SeqRange]:
    return st.tuples(st.integers(0, 99), st.integers(0, 9)).map(lambda two: SeqRange(two[0], sum(two)))


def _points(start: int = 0) -> SearchStrategy[Point]:
    return st.builds(
        lambda text, length, elides: Point(
            text=text,
            range=SeqRange(start, start + length + 1),
            elided=(SeqRange(start, start + 1),) if elides else (),
        ),
        _names,
        st.integers(1, 9),
        st.booleans(),
    )


def _summaries() -> SearchStrategy[Summary]:
    def of(points: tuple[Point, ...]) -> SearchStrategy[Summary]:
        hints = get_type_hints(Summary)
        rest = {
            field.name: answers(hints[field.name])
            for field in dataclasses.fields(Summary)
            if field.name not in {"points", "range"}
        }
        whole = SeqRange(points[0].range.start, points[-1].range.stop)
        return st.fixed_dictionaries(rest).map(lambda values: Summary(points=points, range=whole, **values))

    two = _points().flatmap(lambda first: _points(first.range.stop).map(lambda second: (first, second)))
    return (two | _points().map(lambda point: (point,))).flatmap(of)


def _coverages() -> SearchStrategy[Coverage]:
    def of(cuts: list[int], summary: UUID | None) -> Coverage:
        first, second, third = sorted(cuts)
        parts = (SeqRange(0, first), SeqRange(first, second), SeqRange(second, third))
        held = [tuple(part for part in (each,) if part) for each in parts]
        return Coverage(head=third, summary_id=summary, summarised=held[0], elided=held[1], verbatim=held[2])

    return st.builds(of, st.lists(st.integers(0, 20), min_size=3, max_size=3), st.none() | st.uuids())


_BUILT: Mapping[Any, Callable[[], SearchStrategy[Any]]] = {
    SeqRange: _ranges,
    Point: _points,
    Summary: _summaries,
    Coverage: _coverages,
}


def members(kind: Any) -> Iterator[Any]:
    """The types that a union stands for."""
    if get_origin(kind) is Annotated:
        yield from members(get_args(kind)[0])
    elif get_origin(kind) in {Union, types.UnionType}:
        for each in get_args(kind):
            yield from members(each)
    else:
        yield kind
