"""What the laws of facts, subjects and chunks share: statements to keep, and who asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID

from anaphora.domain.chunks import Chunk
from anaphora.domain.facts import Fact, FactAction, FactState, FactVersion, Source, Subject
from anaphora.domain.keys import SeqRange, SessionKey, uuid7
from anaphora.domain.messages import Trust
from anaphora.domain.summaries import Method
from anaphora.ports.facts import Reader
from anaphora.ports.store import Store, Unit
from anaphora.testing.conformance.store_laws.tools import KEY, TENANT, after, append, messages_of, row_of, session

EVERY_STATE = tuple(FactState)
ALICE = Reader(tenant=TENANT, user="alice")
BOB = Reader(tenant=TENANT, user="bob")


def id_of(number: int) -> UUID:
    """An id: of two the one with the greater number is the newer."""
    return uuid7(after(number), number.to_bytes(10, "big"))


def fact(number: int = 1, content: str = "Alice likes tea.", **how: Any) -> Fact:
    """Alice's fact with this number, which says when it was learned; two of one number have one id."""
    plain = Fact(
        id=id_of(number),
        owner="alice",
        agent="default",
        category="other",
        content=content,
        trust=Trust.OWNER_SAID,
        valid_from=after(number - 1000),
        created_at=after(number),
        updated_at=after(number),
    )
    return replace(plain, **how)


def words(content: str) -> list[str]:
    """The terms of a content: its words."""
    return content.lower().rstrip(".").split()


async def kept(
    store: Store,
    *facts: Fact,
    tenant: str = TENANT,
    key: str | None = None,
    terms: Sequence[str] | None = None,
    action: FactAction = FactAction.LEARNED,
) -> list[bool]:
    """Keep facts, each in a transaction of its own; what the store says to each."""

    def keep(new: Fact, unit: Unit) -> bool:
        content_key = new.content.lower() if key is None else key
        wanted = words(new.content) if terms is None else terms
        return unit.facts.insert(tenant, new, key=content_key, terms=wanted, action=action)

    return [await store.write(tenant, partial(keep, new)) for new in facts]


async def changed(
    store: Store,
    new: Fact,
    action: FactAction = FactAction.EDITED,
    *,
    tenant: str = TENANT,
    restores: int | None = None,
) -> bool:
    """Hand in another version of a fact; what the store says."""
    return await store.write(
        tenant,
        lambda unit: unit.facts.change(
            tenant, new, action=action, key=new.content.lower(), terms=words(new.content), restores=restores
        ),
    )


def following(old: Fact, **how: Any) -> Fact:
    """The next version of a fact, a second later."""
    number = old.version + 1
    return replace(old, **{"version": number, "updated_at": after(10_000 + number), **how})


async def found(store: Store, which: Fact, reader: Reader = ALICE) -> Fact | None:
    """The fact as the reader may see it."""
    return await store.read(reader.tenant, lambda unit: unit.facts.get(reader, which.id))


async def listed(
    store: Store,
    reader: Reader = ALICE,
    *,
    states: Sequence[FactState] = (FactState.ACTIVE,),
    category: str | None = None,
    after: UUID | None = None,
    limit: int = 99,
) -> list[Fact]:
    """Facts that the reader may see."""
    return list(
        await store.read(
            reader.tenant,
            lambda unit: unit.facts.list(reader, states=states, category=category, after=after, limit=limit),
        )
    )


async def standing(store: Store, reader: Reader = ALICE, *, limit: int = 99) -> list[UUID]:
    """The ids of what a prompt of the reader wants."""
    return [item.id for item in await store.read(reader.tenant, lambda unit: unit.facts.standing(reader, limit=limit))]


async def with_terms(store: Store, *terms: str, reader: Reader = ALICE, limit: int = 99) -> list[tuple[UUID, int]]:
    """The ids of facts with some of the terms, with how many."""
    rows = await store.read(reader.tenant, lambda unit: unit.facts.with_terms(reader, terms, limit=limit))
    return [(item.id, count) for item, count in rows]


async def learned_from(
    store: Store, places: Sequence[tuple[UUID, int]], reader: Reader = ALICE
) -> dict[UUID, tuple[UUID, int]]:
    """The ids of facts that were learned from messages, each with one of these; no fact comes twice."""
    rows = await store.read(reader.tenant, lambda unit: unit.facts.with_sources(reader, iter(places)))
    assert len({item.id for item, _ in rows}) == len(rows), "a fact came twice"
    return {item.id: place for item, place in rows}


