"""How often somebody may ask: per principal, and per address for those who are nobody."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from http import HTTPStatus

from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter

from anaphora.domain.principals import Principal
from anaphora.server.problems import Refused


def _limiter() -> SlidingWindowCounterRateLimiter:
    return SlidingWindowCounterRateLimiter(MemoryStorage())


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Counts requests in this process."""

    #: of one principal in a minute; 0: as many as come
    requests: int = 60_000
    #: without a valid key, of one address in a minute
    failures: int = 60
    _limiter: SlidingWindowCounterRateLimiter = field(default_factory=_limiter)

    def asked(self, principal: Principal) -> None:
        """Count a request.

        Raises:
            Refused: 429, there were too many.

        """
        if self.requests and not self._hit(self.requests, f"{principal.tenant}\0{principal.by}"):
            raise self._too_many(self.requests, f"{principal.tenant}\0{principal.by}")

    def failed(self, address: str) -> None:
        """Count a request that nobody valid made.

        Raises:
            Refused: 429, there were too many.

        """
        if not self._hit(self.failures, address):
            raise self._too_many(self.failures, address)

    def _hit(self, most: int, who: str) -> bool:
        return self._limiter.hit(RateLimitItemPerMinute(most), who)

    def _too_many(self, most: int, who: str) -> Refused:
        seconds = self._limiter.get_window_stats(RateLimitItemPerMinute(most), who).reset_time - time.time()
        wait = max(1, math.ceil(seconds))
        return Refused(
            HTTPStatus.TOO_MANY_REQUESTS,
            f"more than {most:,} requests in a minute: try again in {wait} s",
            headers={"Retry-After": str(wait)},
        )
