"""Ids of facts and documents as people type them: whole, or a few digits of either end."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Final, TypeAlias
from uuid import UUID

from anaphora.domain.facts import FactState
from anaphora.errors import InvalidInput, NotFound
from anaphora.memory import FactsView, KnowledgeView

#: digits that are shown: the last ones, since the first ones tell the time and are the same in all of a minute
SHOWN: Final = 8
#: digits that must be given at least
LEAST: Final = 6
_PAGE: Final = 1000
_PART = re.compile(r"[0-9a-f]{1,31}")

#: the ids that come after this one, a page of them; None: the first ones
_Pages: TypeAlias = Callable[[UUID | None], Awaitable[Sequence[UUID]]]


def short_id(uid: UUID, digits: int = SHOWN) -> str:
    """The last digits of an id."""
    return uid.hex[-digits:]


def short_ids(ids: Iterable[UUID]) -> Mapping[UUID, str]:
    """Every id's last digits: eight, or as many as tell these apart."""
    different = set(ids)
    digits = SHOWN
    while len({short_id(each, digits) for each in different}) < len(different):
        digits += 1
    return {each: short_id(each, digits) for each in different}


async def fact_id(facts: FactsView, given: str, *, user: str, page_size: int = _PAGE) -> UUID:
    """The id of a fact that somebody typed: whole, or at least six digits with which one of the facts begins or ends.

    Raises:
        InvalidInput: no id, too few digits, or they fit several facts.
        NotFound: they fit none that the user may see. A whole id is not looked up here.

    """

    async def pages(after: UUID | None) -> Sequence[UUID]:
        page = await facts.list(user=user, states=tuple(FactState), after=after, limit=page_size)
        return [fact.id for fact in page]

    return await _meant(given, pages, what="fact", shown_by="anaphora facts list")


async def document_id(
    kb: KnowledgeView, given: str, *, user: str | None, namespace: Sequence[str] | None, page_size: int = _PAGE
) -> UUID:
    """The id of a document that somebody typed, of a user or in a namespace; as `fact_id`.

    Raises:
        InvalidInput: no id, too few digits, or they fit several documents.
        NotFound: they fit none there. A whole id is not looked up here.

    """

    async def pages(before: UUID | None) -> Sequence[UUID]:
        page = await kb.list(user=user, namespace=namespace, before=before, limit=page_size)
        return [document.id for document in page]

    return await _meant(given, pages, what="document", shown_by="anaphora kb list")


async def _meant(given: str, pages: _Pages, *, what: str, shown_by: str) -> UUID:
    digits = given.replace("-", "").lower()
    if not _PART.fullmatch(digits):
        try:
            return UUID(given)
        except ValueError:
            raise InvalidInput(f"{given!r} is no id of a {what}: `{shown_by}` shows them") from None
    if len(digits) < LEAST:
        raise InvalidInput(f"{given!r} is too short: give at least {LEAST} digits of the {what}'s id")
    found: list[UUID] = []
    last: UUID | None = None
    while page := await pages(last):
        found += [uid for uid in page if uid.hex.startswith(digits) or uid.hex.endswith(digits)]
        last = page[-1]
    if not found:
        raise NotFound(f"there is no {what} {given}")
    if len(found) > 1:
        raise InvalidInput(
            f"{given!r} fits {len(found):,} {what}s, such as {found[0]} and {found[1]}: give the last digits, or more"
        )
    return found[0]
