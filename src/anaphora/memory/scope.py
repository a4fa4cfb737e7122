"""The tenant that a call is about."""

from __future__ import annotations

from anaphora.bootstrap import Services


def tenant_of(services: Services, tenant: str | None) -> str:
    """The configured tenant, unless one is named; an empty name is a name."""
    return services.settings.tenant if tenant is None else tenant
