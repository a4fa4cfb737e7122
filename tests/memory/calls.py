"""How a principal calls every public method with the names and ids of another one."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final

from anyio import move_on_after
from tests.memory.principals import COMMON, Call, Things, Who

from anaphora import Memory, Session
from anaphora.domain.facts import FactState
from anaphora.domain.principals import OF_PERSONS, Principal

KINDS: Final = ("messages", "facts", "chunks")
QUESTION: Final = f"What about {COMMON}?"


class Sort(Enum):
    """What a call does."""

    READ = auto()
    CHANGE = auto()
    #: for whoever runs the whole process: it is no principal's, and comes last
    PROCESS = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One way to call a method."""

    call: Call
    sort: Sort = Sort.READ
    #: asked by the owner, the answer holds the owner's words; else it holds nobody's
    shows: bool = False
    #: why users of one tenant are not kept apart here; tenants always are
    tenant_wide: str = ""
    #: why to users of one tenant a foreign name is not as one that is not there; yet nothing is shown or changed
    told: str = ""
    #: whether what is asked for decides the answer, and not what was done just before
    compared: bool = True
    #: the owner's answer is another one than if there were nothing
    finds: bool = False
    #: when it is the owner's turn in the end, there is nothing left of it
    gone: bool = False


def shows(call: Call, **more: Any) -> Entry:
    return Entry(call=call, shows=True, **more)


def reads(call: Call, **more: Any) -> Entry:
    return Entry(call=call, **more)


def finds(call: Call, **more: Any) -> Entry:
    return Entry(call=call, finds=True, **more)


def changes(call: Call, **more: Any) -> Entry:
    return Entry(call=call, sort=Sort.CHANGE, **more)


def does(call: Call, **more: Any) -> Entry:
    return Entry(call=call, sort=Sort.CHANGE, compared=False, **more)


def process(call: Call) -> Entry:
    return Entry(call=call, sort=Sort.PROCESS)


OPERATORS: Final = "operators look after a whole tenant; it tells numbers, names and states, and no content"
NO_USER: Final = "without a user it is about a whole tenant, for its operators"
BY_ID: Final = "without a user an id is enough, for operators of the tenant; with one, it must be theirs"
CAPABILITY: Final = "only who appended was given the id, and what it tells is one word"
NAMED: Final = "which namespaces a user may name is for the application to say: they are its own, as users are"


def _talk(memory: Memory, who: Who, things: Things) -> Session:
    return memory.session(session=things.session, **who.self)


async def _accounted(memory: Memory, who: Who, _: Things) -> object:
    principal = Principal(tenant=who.tenant, user=who.user, permissions=OF_PERSONS, by="key")
    return await memory.audit.record(principal, "edit_message", status=200)


async def _edited(memory: Memory, who: Who, things: Things) -> None:
    await _talk(memory, who, things).edit(1, "changed by somebody")


async def _newest_change(memory: Memory, who: Who, _: Things) -> object:
    async with aclosing(memory.changes(since="", **who.self)) as found:
        with move_on_after(0.2):
            return await anext(found)
    return None


