"""`anaphora summaries list | show | diff | stats`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, Final, TypeVar
from uuid import UUID

import typer

from anaphora.bootstrap import Services
from anaphora.cli.options import (
    Agent,
    AnyAgent,
    AnySession,
    AnyUser,
    AsJson,
    Db,
    Limit,
    SessionName,
    Tenant,
    Then,
    User,
    moment,
)
from anaphora.cli.output import emit, plural, say, table
from anaphora.cli.running import Access, check_session, key_of, run, settings_from
from anaphora.cli.shapes import job_json, point_json, summary_json
from anaphora.domain.differences import Difference, PointChange
from anaphora.domain.keys import SessionKey
from anaphora.domain.summaries import Point, Summary
from anaphora.errors import InvalidInput, NotFound
from anaphora.memory import Memory
from anaphora.rules.summary_diff import difference
from anaphora.services.overview import Entry, Listing, Overview

T = TypeVar("T")

LATEST: Final = "latest"
#: versions that are looked through for an id, at a time
_PAGE: Final = 200

Version = Annotated[str, typer.Argument(metavar="VERSION", help="A version's number or id, or latest.")]


def list_summaries(
    *,
    user: AnyUser = None,
    session: AnySession = None,
    all_users: Annotated[bool, typer.Option("--all-users", help="Of everybody in the tenant.")] = False,
    chain: Annotated[
        bool, typer.Option("--chain", help="Every version, with the one that it carried on from.")
    ] = False,
    topic: Annotated[
        str | None, typer.Option("--topic", metavar="TEXT", help="Only versions that list such a topic.")
    ] = None,
    entity: Annotated[
        str | None, typer.Option("--entity", metavar="TEXT", help="Only versions that list such a name.")
    ] = None,
    as_of: Then = None,
    agent: AnyAgent = None,
    limit: Limit = 20,
    db: Db = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """List versions and the work on the next ones: processing, completed, failed.

    Of one session every version is listed, of several sessions the newest of each.
    """
    if all_users == (user is not None):
        raise InvalidInput("whose summaries? give --user NAME or --all-users")
    if session is not None and user is None:
        raise InvalidInput("--session needs --user NAME")
    if as_of is not None and session is None:
        raise InvalidInput("--as-of needs --session NAME: each conversation has a past of its own")
    then = moment(as_of)
    settings = settings_from(db, tenant=tenant, agent=agent)

    async def work(services: Services) -> Sequence[Entry]:
        with_model = services.jobs.with_model
        overview = Overview(store=services.store, strategies=services.strategies, with_model=with_model)
        listing = Listing(topic=topic, entity=entity)
        if user is not None and session is not None:
            key = key_of(settings, user, session)
            return await overview.of_session(key, limit=limit, as_of=then, listing=listing)
        return await overview.of_sessions(
            settings.tenant, user=user, agent=agent, chain=chain, limit=limit, listing=listing
        )

    entries = run(work, settings, Access.READ)
    if as_json:
        emit({"summaries": [_entry_json(entry) for entry in entries]})
        return
    links = ("base", "base end", "new") if chain else ()
    columns = ("user", "session", "version", "status", "messages", *links)
    columns = (*columns, "method", "points", "tokens", "ms", "made at", "note")
    table(columns, (_row(entry, chain=chain) for entry in entries), empty="There are no summaries yet.")


def show(
    version: Version = LATEST,
    *,
    user: User,
    session: SessionName,
    agent: Agent = None,
    db: Db = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Show one version, point by point."""
    summary = _read(db, tenant, agent, user, session, lambda services, key: _find(services, key, version))
    if as_json:
        emit(summary_json(summary))
        return
    model = f" by {summary.model}" if summary.model else ""
    say(f"Version {summary.version} ({summary.status}), messages {summary.range}, {summary.method}{model}")
    say(f"id {summary.id}, carried on from {summary.base_id or 'nothing'}")
    say(f"{plural(summary.tokens, 'token')}, made in {summary.generation_ms:,} ms, trust {summary.trust}")
    say()
    for point in summary.points:
        say(_point_line(point))
    for name, entries in summary.structure.lists().items():
        if entries:
            say()
            say(f"{name.replace('_', ' ').capitalize()}:")
            for entry in entries:
                say(f"{entry.range} {entry.text}")


