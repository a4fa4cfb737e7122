"""What can happen at a failpoint: a death, an error, a note."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from anaphora.errors import InvalidInput


class Recorder:
    """Fulfils `ports.clock.Failpoint`: writes down which named places were reached."""

    def __init__(self) -> None:
        #: in the order in which they were reached
        self.names: list[str] = []

    def __call__(self, name: str, /) -> None:
        """Note the name."""
        self.names.append(name)


class _StrikeAt(Recorder):
    """Does something when a named place is reached for the n-th time, that once."""

    def __init__(self, name: str, count: int, strike: Callable[[], None]) -> None:
        super().__init__()
        if count < 1:
            raise InvalidInput(f"count is {count}: the first time is 1")
        self._name = name
        self._count = count
        self._strike = strike

    def __call__(self, name: str, /) -> None:
        """Note the name; at the right time, strike."""
        super().__call__(name)
        if name == self._name and self.names.count(name) == self._count:
            self._strike()


class KillAt(_StrikeAt):
    """Ends this process with SIGKILL when a named place is reached for the n-th time: no handler, no clean-up runs.

    Args:
        name: of the place.
        count: which time, from 1.

    """

    def __init__(self, name: str, count: int = 1) -> None:
        super().__init__(name, count, lambda: os.kill(os.getpid(), signal.SIGKILL))


class RaiseAt(_StrikeAt):
    """Raises when a named place is reached for the n-th time, that once.

    Args:
        name: of the place.
        error: what to raise.
        count: which time, from 1.

    """

    def __init__(self, name: str, error: BaseException, count: int = 1) -> None:
        def strike() -> None:
            raise error

        super().__init__(name, count, strike)
