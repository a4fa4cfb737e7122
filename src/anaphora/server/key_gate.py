"""Lets in by keys. What a key was found to be is believed for seconds, so that most requests read no row for it."""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final, TypeVar
from uuid import UUID

from anaphora.domain.access import RawKey
from anaphora.domain.principals import Principal
from anaphora.memory import Memory
from anaphora.server.problems import Refused

_T = TypeVar("_T")
#: seconds after which a key is looked up again: one that another process revoked lets in for no longer
TRUST: Final = 3.0
#: keys that are remembered, of those that let in and of those that do not
_MOST: Final = 4096
#: keys not known to be good that are looked up at once, and how many more a second
BURST: Final = 1000
_PER_SECOND: Final = 100


@dataclass(slots=True)
class _Strangers:
    """How many keys may still be looked up of which nothing good is known: whoever makes them up reads few rows."""

    left: float = BURST
    since: float = 0.0

    def come(self, now: float) -> None:
        """Count one.

        Raises:
            Refused: 429, there are too many.

        """
        self.left = min(BURST, self.left + (now - self.since) * _PER_SECOND)
        self.since = now
        if self.left < 1:
            raise Refused(
                HTTPStatus.TOO_MANY_REQUESTS,
                "too many keys are sent that are not known here: try again in 1 s",
                headers={"Retry-After": "1"},
            )
        self.left -= 1


@dataclass(frozen=True, slots=True)
class KeyGate:
    """`gate.Gate` over the keys of a memory."""

    memory: Memory
    now: Callable[[], float] = time.monotonic
    #: by the hash of what was sent: until when it is believed, by which generation of keys, and who it is.
    #: Those made up push no good one out
    _good: OrderedDict[bytes, tuple[float, int, Principal]] = field(default_factory=OrderedDict)
    _bad: OrderedDict[bytes, float] = field(default_factory=OrderedDict)
    _strangers: _Strangers = field(default_factory=_Strangers)

    async def principal(self, token: str | None) -> Principal | None:
        """Whose key this is; None: nobody's.

        Raises:
            Refused: 429, too many unknown keys were sent.

        """
        if token is None or RawKey.parse(token) is None:
            return None
        return await self._known(token, lambda: self.memory.keys.verify(token))

    async def again(self, tenant: str, by: str) -> Principal | None:
        """Who came with the key of this id before; None: it lets nobody in any more."""
        try:
            key_id = UUID(hex=by)
        except ValueError:
            return None  # came with something else than a key
        return await self._known(f"{tenant}\0{by}", lambda: self.memory.keys.again(key_id, tenant=tenant))

    async def _known(self, sent: str, look: Callable[[], Awaitable[Principal | None]]) -> Principal | None:
        digest = hashlib.sha256(sent.encode()).digest()
        now, generation = self.now(), self.memory.keys.generation
        until, of, found = self._good.get(digest, (0.0, generation, None))
        if found is not None and now < until and of == generation:
            return found
        if now < self._bad.get(digest, 0.0):
            return None
        if found is None:
            self._strangers.come(now)
        found = await look()
        if found is None:
            self._good.pop(digest, None)
            _put(self._bad, digest, now + TRUST)
        else:
            _put(self._good, digest, (now + TRUST, generation, found))
        return found


def _put(known: OrderedDict[bytes, _T], digest: bytes, value: _T) -> None:
    known[digest] = value
    known.move_to_end(digest)
    while len(known) > _MOST:
        known.popitem(last=False)
