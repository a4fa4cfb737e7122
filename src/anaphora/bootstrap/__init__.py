"""The composition root: settings become adapters, adapters become services. Nothing else constructs adapters."""

from __future__ import annotations

from anaphora.bootstrap.build import Overrides, Services, open_services

__all__ = ["Overrides", "Services", "open_services"]
