"""Stamps of what changed, as a store keeps them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from anaphora.domain.changes import ChangeKind, Stamp


class Changes(Protocol):
    """The newest change of each part of each user's memory. A transaction that changes something stamps it itself."""

    def stamps(self, tenant: str, users: Collection[str]) -> Mapping[str, Mapping[ChangeKind, Stamp]]:
        """Of those of the users of whose memory anything ever changed; after an erasure, since then."""
        ...
