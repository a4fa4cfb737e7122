"""Stores that break the laws of notepads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from tests.conformance.broken import Broken, caught_by
from tests.conformance.broken_facts import ListsWhoTalks as Talkers

from anaphora.domain.notepad import Page, PageAction
from anaphora.errors import AnaphoraError
from anaphora.ports.rows import SessionRow
from anaphora.ports.store import Store, Unit
from anaphora.storage.topic_tables import notepad_pages as pages
from anaphora.testing.conformance.store_laws.tools import TENANT


def drop(unit: Any, page: Page, tenant: str = TENANT) -> None:
    """Delete a page behind the store's back."""
    this = (pages.c.user_id == page.user, pages.c.agent_id == page.agent, pages.c.version == page.version)
    unit.notepads._run(sa.delete(pages).where(pages.c.tenant_id == tenant, *this))


def every(unit: Unit, row: SessionRow) -> Sequence[Page]:
    return unit.notepads.history(row.key.tenant, row.key.user, row.key.agent, limit=999)


@caught_by("test_a_page_comes_back_as_it_was_kept")
class KeepsNoProvenance(Broken):
    def notepads_insert(self, unit: Unit, tenant: str, page: Page) -> bool:
        return unit.notepads.insert(tenant, replace(page, model=None))


@caught_by("test_a_page_comes_back_as_it_was_kept")
class TrimsTexts(Broken):
    def notepads_insert(self, unit: Unit, tenant: str, page: Page) -> bool:
        return unit.notepads.insert(tenant, replace(page, text=page.text or "-"))


@caught_by("test_a_page_comes_back_as_it_was_kept")
class GetsTheNewestInstead(Broken):
    def notepads_get(self, unit: Unit, tenant: str, user: str, agent: str, version: int) -> Page | None:
        return unit.notepads.get(tenant, user, agent, version) or unit.notepads.newest(tenant, user, agent)


@caught_by("test_the_newest_page_is_what_a_notepad_says")
class TakesTheLastWritten(Broken):
    def notepads_newest(self, unit: Unit, *name: str) -> Page | None:
        found = unit.notepads.history(*name, limit=999)
        return max(found, key=lambda page: page.created_at, default=None)


@caught_by("test_the_newest_page_is_what_a_notepad_says")
class CountsPages(Broken):
    def notepads_newest(self, unit: Unit, tenant: str, user: str, agent: str) -> Page | None:
        count = len(unit.notepads.history(tenant, user, agent, limit=999))
        return unit.notepads.get(tenant, user, agent, count)


@caught_by("test_pages_are_listed_newest_first_page_by_page")
class ListsOldestFirst(Broken):
    def notepads_history(self, unit: Unit, *name: str, **how: Any) -> Sequence[Page]:
        return unit.notepads.history(*name, **how)[::-1]


@caught_by("test_pages_are_listed_newest_first_page_by_page")
class ListsThatOneToo(Broken):
    def notepads_history(self, unit: Unit, *name: str, limit: int, before: int | None = None) -> Sequence[Page]:
        return unit.notepads.history(*name, limit=limit, before=None if before is None else before + 1)


@caught_by("test_a_version_of_a_notepad_is_kept_once")
class KeepsTheLast(Broken):
    def notepads_insert(self, unit: Unit, tenant: str, page: Page) -> bool:
        drop(unit, page, tenant)
        return unit.notepads.insert(tenant, page)


@caught_by("test_a_version_of_a_notepad_is_kept_once", "test_of_pages_of_one_version_at_once_one_is_kept")
class SaysThatItKept(Broken):
    def notepads_insert(self, unit: Unit, tenant: str, page: Page) -> bool:
        unit.notepads.insert(tenant, page)
        return True


@caught_by("test_who_is_alone_with_a_notepad_sees_what_others_wrote_before")
class LooksAtASnapshot(Broken):
    def __init__(self, real: Store, folder: Path) -> None:
        super().__init__(real, folder)
        self.seen: dict[tuple[str, ...], Page | None] = {}

    def notepads_newest(self, unit: Unit, *name: str) -> Page | None:
        return self.seen.setdefault(name, unit.notepads.newest(*name))


@caught_by("test_each_user_has_a_notepad_with_each_agent")
class HasOneNotepadAUser(Broken):
    def notepads_history(self, unit: Unit, tenant: str, user: str, agent: str, **how: Any) -> Sequence[Page]:
        mine = unit.notepads.history(tenant, user, agent, **how)
        return mine or unit.notepads.history(tenant, user, "cook", **how)


