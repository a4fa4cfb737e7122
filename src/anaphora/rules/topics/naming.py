"""A name for a topic without a language model: the words that are said most in it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from anaphora.domain.messages import Message, Role
from anaphora.rules.topics.cues import telling_words
from anaphora.rules.topics.views import heard

#: words of a name
_WORDS: Final = 4
#: what a message of the user counts beside one of the assistant: users say what it is about
_USERS: Final = 2
#: characters of a message that are read
_READ: Final = 4_000


def name_of(messages: Sequence[Message]) -> str:
    """Up to four telling words, those of most messages, in the order in which they came; empty if there are none.

    A word counts once a message, so that one long message does not name the topic alone.
    """
    weights: dict[str, int] = {}
    written: dict[str, str] = {}
    for message in messages:
        if not heard(message.role):
            continue
        worth = _USERS if message.role is Role.USER else 1
        said: dict[str, str] = {}
        for stem, word in telling_words(message.content[:_READ]):
            said.setdefault(stem, word)
        for stem, word in said.items():
            weights[stem] = weights.get(stem, 0) + worth
            written.setdefault(stem, word)
    order = {stem: at for at, stem in enumerate(written)}
    best = sorted(weights, key=lambda stem: (-weights[stem], order[stem]))[:_WORDS]
    return ", ".join(written[stem] for stem in sorted(best, key=order.__getitem__))
