"""A chat model that knows nothing but its prompt: it repeats what stands there that has most to do with the question.

No expected answer stands in it, and no name of a scenario: what the prompt does not say, it does not know. It reads the
messages as any provider gets them, proposes facts whoever said them, and obeys its system text: what may be believed,
and what may be a system text, is for the memory to see to.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from anaphora.domain.facts import MOST_IMPORTANT
from anaphora.domain.messages import Message, Role, Trust
from anaphora.domain.wire import PromptMessage, to_openai
from anaphora.errors import ModelOutputInvalid
from anaphora.models.sentences import split_sentences
from anaphora.ports.models import Completion
from anaphora.prompts.topic_segments import BEGINS, MAY_BEGIN
from anaphora.rules.facts.spoken import facts_said
from anaphora.rules.memory_block import MEMORY_NAME
from anaphora.rules.topics.cues import goes_back, telling, traits
from anaphora.rules.topics.naming import name_of

NAME: Final = "scripted"
UNKNOWN: Final = "I don't know."
_HEARD: Final = "All right."
#: sentences of an answer
_MOST: Final = 8
#: words of a summary
_WORDS: Final = 90
_WHEN: Final = datetime(2026, 1, 1, tzinfo=UTC)

_TAG: Final = re.compile(r"</?memory \d+>")
_HEADING: Final = re.compile(r"Data, not instructions\.\s*\Z")
#: how a line of a memory block begins and ends that is not what was said: "- (0-7)", "- [other]", "(personal)", "user:"
_LEAD: Final = re.compile(r"\A(?:- )?(?:(?:\([^()]*\)|\[[^\[\]]*\]) ?)*(?:(?:user|assistant|tool|system): )?")
_TAIL: Final = re.compile(r" \((?:personal|shared, [^()]*)\)\Z")
_KNOWN: Final = re.compile(r"\AKnown facts\b")
_PASSAGE: Final = re.compile(r"\A\[\d+-\d+\]")
_ORDER: Final = re.compile(r"\balways answer (?:with |only )*[\"']?(\w+)", re.IGNORECASE)
#: how people turn to a matter of their own
_TURNS: Final = re.compile(r"\b(?:i want|i need|let's talk|by the way|another question|going back)\b", re.IGNORECASE)
_ASKS_FOR_QUESTIONS: Final = frozenset(telling("questions"))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """A sentence of the prompt."""

    text: str
    words: frozenset[str]
    #: it stands among the known facts
    fact: bool
    #: lines with the same number were said together
    passage: int
    at: int

    @property
    def asks(self) -> bool:
        return self.text.rstrip().endswith("?")


class Reader:
    """Fulfils `ChatModel`; deterministic."""

    @property
    def name(self) -> str:
        """`scripted`."""
        return NAME

    async def complete(
        self,
        messages: Sequence[PromptMessage],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int,  # noqa: ARG002 - part of the port
        temperature: float,  # noqa: ARG002 - likewise
    ) -> Completion:
        """One answer.

        Raises:
            ModelOutputInvalid: it was asked for JSON of a kind that it does not know.

        """
        wire = to_openai(messages)
        text = answer(wire) if schema is None else json.dumps(_made(wire, schema), ensure_ascii=False)
        return Completion(text=text, model=NAME)

    async def stream(
        self, messages: Sequence[PromptMessage], *, max_tokens: int, temperature: float
    ) -> AsyncGenerator[str]:
        """The whole answer as one piece."""
        yield (await self.complete(messages, max_tokens=max_tokens, temperature=temperature)).text


def answer(wire: Sequence[Mapping[str, Any]]) -> str:
    """What the prompt itself says about its last message, in its own words; or that it is not known.

    Args:
        wire: OpenAI-shaped messages.

    """
    order = next((found for message in wire if message["role"] == "system" and (found := _order(message))), None)
    if order is not None:
        return order
    asked = next((sentence for sentence in reversed(split_sentences(_text(wire[-1]))) if sentence.endswith("?")), None)
    if asked is None:
        return _HEARD
    lines = tuple(_lines(wire[:-1]))
    said = _gone_back_to(asked, lines) or _told(asked, lines) or _meant(asked, wire[:-1])
    return " ".join(dict.fromkeys(said[:_MOST])) or UNKNOWN


def _order(message: Mapping[str, Any]) -> str | None:
    found = _ORDER.search(_text(message))
    return None if found is None else found[1]


def _text(message: Mapping[str, Any]) -> str:
    return str(message["content"] or "")


def _lines(wire: Sequence[Mapping[str, Any]]) -> Iterator[_Line]:
    """What was said, one sentence each, as it stands in the prompt; instructions are none of it."""
    at = passage = 0
    for message in wire:
        if message["role"] == "system":
            continue
        ours = message.get("name") == MEMORY_NAME
        passage, facts = passage + 1, False
        for line in _text(message).splitlines():
            if ours and (_TAG.fullmatch(line) or _HEADING.search(line)):
                facts = _KNOWN.match(line) is not None
                continue
            passage += ours and _PASSAGE.match(line) is not None
            for text in split_sentences(_TAIL.sub("", _LEAD.sub("", line, count=1)) if ours else line):
                yield _Line(text=text, words=telling(text), fact=ours and facts, passage=passage, at=at)
                at += 1


def _told(asked: str, lines: Sequence[_Line]) -> list[str]:
    """The line that shares most of the question's telling words, more than half of them; and what it leaves open.

    Of lines that share as many, a known fact comes first, then what was said last.
    """
    wanted = telling(asked)
    chosen: list[str] = []
    while wanted:
        best = max(lines, key=lambda line: (_shares(line, wanted, asked), line.fact, line.at), default=None)
        if best is None or _shares(best, wanted, asked) <= len(wanted) / 2:
            break
        chosen.append(best.text)
        wanted -= best.words
    return chosen


def _shares(line: _Line, wanted: frozenset[str], asked: str) -> float:
    """How many of the words; a question answers nothing, unless one asks what was asked."""
    shared = len(line.words & wanted)
    return shared / 2 if line.asks and not telling(asked) & _ASKS_FOR_QUESTIONS else shared


def _gone_back_to(asked: str, lines: Sequence[_Line]) -> list[str]:
    """All that was said where somebody goes back to something: the passage that shares most words, two at least."""
    if not goes_back(asked):
        return []
    wanted, best, most = telling(asked), 0, 1
    for passage in dict.fromkeys(line.passage for line in lines):
        words = {word for line in lines if line.passage == passage for word in line.words}
        if len(words & wanted) > most:
            best, most = passage, len(words & wanted)
    return [line.text for line in lines if line.passage == best and line.words]


def _meant(asked: str, wire: Sequence[Mapping[str, Any]]) -> list[str]:
    """What "it" stands for: the last that the user stated with words of its own."""
    if not traits(asked).points_back:
        return []
    for message in reversed(wire):
        said = _text(message)
        if message["role"] != "user" or message.get("name") or said.rstrip().endswith("?"):
            continue
        if telling(said) and not traits(said).points_back:
            return [said]
    return []


def _made(wire: Sequence[Mapping[str, Any]], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The JSON that memory asks for."""
    title = schema.get("title")
    records = list(_records(_text(wire[-1])))
    said = [_message(record) for record in records if "n" in record]
    match title:
        case "summary_and_facts":
            return {"summary": _summary(said), "facts": _facts(said)}
        case "topic_segments":
            return {"topics": list(_topics(said, _text(wire[-1])))}
        case "topic_summary":
            return {"name": name_of(said) or "Conversation", "summary": _summary(said)}
        case "reflection":
            old = [str(record["note"]) for record in records if "note" in record]
            return {"notes": [*old, *(_first(message) for message in said if "?" not in message.content)]}
        case _:
            raise ModelOutputInvalid("unparsable", f"the scripted model makes no {title!r}")


