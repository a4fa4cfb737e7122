"""A chat model in the process, for tests that need thousands of calls: the HTTP one is `model_server`."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import anyio.lowlevel

from anaphora.domain.wire import PromptMessage
from anaphora.ports.models import Completion
from anaphora.prompts import structured_summary, topic_segments, topic_summary
from anaphora.prompts.reflection import TITLE as REFLECTION
from anaphora.prompts.summary_and_facts import TITLE as EXTRACTION
from anaphora.testing.extractions import extraction_answer, faithful_extraction
from anaphora.testing.reflections import reflection_answer
from anaphora.testing.summaries import faithful_lists, faithful_summary, retold_summary
from anaphora.testing.topics import description, segments

#: gives the answer to a prompt, or raises a ModelError
Script = Callable[[Sequence[PromptMessage], Mapping[str, Any] | None], str]

#: what answers a prompt, by the title of the schema that comes with it
_ANSWERS: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {
        EXTRACTION: extraction_answer,
        topic_segments.TITLE: segments,
        topic_summary.TITLE: description,
        REFLECTION: reflection_answer,
    }
)


def faithful(messages: Sequence[PromptMessage], schema: Mapping[str, Any] | None) -> str:
    """Honest summaries, facts, notes and answers about topics; else the first words of the last message come back."""
    text = messages[-1].content
    if schema is None:
        return f"You said: {' '.join(text.split()[:12])}"
    answer = _ANSWERS.get(schema.get("title", ""))
    if answer is not None:
        return answer(text)
    summary = faithful_summary(text)
    if schema.get("title") == structured_summary.TITLE:
        summary = json.dumps({**json.loads(summary), **faithful_lists(text)}, ensure_ascii=False)
    if "facts" not in schema.get("properties", {}):
        return summary
    return json.dumps({**json.loads(summary), **faithful_extraction(text, under="NEW")}, ensure_ascii=False)


def retelling(messages: Sequence[PromptMessage], schema: Mapping[str, Any] | None) -> str:
    """As `faithful`, but what is summarised anew also says what the old summary said, as models like to do."""
    answer = faithful(messages, schema)
    if schema is None or "points" not in schema.get("properties", {}):
        return answer
    return retold_summary(messages[-1].content, answer)


class ScriptedChat:
    """Fulfils `ports.models.ChatModel` with a script.

    Attributes:
        script: what answers; may be replaced at any time.
        prompts: every prompt that was sent, in order.
        pause: awaited before each answer, for tests that let something happen meanwhile.

    """

    def __init__(self, script: Script = faithful, *, name: str = "scripted") -> None:
        self.script = script
        self.prompts: list[tuple[PromptMessage, ...]] = []
        self.pause: Callable[[], Awaitable[None]] = anyio.lowlevel.checkpoint
        self._name = name

    @property
    def name(self) -> str:
        """The name given."""
        return self._name

    async def complete(
        self,
        messages: Sequence[PromptMessage],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int,  # noqa: ARG002 - part of the port
        temperature: float,  # noqa: ARG002 - part of the port
    ) -> Completion:
        """The script's answer."""
        self.prompts.append(tuple(messages))
        await self.pause()
        return Completion(text=self.script(messages, schema), model=self._name)

    async def stream(
        self,
        messages: Sequence[PromptMessage],
        *,
        max_tokens: int,  # noqa: ARG002 - part of the port
        temperature: float,  # noqa: ARG002 - part of the port
    ) -> AsyncGenerator[str]:
        """The script's answer, word by word."""
        self.prompts.append(tuple(messages))
        await self.pause()
        for word in self.script(messages, None).split(" "):
            yield f"{word} "