def diff(
    before: Version,
    after: Version = LATEST,
    *,
    user: User,
    session: SessionName,
    agent: Agent = None,
    db: Db = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Show what changed between two versions: points that came and went, and words inside points."""

    async def both(services: Services, key: SessionKey) -> tuple[Summary, Summary]:
        return await _find(services, key, before), await _find(services, key, after)

    old, new = _read(db, tenant, agent, user, session, both)
    found = difference(old, new)
    if as_json:
        emit(_difference_json(old, new, found))
        return
    say(f"Version {old.version} {old.range} to version {new.version} {new.range}: {plural(found.kept, 'point')} kept")
    for point in found.removed:
        say(f"- {_point_line(point)}")
    for change in found.changed:
        say(f"~ {change.after.range} {_marked(change)}")
    for point in found.added:
        say(f"+ {_point_line(point)}")


def stats(*, user: AnyUser = None, db: Db = None, tenant: Tenant = None, as_json: AsJson = False) -> None:
    """Show how many summaries were made, how, and how long they took."""
    settings = settings_from(db, tenant=tenant)

    async def work(services: Services) -> dict[str, Any]:
        return dict(await Memory(services).stats(user=user))

    found = run(work, settings, Access.READ)
    if as_json:
        emit(found)
        return
    say(f"{found['count']:,} timed, {found['avg_ms']:,.1f} ms on average, {found['max_ms']:,} ms at most")
    table(("method", "summaries"), sorted(found["by_method"].items()), empty="There are no summaries yet.")


def _read(
    db: str | None,
    tenant: str | None,
    agent: str | None,
    user: str,
    session: str,
    look: Callable[[Services, SessionKey], Awaitable[T]],
) -> T:
    settings = settings_from(db, tenant=tenant, agent=agent)
    key = key_of(settings, user, session)

    async def work(services: Services) -> T:
        await check_session(services, key)
        return await look(services, key)

    return run(work, settings, Access.READ)


async def _find(services: Services, key: SessionKey, wanted: str) -> Summary:
    """The version with this number or id, or the newest."""
    number, identity = _number_or_id(wanted)
    before = None if number is None else number + 1
    while True:
        page = await services.sessions.summaries(key, limit=_PAGE if identity else 1, before=before)
        for summary in page:
            if identity in {None, summary.id} and number in {None, summary.version}:
                return summary
        if identity is None or not page:
            missing = "no summary yet" if wanted == LATEST else f"no version {wanted}"
            raise NotFound(f"session {key.session!r} has {missing}: see `anaphora summaries list`")
        before = page[-1].version


def _number_or_id(wanted: str) -> tuple[int | None, UUID | None]:
    if wanted == LATEST:
        return None, None
    digits = wanted.removeprefix("v")
    if digits.isascii() and digits.isdigit() and len(digits) < 10:
        return int(digits), None
    try:
        return None, UUID(wanted)
    except ValueError:
        raise InvalidInput(f"{wanted!r} is no version: give its number, its id, or latest") from None


def _row(entry: Entry, *, chain: bool) -> tuple[object, ...]:
    summary, job = entry.summary, entry.job
    where = (entry.key.user, entry.key.session)
    if summary is None or job is not None:
        span = job.range if job else None
        links: tuple[object, ...] = (None, None, None) if chain else ()
        why = f"{job.kind}, attempt {job.attempt} of {job.max_attempts}" if job else ""
        reason = f": {job.reason}" if job and job.reason else ""
        made = job.updated_at if job else None
        return (*where, None, entry.status, span, *links, None, None, None, None, made, why + reason)
    base = entry.base
    links = (base.version if base else None, base.range.stop if base else None, entry.new) if chain else ()
    return (
        *where,
        summary.version,
        entry.status,
        summary.range,
        *links,
        summary.method,
        len(summary.points),
        summary.tokens,
        summary.generation_ms,
        summary.created_at,
        "served" if entry.served else "",
    )


def _entry_json(entry: Entry) -> dict[str, Any]:
    where = {"user": entry.key.user, "agent": entry.key.agent, "session": entry.key.session, "status": entry.status}
    if entry.job is not None:
        return {**job_json(entry.job), **where, "version": None}
    summary = summary_json(entry.summary) if entry.summary else {}
    base = entry.base
    return {
        **summary,
        **where,
        "served": entry.served,
        "base_version": base.version if base else None,
        "base_range": base.range if base else None,
        "new_range": entry.new,
        "window": len(entry.summary.range) if entry.summary else None,
    }


def _difference_json(old: Summary, new: Summary, found: Difference) -> dict[str, Any]:
    return {
        "from": {"version": old.version, "id": old.id, "range": old.range},
        "to": {"version": new.version, "id": new.id, "range": new.range},
        "kept": found.kept,
        "removed": [point_json(point) for point in found.removed],
        "added": [point_json(point) for point in found.added],
        "changed": [
            {
                "range": change.after.range,
                "before": change.before.text,
                "after": change.after.text,
                "words": [{"change": word.change, "text": word.text} for word in change.words],
            }
            for change in found.changed
        ],
    }


def _point_line(point: Point) -> str:
    left_out = f" (nothing of {', '.join(map(str, point.elided))})" if point.elided else ""
    return f"{point.range} {point.text}{left_out}"


def _marked(change: PointChange) -> str:
    marks = {"keep": "{}", "remove": "[-{}-]", "add": "{{+{}+}}"}
    return " ".join(marks[word.change].format(word.text) for word in change.words)