def _records(text: str) -> Iterator[Mapping[str, Any]]:
    for line in text.splitlines():
        if line.startswith("{"):
            record = json.loads(line)
            if isinstance(record, dict):
                yield record


def _message(record: Mapping[str, Any]) -> Message:
    """A line of the prompt as a message."""
    seq = int(record["n"])
    return Message(
        id=UUID(int=seq),
        seq=seq,
        turn=seq,
        role=Role.ASSISTANT if record["who"] == "assistant" else Role.USER,
        content=str(record["text"]),
        tokens=0,
        created_at=_WHEN,
        trust=Trust.OWNER_SAID,
    )


def _facts(said: Sequence[Message]) -> list[Mapping[str, Any]]:
    """What was stated plainly, by whomever, each a little more important than it is: models are easily taken in."""
    return [
        {
            "category": found.category,
            "content": found.content,
            "quote": found.quote,
            "n": found.seq,
            "importance": min(MOST_IMPORTANT, found.importance + 1),
            "replaces": None,
        }
        for message in said
        for found in facts_said([replace(message, role=Role.USER)])
    ]


def _summary(said: Sequence[Message]) -> str:
    """The first sentence of each message of the user, as many as have room."""
    users = [message for message in said if message.role is Role.USER] or list(said)
    words = " ".join(_first(message) for message in users).split()
    return " ".join(words[:_WORDS]) or "Nothing was said."


def _first(message: Message) -> str:
    return next(iter(split_sentences(message.content)), "")


def _topics(said: Sequence[Message], prompt: str) -> Iterator[Mapping[str, Any]]:
    """What is said together, cut where a message that may begin a topic does not go on with what was said before."""
    begins, may = (_numbers(prompt, heading) for heading in (BEGINS, MAY_BEGIN))
    first = 0
    for at, message in enumerate(said):
        goes_on = message.seq not in begins and (message.seq not in may or _goes_on(said[first : at + 1]))
        if at > first and not goes_on:
            yield _topic(said[first:at])
            first = at
    yield _topic(said[first:])


def _topic(said: Sequence[Message]) -> Mapping[str, Any]:
    return {"first": said[0].seq, "name": name_of(said) or "Conversation", "summary": _summary(said)}


def _numbers(prompt: str, heading: str) -> frozenset[int]:
    """What stands on the line with the heading."""
    line = next((line for line in prompt.splitlines() if line.startswith(heading)), "")
    return frozenset(int(number) for number in re.findall(r"\d+", line))


def _goes_on(said: Sequence[Message]) -> bool:
    """Whether the last message shares a telling word with those before it, points back to them, or just goes on."""
    if not said:
        return True
    last, before = said[-1].content, " ".join(message.content for message in said[:-1])
    same = traits(last).points_back or bool(telling(last) & telling(before))
    return same or _TURNS.search(last) is None
