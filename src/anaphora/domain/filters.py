"""What a filter over metadata can ask: nothing but this reaches a database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from anaphora.domain.documents import checked_scalar, is_name
from anaphora.errors import InvalidInput

#: how many questions one filter may ask, and how deep they may stand in one another
MAX_PARTS: Final = 64
MAX_DEPTH: Final = 16

Scalar: TypeAlias = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Field:
    """A value of the metadata: by its name, or by two for a value of an inner object.

    Raises:
        InvalidInput: a name that no metadata can have, or more than two.

    """

    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.names) <= 2 or not all(map(is_name, self.names)):
            raise InvalidInput(f"a filter asks for name or name.name: {'.'.join(self.names)[:80]!r} is neither")

    @classmethod
    def of(cls, text: str) -> Field:
        """The field that is written so, such as `author` or `date_range.start`."""
        return cls(tuple(text.split(".")))

    def __str__(self) -> str:
        return ".".join(self.names)


@dataclass(frozen=True, slots=True)
class Equals:
    """The value is this one, of the same kind: `"1"` is not `1`, `true` is not `1`; `1` is `1.0`."""

    field: Field
    value: Scalar

    def __post_init__(self) -> None:
        checked_scalar(self.value, f"the value that {self.field} is compared with")


@dataclass(frozen=True, slots=True)
class Contains:
    """The value is a list, and this is one of its entries."""

    field: Field
    value: Scalar

    def __post_init__(self) -> None:
        checked_scalar(self.value, f"the entry that {self.field} should contain")


@dataclass(frozen=True, slots=True)
class Exists:
    """There is such a value, even if it is null."""

    field: Field


@dataclass(frozen=True, slots=True)
class Not:
    """What it says does not hold."""

    part: Filter


@dataclass(frozen=True, slots=True)
class And:
    """All of it holds; of nothing that is true."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Some of it holds; of nothing that is false."""

    parts: tuple[Filter, ...]


Filter: TypeAlias = Equals | Contains | Exists | Not | And | Or


def checked_filter(asked: Filter) -> Filter:
    """The filter, if it is not too much to ask.

    Raises:
        InvalidInput: something else than a filter, too many questions, or too deep in one another.

    """
    count, level = 0, [asked]
    for _ in range(MAX_DEPTH):
        if not level:
            return asked
        count += len(level)
        if count > MAX_PARTS:
            raise InvalidInput(f"the filter asks more than {MAX_PARTS} questions")
        level = [part for each in level for part in _inner(each)]
    if level:
        raise InvalidInput(f"the filter is more than {MAX_DEPTH} levels deep")
    return asked


def _inner(asked: Filter) -> tuple[Filter, ...]:
    match asked:
        case And(parts) | Or(parts):
            return parts
        case Not(part):
            return (part,)
        case Equals() | Contains() | Exists():
            return ()
        case _:
            raise InvalidInput(f"not a filter: {type(asked).__name__}")
