"""Ids of facts as people type them: whole, or a few digits of either end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final
from uuid import UUID

from anaphora.domain.facts import Fact, FactState
from anaphora.errors import InvalidInput, NotFound
from anaphora.memory import FactsView
from anaphora.services.learning import fact_id_of

#: digits that are shown: the last ones, since the first ones tell the time and are the same in all facts of a minute
SHOWN: Final = 8
#: digits that must be given at least
LEAST: Final = 6
_PAGE: Final = 1000
_PART = re.compile(r"[0-9a-f]{1,31}")


def short_id(fact_id: UUID, digits: int = SHOWN) -> str:
    """The last digits of an id."""
    return fact_id.hex[-digits:]


def short_ids(facts: Iterable[Fact]) -> Mapping[UUID, str]:
    """Every fact's last digits: eight, or as many as tell these facts apart."""
    ids = {fact.id for fact in facts}
    digits = SHOWN
    while len({short_id(each, digits) for each in ids}) < len(ids):
        digits += 1
    return {each: short_id(each, digits) for each in ids}


async def resolve(facts: FactsView, given: str, *, user: str, page_size: int = _PAGE) -> UUID:
    """The id that somebody typed: whole, or at least six digits with which one of the facts begins or ends.

    Raises:
        InvalidInput: no id, too few digits, or they fit several facts.
        NotFound: they fit none that the user may see. A whole id is not looked up here.

    """
    digits = given.replace("-", "").lower()
    if not _PART.fullmatch(digits):
        return fact_id_of(given)
    if len(digits) < LEAST:
        raise InvalidInput(f"{given!r} is too short: give at least {LEAST} digits of the fact's id")
    found: list[UUID] = []
    after: UUID | None = None
    while page := await facts.list(user=user, states=tuple(FactState), after=after, limit=page_size):
        found += [fact.id for fact in page if fact.id.hex.startswith(digits) or fact.id.hex.endswith(digits)]
        after = page[-1].id
    if not found:
        raise NotFound(f"there is no fact {given}")
    if len(found) > 1:
        raise InvalidInput(
            f"{given!r} fits {len(found):,} facts, such as {found[0]} and {found[1]}: give the last digits, or more"
        )
    return found[0]
