"""Figures for Prometheus: of the requests that this process answered, and of the whole memory."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

import anyio
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from anaphora.domain.figures import Figures
from anaphora.errors import StoreError
from anaphora.memory import Memory

#: seconds for which figures of the whole memory are told again before they are counted again
FRESH: Final = 15.0
MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
#: seconds that the database may take
_PATIENCE: Final = 5.0
_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """A registry of its own: two services of one process do not count each other's requests."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "anaphora_http_requests", "Answered requests.", ("method", "route", "status"), registry=self._registry
        )
        self._seconds = Histogram(
            "anaphora_http_request_seconds",
            "How long answers took.",
            ("method", "route"),
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self._known: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self._of_memory = _OfMemory()
        self._registry.register(self._of_memory)
        self._counted_at = -FRESH
        self._counting = anyio.Lock()

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        series = self._known.get((method, route, status))
        if series is None:
            series = (self._requests.labels(method, route, str(status)), self._seconds.labels(method, route))
            self._known[method, route, status] = series
        series[0].inc()
        series[1].observe(seconds)

    async def text(self) -> bytes:
        """Everything, as Prometheus reads it; of a memory that does not answer, only that."""
        async with self._counting:
            if time.monotonic() - self._counted_at >= FRESH:
                self._of_memory.figures = await self._counted()
                self._counted_at = time.monotonic()
        return generate_latest(self._registry)

    async def _counted(self) -> Figures | None:
        try:
            with anyio.fail_after(_PATIENCE):
                return await self._memory.figures()
        except (StoreError, TimeoutError):
            return None


class _OfMemory(Collector):
    """The figures of the memory as they were counted last."""

    figures: Figures | None = None

    def describe(self) -> list[Metric]:
        """Nothing beforehand: names are this class's own."""
        return []

    def collect(self) -> Iterator[Metric]:
        """One family a figure."""
        yield _gauge("anaphora_up", "Whether the memory answers.", self.figures is not None)
        if self.figures is None:
            return
        found = self.figures
        yield _gauge("anaphora_sessions", "Conversations.", found.sessions)
        yield _gauge("anaphora_messages", "Messages in the log.", found.messages)
        summaries = GaugeMetricFamily("anaphora_summaries", "Versions of summaries.", labels=("status", "method"))
        for names, count in sorted(found.summaries.items()):
            summaries.add_metric(names, count)
        yield summaries
        seconds = CounterMetricFamily(
            "anaphora_summary_generation_seconds", "Time that it took to make the summaries that are kept."
        )
        seconds.add_metric((), found.generation_ms / 1000)
        yield seconds
        yield _gauge("anaphora_summaries_timed", "Summaries that this time was taken of.", found.timed)
        yield _gauge("anaphora_summary_generation_slowest_seconds", "The slowest of them.", found.slowest_ms / 1000)
        jobs = GaugeMetricFamily("anaphora_jobs", "Background work.", labels=("kind", "state"))
        for names, count in sorted(found.jobs.items()):
            jobs.add_metric(names, count)
        yield jobs
        yield _gauge("anaphora_jobs_waiting", "Jobs that wait or run.", found.queued)
        yield _gauge("anaphora_jobs_stuck", "Jobs that should have moved five minutes ago.", found.stuck)
        yield _gauge("anaphora_gap_messages", "Messages that no summary answers for yet.", found.gap)
        yield _gauge(
            "anaphora_summarised_tokens", "Tokens of messages that summaries answer for.", found.summarised_tokens
        )
        yield _gauge("anaphora_summary_tokens", "Tokens of these summaries.", found.summary_tokens)
        yield _gauge("anaphora_saved_tokens", "Tokens that prompts do without.", found.saved_tokens)


def _gauge(name: str, says: str, value: float) -> Metric:
    return GaugeMetricFamily(name, says, value=value)
