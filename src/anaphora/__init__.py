"""Memory for conversational LLM agents over one append-only log.

async with Memory.open("memory.db") as memory:
    chat = memory.session(user="alice", session="s1")
    await chat.add("user", "I'm allergic to peanuts.")
    context = await chat.context("What can I cook tonight?", budget=2000)

The names below are loaded when they are first used, so that `anaphora --help` need not load what it does not show.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from anaphora.domain.context import Context, Coverage, Line
    from anaphora.domain.documents import Document
    from anaphora.domain.facts import Fact, FactState, FactVersion, Source, Subject, Visibility
    from anaphora.domain.keeping import AsideFor, FactCounts
    from anaphora.domain.keys import SeqRange, SessionKey
    from anaphora.domain.messages import Message, Receipt, ReceiptState, Role
    from anaphora.domain.notepad import Page, PageAction
    from anaphora.domain.summaries import Point, Summary
    from anaphora.domain.topics import Segment, Topic
    from anaphora.errors import AnaphoraError
    from anaphora.memory import Memory, Session
    from anaphora.services.chat import Answer
    from anaphora.settings import Settings

__version__ = "0.1.0"

__all__ = [
    "AnaphoraError",
    "Answer",
    "AsideFor",
    "Context",
    "Coverage",
    "Document",
    "Fact",
    "FactCounts",
    "FactState",
    "FactVersion",
    "Line",
    "Memory",
    "Message",
    "Page",
    "PageAction",
    "Point",
    "Receipt",
    "ReceiptState",
    "Role",
    "Segment",
    "SeqRange",
    "Session",
    "SessionKey",
    "Settings",
    "Source",
    "Subject",
    "Summary",
    "Topic",
    "Visibility",
]

#: where each public name is defined
_HOMES: Final = {
    "anaphora.domain.context": ("Context", "Coverage", "Line"),
    "anaphora.domain.documents": ("Document",),
    "anaphora.domain.facts": ("Fact", "FactState", "FactVersion", "Source", "Subject", "Visibility"),
    "anaphora.domain.keeping": ("AsideFor", "FactCounts"),
    "anaphora.domain.keys": ("SeqRange", "SessionKey"),
    "anaphora.domain.messages": ("Message", "Receipt", "ReceiptState", "Role"),
    "anaphora.domain.notepad": ("Page", "PageAction"),
    "anaphora.domain.summaries": ("Point", "Summary"),
    "anaphora.domain.topics": ("Segment", "Topic"),
    "anaphora.errors": ("AnaphoraError",),
    "anaphora.memory": ("Memory", "Session"),
    "anaphora.services.chat": ("Answer",),
    "anaphora.settings": ("Settings",),
}


def __getattr__(name: str) -> object:
    home = next((module for module, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
