"""How keys are recognised, and the chain of the audit sealed. Pure."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from anaphora.domain.access import AuditEntry

#: what stands before the first entry
UNSEALED: Final = ""


def hash_of(secret: str) -> str:
    """What is kept of a key: it has 256 random bits, so a plain hash cannot be turned back by guessing."""
    return hashlib.sha256(secret.encode()).hexdigest()


def opens(secret: str, kept: str) -> bool:
    """Whether that is the key of this hash; how long the answer takes tells nothing."""
    return hmac.compare_digest(hash_of(secret), kept)


def mark_of_name(secret: bytes, name: str) -> str:
    """What stands in the audit for a name: with the store's secret anybody can be looked up, without it nobody."""
    return hmac.new(secret, b"audit\0" + name.encode(), hashlib.sha256).hexdigest()[:32]


def sealed(secret: bytes, entry: AuditEntry, before: str) -> AuditEntry:
    """The entry with its seal.

    Args:
        secret: the store's own.
        entry: what is to be sealed; its seal does not count.
        before: the seal of the entry with the number before.

    """
    parts = [
        before,
        entry.number,
        entry.at.isoformat(),
        entry.who,
        entry.by,
        entry.action,
        dict(sorted(entry.about.items())),
        entry.status,
    ]
    text = json.dumps(parts, ensure_ascii=True, separators=(",", ":"))
    return replace(entry, seal=hmac.new(secret, text.encode(), hashlib.sha256).hexdigest())


def broken_at(secret: bytes, entries: Iterable[AuditEntry], before: str = UNSEALED, number: int = 1) -> int | None:
    """The number of the first entry that is not as it was written; None: the chain holds.

    Args:
        secret: the store's own.
        entries: in order, the first with this `number`.
        before: the seal before it.
        number: where to begin.

    """
    for entry in entries:
        if entry.number != number or not hmac.compare_digest(sealed(secret, entry, before).seal, entry.seal):
            return number
        before, number = entry.seal, number + 1
    return None
