"""Topics: segments of a session; and what of the open one is compared with the next message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

from anaphora.domain.keys import SeqRange, SessionKey
from anaphora.domain.messages import Role, Trust
from anaphora.domain.summaries import Method


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """A message as the topics see it."""

    role: Role
    text: str
    #: its unit vector, made as a passage is; None: there is none (yet)
    vector: Sequence[float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What of a message's wording tells whether it opens a topic or carries one on."""

    #: stems of its telling words
    words: frozenset[str] = frozenset()
    #: how many words it has, of any kind
    length: int = 0
    #: it ends in a question
    asks: bool = False
    #: it asks the other about themselves: "do you have any pets?"
    about_you: bool = False
    #: it wants something done: "I need a taxi"
    requests: bool = False
    #: it starts as an answer or a remark does: "yes", "that's great", "oh"
    replies: bool = False
    #: it has words that stand for something said before: "it", "that one"
    points_back: bool = False
    #: it thanks, or takes leave
    closes: bool = False
    #: it offers to go on to something else: "anything else?"
    offers: bool = False
    #: it says so itself: "by the way", "another question"
    turns: bool = False
    #: it starts with who speaks: "I", "my"
    about_me: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTopic:
    """What is known of the topic that is talked about. It grows with the topic's words, never with the session."""

    messages: int = 0
    characters: int = 0
    #: messages of the user among them, and how many of those asked something
    turns: int = 0
    questions: int = 0
    #: stems of the telling words that were said in it
    words: frozenset[str] = frozenset()
    #: vectors of its newest messages, oldest first
    recent: tuple[Sequence[float] | None, ...] = ()
    #: of the newest message
    last: Traits = field(default_factory=Traits)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedTopic:
    """What is known of an earlier topic of the session, to find it when somebody goes back to it."""

    #: what the caller calls it
    id: str
    words: frozenset[str]
    vector: tuple[float, ...] = ()


class Stage(StrEnum):
    """What the first stage says of a message."""

    SAME = "same"
    #: a model is to be asked
    DOUBT = "doubt"
    SHIFT = "shift"
    #: a shift to what was talked about before
    RETURN = "return"
    #: a shift because the open topic has grown as long as one may
    FULL = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What is said of a message, and why."""

    stage: Stage
    #: 0 to 1: how much the message looks like more of the same
    sameness: float
    #: the closed topic that a return goes back to
    continues: str | None = None
    #: what spoke for a shift (positive) and against it, strongest first
    reasons: tuple[tuple[str, float], ...] = ()

    @property
    def shifts(self) -> bool:
        """The message opens a topic."""
        return self.stage in {Stage.SHIFT, Stage.RETURN, Stage.FULL}


class Opened(StrEnum):
    """Why a topic began where it begins."""

    #: it is the first of its session
    FIRST = "first"
    SHIFT = "shift"
    RETURN = "return"
    FULL = "full"
    #: the session had ended, and was taken up again
    AGAIN = "again"


class Closed(StrEnum):
    """Why a topic ended where it ends."""

    #: the next message opened another
    SHIFT = "shift"
    #: the next message went back to an earlier one
    RETURN = "return"
    FULL = "full"
    #: the session was ended
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A closed segment of a session. What is behind the last of them is the open topic, of which no row is kept."""

    id: UUID
    session_id: UUID
    #: the topics of a session tile it from its first message on
    range: SeqRange
    opened: Opened
    closed: Closed
    #: of a return: the topic that it goes back to
    continues: UUID | None
    #: of one that ended with a return: the topic that was gone back to
    leads_to: UUID | None
    #: None until it was described
    name: str | None
    summary: str | None
    #: of name and summary together; 0 until it was described
    tokens: int
    #: stems of its telling words, sorted: by them a return is found
    words: tuple[str, ...]
    method: Method | None
    model: str | None
    prompt_version: str | None
    trust: Trust
    #: a message of it was changed since: it is being described again
    stale: bool = False
    #: when the first and the last of its messages were said
    first_at: datetime
    last_at: datetime
    #: when it was closed and described, and how long the log was then
    closed_at: datetime
    closed_head: int
    described_at: datetime | None
    described_head: int | None


#: how a topic begins that follows one that ended so
OPENED_AFTER: Final = {
    Closed.SHIFT: Opened.SHIFT,
    Closed.RETURN: Opened.RETURN,
    Closed.FULL: Opened.FULL,
    Closed.ENDED: Opened.AGAIN,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A topic of a session, open or closed."""

    key: SessionKey
    range: SeqRange
    opened: Opened
    #: of a return: the topic that it goes back to
    continues: UUID | None
    #: None: it is open
    topic: Topic | None
    #: the first message of the topic that it goes back to
    goes_on_from: int | None = None

    @property
    def state(self) -> str:
        """`open`, `closed` (nothing speaks for it yet), `stale` or `described`."""
        if self.topic is None:
            return "open"
        if self.topic.summary is None:
            return "closed"
        return "stale" if self.topic.stale else "described"


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicMatch:
    """A described topic, and whose session it is of."""

    topic: Topic
    key: SessionKey


class View(StrEnum):
    """What of a topic a vector stands for."""

    NAME = "name"
    SUMMARY = "summary"


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicVector:
    """What one view of a topic means."""

    topic_id: UUID
    view: View
    vector: Sequence[float]
