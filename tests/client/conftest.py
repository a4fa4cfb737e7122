"""Laws that ask thousands of times are not asked over HTTP every day."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conformance.long import leave_to_the_deep_run


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark them before the marks are looked at."""
    leave_to_the_deep_run(items, Path(__file__).parent)
