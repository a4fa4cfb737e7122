"""Statements are compiled once for all the databases that the tests open, not once for each."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.util import LRUCache

#: more than there are statements: one that is dropped is compiled again
_ROOM = 20_000


def compile_once() -> None:
    """Let all engines of a dialect share what they have compiled.

    An engine compiles each statement that it runs for the first time, some two milliseconds each, and nearly every test
    opens new ones: without this a quarter of the time of such tests goes there. Those of the same dialect come from the
    same few lines of ours, and talk to the same version of a database.
    """
    compiled: LRUCache[Any, Any] = LRUCache(_ROOM)
    # there is no way to hand a cache to every engine
    shared = property(lambda _engine: compiled, lambda _engine, _own: None)
    Engine._compiled_cache = shared  # type: ignore[assignment]
    DefaultDialect.__eq__ = lambda one, other: type(one) is type(other)  # type: ignore[method-assign]
    DefaultDialect.__hash__ = lambda one: hash(type(one))  # type: ignore[method-assign,assignment]