async def known(
    store: Store, *terms: str, owner: str = "alice", subject: str = "", tenant: str = TENANT, limit: int = 99
) -> list[UUID]:
    """The ids of what an owner's memory holds of a subject."""
    rows = await store.read(tenant, lambda unit: unit.facts.known(tenant, owner, subject, terms, limit=limit))
    return [item.id for item in rows]


async def versions(store: Store, which: Fact, *, tenant: str = TENANT) -> list[FactVersion]:
    """The history of a fact."""
    return list(await store.read(tenant, lambda unit: unit.facts.versions(tenant, which.id)))


def version_of(item: Fact, action: FactAction, restores: int | None = None) -> FactVersion:
    """The entry of a history that says how a fact now is."""
    return FactVersion(
        version=item.version,
        action=action,
        at=item.updated_at,
        category=item.category,
        content=item.content,
        importance=item.importance,
        visibility=item.visibility,
        state=item.state,
        pinned=item.pinned,
        trust=item.trust,
        doubt=item.doubt,
        valid_to=item.valid_to,
        superseded_by=item.superseded_by,
        restores=restores,
    )


async def sources(store: Store, *seqs: int, key: SessionKey = KEY, first: int = 0) -> list[Source]:
    """Messages of a session of ten as sources, each learned a second after the one before."""
    if await store.read(key.tenant, lambda unit: unit.sessions.find(key)) is None:
        await store.append(append(*"abcdefghij", key=key))
    row, log = await session(store, key), await messages_of(store, key)
    return [
        Source(
            session_id=row.id,
            key=key,
            seq=seq,
            message_id=log[seq].id,
            quote=log[seq].content,
            range=SeqRange(0, 10),
            trust=log[seq].trust,
            model="scripted",
            prompt_version="1",
            learned_at=after(first + number),
        )
        for number, seq in enumerate(seqs)
    ]


async def unsaid(store: Store, seq: int | None, *, key: SessionKey = KEY) -> set[UUID]:
    """A message of a session says nothing any more; the ids of facts that nothing speaks for now."""
    row = await session(store, key)
    return {item.id for item in await store.write(key.tenant, lambda unit: unit.facts.unsay(row, seq))}


async def made(store: Store, name: str = "family", *members: str, owner: str = "alice", tenant: str = TENANT) -> bool:
    """Make a subject; what the store says."""
    new = Subject(id=name, name=f"the {name}", owner=owner, created_at=after(0), members=members)
    return await store.write(tenant, lambda unit: unit.subjects.create(tenant, new))


async def joined(store: Store, user: str, subject: str = "family", *, tenant: str = TENANT) -> bool:
    """Make a user a member; what the store says."""
    return await store.write(tenant, lambda unit: unit.subjects.add(tenant, subject, user, now=after(1)))


async def left(store: Store, user: str, subject: str = "family", *, tenant: str = TENANT) -> bool:
    """Make a user no member any more; what the store says."""
    return await store.write(tenant, lambda unit: unit.subjects.remove(tenant, subject, user))


async def chunk(store: Store, start: int, stop: int, *, key: SessionKey = KEY, **how: Any) -> Chunk:
    """What a stretch of a session was about; not kept yet."""
    row = await session(store, key)
    plain = Chunk(
        id=id_of(start),
        session_id=row.id,
        range=SeqRange(start, stop),
        text=f"About {start} to {stop}.",
        tokens=5,
        method=Method.MODEL,
        model="scripted",
        prompt_version="1",
        trust=Trust.OWNER_SAID,
        first_at=after(start),
        last_at=after(stop - 1),
        created_at=after(100 + start),
    )
    return replace(plain, **how)


async def stretched(store: Store, *spans: tuple[int, int], key: SessionKey = KEY, **how: Any) -> list[Chunk]:
    """A session of ten messages with chunks of these stretches, in their order."""
    if await store.read(key.tenant, lambda unit: unit.sessions.find(key)) is None:
        await store.append(append(*"abcdefghij", key=key))
    new = [await chunk(store, *span, key=key, **how) for span in spans]

    def keep(unit: Unit) -> None:
        row = row_of(unit, key)
        for item in new:
            unit.chunks.insert(row, item)

    await store.write(key.tenant, keep)
    return new


async def chunks_of(store: Store, *, key: SessionKey = KEY, limit: int = 99, before: int | None = None) -> list[Chunk]:
    """The chunks of a session, newest first."""
    row = await session(store, key)
    return list(
        await store.read(key.tenant, lambda unit: unit.chunks.list(key.tenant, row.id, limit=limit, before=before))
    )
