"""Waits grow, stay bounded, and respect what a server asks for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from anaphora.rules.retry import RetryPolicy

POLICY = RetryPolicy(base_seconds=2, max_seconds=60)


@given(st.integers(1, 1000), st.floats(0, 0.999))
def test_a_wait_is_between_half_and_all_of_the_doubled_base_and_bounded(attempt: int, chance: float) -> None:
    full = min(60.0, 2.0 * 2.0 ** min(attempt - 1, 32))
    assert full / 2 <= POLICY.delay(attempt, chance=chance) <= full


def test_what_the_server_asks_for_is_waited_for_up_to_the_bound() -> None:
    assert POLICY.delay(1, chance=0, retry_after=17) == 17
    assert POLICY.delay(1, chance=0, retry_after=10_000) == 60
