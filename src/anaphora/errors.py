"""Every error that Anaphora raises on purpose, in one tree.

    AnaphoraError
    ├── InvalidInput            a value that no store would take (also a ValueError)
    │   ├── BudgetTooSmall      a context budget that cannot hold the instructions
    │   ├── Taken               an id of your choice that something has already
    │   └── UnknownName         a strategy, format, role or setting nobody knows; names the nearest one
    ├── NotFound                a session, receipt or summary that is not there (or not yours to see or change)
    ├── KeyReused               an idempotency key that came back with another body
    ├── Erased                  something was erased that this was made of, or is: nothing was written
    ├── StoreError              the database cannot do it now
    │   ├── CommitUnknown       the server went away while a write was committed: it may be there
    │   ├── StoreBusy           another process held the file for too long
    │   ├── StoreFull           no room on the disk
    │   ├── StoreReadOnly       the file or folder cannot be written
    │   ├── StoreTooNew         written by a later version of Anaphora
    │   └── StoreClosed         used after close()
    ├── ModelError              a language model or embedder failed
    │   ├── ModelUnavailable    no answer, a timeout, a rate limit or a server fault: try again later
    │   ├── ModelRefused        wrong key, wrong name or a rejected request: trying again will not help
    │   └── ModelOutputInvalid  an answer that is empty, a refusal, an echo, too long or unparsable
    ├── LeaseLost               a worker came back after its lease: nothing was written
    ├── ConfigError             a setting or its file is wrong; names the file, the key and the fix
    └── MissingExtra            a feature whose optional packages are not installed

Each message is one line that says what was wrong and what to do.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

#: how the message of every `ModelOutputInvalid` begins: a job that failed so is tried again with less to read
NOT_USABLE = "the model's answer was not usable"


class AnaphoraError(Exception):
    """The root of all errors raised on purpose."""


class InvalidInput(AnaphoraError, ValueError):
    """A value that cannot be stored or used as given."""


class BudgetTooSmall(InvalidInput):
    """The budget cannot hold the fixed instructions and a minimum of conversation.

    Attributes:
        budget: what was asked for, in tokens.
        needed: the smallest budget that works, in tokens.

    """

    def __init__(self, budget: int, needed: int) -> None:
        super().__init__(f"a budget of {budget} tokens is too small: use at least {needed}")
        self.budget = budget
        self.needed = needed


class Taken(InvalidInput):
    """Something has this id already: nothing was made."""


class UnknownName(InvalidInput):
    """A name that is not one of the known ones."""

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        choices = sorted(map(str, known))
        near = difflib.get_close_matches(name, choices, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(choices)}"
        super().__init__(f"unknown {what} {name!r}: {hint}")
        self.name = name


class NotFound(AnaphoraError, LookupError):
    """What was asked for does not exist for this caller."""


class KeyReused(AnaphoraError):
    """An idempotency key was used before, with another body."""


class Erased(AnaphoraError):
    """Something was erased that this was made of, or is: nothing was written.

    Attributes:
        marks: by which of those that came with it that is known.

    """

    def __init__(self, message: str, marks: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.marks = frozenset(marks)


class StoreError(AnaphoraError):
    """The database cannot do what was asked."""


class CommitUnknown(StoreError):
    """The server went away while a write was committed, and cannot say whether it was: it may be there."""


class StoreBusy(StoreError):
    """Another process kept the database locked for too long; nothing was written."""


class StoreFull(StoreError):
    """The disk is full; nothing was written."""


class StoreReadOnly(StoreError):
    """The database cannot be written."""


class StoreTooNew(StoreError):
    """The database was written by a later version."""


class StoreClosed(StoreError):
    """The store was used after it was closed."""


class ModelError(AnaphoraError):
    """A language model or embedder failed."""


class ModelUnavailable(ModelError):
    """The model did not answer; trying again later may help.

    Attributes:
        retry_after: seconds that the server asked us to wait, if it did.

    """

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ModelRefused(ModelError):
    """The provider rejected the request; trying again unchanged will not help."""


class ModelOutputInvalid(ModelError):
    """The model answered with something that must not be stored (I20).

    Attributes:
        reason: one word: empty, refusal, echo, too_long, unparsable or out_of_range.

    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{NOT_USABLE} ({reason}){': ' + detail if detail else ''}")
        self.reason = reason


class LeaseLost(AnaphoraError):
    """A job is no longer this worker's: the work was dropped, nothing was written (I5)."""


class ConfigError(AnaphoraError):
    """A setting is wrong."""


class MissingExtra(AnaphoraError):
    """An optional feature needs packages that are not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs more packages: pip install 'anaphora[{extra}]'")
        self.extra = extra
