"""When to try again."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Exponential backoff with full jitter above half, bounded."""

    #: claims before the work is degraded; crashes count
    max_attempts: int = 5
    #: seconds before the second attempt
    base_seconds: float = 2.0
    #: longest wait, in seconds
    max_seconds: float = 300.0

    def delay(self, attempt: int, *, chance: float, retry_after: float | None = None) -> float:
        """Seconds to wait after the `attempt`-th failure (from 1).

        Args:
            attempt: how many attempts failed.
            chance: a random number in [0, 1).
            retry_after: what the server asked for; never less is waited, up to `max_seconds`.

        """
        full = min(self.max_seconds, self.base_seconds * 2.0 ** min(attempt - 1, 32))
        jittered = full / 2 + full / 2 * chance
        return min(self.max_seconds, max(jittered, retry_after or 0.0))
