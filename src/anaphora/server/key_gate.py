"""Lets in by keys. What a key was found to be is believed for seconds, so that most requests read no row for it."""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from anaphora.domain.principals import Principal
from anaphora.memory import Memory

#: seconds after which a key is looked up again: a revoked one lets in for no longer
TRUST: Final = 3.0
#: keys that are remembered, valid or not
_MOST: Final = 4096


@dataclass(frozen=True, slots=True)
class KeyGate:
    """`gate.Gate` over the keys of a memory."""

    memory: Memory
    now: Callable[[], float] = time.monotonic
    #: by the hash of what was sent: until when it is believed, and who it is
    _known: OrderedDict[bytes, tuple[float, Principal | None]] = field(default_factory=OrderedDict)

    async def principal(self, token: str | None) -> Principal | None:
        """Whose key this is; None: nobody's."""
        if token is None:
            return None
        digest = hashlib.sha256(token.encode(errors="surrogatepass")).digest()
        until, found = self._known.get(digest, (0.0, None))
        if until <= self.now():
            found = await self.memory.keys.verify(token)
            self._remember(digest, found)
        return found

    async def again(self, tenant: str, by: str) -> Principal | None:
        """Who came with the key of this id before; None: it lets nobody in any more."""
        digest = hashlib.sha256(f"{tenant}\0{by}".encode()).digest()
        until, found = self._known.get(digest, (0.0, None))
        if until <= self.now():
            found = await self.memory.keys.again(by, tenant=tenant)
            self._remember(digest, found)
        return found

    def _remember(self, digest: bytes, found: Principal | None) -> None:
        self._known[digest] = (self.now() + TRUST, found)
        self._known.move_to_end(digest)
        while len(self._known) > _MOST:
            self._known.popitem(last=False)
