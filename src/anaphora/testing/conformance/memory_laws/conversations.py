"""What the laws of a memory share: conversations to have, and an account of them that does not trust the memory's."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from anaphora.domain.context import Context
from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import Receipt
from anaphora.domain.summaries import Summary
from anaphora.domain.wire import PromptMessage, SectionName
from anaphora.errors import ModelUnavailable
from anaphora.memory import Memory, Session
from anaphora.ports.models import TokenCounter
from anaphora.testing.clock import FakeClock
from anaphora.testing.summaries import canaries, faithful_summary

#: longer than any lease and any pause between two attempts, in seconds
LONG = 400.0
ROLES = ("user", "assistant")
TENANT = "t"
#: the settings that laws go by
OPTIONS: Mapping[str, Any] = {"embedder": "none", "durability": "normal", "tenant": TENANT}


class Quarter:
    """Counts quickly: four characters a token."""

    @property
    def name(self) -> str:
        """The name of this way to count."""
        return "quarter"

    def count(self, text: str) -> int:
        """How many tokens the text has."""
        return (len(text) + 3) // 4


QUARTER: TokenCounter = Quarter()


def conversation(memory: Memory, **names: Any) -> Session:
    """The session that most laws are about; parts of its name may be others."""
    return memory.session(**{"user": "u", "agent": "a", "session": "s"} | names)


def text(seq: int) -> str:
    """What message `seq` says: its canary, and a word that only it has."""
    return f"#{seq}# word{seq} is what was said"


async def say(session: Session, count: int, *, start: int = 0, roles: Sequence[str] = ROLES) -> list[Receipt]:
    """Append messages `start` to `start + count`, taking turns."""
    return [await session.add(roles[seq % len(roles)], text(seq)) for seq in range(start, start + count)]


async def settle(memory: Memory, clock: FakeClock, *, rounds: int = 60) -> None:
    """Work and let time pass until no job is live at all."""
    for _ in range(rounds):
        await memory.work()
        if not await memory.jobs.live():
            return
        await clock.advance(LONG)
    raise AssertionError("background work never came to an end")


async def served(session: Session) -> Summary | None:
    """The version that contexts are made of."""
    wanted = (await session.context()).coverage.summary_id
    found = [summary for summary in await session.summaries(limit=1000) if summary.id == wanted]
    return found[0] if found else None


def block(context: Context) -> str:
    """The memory block, or nothing."""
    return "".join(m.content for m in context.messages if m.section is SectionName.MEMORY)


def check_account(context: Context, head: int) -> None:
    """I1, judged by what stands in the prompt: every message exactly once, and where the manifest says."""
    parts = context.coverage
    seen = Counter(chain.from_iterable(chain(parts.summarised, parts.verbatim, parts.elided, parts.deleted)))
    assert seen == Counter(range(head)), "I1: a message is missing or counted twice"
    shown = [m.seq for m in context.messages if m.seq is not None]
    threads = [line.range for line in context.lines if line.section is SectionName.THREADS and line.range is not None]
    quoted = set(chain.from_iterable(parts.verbatim)) - set(shown)
    assert shown == sorted(set(chain.from_iterable(parts.verbatim)) - quoted), "I1: the prompt is not what was declared"
    assert all(any(seq in thread for thread in threads) for seq in quoted), "I1: declared verbatim, and shown nowhere"
    assert context.tokens == sum(m.tokens for m in context.messages) <= context.budget, "I10"
    for message in context.messages:
        if message.seq is not None and not message.shortened:
            assert message.seq in canaries(message.content), "the prompt shows another message under this number"


def check_spoken_for(context: Context) -> None:
    """What is declared summarised is really spoken of in the memory block."""
    declared = set(chain.from_iterable(context.coverage.summarised))
    assert declared <= canaries(block(context)), "I1: declared summarised, but the summary says nothing of it"


def spans(*pairs: tuple[int, int]) -> tuple[SeqRange, ...]:
    """The ranges with these ends."""
    return tuple(SeqRange(*pair) for pair in pairs)


# -- scripts of models ---------------------------------------------------------------------------------------------


def entries(prompt: Sequence[PromptMessage]) -> list[Mapping[str, Any]]:
    """The new messages that a summary prompt shows."""
    _, _, new = prompt[-1].content.partition("\nNEW\n")
    return [json.loads(line) for line in new.splitlines() if line]


def by_turns(messages: Sequence[PromptMessage], schema: Mapping[str, Any] | None) -> str:
    """A script that makes one statement of every two messages."""
    if schema is None:
        return "You said something."
    new = entries(messages)
    points = [
        {"text": f"#{pair[0]['n']}-{pair[-1]['n']}# noted", "first": pair[0]["n"], "last": pair[-1]["n"]}
        for pair in (new[at : at + 2] for at in range(0, len(new), 2))
    ]
    return json.dumps({"points": points, "merged": None})


def brief(messages: Sequence[PromptMessage], schema: Mapping[str, Any] | None) -> str:
    """A faithful script whose statements are canaries only: short enough for any summary to hold them all."""
    if schema is None:
        return "You said something."
    answer = json.loads(faithful_summary(messages[-1].content))
    for point in answer["points"]:
        point["text"] = _marks(point["text"])
    answer["merged"] = _marks(answer["merged"]) if answer["merged"] else None
    return json.dumps(answer)


def down(*_: object) -> str:
    """A script that never answers."""
    raise ModelUnavailable("no answer")


def _marks(said: str) -> str:
    return " ".join(word for word in said.split() if canaries(word))
