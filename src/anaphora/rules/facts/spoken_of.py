"""Facts that people state in plain words of whom or what a session is about, by its name. English."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from anaphora.domain.facts import MAX_CONTENT, Candidate
from anaphora.domain.messages import Message, Role
from anaphora.rules.facts.gate import Outcome, judge
from anaphora.rules.facts.spoken import cut
from anaphora.rules.language.stems import plain

#: characters of a message that are read, and candidates of one message
_LONGEST: Final = 8_000
_MOST: Final = 12
_REST: Final = r"[^.!?;:\n()\"]{2,90}"
#: what follows the name, with its category and its importance
_RULES: Final = (
    (rf"(?: is|'s) (?:very |really |badly |severely )?allergic to {_REST}", "other", 9),
    (rf" (?:doesn't|does not|never|can't|cannot) (?:eat|eats|drink|drinks) {_REST}", "preference", 8),
    (rf" (?:lives|lived) in {_REST}", "other", 7),
    (rf" was born (?:in|on) {_REST}", "milestone", 6),
    (rf" (?:works|worked) (?:at|for|as|in) {_REST}", "occupation", 7),
    (rf" (?:loves|loved|likes|liked|enjoys|hates|hated|dislikes|prefers) {_REST}", "preference", 5),
)


def facts_said_of(messages: Sequence[Message], subject: str) -> tuple[Candidate, ...]:
    """What users state about the subject by its name, as they say it; nothing twice, and nothing that `judge` doubts.

    Args:
        messages: the stretch that was read, in order, without deleted ones.
        subject: its name; of "Grandpa Joe" both words are names.

    """
    called = [word for word in plain(subject).split() if word[:1].isupper()] or [plain(subject)]
    name = rf"(?<![\w'-])(?i:{'|'.join(map(re.escape, {plain(subject), *called}))})"
    rules = [(re.compile(f"{name}{what}"), category, importance) for what, category, importance in _RULES]
    found: dict[str, Candidate] = {}
    for message in messages:
        if message.role is not Role.USER:
            continue
        text, many = plain(message.content)[:_LONGEST], 0
        for pattern, category, importance in rules:
            for match in pattern.finditer(text):
                quote = cut(match.group())
                if many >= _MOST or len(quote) > MAX_CONTENT or quote.casefold() in found:
                    continue
                candidate = Candidate(
                    category=category, content=quote, quote=quote, seq=message.seq, importance=importance
                )
                if judge(candidate, messages, speaker=message.name, subject=subject).outcome is Outcome.ACCEPT:
                    found[quote.casefold()] = candidate
                    many += 1
    return tuple(found.values())
