"""A topic with what was said of it: believed only as far as it can be checked. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from anaphora.domain.messages import Message, least_trusted
from anaphora.domain.summaries import Method
from anaphora.domain.topics import Topic
from anaphora.ports.topics import TopicDraft
from anaphora.rules.text import truncate
from anaphora.rules.topics.cues import telling
from anaphora.rules.topics.views import heard
from anaphora.rules.validity import checked_text

#: tokens of a name
_NAME: Final = 24


def described(
    topic: Topic,
    messages: Sequence[Message],
    draft: TopicDraft,
    *,
    summary_tokens: int,
    count: Callable[[str], int],
    now: datetime,
    head: int,
) -> Topic:
    """The topic as it is to be kept.

    Args:
        topic: the closed topic.
        messages: its live messages.
        draft: what was said of it.
        summary_tokens: what its summary may take; the rest is cut visibly.
        count: the token counter.
        now: when it is described, and `head`: how long the log is then.
        head: see `now`.

    Raises:
        ModelOutputInvalid: name or summary is empty, a refusal, or repeats the prompt.

    """
    summary = truncate(checked_text(draft.summary, echoes=draft.echoes), summary_tokens, count)
    name = _name(draft, count)
    words = {word for message in messages if heard(message.role) for word in telling(message.content)}
    return replace(
        topic,
        name=name,
        summary=summary,
        tokens=count(f"{name}: {summary}" if name else summary),
        words=tuple(sorted(words)),
        method=draft.method,
        model=draft.model,
        prompt_version=draft.prompt_version,
        trust=least_trusted(message.trust for message in messages),
        stale=False,
        first_at=min(message.created_at for message in messages),
        last_at=max(message.created_at for message in messages),
        described_at=now,
        described_head=head,
    )


def _name(draft: TopicDraft, count: Callable[[str], int]) -> str | None:
    """A name that may be shown; None if rules find no telling word."""
    if draft.method is not Method.MODEL and not draft.name:
        return None
    return truncate(checked_text(draft.name, echoes=draft.echoes), _NAME, count)
