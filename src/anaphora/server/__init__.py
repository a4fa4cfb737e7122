"""The service: a memory over HTTP, with a page on which people see what is remembered of them."""

from __future__ import annotations

from anaphora.server.app import create_app

__all__ = ["create_app"]
