"""The vectors of the users who asked last, kept at hand."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final

#: bytes of vectors that are kept
_MOST: Final = 256 << 20


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
        self._kept: OrderedDict[tuple[str, str, str], Kept] = OrderedDict()
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

    def trim(self) -> None:
        """Forget what is too much; the newest stays, whatever its size."""
        with self._lock:
            sizes = {key: kept.matrix.size if kept.matrix is not None else 0 for key, kept in self._kept.items()}
            total = sum(sizes.values())
            for key in list(self._kept)[:-1]:
                if total <= self._most:
                    return
                total -= sizes[key]
                del self._kept[key]
