"""The same API, blocking: for programs that have no event loop.

from anaphora.sync import Memory

with Memory.open("memory.db") as memory:
    chat = memory.session(user="alice", session="s1")
    chat.add("user", "I'm allergic to peanuts.")
    context = chat.context("What can I cook tonight?", budget=2000)

Every method does what its namesake in `anaphora.memory` does, with the same arguments, results and errors: it runs
it in one event loop, in a thread that the open memory owns, and waits. A memory and its sessions may be used from any
number of threads at once, also from one whose own event loop is running (which stands still meanwhile). They do not
survive a `fork`: open the memory in each process.
"""

from __future__ import annotations

from anaphora.sync.agent import Agent
from anaphora.sync.memory import (
    AuditView,
    FactsView,
    JobsView,
    KeysView,
    KnowledgeView,
    Memory,
    NotepadView,
    RetentionView,
    Session,
    SubjectsView,
    TopicsView,
)

__all__ = [
    "Agent",
    "AuditView",
    "FactsView",
    "JobsView",
    "KeysView",
    "KnowledgeView",
    "Memory",
    "NotepadView",
    "RetentionView",
    "Session",
    "SubjectsView",
    "TopicsView",
]
