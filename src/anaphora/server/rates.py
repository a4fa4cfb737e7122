"""How often somebody may ask: per principal, and per address for those who are nobody."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from ipaddress import IPv6Address, ip_address
from typing import Final

from anaphora.domain.principals import Principal
from anaphora.server.problems import Refused

_MINUTE: Final = 60.0
#: whose requests are counted at a time: who was silent for longest is forgotten first
_MOST: Final = 65_536
#: who has a network of IPv6 has all of its addresses
_NETWORK_BITS: Final = 64


@dataclass(slots=True)
class _Bucket:
    """Holds as many requests as may come in a minute, and fills up evenly."""

    most: int
    #: by who: when the bucket is full again, on a monotonic clock
    _full_at: OrderedDict[str, float] = field(default_factory=OrderedDict)

    def take(self, who: str, now: float) -> float | None:
        """None: it may; else after how many seconds it may again."""
        each = _MINUTE / self.most
        full_at = max(self._full_at.pop(who, now), now) + each
        if (wait := full_at - now - _MINUTE) > each * 1e-6:
            self._full_at[who] = full_at - each
            return wait
        self._full_at[who] = full_at
        while len(self._full_at) > _MOST:
            self._full_at.popitem(last=False)
        return None


class Rates:
    """Counts requests in this process: so many at once, and so many a minute from then on.

    Args:
        requests: of one principal in a minute; 0: as many as come.
        failures: requests without a valid key, of one address in a minute.
        now: seconds that never go back.

    """

    def __init__(self, *, requests: int, failures: int, now: Callable[[], float] = time.monotonic) -> None:
        self._requests = _Bucket(requests) if requests else None
        self._failures = _Bucket(failures)
        self._now = now

    def asked(self, principal: Principal) -> None:
        """Count a request.

        Raises:
            Refused: 429, there were too many.

        """
        if self._requests is not None:
            _count(self._requests, f"{principal.tenant}\0{principal.by}\0{principal.user or ''}", self._now())

    def failed(self, address: str) -> None:
        """Count a request that nobody valid made.

        Raises:
            Refused: 429, there were too many.

        """
        _count(self._failures, network_of(address), self._now())


def network_of(address: str) -> str:
    """Whose address this is: itself, and for IPv6 its network."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address):
        return parsed.ipv4_mapped.compressed if parsed.ipv4_mapped else str(int(parsed) >> _NETWORK_BITS)
    return parsed.compressed


def _count(bucket: _Bucket, who: str, now: float) -> None:
    wait = bucket.take(who, now)
    if wait is not None:
        seconds = max(1, math.ceil(wait))
        raise Refused(
            HTTPStatus.TOO_MANY_REQUESTS,
            f"more than {bucket.most:,} requests in a minute: try again in {seconds} s",
            headers={"Retry-After": str(seconds)},
        )
