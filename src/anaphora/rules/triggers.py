"""Where windows begin. Windows begin at the start of a turn, so that none is ever split."""

from __future__ import annotations

from anaphora.domain.plans import State


def last_turns_start(state: State, *, turns: int, messages: int) -> int:
    """Start of the window that holds the last `turns` turns and at least the last `messages` messages."""
    if not state.turn_starts:
        return 0
    by_turns = state.turn_starts[-min(turns, len(state.turn_starts))]
    by_messages = state.turn_start(max(0, state.head - messages))
    return min(by_turns, by_messages)


def window_start(state: State, *, stop: int, size: int) -> int:
    """Start of the first whole turn among the last `size` messages before `stop` (seed 000, rounded up as there).

    If no turn begins there, the one turn that fills the window begins before it: its start is returned.
    """
    earliest = max(0, stop - size)
    if earliest == 0:
        return 0
    if state.turn_starts and stop <= state.turn_starts[0]:  # before all turns that are remembered
        return earliest
    for start in state.turn_starts:
        if earliest <= start < stop:
            return start
    return state.turn_start(stop - 1)
