"""What a piece of work came to, carried from the thread that did it to the one that waits for it."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self


class Outcome:
    """A value or an error. As a context manager it keeps the error of its block instead of letting it pass."""

    __slots__ = ("error", "value")

    def __init__(self) -> None:
        self.value: Any = None
        self.error: BaseException | None = None

    def __enter__(self) -> Self:
        self.value = self.error = None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if isinstance(error, StopIteration):  # no future takes it
            self.error = RuntimeError("the work ended with StopIteration")
        else:
            self.error = error
        return True
