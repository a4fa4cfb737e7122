"""Every test of this folder needs three servers."""

from __future__ import annotations

from pathlib import Path

import pytest

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of the folder."""
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.sharded)
