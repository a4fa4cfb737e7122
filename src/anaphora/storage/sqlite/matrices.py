"""The vectors of the users who asked last, kept at hand."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final

#: bytes of vectors that are kept
_MOST: Final = 256 << 20

#: tenant, user and space
_Which = tuple[str, str, str]


@dataclass(slots=True)
class Kept:
    """The vectors of one user in one space, and for which state of the database they are right."""

    #: a `cosines.Matrix`; None if nothing was read yet
    matrix: Any = None
    #: version of the schema, and how often vectors of this user had been erased, when it was read
    state: tuple[int, int] = (-1, -1)
    #: one search at a time reads what is new
    lock: Lock = field(default_factory=Lock)


class Matrices:
    """What the searches of one process share. Whoever asked longest ago is forgotten first."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._kept: OrderedDict[_Which, Kept] = OrderedDict()
        #: bytes of each, as it was last measured, and of all: each search asks, however many users there are
        self._sizes: dict[_Which, int] = {}
        self._total = 0
        self._lock = Lock()

    @property
    def kept(self) -> bool:
        """Whether there is anything."""
        return bool(self._kept)

    def of(self, tenant: str, user: str, space: str) -> Kept:
        """What is kept of a user, perhaps nothing."""
        with self._lock:
            kept = self._kept.setdefault((tenant, user, space), Kept())
            self._kept.move_to_end((tenant, user, space))
            return kept

    def forget(self) -> None:
        """Keep nothing: some of it was erased."""
        with self._lock:
            self._kept.clear()
            self._sizes.clear()
            self._total = 0

    def measure(self, tenant: str, user: str, space: str) -> None:
        """Forget what is too much, now that this user's have grown; the newest stays, whatever its size."""
        which = (tenant, user, space)
        with self._lock:
            kept = self._kept.get(which)
            if kept is not None and kept.matrix is not None:
                self._total += kept.matrix.size - self._sizes.get(which, 0)
                self._sizes[which] = kept.matrix.size
            while self._total > self._most and len(self._kept) > 1:
                oldest, _ = self._kept.popitem(last=False)
                self._total -= self._sizes.pop(oldest, 0)
