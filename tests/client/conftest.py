"""Which laws take too long over HTTP to be asked every day."""

from __future__ import annotations

from pathlib import Path

import pytest

#: thousands of requests each; `make test-deep` asks them too
LONG = frozenset(
    {
        "test_a_backlog_of_a_thousand_messages_drains_in_bounded_prompts",
        "test_as_of_now_is_now_and_before_the_beginning_there_was_nothing",
        "test_every_moment_can_be_looked_at_again_exactly_as_it_was",
        "test_everything_may_be_deleted_and_the_conversation_goes_on",
        "test_no_message_lies_between_summary_and_window",
        "test_odd_histories_are_accounted_for_at_every_step",
        "test_the_summary_goes_on_however_long_the_conversation",
    }
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark them before the marks are looked at."""
    for item in items:
        if (
            isinstance(item, pytest.Function)
            and item.originalname in LONG
            and item.path.parent == Path(__file__).parent
        ):
            item.add_marker(pytest.mark.deep)
            item.add_marker(pytest.mark.timeout(900))