@caught_by("test_each_user_has_a_notepad_with_each_agent")
class HasOneTenantOfNotepads(Broken):
    def notepads_get(self, unit: Unit, tenant: str, user: str, agent: str, version: int) -> Page | None:
        found = unit.notepads.get(tenant, user, agent, version)
        return found or unit.notepads.get(tenant, user, "default", version)


@caught_by("test_each_user_has_a_notepad_with_each_agent")
class ForgetsAllOfAUser(Broken):
    def notepads_forget(self, unit: Unit, row: SessionRow, seq: int | None) -> Sequence[UUID]:
        for agent in ("default", "cook"):
            for page in unit.notepads.history(row.key.tenant, row.key.user, agent, limit=99):
                drop(unit, page, row.key.tenant)
        return unit.notepads.forget(row, seq) or (row.id,)


@caught_by("test_pages_of_a_message_that_is_gone_go_with_it")
class ForgetsWhateverTheMessage(Broken):
    def notepads_forget(self, unit: Unit, row: SessionRow, _seq: int | None) -> Sequence[UUID]:
        return unit.notepads.forget(row, None)


@caught_by("test_pages_of_a_message_that_is_gone_go_with_it")
class CountsTheEndIn(Broken):
    def notepads_forget(self, unit: Unit, row: SessionRow, seq: int | None) -> Sequence[UUID]:
        return unit.notepads.forget(row, seq) or (unit.notepads.forget(row, seq - 1) if seq else ())


@caught_by("test_pages_of_a_message_that_is_gone_go_with_it", "test_what_was_made_of_a_page_that_is_gone_goes_too")
class ForgetsThatPageOnly(Broken):
    def notepads_forget(self, unit: Unit, row: SessionRow, seq: int | None) -> Sequence[UUID]:
        made = [page for page in every(unit, row) if page.session_id == row.id and page.range is not None]
        gone = [page for page in made if seq is None or (page.range is not None and seq in page.range)]
        for page in gone:
            drop(unit, page, row.key.tenant)
        return (row.id,) if gone else ()


@caught_by("test_what_was_made_of_a_page_that_is_gone_goes_too")
class KeepsWhatWasBroughtBack(Broken):
    def notepads_forget(self, unit: Unit, row: SessionRow, seq: int | None) -> Sequence[UUID]:
        back = [page for page in every(unit, row) if page.action is PageAction.REVERTED]
        gone = unit.notepads.forget(row, seq)
        for page in back:
            unit.notepads.insert(row.key.tenant, page)
        return gone


@caught_by("test_what_was_made_of_a_page_that_is_gone_goes_too")
class NamesItsOwnSessionOnly(Broken):
    def notepads_forget(self, unit: Unit, row: SessionRow, seq: int | None) -> Sequence[UUID]:
        return (row.id,) if unit.notepads.forget(row, seq) else ()


@caught_by("test_what_a_user_wrote_in_a_notepad_stays")
class ForgetsAllThatCameLater(Broken):
    def notepads_forget(self, unit: Unit, row: SessionRow, seq: int | None) -> Sequence[UUID]:
        before = every(unit, row)
        gone = unit.notepads.forget(row, seq)
        left = every(unit, row)
        if gone:
            first = min(page.version for page in before if page not in left)
            for page in left:
                if page.version > first:
                    drop(unit, page, row.key.tenant)
        return gone


def _insert(what: tuple[str, Page], unit: Unit) -> None:
    unit.notepads.insert(*what)


@caught_by("test_pages_of_a_transaction_that_failed_are_as_before")
class WritesBesideTheTransaction(Broken):
    def __init__(self, real: Store, folder: Path) -> None:
        super().__init__(real, folder)
        self.pages: list[tuple[str, Page]] = []

    async def write(self, tenant: str, work: Any) -> Any:
        try:
            return await super().write(tenant, work)
        except AnaphoraError:
            for page in self.pages:
                await self.real.write(tenant, partial(_insert, page))
            raise

    def notepads_insert(self, unit: Unit, tenant: str, page: Page) -> bool:
        self.pages.append((tenant, page))
        return unit.notepads.insert(tenant, page)


@caught_by("test_a_tenant_with_nothing_but_a_notepad_is_listed")
class ListsTalkersOnly(Talkers):
    """Who has said nothing is not there."""
