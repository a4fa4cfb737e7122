"""What a transaction did that the store must act upon once it is committed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Effects:
    """Notes that the repositories of one transaction leave."""

    #: a job may be claimable now: wake the workers
    planned: bool = False
    #: content was erased: leave no byte of it behind
    erased: bool = False
    #: more will be erased at once: clean up after that
    later: bool = False
