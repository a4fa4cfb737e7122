"""Commands run here too."""

from __future__ import annotations

from tests.cli.conftest import home, run

__all__ = ["home", "run"]
