"""Who asks: a principal is one person of one tenant, or its operator; nothing in a request can widen it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from anaphora.domain.keys import checked_id
from anaphora.errors import InvalidInput, UnknownName


class Permission(StrEnum):
    """What a principal may do."""

    #: see what is remembered
    READ = "read"
    #: add, correct, share and delete
    WRITE = "write"
    EXPORT = "export"
    #: erase for good
    ERASE = "erase"
    #: of a whole tenant: jobs, failures, the audit, keys; nothing that anybody said
    OPERATE = "operate"


#: what a person may do with their own memory
OF_PERSONS = frozenset(Permission) - {Permission.OPERATE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Who asks. Every call of the service is made in this name."""

    tenant: str
    #: None: the operator of the tenant, who sees nothing that anybody said
    user: str | None
    permissions: frozenset[Permission]
    #: by what it was recognised, for the audit and for limits: the id of a key, or "jwt", or "open"
    by: str

    def __post_init__(self) -> None:
        checked_id(self.tenant, "tenant")
        if self.user is not None:
            checked_id(self.user, "user")
        if (self.user is None) != (self.permissions == {Permission.OPERATE}):
            raise InvalidInput("a principal is either a person or an operator, and only operators may operate")

    @property
    def person(self) -> str:
        """The user.

        Raises:
            InvalidInput: an operator is nobody's memory.

        """
        if self.user is None:
            raise InvalidInput("an operator's key sees nobody's memory: use the key of a person")
        return self.user

    def may(self, permission: Permission) -> bool:
        """Whether it may do that."""
        return permission in self.permissions


def permissions_of(names: Iterable[str]) -> frozenset[Permission]:
    """Permissions by their names; `all` is everything that a person may do.

    Raises:
        UnknownName: there is no such permission.
        InvalidInput: none is named.

    """
    found: set[Permission] = set()
    for name in names:
        if name == "all":
            found |= OF_PERSONS
            continue
        try:
            found.add(Permission(name))
        except ValueError:
            raise UnknownName("scope", name, ("all", *Permission)) from None
    if not found:
        raise InvalidInput("name at least one scope, or all")
    return frozenset(found)
