"""Conversations with questions about them, whatever file they came from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from anaphora.services.importing.values import BadFile, ImportedConversation

#: a message of a user: the name of its session, and its number there
Place = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked, and which messages answer it."""

    text: str
    #: as the file calls it
    category: str
    #: at least one
    evidence: frozenset[Place]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One user: sessions to remember, and questions about them."""

    user: str
    #: each session once, in the order in which they were held
    sessions: tuple[ImportedConversation, ...]
    questions: tuple[Question, ...]
    #: the place in the file
    where: str

    def texts(self) -> Iterator[tuple[Place, str]]:
        """Every message by its place."""
        for session in self.sessions:
            for seq, message in enumerate(session.messages):
                yield (session.session, seq), message.content

    def unused_session(self) -> str:
        """The name of a session in which nothing was said."""
        names, number = {session.session for session in self.sessions}, 1
        while f"fresh-{number}" in names:
            number += 1
        return f"fresh-{number}"


def checked(path: Path, cases: Iterable[Case]) -> list[Case]:
    """The cases, if they can be measured.

    Raises:
        BadFile: two of them are of the same user, or there is no question that any message answers.

    """
    by_user: dict[str, Case] = {}
    for case in cases:
        if case.user in by_user:
            raise BadFile(str(path), case.where, f"{case.user!r} stands in the file twice: give each its own id")
        by_user[case.user] = case
    if not any(case.questions for case in by_user.values()):
        raise BadFile(str(path), "", "expected questions with evidence, but none names a message of the file")
    return list(by_user.values())
