"""Memory for conversational LLM agents over one append-only log.

async with Memory.open("memory.db") as memory:
    chat = memory.session(user="alice", session="s1")
    await chat.add("user", "I'm allergic to peanuts.")
    context = await chat.context("What can I cook tonight?", budget=2000)
"""

from __future__ import annotations

from anaphora.domain.context import Context, Coverage, Line
from anaphora.domain.keys import SeqRange, SessionKey
from anaphora.domain.messages import Message, Receipt, ReceiptState, Role
from anaphora.domain.summaries import Point, Summary
from anaphora.errors import AnaphoraError
from anaphora.memory import Memory, Session
from anaphora.services.chat import Answer
from anaphora.settings import Settings

__version__ = "0.1.0"

__all__ = [
    "AnaphoraError",
    "Answer",
    "Context",
    "Coverage",
    "Line",
    "Memory",
    "Message",
    "Point",
    "Receipt",
    "ReceiptState",
    "Role",
    "SeqRange",
    "Session",
    "SessionKey",
    "Settings",
    "Summary",
]
