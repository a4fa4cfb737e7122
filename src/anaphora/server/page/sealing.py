"""What a browser keeps for the service, sealed: nobody else can make it, and it ends."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Seal:
    """Seals and opens small objects of JSON; each seal is for one purpose."""

    key: bytes
    #: seconds since 1970
    now: Callable[[], float] = time.time

    def close(self, purpose: str, said: Mapping[str, Any], *, seconds: float) -> str:
        """The object as text that `open` takes for so many seconds."""
        whole = {"said": said, "until": self.now() + seconds}
        body = base64.urlsafe_b64encode(json.dumps(whole, ensure_ascii=False).encode()).decode()
        return f"{body}.{self.mark(purpose, body)}"

    def open(self, purpose: str, text: str | None) -> Mapping[str, Any] | None:
        """What was sealed for this purpose; None: nothing that holds."""
        body, dot, mark = (text or "").partition(".")
        if not dot or not self.right(mark, purpose, body):
            return None
        try:
            whole = json.loads(base64.urlsafe_b64decode(body))
        except (binascii.Error, ValueError):
            return None
        if whole["until"] <= self.now():
            return None
        said: Mapping[str, Any] = whole["said"]
        return said

    def mark(self, purpose: str, *about: str) -> str:
        """A mark of these texts that only this service can make."""
        return hmac.new(self.key, json.dumps([purpose, *about]).encode(), hashlib.sha256).hexdigest()

    def right(self, mark: str, purpose: str, *about: str) -> bool:
        """Whether it is their mark, in the same time whatever it is."""
        return hmac.compare_digest(mark.encode(errors="surrogatepass"), self.mark(purpose, *about).encode())
