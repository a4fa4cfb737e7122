"""Context under a token budget: instructions, memory block, gap, recent messages, the query last (I10, I1).

Pure: the messages were read before, newest first; counting is an argument. The instructions and the query come
first when tokens are given out, then the memory block, then messages from the newest back. A tool call and its
results are one unit. What does not fit is declared elided, never dropped silently.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from anaphora.domain.context import Context, Line
from anaphora.domain.keys import SeqRange, subtract, union
from anaphora.domain.messages import Message, Part, Role
from anaphora.domain.notepad import Page
from anaphora.domain.plans import Selection
from anaphora.domain.search import Hit
from anaphora.domain.summaries import Point
from anaphora.domain.wire import PromptMessage, SectionName
from anaphora.errors import BudgetTooSmall
from anaphora.rules.coverage import account
from anaphora.rules.facts.shown import FactBlock, Known, choose_facts
from anaphora.rules.memory_block import MEMORY_NAME, render
from anaphora.rules.notepad import NotepadBlock, choose_notes
from anaphora.rules.relevant import Relevant, Thresholds, choose
from anaphora.rules.text import MIN_SHORTENED, shorten
from anaphora.rules.tokens import MESSAGE_OVERHEAD, message_tokens
from anaphora.rules.topics.shown import Past, Thread, TopicBlock, choose_past, choose_threads

#: a budget must hold the instructions and this many tokens beside them
MIN_BESIDE_INSTRUCTIONS = 64

#: the share of the room for the conversation that is kept for what was found, where not all of it fits
_FOUND_SHARE = 4
#: the shares of it that the notepad, facts, topics of other sessions, and threads of this one may take at most
_NOTEPAD_SHARE = 8
_FACTS_SHARE = 4
_PAST_SHARE = 6
_THREADS_SHARE = 4
#: blocks whose entries have lines of their own
_TOLD_APART = frozenset(
    {SectionName.NOTEPAD, SectionName.FACTS, SectionName.TOPICS, SectionName.THREADS, SectionName.RELEVANT}
)


Count = Callable[[str], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """Everything that may stand in the prompt."""

    instructions: str | None
    query: str | None
    #: messages ever appended, and their tokens together
    head: int
    history_tokens: int
    summary_id: UUID | None
    mark: str
    selection: Selection
    #: the newest live messages of `selection.verbatim`, in order; there may be older ones that were not read
    messages: Sequence[Message]
    #: messages that were deleted: sorted, disjoint
    deleted: tuple[SeqRange, ...] = ()
    degraded: tuple[str, ...] = ()
    #: what was found for the query, best first; and this session, which the hits may be of
    hits: tuple[Hit, ...] = ()
    session_id: UUID | None = None
    #: the delimiter of what was found, and how much of it there may be
    hits_mark: str = ""
    hits_tokens: int = 0
    thresholds: Thresholds = field(default_factory=Thresholds)
    #: what is known, of whom it is, its delimiter, and how much of it there may be
    known: tuple[Known, ...] = ()
    user: str = ""
    facts_mark: str = ""
    facts_tokens: int = 0
    #: topics of other sessions, and closed ones of this session with their messages, best first; their delimiter
    past: tuple[Past, ...] = ()
    threads: tuple[Thread, ...] = ()
    topics_mark: str = ""
    #: what the notepad says, its delimiter, and how much of it there may be
    page: Page | None = None
    page_mark: str = ""
    page_tokens: int = 0


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
    notes = _notes(material, left, count)
    left -= notes.tokens
    facts = _facts(material, left, count)
    left -= facts.tokens
    past, threads = _past(material, left, count), _threads(material, left, wanted, count)
    left -= past.tokens + threads.tokens
    # a conversation that does not fit anyway leaves some room for what answers the question
    kept = min(left // _FOUND_SHARE, material.hits_tokens) if material.hits and wanted > left else 0
    verbatim = _verbatim(material, left - kept, count)
    left -= sum(message.tokens for message in verbatim)
    word_by_word = union((*(SeqRange(m.seq, m.seq + 1) for m in verbatim if m.seq is not None), *threads.verbatim))
    relevant = _relevant(material, word_by_word, left, count)
    recalled = (
        *_block(SectionName.NOTEPAD, notes),
        *_block(SectionName.FACTS, facts),
        *_block(SectionName.TOPICS, past),
        *_block(SectionName.THREADS, threads),
        *_block(SectionName.RELEVANT, relevant),
    )
    messages = (*instructions, *block, *recalled, *verbatim, *query)
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
        lines=(
            *_lines(material, messages, points, cut),
            *_note_lines(notes),
            *_fact_lines(facts),
            *_topic_lines(SectionName.TOPICS, past),
            *_topic_lines(SectionName.THREADS, threads),
            *_quotes(relevant),
        ),
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


def _past(material: Material, left: int, count: Count) -> TopicBlock:
    return choose_past(material.past, room=left // _PAST_SHARE, mark=material.topics_mark, count=count)


def _threads(material: Material, left: int, wanted: int, count: Count) -> TopicBlock:
    """Whole topics of the session, where the open one leaves room; else in a quarter of it."""
    room = min(left // 2, max(left // _THREADS_SHARE, left - wanted))
    hidden = {message.seq for message in material.messages}
    return choose_threads(material.threads, room=room, hidden=hidden, mark=material.topics_mark, count=count)


def _relevant(material: Material, shown: Sequence[SeqRange], left: int, count: Count) -> Relevant:
    return choose(
        material.hits,
        room=min(left, material.hits_tokens),
        shown={seq for span in shown for seq in span},
        session_id=material.session_id,
        mark=material.hits_mark,
        count=count,
        thresholds=material.thresholds,
    )


def _facts(material: Material, left: int, count: Count) -> FactBlock:
    """What is known, within its own share: a small prompt is not filled with it."""
    if not material.known:
        return FactBlock()
    room = min(material.facts_tokens, left // _FACTS_SHARE)
    return choose_facts(material.known, user=material.user, room=room, mark=material.facts_mark, count=count)


def _notes(material: Material, left: int, count: Count) -> NotepadBlock:
    """What the notepad says, within its own share."""
    room = min(material.page_tokens, left // _NOTEPAD_SHARE)
    return choose_notes(material.page, room=room, mark=material.page_mark, count=count)


def _block(section: SectionName, block: NotepadBlock | FactBlock | Relevant | TopicBlock) -> tuple[PromptMessage, ...]:
    if not block.text:
        return ()
    return (PromptMessage(section=section, role=Role.USER, name=MEMORY_NAME, content=block.text, tokens=block.tokens),)


def _note_lines(notes: NotepadBlock) -> tuple[Line, ...]:
    if notes.page is None:
        return ()
    return (
        Line(
            section=SectionName.NOTEPAD if notes.text else None,
            source=f"notepad, version {notes.page.version}",
            range=None,
            tokens=notes.tokens,
            included=bool(notes.text),
            why=notes.why,
        ),
    )


def _fact_lines(facts: FactBlock) -> tuple[Line, ...]:
    return tuple(
        Line(
            section=SectionName.FACTS if shown.included else None,
            source=f"fact {shown.known.fact.id}",
            range=None,
            tokens=shown.tokens,
            included=shown.included,
            why=shown.why,
        )
        for shown in facts.facts
    )


def _topic_lines(section: SectionName, block: TopicBlock) -> tuple[Line, ...]:
    return tuple(
        Line(
            section=section if shown.included else None,
            source=shown.source,
            range=shown.topic.range if section is SectionName.THREADS else None,
            tokens=shown.tokens,
            included=shown.included,
            why=shown.why,
        )
        for shown in block.topics
    )


def _quotes(relevant: Relevant) -> tuple[Line, ...]:
    return tuple(
        Line(
            section=SectionName.RELEVANT if quote.included else None,
            source=f"message {quote.hit.message.seq} of {quote.hit.key.session}",
            range=None,
            tokens=quote.tokens,
            included=quote.included,
            why=quote.why,
            message=(quote.hit.key, quote.hit.message.seq),
            whole=quote.whole,
            scores=quote.hit.to_dict(),
        )
        for quote in relevant.quotes
    )


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
