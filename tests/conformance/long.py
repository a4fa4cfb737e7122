"""Laws of a memory that ask thousands of times: where each question costs more, they are for `make test-deep`."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

LONG: Final = frozenset(
    {
        "test_a_backlog_of_a_thousand_messages_drains_in_bounded_prompts",
        # of its many answers each takes seconds
        "test_an_answer_that_is_no_summary_is_never_stored",
        "test_as_of_now_is_now_and_before_the_beginning_there_was_nothing",
        "test_every_moment_can_be_looked_at_again_exactly_as_it_was",
        "test_everything_may_be_deleted_and_the_conversation_goes_on",
        "test_no_message_lies_between_summary_and_window",
        "test_odd_histories_are_accounted_for_at_every_step",
        "test_the_summary_goes_on_however_long_the_conversation",
    }
)
#: over HTTP, and through the blocking interface; the databases beneath are asked every day
DEARER: Final = frozenset(Path(__file__).parents[1] / name for name in ("client", "sync"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark them before the marks are looked at."""
    for item in items:
        if isinstance(item, pytest.Function) and item.originalname in LONG and item.path.parent in DEARER:
            item.add_marker(pytest.mark.deep)
            item.add_marker(pytest.mark.timeout(900))
