"""The shipped conversation: read, checked, and cut to any number of turns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from importlib import resources
from typing import Literal, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError, model_validator

from anaphora.errors import InvalidInput

FILE = "conversation.json"


class _Noun(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ScriptMessage(_Noun):
    """One message as it was said."""

    role: Literal["user", "assistant"]
    content: str = Field(min_length=1)
    created_at: AwareDatetime


class ScriptTurn(_Noun):
    """A question and its answer."""

    user: ScriptMessage
    assistant: ScriptMessage


class ScriptSession(_Noun):
    """One conversation: user and assistant in turn, in the order of time."""

    session: str = Field(min_length=1)
    messages: tuple[ScriptMessage, ...] = Field(min_length=2)

    @model_validator(mode="after")
    def _alternates(self) -> Self:
        expected = ("user", "assistant")
        for seq, message in enumerate(self.messages):
            if message.role != expected[seq % 2]:
                raise ValueError(f"message {seq} of {self.session} is not by the {expected[seq % 2]}")
        if len(self.messages) % 2:
            raise ValueError(f"the last question of {self.session} has no answer")
        times = [message.created_at for message in self.messages]
        if times != sorted(times):
            raise ValueError(f"the times of {self.session} go back")
        return self

    @property
    def turns(self) -> tuple[ScriptTurn, ...]:
        """The messages, two by two."""
        pairs = zip(self.messages[::2], self.messages[1::2], strict=True)
        return tuple(ScriptTurn(user=user, assistant=assistant) for user, assistant in pairs)


class Evidence(_Noun):
    """The message that holds an answer."""

    session: str
    seq: int = Field(ge=0)


class Question(_Noun):
    """Something asked later, with the words that a person would search for."""

    #: in which it is asked
    session: str
    question: str
    answer: str
    evidence: tuple[Evidence, ...] = Field(min_length=1)
    search: str
    kind: Literal["fact", "correction", "far_past", "return"]


class Script(_Noun):
    """The whole conversation."""

    title: str
    user: str
    description: str
    sessions: tuple[ScriptSession, ...]
    questions: tuple[Question, ...]

    @model_validator(mode="after")
    def _evidence_exists(self) -> Self:
        lengths = {session.session: len(session.messages) for session in self.sessions}
        if len(lengths) != len(self.sessions):
            raise ValueError("two sessions have one name")
        for question in self.questions:
            missing = [e for e in question.evidence if e.seq >= lengths.get(e.session, 0)]
            if missing:
                raise ValueError(f"{question.question!r} points at a message that is not there")
        return self

    @property
    def turn_count(self) -> int:
        """Turns of all sessions together."""
        return sum(len(session.messages) // 2 for session in self.sessions)

    @property
    def message_count(self) -> int:
        """Messages of all sessions together."""
        return sum(len(session.messages) for session in self.sessions)

    def kinds(self) -> Counter[str]:
        """How many questions there are of each kind."""
        return Counter(question.kind for question in self.questions)

    def cut(self, turns: int) -> Script:
        """The first turns, with the questions whose answers are among them.

        Raises:
            InvalidInput: less than one turn.

        """
        if turns < 1:
            raise InvalidInput("turns must be at least 1")
        sessions = tuple(_cut(self.sessions, turns))
        lengths = {session.session: len(session.messages) for session in sessions}
        questions = tuple(
            question for question in self.questions if all(e.seq < lengths.get(e.session, 0) for e in question.evidence)
        )
        return self.model_copy(update={"sessions": sessions, "questions": questions})


def _cut(sessions: tuple[ScriptSession, ...], turns: int) -> Iterator[ScriptSession]:
    left = 2 * turns
    for session in sessions:
        if left <= 0:
            return
        yield session.model_copy(update={"messages": session.messages[:left]})
        left -= len(session.messages)


def parse(text: str) -> Script:
    """A script from its JSON text.

    Raises:
        InvalidInput: it is not one; the first mistake is named.

    """
    try:
        return Script.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise InvalidInput(f"the demo's conversation is broken at {where}: {first['msg']}") from None


def load() -> Script:
    """The conversation that ships with the package."""
    return parse(resources.files(__package__).joinpath(FILE).read_text(encoding="utf-8"))
