"""The public API: a memory, its sessions, and what they give."""

from __future__ import annotations

from anaphora.memory.access import AuditView, KeysView
from anaphora.memory.facts import FactsView, SubjectsView
from anaphora.memory.jobs import JobsView
from anaphora.memory.knowledge import KnowledgeView
from anaphora.memory.memory import GRACE, Memory
from anaphora.memory.notepad import NotepadView
from anaphora.memory.retention import RetentionView
from anaphora.memory.session import Session
from anaphora.memory.topics import TopicsView

__all__ = [
    "GRACE",
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