MEMORY: Final[Mapping[str, tuple[Entry, ...]]] = {
    "open": (),  # opens a database: there is no principal yet
    "session": (reads(lambda m, w, t: m.session(session=t.session, **w.self).key.session),),
    "new_session": (does(lambda m, w, _: m.new_session(**w.self)),),
    "sessions": (
        reads(lambda m, w, _: m.sessions(limit=1000, **w.self)),
        reads(lambda m, w, _: m.sessions(limit=1000, tenant=w.tenant), tenant_wide=NO_USER),
    ),
    "search": (
        shows(lambda m, w, _: m.search(QUESTION, limit=200, kinds=KINDS, **w.self)),
        shows(lambda m, w, t: m.search(QUESTION, session=t.session, limit=200, kinds=KINDS, **w.self)),
    ),
    "receipt": (finds(lambda m, w, t: m.receipt(t.receipt, tenant=w.tenant), told=CAPABILITY),),
    "export": (
        shows(lambda m, w, _: m.export(**w.self)),
        shows(lambda m, w, t: m.export(session=t.session, **w.self)),
        shows(lambda m, w, t: m.export(session=t.session, tenant=w.tenant), tenant_wide=NO_USER),
    ),
    "erase": (
        finds(lambda m, w, t: m.erase(session=t.session, dry_run=True, **w.self)),
        finds(lambda m, w, t: m.erase(fact=t.fact, dry_run=True, **w.self)),
        finds(lambda m, w, t: m.erase(message=t.message, dry_run=True, **w.self)),
        finds(lambda m, w, t: m.erase(fact=t.fact, dry_run=True, tenant=w.tenant), tenant_wide=BY_ID),
        changes(lambda m, w, t: m.erase(session=t.session, message=2, **w.self), gone=True),
        changes(lambda m, w, t: m.erase(message=t.message, **w.self), gone=True),
        changes(lambda m, w, t: m.erase(message=t.message, tenant=w.tenant), gone=True, tenant_wide=BY_ID),
        changes(lambda m, w, t: m.erase(session=t.session, **w.self)),
        changes(lambda m, w, t: m.erase(session=t.expired, **w.self), gone=True),
        changes(lambda m, w, t: m.erase(fact=t.fact, **w.self), gone=True),
        changes(lambda m, w, t: m.erase(fact=t.fact, tenant=w.tenant), gone=True, tenant_wide=BY_ID),
        does(lambda m, w, _: m.erase(source="agent:default", **w.self)),
        does(lambda m, w, _: m.erase(**w.self)),
        does(lambda m, w, _: m.erase(source="agent:default", tenant=w.tenant), tenant_wide=NO_USER),
    ),
    "erasures": (reads(lambda m, w, _: m.erasures(limit=1000, tenant=w.tenant), tenant_wide=OPERATORS),),
    "stats": (
        reads(lambda m, w, _: m.stats(**w.self)),
        reads(lambda m, w, _: m.stats(tenant=w.tenant), tenant_wide=NO_USER),
    ),
    # who holds an export may have a copy of it; what it was made from stays as it is
    "restore": (),
    "changes": (reads(_newest_change),),
    "mark": (reads(lambda m, w, _: m.mark(**w.self)),),
    "paused": (reads(lambda m, w, _: m.paused(**w.self)),),
    "pause": (does(lambda m, w, _: m.pause(**w.self)),),
    "resume": (does(lambda m, w, _: m.resume(**w.self)),),
    "figures": (process(lambda m, _w, _t: m.figures()),),
    "talker": (process(lambda m, _w, _t: m.talker()),),
    "idle": (process(lambda m, _w, _t: m.idle(0.01)),),
    "work": (process(lambda m, _w, _t: m.work()),),
    "close": (process(lambda m, _w, _t: m.close()),),
}

SESSION: Final[Mapping[str, tuple[Entry, ...]]] = {
    "messages": (
        shows(lambda m, w, t: _talk(m, w, t).messages(limit=1000)),
        shows(lambda m, w, t: _talk(m, w, t).messages(start=0)),
        shows(lambda m, w, t: _talk(m, w, t).messages(as_of=1)),
    ),
    "versions": (shows(lambda m, w, t: _talk(m, w, t).versions(0)),),
    "context": (
        shows(lambda m, w, t: _talk(m, w, t).context(QUESTION, budget=3000)),
        shows(lambda m, w, t: _talk(m, w, t).context(QUESTION, budget=3000, as_of=4)),
        shows(lambda m, w, t: m.session(session="new", subject=t.subject, **w.self).context(QUESTION, budget=3000)),
    ),
    "recall": (shows(lambda m, w, t: _talk(m, w, t).recall(QUESTION)),),
    "summaries": (
        shows(lambda m, w, t: _talk(m, w, t).summaries()),
        shows(lambda m, w, t: _talk(m, w, t).summaries(as_of=8)),
    ),
    "topics": (shows(lambda m, w, _: m.session(session="threads", **w.self).topics()),),
    "summary": (shows(lambda m, w, t: _talk(m, w, t).summary(1)),),
    "diff": (finds(lambda m, w, t: _talk(m, w, t).diff(1, 1)),),
    "row": (finds(lambda m, w, t: _talk(m, w, t).row()),),
    "rebuild": (changes(lambda m, w, t: _talk(m, w, t).rebuild()),),
    "end": (changes(lambda m, w, t: _talk(m, w, t).end()),),
    "edit": (changes(_edited),),
    "delete": (changes(lambda m, w, t: _talk(m, w, t).delete(2)),),
    "add": (changes(lambda m, w, t: _talk(m, w, t).add("user", "Mine.", key="0-again")),),
    "add_turn": (changes(lambda m, w, t: _talk(m, w, t).add_turn([{"role": "user", "content": "Mine."}])),),
    "send": (does(lambda m, w, t: _talk(m, w, t).send(QUESTION, budget=3000)),),
    "stream": (does(lambda m, w, t: _talk(m, w, t).stream(QUESTION, budget=3000)),),
    "reset": (changes(lambda m, w, t: _talk(m, w, t).reset()),),
}

