"""What a transaction did that the store must act upon once it is committed."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

from anaphora.domain.changes import ChangeKind


@dataclass(slots=True)
class Effects:
    """Notes that the repositories of one transaction leave."""

    #: a job may be claimable now: wake the workers
    planned: bool = False
    #: content was erased: leave no byte of it behind
    erased: bool = False
    #: more will be erased at once: clean up after that
    later: bool = False
    #: of which tenant and user which part changed, and the last session in which it did
    touched: dict[tuple[str, str, ChangeKind], UUID | None] = field(default_factory=dict)

    def touch(self, tenant: str, user: str, kind: ChangeKind, session_id: UUID | None = None) -> None:
        """Note that a part of a user's memory is not as it was."""
        self.touched[tenant, user, kind] = session_id
