"""Every line of a prompt says where it came from, and what is left out says why."""

from __future__ import annotations

import re

from tests.rules.materials import block_tokens, count, material, message

from anaphora.domain.context import Line
from anaphora.domain.keys import SeqRange
from anaphora.domain.summaries import Method, Point
from anaphora.domain.wire import SectionName
from anaphora.rules.assembly import assemble

POINTS = (
    Point(text="long ago " * 20, range=SeqRange(0, 4), tokens=45),
    Point(text="earlier", range=SeqRange(4, 6), tokens=2, method=Method.DIGEST),
    Point(text="gone", range=SeqRange(6, 8), tokens=1),
)


def facts(line: Line) -> tuple[SectionName | None, str, tuple[int, int] | None, int]:
    assert line.included is (line.section is not None)
    return line.section, line.source, (line.range.start, line.range.stop) if line.range else None, line.tokens


def test_every_line_of_the_prompt_is_explained() -> None:
    """In the order of the prompt: section, source, messages, tokens; and in a few words why it is there."""
    messages = [message(n, "hm " * (1000 if n == 8 else 1)) for n in range(8, 18)]
    found = material(messages, points=POINTS[1:2], instructions="Be kind.", query="why?")
    context = assemble(found, 400, count)
    lines = context.explain()
    long, short = context.messages[2].tokens, context.messages[3].tokens
    assert [facts(line) for line in lines if line.included] == [
        (SectionName.INSTRUCTIONS, "instructions", None, 6),
        (SectionName.MEMORY, "point (digest)", (4, 6), 2),
        (SectionName.GAP, "message 8", (8, 9), long),
        (SectionName.GAP, "message 9", (9, 10), short),
        *((SectionName.RECENT, f"message {n}", (n, n + 1), short) for n in range(10, 18)),
        (SectionName.QUERY, "query", None, 5),
    ]
    reasons = ["instructions", "summary speaks", "shortened", "not summarised yet", *["recent"] * 8, "question"]
    for line, reason in zip(lines, reasons, strict=True):
        assert re.search(reason, line.why)


def test_what_is_left_out_says_why_it_is_not_there() -> None:
    messages = [message(n, "word " * 20) for n in (*range(8, 20), *range(22, 30))]
    deleted = (SeqRange(6, 8), SeqRange(20, 22))
    budget = 2 * block_tokens(POINTS[1:2])
    context = assemble(material(messages, points=POINTS, query=None, deleted=deleted), budget, count)
    first = min(m.seq for m in context.messages if m.seq is not None)
    assert 22 < first < 30
    left_out = [line for line in context.explain() if not line.included]
    assert [facts(line) for line in left_out] == [
        (None, "point (model)", (0, 4), 45),
        (None, "point (model)", (6, 8), 1),
        (None, "messages", (8, 20), 0),
        (None, "messages", (22, first), 0),
        (None, "messages", (6, 8), 0),
        (None, "messages", (20, 22), 0),
    ]
    reasons = ["no room", "messages were deleted", "no room.*search", "no room.*search", "deleted", "deleted"]
    for line, reason in zip(left_out, reasons, strict=True):
        assert re.search(reason, line.why)


def test_the_lines_speak_of_every_message_once() -> None:
    messages = [message(n, "word " * 20) for n in range(8, 30)]
    context = assemble(material(messages, points=POINTS, query=None), 300, count)
    spoken = sorted(n for line in context.explain() if line.range for n in line.range)
    assert spoken == list(range(30))