FACTS: Final[Mapping[str, tuple[Entry, ...]]] = {
    "list": (
        shows(lambda m, w, _: m.facts.list(states=list(FactState), limit=1000, **w.self)),
        shows(lambda m, w, t: m.facts.list(states=list(FactState), subject=t.subject, **w.self)),
        reads(lambda m, w, t: m.facts.list(states=list(FactState), after=t.fact, subject="none", **w.self)),
    ),
    "get": (shows(lambda m, w, t: m.facts.get(t.fact, **w.self)),),
    "history": (shows(lambda m, w, t: m.facts.history(t.fact, **w.self)),),
    "review": (reads(lambda m, w, t: m.facts.review(subject=t.subject, **w.self)),),
    "counts": (finds(lambda m, w, t: m.facts.counts(subject=t.subject, **w.self)),),
    "add": (changes(lambda m, w, t: m.facts.add("Owns pears", subject=t.subject, **w.self)),),
    "edit": (changes(lambda m, w, t: m.facts.edit(t.fact, content="Owns nothing", **w.self)),),
    "pin": (changes(lambda m, w, t: m.facts.pin(t.fact, **w.self)),),
    "unpin": (changes(lambda m, w, t: m.facts.unpin(t.fact, **w.self)),),
    "confirm": (changes(lambda m, w, t: m.facts.confirm(t.fact, **w.self)),),
    "take_up": (changes(lambda m, w, t: m.facts.take_up(t.fact, **w.self)),),
    "unshare": (changes(lambda m, w, t: m.facts.unshare(t.fact, **w.self)),),
    "share": (changes(lambda m, w, t: m.facts.share(t.fact, **w.self)),),
    "undo": (changes(lambda m, w, t: m.facts.undo(t.fact, **w.self)),),
    "delete": (changes(lambda m, w, t: m.facts.delete(t.fact, **w.self)),),
}

#: that an id is taken is told to whoever wants it: names of subjects are one list of the tenant's
TAKEN: Final = "an application names subjects; that a name is taken is all that is told"

SUBJECTS: Final[Mapping[str, tuple[Entry, ...]]] = {
    "list": (shows(lambda m, w, _: m.subjects.list(**w.self)),),
    "members": (finds(lambda m, w, t: m.subjects.members(t.subject, **w.self)),),
    "rename": (changes(lambda m, w, t: m.subjects.rename(t.subject, "mine", **w.self)),),
    "add_member": (changes(lambda m, w, t: m.subjects.add_member(t.subject, w.user, **w.self)),),
    "remove_member": (changes(lambda m, w, t: m.subjects.remove_member(t.subject, "alice", **w.self)),),
    "create": (changes(lambda m, w, t: m.subjects.create(t.subject, **w.self), told=TAKEN),),
}

TOPICS: Final[Mapping[str, tuple[Entry, ...]]] = {
    "list": (
        shows(lambda m, w, _: m.topics.list(**w.self)),
        reads(lambda m, w, t: m.topics.list(session=t.session, **w.self)),
        shows(lambda m, w, _: m.topics.list(tenant=w.tenant), tenant_wide=NO_USER),
    ),
    "show": (
        shows(lambda m, w, _: m.topics.show(0, session="threads", **w.self)),
        reads(lambda m, w, t: m.topics.show(0, session=t.session, **w.self)),
    ),
}

KNOWLEDGE: Final[Mapping[str, tuple[Entry, ...]]] = {
    "list": (
        shows(lambda m, w, _: m.knowledge.list(**w.self)),
        reads(lambda m, w, t: m.knowledge.list(before=t.document, doc_type="none", **w.self)),
        shows(lambda m, w, t: m.knowledge.list(namespace=["team", t.namespace], tenant=w.tenant), tenant_wide=NAMED),
        reads(lambda m, w, _: m.knowledge.list(namespace=["team"], tenant=w.tenant)),
    ),
    "search": (
        shows(lambda m, w, _: m.knowledge.search(COMMON, limit=200, **w.self)),
        shows(
            lambda m, w, t: m.knowledge.search(COMMON, namespace=["team", t.namespace], tenant=w.tenant),
            tenant_wide=NAMED,
        ),
    ),
    "get": (
        shows(lambda m, w, t: m.knowledge.get(t.document, **w.self)),
        shows(lambda m, w, t: m.knowledge.get(t.archived, **w.self)),
        reads(lambda m, w, t: m.knowledge.get(t.document, namespace=["team"], tenant=w.tenant)),
    ),
    "add": (does(lambda m, w, _: m.knowledge.add("Mine.", key="common", **w.self)),),
    "update": (
        changes(lambda m, w, t: m.knowledge.update(t.document, title="mine", **w.self)),
        changes(lambda m, w, t: m.knowledge.update(t.archived, title="mine", **w.self)),
    ),
    "delete": (
        changes(lambda m, w, t: m.knowledge.delete(t.document, **w.self)),
        changes(lambda m, w, t: m.knowledge.delete(t.archived, **w.self)),
    ),
}

