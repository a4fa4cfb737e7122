"""What goes into the prompt, and the account of what does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from anaphora.domain import wire
from anaphora.domain.keys import SeqRange, SessionKey, union
from anaphora.domain.wire import PromptMessage, SectionName
from anaphora.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Where each message of the session is: I1 says that the parts hold each of them exactly once."""

    #: messages appended so far
    head: int
    summary_id: UUID | None
    #: spoken for by a point of the served summary
    summarised: tuple[SeqRange, ...]
    #: in the prompt word by word
    verbatim: tuple[SeqRange, ...]
    #: in neither, but declared, and found by search
    elided: tuple[SeqRange, ...]
    #: deleted by somebody: in no prompt, found by no search
    deleted: tuple[SeqRange, ...] = ()

    def __post_init__(self) -> None:
        parts = (*self.summarised, *self.verbatim, *self.elided, *self.deleted)
        whole = union(parts)
        expected = (SeqRange(0, self.head),) if self.head else ()
        if whole != expected or sum(len(r) for r in parts) != self.head:
            raise InvalidInput(f"coverage is broken: {parts} is not [0, {self.head}) exactly once")

    def counts(self) -> dict[str, int]:
        """How many messages each part holds."""
        return {name: sum(len(r) for r in getattr(self, name)) for name in _PARTS}

    def to_dict(self) -> dict[str, Any]:
        """The manifest as JSON types; ranges are `[start, stop]`, half-open."""
        return {
            "head": self.head,
            "summary_id": str(self.summary_id) if self.summary_id else None,
            **{name: [[r.start, r.stop] for r in getattr(self, name)] for name in _PARTS},
        }


_PARTS = ("summarised", "verbatim", "elided", "deleted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One entry of `Context.explain()`: where a line of the prompt came from, or why something is not in it."""

    section: SectionName | None
    source: str
    range: SeqRange | None
    tokens: int
    included: bool
    why: str
    #: of section `relevant`: whose message it is, and its number
    message: tuple[SessionKey, int] | None = None
    #: of section `relevant`: the whole message, not only a passage of it
    whole: bool = True
    #: of section `relevant`: what speaks for it, see `Hit.to_dict`
    scores: Mapping[str, Any] | None = None
    #: of sections `facts` and `conversations`: the fact, or the document
    id: UUID | None = None

    def to_dict(self) -> Mapping[str, Any]:
        """The entry as JSON types."""
        return {
            "section": self.section,
            "source": self.source,
            "range": [self.range.start, self.range.stop] if self.range else None,
            "tokens": self.tokens,
            "included": self.included,
            "why": self.why,
            **({"session": self.message[0].session, "seq": self.message[1]} if self.message else {}),
            **({"found": dict(self.scores)} if self.scores is not None else {}),
            **({"id": str(self.id)} if self.id is not None else {}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """A prompt within its budget, with the account of the whole conversation."""

    messages: tuple[PromptMessage, ...]
    budget: int
    #: what the messages cost by the store's token counter
    tokens: int
    #: what instructions, the whole history and the query would have cost
    tokens_full_history: int
    coverage: Coverage
    #: what is not as it should be: "model" (no model wrote a shown point), "summary" (what it should speak for has no
    #: room), "stale" (the summary was made before an edit and is being made again), "embedder" (there is none: what
    #: is relevant was found by words alone), "rerank" (what should have put the best of it first did not answer)
    degraded: tuple[str, ...]
    lines: tuple[Line, ...]

    def explain(self) -> tuple[Line, ...]:
        """For every line where it came from, its tokens, and why others were left out."""
        return self.lines

    def to_openai(self) -> list[dict[str, Any]]:
        """Messages for an OpenAI-compatible chat completion."""
        return wire.to_openai(self.messages)

    def to_anthropic(self) -> dict[str, Any]:
        """`system` (when there are instructions) and `messages` for Anthropic's Messages API."""
        return wire.to_anthropic(self.messages)
