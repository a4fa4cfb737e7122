"""Topics: the open one word by word, what was said of the closed ones (seed 003), without its holes.

A closed topic stands word by word until it is described, so that no answer waits for a model and nothing is missing
meanwhile (holes 3.7, 3.8). Where topics end, `rules.topics` decides; what is read of them again, `services.topical`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from anaphora.domain.jobs import JobKind
from anaphora.domain.keys import SeqRange
from anaphora.domain.plans import Plan, Selection, Snapshot, State
from anaphora.domain.summaries import Method, Point
from anaphora.domain.topics import Topic
from anaphora.errors import InvalidInput
from anaphora.rules.topics.detector import Limits

#: messages that may wait for a model's word at most
MAX_WAITING: Final = 128
#: the share of `batch_tokens` that may wait where the open topic alone has more
_BESIDE_MORE: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Topics:
    """The compaction of seed 003. The defaults are the seed's."""

    #: messages that a topic has before another may begin
    least_messages: int = 3
    #: characters and messages from which on the next message of the user opens a topic, whatever it says
    most_characters: int = 25_000
    most_messages: int = 500
    #: sameness at or below which a model is asked, and below which there is a shift where none is asked
    doubt: float = 0.45
    alone: float = 0.12
    #: messages that may wait for a model's word, so that one call settles many doubts; 1: none waits
    batch: int = 48
    #: tokens of the open topic, with what waits, that a prompt has room for; beside more, a quarter of them may wait
    batch_tokens: int = 2000
    #: size of a topic's summary, in tokens
    summary_tokens: int = 120
    #: how relevant closed topics of the session must be to stand word by word, and how many may
    thread_threshold: float = 0.75
    threads: int = 2
    #: how relevant topics of earlier sessions must be for their summaries to stand there, and how many may
    past_threshold: float = 0.5
    past: int = 3

    def __post_init__(self) -> None:
        if min(self.least_messages, self.most_characters) < 1 or self.most_messages < self.least_messages:
            raise InvalidInput(
                "least_messages and most_characters must be at least 1, and most_messages not below least_messages"
            )
        if not 1 <= self.batch <= MAX_WAITING:
            raise InvalidInput(f"batch must be between 1 and {MAX_WAITING}")
        if self.batch_tokens < 1:
            raise InvalidInput("batch_tokens must be at least 1")
        if not 0 <= self.alone <= self.doubt <= 1:
            raise InvalidInput("alone and doubt must be between 0 and 1, and alone not above doubt")
        if self.summary_tokens < 48:
            raise InvalidInput("summary_tokens must be at least 48")
        thresholds = (self.thread_threshold, self.past_threshold)
        if min(self.threads, self.past) < 0 or not all(0 <= threshold <= 1 for threshold in thresholds):
            raise InvalidInput("threads and past must not be negative, and their thresholds between 0 and 1")

    @property
    def name(self) -> str:
        """`topics`."""
        return "topics"

    @property
    def shows_chunks(self) -> int:
        """None: topics are shown."""
        return 0

    @property
    def least_importance(self) -> int:
        """Seven of ten, the seed's: what is less important is in the topics."""
        return 7

    @property
    def job(self) -> JobKind:
        """Following its topics carries it on."""
        return JobKind.FOLLOW

    @property
    def limits(self) -> Limits:
        """When a topic may end, and when it must."""
        return Limits(
            least_messages=self.least_messages,
            most_characters=self.most_characters,
            most_messages=self.most_messages,
            doubt=self.doubt,
            alone=self.alone,
        )

    def may_wait(self, *, messages: int, tokens: int, opened: int, characters: int) -> bool:
        """Whether what may begin a topic still waits for the model's word.

        Args:
            messages: from the first that may, and `tokens`: what they have together.
            tokens: see `messages`.
            opened: tokens of the open topic, as it stands in prompts meanwhile: those are among them.
            characters: of the open topic, if nothing that is doubtful ends it.

        """
        most = self.batch_tokens if opened <= self.batch_tokens else self.batch_tokens // _BESIDE_MORE
        return messages < self.batch and tokens <= most and characters < self.most_characters

    def plan(self, state: State) -> Plan | None:
        """What was said since topics were last followed, up to the last finished turn."""
        done = state.turn_finished or state.ended or not state.turn_starts
        stop = state.head if done else state.turn_starts[-1]
        if stop <= state.covered_to:
            return None
        return Plan(read=SeqRange(state.covered_to, stop), keep_from=0, max_tokens=self.summary_tokens)

    def rebuild_plan(self, state: State, target: int) -> Plan | None:  # noqa: ARG002 - the protocol's
        """None: a topic whose messages changed is described again where it is."""
        return None

    def select(self, snapshot: Snapshot) -> Selection:
        """What is said of the described topics; word by word everything from the first that is not described yet."""
        closed, head = snapshot.topics, snapshot.state.head
        opened = closed[-1].range.stop if closed else 0
        start = next((topic.range.start for topic in closed if topic.summary is None), opened)
        return Selection(
            points=tuple(point for topic in closed if topic.range.stop <= start for point in _points(topic)),
            verbatim=SeqRange(start, head),
            recent_from=opened,
        )


def _points(topic: Topic) -> tuple[Point, ...]:
    if topic.summary is None:
        return ()
    text = f"{topic.name}: {topic.summary}" if topic.name else topic.summary
    return (Point(text=text, range=topic.range, method=topic.method or Method.EXTRACTIVE, tokens=topic.tokens),)