NOTEPAD: Final[Mapping[str, tuple[Entry, ...]]] = {
    "show": (shows(lambda m, w, _: m.notepad.show(**w.self)),),
    "history": (shows(lambda m, w, _: m.notepad.history(limit=1000, **w.self)),),
    "edit": (does(lambda m, w, _: m.notepad.edit("Mine.", **w.self)),),
    "revert": (does(lambda m, w, _: m.notepad.revert(1, **w.self)),),
}

JOBS: Final[Mapping[str, tuple[Entry, ...]]] = {
    "list": (reads(lambda m, w, _: m.jobs.list(limit=1000, tenant=w.tenant), tenant_wide=OPERATORS),),
    "retry": (
        changes(lambda m, w, t: m.jobs.retry(t.job, tenant=w.tenant), tenant_wide=OPERATORS),
        does(lambda m, w, _: m.jobs.retry(tenant=w.tenant), tenant_wide=OPERATORS, gone=True),
    ),
    "live": (process(lambda m, _w, _t: m.jobs.live()),),
}

RETENTION: Final[Mapping[str, tuple[Entry, ...]]] = {
    "policy": (process(lambda m, _w, _t: m.retention.policy()),),
    "expired": (reads(lambda m, w, _: m.retention.expired(tenant=w.tenant), tenant_wide=OPERATORS),),
    "run": (does(lambda m, w, _: m.retention.run(tenant=w.tenant), tenant_wide=OPERATORS),),
    "keep": (changes(lambda m, w, t: m.retention.keep(3, session=t.session, **w.self)),),
    "restore": (changes(lambda m, w, t: m.retention.restore(session=t.expired, **w.self)),),
}

KEYS: Final[Mapping[str, tuple[Entry, ...]]] = {
    "list": (reads(lambda m, w, _: m.keys.list(limit=1000, tenant=w.tenant), tenant_wide=OPERATORS),),
    "create": (does(lambda m, w, _: m.keys.create(**w.self), tenant_wide=OPERATORS),),
    # there is none of that id: whose keys they are is the operator's to say
    "revoke": (does(lambda m, w, t: m.keys.revoke(t.job, tenant=w.tenant), tenant_wide=OPERATORS, gone=True),),
    "rotate": (does(lambda m, w, t: m.keys.rotate(t.job, tenant=w.tenant), tenant_wide=OPERATORS, gone=True),),
    "again": (reads(lambda m, w, t: m.keys.again(t.job, tenant=w.tenant)),),
    "verify": (reads(lambda m, _w, t: m.keys.verify(f"ana_{t.session}")),),
    "any": (process(lambda m, _w, _t: m.keys.any()),),
    "signing": (process(lambda m, _w, _t: m.keys.signing("page")),),
}

AUDIT: Final[Mapping[str, tuple[Entry, ...]]] = {
    "list": (reads(lambda m, w, _: m.audit.list(limit=1000, tenant=w.tenant), tenant_wide=OPERATORS),),
    "broken_at": (reads(lambda m, w, _: m.audit.broken_at(tenant=w.tenant), tenant_wide=OPERATORS),),
    "record": (does(_accounted),),
}

#: in the order in which they are made: what leaves nothing comes last
ENTRIES: Final[Mapping[str, Mapping[str, tuple[Entry, ...]]]] = {
    "keys": KEYS,
    "audit": AUDIT,
    "retention": RETENTION,
    "jobs": JOBS,
    "notepad": NOTEPAD,
    "knowledge": KNOWLEDGE,
    "topics": TOPICS,
    "subjects": SUBJECTS,
    "facts": FACTS,
    "session": SESSION,
    "memory": MEMORY,
}
