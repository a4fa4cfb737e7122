"""Prompt messages and the two shapes in which providers take them.

Only the fixed instructions get the system role. A stored message of role `system`, the memory block and a tool
result whose call is not in the prompt are shown as user messages: data, never orders (I16).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from anaphora.domain.messages import Part, Role, tool_calls, tool_results

_NOT_A_NAME = re.compile(r"[^a-zA-Z0-9_-]+")


class SectionName(StrEnum):
    """The parts of a prompt, in their order."""

    INSTRUCTIONS = "instructions"
    MEMORY = "memory"
    #: what the assistant noted in earlier sessions
    NOTEPAD = "notepad"
    #: what is known of the user, and of whom the session is about
    FACTS = "facts"
    #: what topics of earlier sessions were about
    TOPICS = "topics"
    #: closed topics of this session, word by word
    THREADS = "threads"
    #: archived summaries of earlier conversations
    CONVERSATIONS = "conversations"
    #: messages that were found for the question
    RELEVANT = "relevant"
    GAP = "gap"
    RECENT = "recent"
    QUERY = "query"


#: what we wrote, though its role is `user`
_OURS = frozenset(
    {
        SectionName.MEMORY,
        SectionName.NOTEPAD,
        SectionName.FACTS,
        SectionName.TOPICS,
        SectionName.THREADS,
        SectionName.CONVERSATIONS,
        SectionName.RELEVANT,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptMessage:
    """One message of the assembled prompt."""

    section: SectionName
    role: Role
    content: str
    name: str | None = None
    parts: tuple[Part, ...] = ()
    #: sequence number, for messages of the log
    seq: int | None = None
    tokens: int
    #: the stored message is longer: it was cut to fit, with a visible mark
    shortened: bool = False


def to_openai(messages: Iterable[PromptMessage]) -> list[dict[str, Any]]:
    """Messages for an OpenAI-compatible chat completion."""
    out: list[dict[str, Any]] = []
    open_calls: set[str] = set()
    for message in messages:
        open_calls |= {str(call["id"]) for call in tool_calls(message.parts)}
        out.extend(_openai(message, open_calls))
    return out


def _openai(message: PromptMessage, open_calls: set[str]) -> list[dict[str, Any]]:
    if message.role is Role.TOOL:
        results = [r for r in tool_results(message.parts) if str(r["id"]) in open_calls]
        if results:
            return [
                {
                    "role": "tool",
                    "tool_call_id": str(r["id"]),
                    "content": message.content if len(results) == 1 else str(r.get("content", "")),
                }
                for r in results
            ]
    entry: dict[str, Any] = {"role": _role(message), "content": message.content}
    name = _name(message)
    if name:
        entry["name"] = name
    calls = tool_calls(message.parts)
    if calls:
        entry["content"] = message.content or None
        entry["tool_calls"] = [
            {
                "id": str(call["id"]),
                "type": "function",
                "function": {"name": str(call["name"]), "arguments": _arguments_text(call)},
            }
            for call in calls
        ]
    return [entry]


def to_anthropic(messages: Iterable[PromptMessage]) -> dict[str, Any]:
    """`system` (when there are instructions) and `messages`: neighbours of one role are joined into blocks."""
    system: list[str] = []
    turns: list[dict[str, Any]] = []
    open_calls: set[str] = set()
    for message in messages:
        if message.section is SectionName.INSTRUCTIONS:
            system.append(message.content)
            continue
        open_calls |= {str(call["id"]) for call in tool_calls(message.parts)}
        role = "assistant" if message.role is Role.ASSISTANT else "user"
        if not turns and role == "assistant":
            turns.append({"role": "user", "content": [{"type": "text", "text": "(the conversation goes on)"}]})
        blocks = _anthropic_blocks(message, open_calls)
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"].extend(blocks)
        else:
            turns.append({"role": role, "content": blocks})
    return {"system": "\n\n".join(system), "messages": turns} if system else {"messages": turns}


def _anthropic_blocks(message: PromptMessage, open_calls: set[str]) -> list[dict[str, Any]]:
    if message.role is Role.TOOL:
        results = [r for r in tool_results(message.parts) if str(r["id"]) in open_calls]
        if results:
            return [
                {
                    "type": "tool_result",
                    "tool_use_id": str(r["id"]),
                    "content": message.content if len(results) == 1 else str(r.get("content", "")),
                }
                for r in results
            ]
    blocks: list[dict[str, Any]] = []
    if message.content:
        spoken = message.name if message.role is Role.USER and message.section not in _OURS else None
        blocks.append({"type": "text", "text": f"{spoken}: {message.content}" if spoken else message.content})
    blocks.extend(
        {"type": "tool_use", "id": str(c["id"]), "name": str(c["name"]), "input": _arguments(c)}
        for c in tool_calls(message.parts)
    )
    return blocks or [{"type": "text", "text": "(no text)"}]


def _role(message: PromptMessage) -> str:
    if message.section is SectionName.INSTRUCTIONS:
        return "system"
    return "assistant" if message.role is Role.ASSISTANT else "user"


def _name(message: PromptMessage) -> str | None:
    """A name that providers accept: letters, digits, `_` and `-`, at most 64 characters."""
    name = message.name
    if name is None and message.role in {Role.SYSTEM, Role.TOOL} and message.section is not SectionName.INSTRUCTIONS:
        name = message.role.value
    return _NOT_A_NAME.sub("_", name).strip("_")[:64] or None if name else None


def _arguments(call: Part) -> object:
    value = call.get("arguments", {})
    if isinstance(value, str):
        try:
            return json.loads(value)
        except json.JSONDecodeError:
            return {"text": value}
    return value


def _arguments_text(call: Part) -> str:
    value = call.get("arguments", {})
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
