"""Errors that nobody foresaw, as operators may be told of them: what kinds and where, never what was in hand."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from typing import Final

#: places of one error, the innermost
_PLACES: Final = 8
#: errors that led to it, and errors of a group
_MOST: Final = 4


def told_of(error: BaseException) -> str:
    """Types and places in the code of an error and of what led to it, on one line."""
    return " from ".join(_one(each) for each in _chain(error))


def _one(error: BaseException) -> str:
    places = [
        f"{frame.f_globals.get('__name__', '?')}:{line}" for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    told = type(error).__name__ + (f" at {' > '.join(places[-_PLACES:])}" if places else "")
    if isinstance(error, BaseExceptionGroup):
        told += f" ({'; '.join(_one(each) for each in error.exceptions[:_MOST])})"
    return told


def _chain(error: BaseException) -> Iterator[BaseException]:
    found: BaseException | None = error
    for _ in range(_MOST):
        if found is None:
            return
        yield found
        found = found.__cause__ or (None if found.__suppress_context__ else found.__context__)
