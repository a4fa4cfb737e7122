"""By what is known again what was erased: keyed hashes of names and ids, which tell nobody what they stand for."""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Final
from uuid import UUID

from anaphora.domain.erasure import Target
from anaphora.domain.keys import SessionKey

_HASH_BYTES: Final = 16


def mark_of_target(secret: bytes, target: Target) -> str:
    """What was asked to be erased."""
    return _mark(secret, "target", target.to_text())


def mark_of_user(secret: bytes, user: str) -> str:
    """A user of whom everything was erased."""
    return _mark(secret, "user", user)


def mark_of_agent(secret: bytes, agent: str) -> str:
    """An agent of whose sessions everything was erased."""
    return _mark(secret, "agent", agent)


def mark_of_session(secret: bytes, key: SessionKey) -> str:
    """A session that was erased."""
    return _mark(secret, "session", key.user, key.agent, key.session)


def mark_of_message(secret: bytes, message_id: UUID) -> str:
    """A message that was erased by itself."""
    return _mark(secret, "message", message_id.hex)


def mark_of_fact(secret: bytes, fact_id: UUID) -> str:
    """A fact that was erased."""
    return _mark(secret, "fact", fact_id.hex)


def mark_of_receipt(secret: bytes, receipt_id: UUID) -> str:
    """A receipt of messages that were erased with their session."""
    return _mark(secret, "receipt", receipt_id.hex)


def mark_of_import(secret: bytes, key: SessionKey, source: str, digest: str) -> str:
    """An imported message that was erased: the digest is of it and of all before it in what was read."""
    return _mark(secret, "import", key.user, key.agent, key.session, source, digest)


def _mark(secret: bytes, kind: str, *parts: str) -> str:
    text = json.dumps([kind, *parts], ensure_ascii=True, separators=(",", ":"))
    return hmac.new(secret, text.encode(), hashlib.sha256).digest()[:_HASH_BYTES].hex()
