"""Context under a token budget: instructions, memory block, gap, recent messages, the query last (I10, I1).

Pure: the messages were read before, newest first; counting is an argument. The instructions and the query come
first when tokens are given out, then the memory block, then messages from the newest back. A tool call and its
results are one unit. What does not fit is declared elided, never dropped silently.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from anaphora.domain.context import Context, Line
from anaphora.domain.keys import SeqRange, subtract, union
from anaphora.domain.messages import Message, Part, Role
from anaphora.domain.summaries import Point
from anaphora.domain.wire import PromptMessage, SectionName
from anaphora.errors import BudgetTooSmall
from anaphora.rules.coverage import account
from anaphora.rules.material import Material
from anaphora.rules.memory_block import MEMORY_NAME, render
from anaphora.rules.recalled import quote, recall
from anaphora.rules.text import MIN_SHORTENED, shorten
from anaphora.rules.tokens import MESSAGE_OVERHEAD, Count, message_tokens

#: a budget must hold the instructions and this many tokens beside them
MIN_BESIDE_INSTRUCTIONS = 64

#: the share of the room for the conversation that is kept for what was found, where not all of it fits
_FOUND_SHARE = 4
#: blocks whose entries have lines of their own
_TOLD_APART = frozenset(
    {
        SectionName.NOTEPAD,
        SectionName.FACTS,
        SectionName.TOPICS,
        SectionName.THREADS,
        SectionName.CONVERSATIONS,
        SectionName.RELEVANT,
    }
)


def fixed_tokens(instructions: str | None, budget: int, count: Count) -> int:
    """What the instructions cost.

    Raises:
        BudgetTooSmall: the budget cannot hold them and `MIN_BESIDE_INSTRUCTIONS` more.

    """
    cost = count(instructions) + MESSAGE_OVERHEAD if instructions else 0
    if budget < cost + MIN_BESIDE_INSTRUCTIONS:
        raise BudgetTooSmall(budget, cost + MIN_BESIDE_INSTRUCTIONS)
    return cost


def assemble(material: Material, budget: int, count: Count) -> Context:
    """The prompt within the budget, with its coverage and the reason of every line.

    Raises:
        BudgetTooSmall: see `fixed_tokens`.

    """
    left = budget - fixed_tokens(material.instructions, budget, count)
    instructions = _instructions(material.instructions, count)
    query, full_query_tokens = _query(material.query, left, count)
    left -= sum(message.tokens for message in query)
    wanted = sum(message.tokens for message in material.messages)
    points, block = _memory(material, max(left - wanted, left // 2), count)
    left -= sum(message.tokens for message in block)
    recalled = recall(material, left, wanted, count)
    left -= recalled.tokens
    # a conversation that does not fit anyway leaves some room for what answers the question
    kept = min(left // _FOUND_SHARE, material.hits_tokens) if material.hits and wanted > left else 0
    verbatim = _verbatim(material, left - kept, count)
    left -= sum(message.tokens for message in verbatim)
    spans = (SeqRange(message.seq, message.seq + 1) for message in verbatim if message.seq is not None)
    word_by_word = union((*spans, *recalled.threads.verbatim))
    relevant = quote(material, word_by_word, left, count)
    messages = (*instructions, *block, *recalled.messages(relevant), *verbatim, *query)
    coverage = account(
        material.head,
        summary_id=material.summary_id,
        points=points,
        verbatim=word_by_word,
        deleted=material.deleted,
    )
    first_shown = verbatim[0].seq if verbatim else material.head
    wanted_from = material.selection.verbatim.start
    cut = subtract((SeqRange(wanted_from, max(wanted_from, first_shown or 0)),), material.deleted)
    behind = ("summary",) if cut else ()
    full = sum(message.tokens for message in instructions) + material.history_tokens + full_query_tokens
    return Context(
        messages=messages,
        budget=budget,
        tokens=sum(message.tokens for message in messages),
        tokens_full_history=full,
        coverage=coverage,
        degraded=tuple(dict.fromkeys((*material.degraded, *behind))),
        lines=(*_lines(material, messages, points, cut), *recalled.lines(relevant)),
    )


def _instructions(text: str | None, count: Count) -> tuple[PromptMessage, ...]:
    if not text:
        return ()
    tokens = count(text) + MESSAGE_OVERHEAD
    return (PromptMessage(section=SectionName.INSTRUCTIONS, role=Role.SYSTEM, content=text, tokens=tokens),)


def _query(text: str | None, left: int, count: Count) -> tuple[tuple[PromptMessage, ...], int]:
    if text is None:
        return (), 0
    full = count(text)
    shown = shorten(text, tokens=full, max_tokens=left - MESSAGE_OVERHEAD, count=count)
    message = PromptMessage(
        section=SectionName.QUERY,
        role=Role.USER,
        content=shown,
        tokens=MESSAGE_OVERHEAD + (full if shown is text else count(shown)),
        shortened=shown is not text,
    )
    return (message,), full + MESSAGE_OVERHEAD


def _memory(material: Material, room: int, count: Count) -> tuple[tuple[Point, ...], tuple[PromptMessage, ...]]:
    """The block with as many points as fit; the oldest stay out first, those whose messages are all deleted at once."""
    points = tuple(material.selection.points)
    if material.deleted:
        points = tuple(point for point in points if subtract(point.covered, material.deleted))
    while points:
        text = render(points, material.mark)
        tokens = message_tokens(count, text, name=MEMORY_NAME)
        if tokens <= room:
            message = PromptMessage(
                section=SectionName.MEMORY, role=Role.USER, name=MEMORY_NAME, content=text, tokens=tokens
            )
            return points, (message,)
        points = points[1:]
    return (), ()


def _verbatim(material: Material, left: int, count: Count) -> tuple[PromptMessage, ...]:
    """Messages from the newest back while they fit; oversize ones are cut visibly so that others fit too."""
    total = sum(message.tokens for message in material.messages)
    cap = left if total <= left else max(left // 3, MIN_SHORTENED + 2 * MESSAGE_OVERHEAD)
    out: list[PromptMessage] = []
    for unit in reversed(_units(material.messages)):
        shown = [_shown(message, material.selection.recent_from, min(cap, left), count) for message in unit]
        cost = sum(message.tokens for message in shown)
        if cost > left:
            break
        out[:0] = shown
        left -= cost
    return tuple(out)


def _units(messages: Sequence[Message]) -> list[list[Message]]:
    """Messages that stand or fall together: a call and its results."""
    units: list[list[Message]] = []
    for message in messages:
        if units and message.role is Role.TOOL:
            units[-1].append(message)
        else:
            units.append([message])
    return units


def _shown(message: Message, recent_from: int, cap: int, count: Count) -> PromptMessage:
    section = SectionName.RECENT if message.seq >= recent_from else SectionName.GAP
    shown = PromptMessage(
        section=section,
        role=message.role,
        name=message.name,
        content=message.content,
        parts=message.parts,
        seq=message.seq,
        tokens=message.tokens,
    )
    fixed = message_tokens(count, "", name=message.name, parts=[p for p in message.parts if p["type"] == "tool_call"])
    if message.tokens <= cap or cap - fixed < MIN_SHORTENED:
        return shown
    room = cap - fixed
    parts: tuple[Part, ...] = message.parts
    if any(part["type"] == "tool_result" for part in parts):
        share = max(MIN_SHORTENED, room // len(parts) - 12)
        parts = tuple(_shortened_result(part, share, count) for part in parts)
        room = max(MIN_SHORTENED, share)
    content = shorten(message.content, tokens=message.tokens, max_tokens=room, count=count)
    tokens = message_tokens(count, content, name=message.name, parts=parts)
    return replace(shown, content=content, parts=parts, tokens=tokens, shortened=True)


def _shortened_result(part: Part, share: int, count: Count) -> Part:
    text = part.get("content")
    if part["type"] != "tool_result" or not isinstance(text, str):
        return part
    # a result is at most a quarter as many tokens as characters almost always; counting a slice avoids the whole
    tokens = max(len(text) // 4, count(text[: 64 * share]))
    return {**part, "content": shorten(text, tokens=tokens, max_tokens=share, count=count)}


def _lines(
    material: Material, messages: Sequence[PromptMessage], points: Sequence[Point], cut: Sequence[SeqRange]
) -> tuple[Line, ...]:
    lines: list[Line] = []
    for message in messages:
        if message.section in _TOLD_APART:
            continue
        if message.section is SectionName.MEMORY:
            lines.extend(_point_line(point, "the summary speaks for these messages") for point in points)
            continue
        span = SeqRange(message.seq, message.seq + 1) if message.seq is not None else None
        why = "shortened to fit the budget" if message.shortened else _WHY[message.section]
        source = f"message {message.seq}" if message.seq is not None else message.section.value
        lines.append(
            Line(section=message.section, source=source, range=span, tokens=message.tokens, included=True, why=why)
        )
    shown = set(points)
    for point in material.selection.points:
        if point not in shown:
            gone = not subtract(point.covered, material.deleted)
            why = "its messages were deleted" if gone else "no room in the budget"
            lines.append(replace(_point_line(point, why), included=False, section=None))
    no_room = "not summarised yet and no room in the budget: found by search"
    lines.extend(_left_out(span, no_room) for span in cut)
    lines.extend(_left_out(span, "deleted") for span in material.deleted)
    return tuple(lines)


def _left_out(span: SeqRange, why: str) -> Line:
    return Line(section=None, source="messages", range=span, tokens=0, included=False, why=why)


_WHY = {
    SectionName.INSTRUCTIONS: "fixed instructions",
    SectionName.GAP: "not summarised yet",
    SectionName.RECENT: "recent",
    SectionName.QUERY: "the question",
}


def _point_line(point: Point, why: str) -> Line:
    return Line(
        section=SectionName.MEMORY,
        source=f"point ({point.method.value})",
        range=point.range,
        tokens=point.tokens,
        included=True,
        why=why,
    )
