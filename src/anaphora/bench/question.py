"""A question, and how it is asked."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from typing import Any, Generic, TypeVar

from anaphora.bench.machine import machine, versions
from anaphora.bench.result import Measured, Result
from anaphora.bench.setup import Setup
from anaphora.bootstrap.process import settled
from anaphora.ports.clock import Clock

S = TypeVar("S")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question(Generic[S]):
    """One question with the sizes that answer it, and with sizes that only show that it can be asked."""

    name: str
    #: what one wants to know, as a question
    asks: str
    #: a dataclass of numbers
    full: S
    quick: S
    measure: Callable[[S, Setup], Awaitable[Measured]]
    #: raises `MissingExtra` where packages that it needs are not installed
    needs: Callable[[], None] = lambda: None
    #: asked only by its name: it takes longer than all the others together
    long: bool = False

    async def ask(self, setup: Setup, clock: Clock, *, quick: bool = False) -> Result:
        """Measure. A missed target is part of the result, no error.

        Raises:
            MissingExtra: packages that it needs are not installed.
            AnaphoraError: it could not be measured.

        """
        self.needs()
        sizes = self.quick if quick else self.full
        before = machine()
        with settled():
            started_at, started = clock.now(), time.perf_counter()
            measured = await self.measure(sizes, setup)
        return Result(
            question=self.name,
            asks=self.asks,
            quick=quick,
            seed=setup.seed,
            sizes=_plain(sizes),
            figures=measured.figures,
            notes=measured.notes,
            versions={**versions(), **measured.versions},
            machine=before,
            started_at=started_at,
            seconds=round(time.perf_counter() - started, 1),
        )


def _plain(sizes: Any) -> dict[str, Any]:  # noqa: ANN401 - any dataclass
    """Sizes as they are read back from JSON: lists, no tuples."""
    plain: dict[str, Any] = json.loads(json.dumps(asdict(sizes)))
    return plain
