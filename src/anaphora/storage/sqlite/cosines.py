"""Which of many vectors are closest to one, exactly; and keeping them at hand between searches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from anaphora.storage.scope import Ref
from anaphora.storage.vectors import Found

#: rows that are taken in at a time
_BLOCK = 4_096


class Matrix:
    """The vectors of one user in one space, as far as they were read.

    Args:
        dimensions: of each vector; all have length 1.

    """

    def __init__(self, dimensions: int) -> None:
        self.count = 0
        #: number of the newest row that is in
        self.last = 0
        self._vectors = np.empty((0, dimensions), dtype=np.float32)
        self._places = np.empty((0, 4), dtype=np.int64)
        self._sessions: dict[Ref, int] = {}
        self._agents: dict[str, int] = {}
        #: the vectors of each agent added up
        self._sums = np.zeros((0, dimensions), dtype=np.float64)

    @property
    def size(self) -> int:
        """Bytes that it takes."""
        return self._vectors.nbytes + self._places.nbytes

    def add(self, rows: Iterable[Sequence[Any]]) -> None:
        """Take in rows: number, session, message, part, agent, and the embedding as little-endian float32 bytes."""
        stream = iter(rows)
        while block := list(islice(stream, _BLOCK)):
            stop = self.count + len(block)
            self._make_room(stop)
            data = np.frombuffer(b"".join([row[5] for row in block]), dtype="<f4")
            vectors = self._vectors[self.count : stop] = data.reshape(len(block), -1)
            self._places[self.count : stop] = [
                (
                    self._sessions.setdefault(row[1], len(self._sessions)),
                    row[2],
                    row[3],
                    self._agents.setdefault(row[4], len(self._agents)),
                )
                for row in block
            ]
            self._add_up(vectors, self._places[self.count : stop, 3])
            self.count, self.last = stop, max(self.last, block[-1][0])

    def mean(self, *, agent: str | None, session: Ref | None) -> list[float]:
        """The mean of the vectors of an agent, of a session, of all; empty if there are none."""
        if session is not None:
            rows = self._rows(agent, session)
            total, count = self._vectors[rows].sum(axis=0, dtype=np.float64), 0 if rows is None else len(rows)
        elif agent is not None and len(self._agents) > 1:
            at = self._agents.get(agent, -1)
            count = int((self._places[: self.count, 3] == at).sum())
            total = self._sums[at]
        else:
            known = agent is None or agent in self._agents
            total, count = self._sums.sum(axis=0), self.count if known else 0
        return list((total / count).tolist()) if count else []

    def closest(self, vector: Sequence[float], limit: int, *, agent: str | None, session: Ref | None) -> list[Found]:
        """The closest passages: at least `limit` if there are so many, and all that are as close as the last of them.

        Args:
            vector: what they are compared with, of length 1.
            limit: at least 1.
            agent: only of conversations with this agent.
            session: only of this session.

        """
        wanted = np.asarray(vector, dtype=np.float32)
        rows = self._rows(agent, session)
        places = self._places[: self.count]
        vectors = self._vectors[: self.count]
        if rows is not None:
            places, vectors = places[rows], vectors[rows]
        if not len(places):
            return []
        cosines = vectors @ wanted
        if limit < len(cosines):
            least = np.partition(cosines, -limit)[-limit]
            near = np.flatnonzero(cosines >= least)
            places, cosines = places[near], cosines[near]
        refs = list(self._sessions)
        return [
            (refs[number], seq, part, close)
            for (number, seq, part, _), close in zip(places.tolist(), cosines.tolist(), strict=True)
        ]

    def _rows(self, agent: str | None, session: Ref | None) -> npt.NDArray[np.int64] | None:
        """Which rows are meant; None for all of them."""
        if (agent is None or list(self._agents) == [agent]) and session is None:
            return None
        places = self._places[: self.count]
        meant = np.ones(len(places), dtype=bool)
        if agent is not None:
            meant &= places[:, 3] == self._agents.get(agent, -1)
        if session is not None:
            meant &= places[:, 0] == self._sessions.get(session, -1)
        return np.flatnonzero(meant)

    def _add_up(self, vectors: npt.NDArray[np.float32], agents: npt.NDArray[np.int64]) -> None:
        sums = np.zeros((len(self._agents), vectors.shape[1]), dtype=np.float64)
        sums[: len(self._sums)] = self._sums
        for agent in np.unique(agents).tolist():
            sums[agent] += vectors[agents == agent].sum(axis=0, dtype=np.float64)
        self._sums = sums

    def _make_room(self, count: int) -> None:
        if count <= len(self._vectors):
            return
        room = max(count, len(self._vectors) * 3 // 2)
        vectors = np.empty((room, self._vectors.shape[1]), dtype=np.float32)
        places = np.empty((room, 4), dtype=np.int64)
        vectors[: self.count], places[: self.count] = self._vectors[: self.count], self._places[: self.count]
        self._vectors, self._places = vectors, places


def nearest(embeddings: Sequence[bytes], vector: Sequence[float], limit: int) -> list[tuple[int, float]]:
    """Which of the vectors are closest to one, each with its cosine: those, and all as close as the last of them.

    Args:
        embeddings: little-endian float32, each of length 1.
        vector: of length 1.
        limit: at least 1.

    """
    if not embeddings:
        return []
    known = np.frombuffer(b"".join(embeddings), dtype="<f4").reshape(len(embeddings), -1)
    close = known @ np.asarray(vector, dtype=np.float32)
    least = np.partition(close, -limit)[-limit] if limit < len(close) else -np.inf
    return [(int(at), float(close[at])) for at in np.flatnonzero(close >= least)]
