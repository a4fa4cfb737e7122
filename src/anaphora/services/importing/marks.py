"""How far an import has come: a position and a digest, stored with every imported message."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b

from anaphora.domain.messages import IMPORT_MARK, Message, NewMessage


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a session has come: how many messages, and the digest of them all."""

    position: int = 0
    digest: str = ""
    #: instead of the digest, if something of it was erased: that digest keyed
    keyed: str = ""

    @classmethod
    def of(cls, message: Message | None) -> Mark:
        """The mark of a stored message; the start if it has none."""
        mark = None if message is None else message.metadata.get(IMPORT_MARK)
        if not isinstance(mark, Mapping):
            return cls()
        return cls(int(mark["position"]), str(mark.get("digest", "")), str(mark.get("keyed", "")))

    def is_of(self, read: Mark, key: Callable[[str], str]) -> bool:
        """Whether a mark that was read is this stored one; `key` keys a digest."""
        if self.keyed:
            return self.position == read.position and self.keyed == key(read.digest)
        return self == read

    def after(self, message: NewMessage) -> Mark:
        """The mark behind one more message."""
        said = [message.role, message.name, message.content, [dict(part) for part in message.parts]]
        text = self.digest + json.dumps(said, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return Mark(self.position + 1, blake2b(text.encode(), digest_size=16).hexdigest())

    def on(self, message: NewMessage) -> NewMessage:
        """The message with this mark in its metadata."""
        mark = {"position": self.position, "digest": self.digest}
        return replace(message, metadata={**message.metadata, IMPORT_MARK: mark})
