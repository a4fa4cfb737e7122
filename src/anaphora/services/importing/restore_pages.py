"""Notepads of an export into a store: page for page as they were, or not at all.

A page that was made of messages is kept only where these were reflected upon, as in the export; what was made of a page
that is left out is left out too. Sessions whose pages are left out are reflected upon again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from anaphora.domain.keys import SessionKey
from anaphora.domain.notepad import Page
from anaphora.domain.notepad_records import PageRecord
from anaphora.ports.store import Unit
from anaphora.rules.notepad import made_of
from anaphora.services.importing.erased import Gone
from anaphora.services.importing.pieces import Notepad
from anaphora.services.importing.restoring import Outcome, Run
from anaphora.services.importing.values import BadFile
from anaphora.services.settings import NOTEPAD_READER

_PAGE = 500


def settle_notepad(
    unit: Unit, among: Gone, fates: Mapping[SessionKey, Outcome], item: Notepad, *, write: bool
) -> Outcome:
    """Compare, and write what is missing; or only see whether something is."""
    run = among.run
    erased = {page.version for page in item.pages if among.owner(item.user, item.agent, page.created_at)}
    tenant, user, agent = run.tenant, run.called(item.user), item.agent
    if write:
        unit.notepads.alone(tenant, user, agent)
    here = {page.version: page for page in _pages(unit, tenant, user, agent)}
    newest = max(here, default=0)
    found = {record.version: _page(unit, run, fates, record, user) for record in item.pages}
    gone: set[int] = set()
    missing: list[Page] = []
    for version, page in found.items():
        if version in erased:
            gone.add(version)
        elif version in here:
            if page != here[version]:
                return Outcome(complaint=_another(run, item, user))
        elif page is None or version < newest:
            gone.add(version)
        else:
            missing.append(page)
    lost = made_of(item.pages, gone)
    missing = [page for page in missing if page.version not in lost]
    if write:
        for page in missing:
            unit.notepads.insert(tenant, page)
    return Outcome(needed=bool(missing), erased=len(erased))


def _pages(unit: Unit, tenant: str, user: str, agent: str) -> Sequence[Page]:
    found: list[Page] = []
    before: int | None = None
    while page := unit.notepads.history(tenant, user, agent, limit=_PAGE, before=before):
        found.extend(page)
        before = page[-1].version
    return found


def _page(unit: Unit, run: Run, fates: Mapping[SessionKey, Outcome], record: PageRecord, user: str) -> Page | None:
    """The page here; None if what it was made of is not here, or was not reflected upon."""
    key, uid = None, None
    if record.session is not None and record.range is not None:
        key = SessionKey(tenant=run.tenant, user=user, agent=record.agent, session=record.session)
        fate = fates.get(key)
        row = unit.sessions.find(key) if fate is None or fate.complaint is None else None
        if row is None:
            return None
        if unit.summaries.head(run.tenant, row.id, NOTEPAD_READER).position < record.range.stop:
            return None
        uid = row.id
    return Page(
        user=user,
        agent=record.agent,
        version=record.version,
        action=record.action,
        text=record.text,
        tokens=record.tokens,
        session=key,
        session_id=uid,
        range=record.range,
        method=record.method,
        model=record.model,
        prompt_version=record.prompt_version,
        trust=record.trust,
        restores=record.restores,
        created_at=record.created_at,
    )


def _another(run: Run, item: Notepad, user: str) -> BadFile:
    return run.source.bad(
        f"the notepad of user {user!r} with agent {item.agent!r} is another one here: it was left as it is; import a "
        "copy into another database or tenant",
        line=item.line,
    )
