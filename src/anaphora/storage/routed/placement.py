"""Which of several servers keeps a tenant: a rule that everybody computes alike, without asking anybody."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from anaphora.errors import ConfigError, UnknownName

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}", re.ASCII)
_SCORE_BYTES: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Highest random weight: a tenant lives where its name and the server's give the highest digest.

    A server that is added takes its share from all others, and no other tenant moves; one that is taken away leaves
    its own to all others. The order of the servers does not matter, nor does where they are: their names do.

    Attributes:
        servers: their names, sorted.
        pinned: tenants that live where this says, whatever their digest.

    Raises:
        ConfigError: no server at all, or a name that no server can have.
        UnknownName: a tenant is pinned to a server that is not there.

    """

    servers: tuple[str, ...]
    pinned: Mapping[str, str] = field(default_factory=dict)
    _keys: Mapping[str, bytes] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "servers", tuple(sorted(set(self.servers))))
        object.__setattr__(self, "pinned", MappingProxyType(dict(self.pinned)))
        if not self.servers:
            raise ConfigError("there is no server in the list: name at least one")
        for name in self.servers:
            if _NAME.fullmatch(name) is None:
                raise ConfigError(f"{name!r} cannot be the name of a server: use up to 40 of a-z, 0-9, _ and -")
        for server in self.pinned.values():
            if server not in self.servers:
                raise UnknownName("server", server, self.servers)
        keys = {name: hashlib.blake2b(name.encode(), digest_size=32).digest() for name in self.servers}
        object.__setattr__(self, "_keys", MappingProxyType(keys))

    def server_of(self, tenant: str) -> str:
        """The name of the server that keeps the tenant; the same in every process and on every machine."""
        pinned = self.pinned.get(tenant)
        if pinned is not None:
            return pinned
        name = tenant.encode("utf-8", "surrogatepass")
        return max(self.servers, key=lambda server: (_score(name, self._keys[server]), server))

    @property
    def fingerprint(self) -> str:
        """The same for the same servers and pins, another for others."""
        text = json.dumps([self.servers, sorted(self.pinned.items())])
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _score(tenant: bytes, key: bytes) -> bytes:
    return hashlib.blake2b(tenant, digest_size=_SCORE_BYTES, key=key).digest()
