"""The review page: what is remembered of a person, shown to that person, to correct, share, export and erase."""

from __future__ import annotations

from anaphora.server.page.app import LARGE, install, refusal

__all__ = ["LARGE", "install", "refusal"]
