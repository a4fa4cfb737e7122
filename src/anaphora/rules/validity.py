"""Which model answers may become memory (I20): never an empty one, a refusal, an echo, or one that cites nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from anaphora.domain.keys import SeqRange, subtract
from anaphora.errors import ModelOutputInvalid
from anaphora.rules.points import Statement
from anaphora.rules.text import one_line

_REFUSAL = re.compile(
    r"^\W*(i['’]?m (very )?sorry\b|sorry, (but )?i\b|i (can['’]?t|cannot|can not|won['’]?t|am (not able|unable))\b"
    r"|i['’]?m (not able|unable)\b|as an? (ai|language model)\b)",
    re.IGNORECASE,
)

#: how many times the wanted size an answer may have before it is refused instead of shortened
MAX_OVERSIZE = 4


def checked_statements(
    raw: Sequence[tuple[str, Sequence[tuple[int, int]]]],
    span: SeqRange,
    *,
    deleted: Sequence[SeqRange] = (),
    echoes: Sequence[str] = (),
    max_chars: int,
) -> list[Statement]:
    """Statements whose citations (inclusive pairs) lie inside the span.

    Args:
        raw: texts with the messages that each cites.
        span: the claim.
        deleted: messages of it that nobody was shown.
        echoes: sentences of our own prompt, which no answer may repeat.
        max_chars: the size of all texts together beyond which the answer is no summary.

    Raises:
        ModelOutputInvalid: the answer must not be stored; `reason` says why.

    """
    statements: list[Statement] = []
    for text, pairs in raw:
        clean = checked_text(text, echoes=echoes)
        if not pairs:
            raise ModelOutputInvalid("out_of_range", "a statement cites no message")
        for first, last in pairs:
            if not span.start <= first <= last < span.stop:
                raise ModelOutputInvalid("out_of_range", f"cites {first} to {last}, outside {span}")
        cited = subtract((SeqRange(first, last + 1) for first, last in pairs), deleted)
        if not cited:
            raise ModelOutputInvalid("out_of_range", "a statement cites only what was deleted")
        statements.append((clean, cited))
    if not statements:
        raise ModelOutputInvalid("empty", "no statements")
    if sum(len(text) for text, _ in statements) > max_chars:
        raise ModelOutputInvalid("too_long", f"more than {max_chars} characters")
    return statements


def checked_text(text: str, *, echoes: Sequence[str] = ()) -> str:
    """One line of text that may be stored.

    Raises:
        ModelOutputInvalid: it is empty, a refusal or an echo of the prompt.

    """
    clean = one_line(text.replace("\x00", ""))
    if not clean:
        raise ModelOutputInvalid("empty")
    if _REFUSAL.match(clean):
        raise ModelOutputInvalid("refusal")
    if any(echo in clean for echo in echoes):
        raise ModelOutputInvalid("echo", "repeats the instructions")
    return clean.encode("utf-8", "ignore").decode("utf-8")
