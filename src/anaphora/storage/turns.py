"""Which turn a message belongs to: pure."""

from __future__ import annotations

from dataclasses import replace

from anaphora.domain.messages import NewMessage, Role, tool_calls
from anaphora.domain.plans import TAIL_TURNS
from anaphora.errors import InvalidInput
from anaphora.ports.rows import Append, SessionRow

_OPENERS = frozenset({Role.USER, Role.SYSTEM})


def extended(row: SessionRow, append: Append) -> tuple[SessionRow, tuple[int, ...]]:
    """The session after the append, and the turn of each message.

    A user or system message starts a turn, others go on with it; with `turns="turn"` the whole append is one new
    turn, with "own" each message is one. Appending opens an ended session again.
    """
    turns: list[int] = []
    starts = list(row.turn_starts[-TAIL_TURNS:])
    opened = 0
    for seq, message in enumerate(append.messages, start=row.head):
        if not starts or _opens(append.turns, message, first=seq == row.head):
            starts.append(seq)
            opened += 1
        turns.append(starts[-1])
    after = replace(
        row,
        head=row.head + len(append.messages),
        turns=row.turns + opened,
        turn_starts=tuple(starts[-TAIL_TURNS:]),
        turn_finished=_finished(append),
        tokens=row.tokens + sum(append.tokens),
        updated_at=append.now,
        ended_at=None,
    )
    return after, tuple(turns)


def check_shape(append: Append) -> None:
    """Raise `InvalidInput` unless there is something to append and every message has its id, tokens and trust."""
    count = len(append.messages)
    if not count:
        raise InvalidInput("nothing to append: give at least one message")
    if not count == len(append.ids) == len(append.tokens) == len(append.trusts):
        raise InvalidInput("every message needs an id, a token count and a trust")
    if append.turns not in {"single", "turn", "own"}:
        raise InvalidInput(f"turns must be 'single', 'turn' or 'own', not {append.turns!r}")


def _opens(turns: str, message: NewMessage, *, first: bool) -> bool:
    match turns:
        case "own":
            return True
        case "turn":
            return first
        case _:
            return message.role in _OPENERS


def _finished(append: Append) -> bool:
    """An assistant's last word that asks for no tool finishes its turn; a whole turn is finished as it comes."""
    if append.turns != "single":
        return True
    last = append.messages[-1]
    return last.role is Role.ASSISTANT and not tool_calls(last.parts)
