"""The machine of those who leave (see `leaving`): what is to be gone is gone for good, and nothing else is missing."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, ClassVar, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.machine.grounds import ground
from tests.machine.laws import Database, doctors_questions
from tests.machine.reading import script_of
from tests.machine.subjects import BYSTANDER, KEY, Words, fence_of

from anaphora import Memory
from anaphora.bootstrap import Overrides, open_services
from anaphora.bootstrap.residue import verify_erasure
from anaphora.domain.jobs import Job
from anaphora.memory import Session
from anaphora.settings import Settings
from anaphora.testing import FakeClock, SeededRandom
from anaphora.testing.scripted import ScriptedChat, retelling

T = TypeVar("T")
USER = "kay"
#: sessions of the user, each with one agent
SESSIONS = {"s1": "a", "s2": "a", "s3": "b"}
NAMES = st.sampled_from(sorted(SESSIONS))
MODES = ("ok", "ok", "ok", "down", "bad_json", "empty")
PLACES = st.integers(0, 199)
DAY = timedelta(days=1)
#: silent days until a session is out of sight, and as many until it is erased
DAYS = 7
#: longer than any lease and any pause
LONG = 400.0
#: where words may stand
_TABLES = [
    "sessions",
    "messages",
    "message_versions",
    "receipts",
    "summaries",
    "points",
    "summary_states",
    "jobs",
    "chunks",
    "facts",
    "fact_versions",
    "fact_sources",
    "fact_terms",
    "notepad_pages",
    "documents",
    "document_chunks",
    "document_jobs",
    "topics",
    "changes",
    "erasures",
    "erased_marks",
]
_EXPIRED = "select session_id, expired_at from sessions where user_id = ?"
#: sessions of which something is to be read
WAITING = (
    "select s.session_id from jobs j join sessions s on s.id = j.session_uid"
    " where j.state in ('queued', 'running') and not j.needs_model"
)


@dataclass(slots=True)
class Said:
    """A session as it should be."""

    used: datetime
    #: the word of each message of the user that is there
    words: dict[int, str] = field(default_factory=dict)
    head: int = 0
    expired: datetime | None = None


class Keeping(RuleBasedStateMachine):
    """Three sessions of a user with two agents: compressed, archived and read, and what is to hold of them.

    The model tells again what it was shown of earlier summaries.
    """

    #: what has come about in all runs together: what never happened proves nothing
    seen: ClassVar[Counter[str]] = Counter()

    @initialize(turns=st.sampled_from([0, 6, 12]), worked=st.booleans())
    def start(self, turns: int, worked: bool) -> None:
        """Somewhere in a life."""
        self.opened = ExitStack()
        db, self.sql = self.opened.enter_context(ground())
        self.loop = asyncio.new_event_loop()
        self.clock, self.chat, self.randomness = FakeClock(), ScriptedChat(retelling), SeededRandom(1)
        self.said: dict[str, Said] = {}
        self.count = 0
        #: what must be nowhere, and what must not be known
        self.erased: list[str] = []
        self.unlearnt: set[str] = set()
        self.hands: list[Job] = []
        self.settings = Settings(
            db=db,
            tenant=KEY.tenant,
            embedder="none",
            durability="normal",
            strategy="token_budget",
            token_budget={"threshold_tokens": 192, "recent_messages_to_keep": 2, "archive_conversations": True},
            extraction="batch",
            batch_extraction={"threshold": 4, "batch": 6, "idle_seconds": 60},
            notepad={"enabled": "all"},
            retention={"days": float(DAYS), "grace_days": float(DAYS)},
        )
        self.open()
        others = BYSTANDER
        self.run(self.memory.retention.keep(9999, user=others.user, agent=others.agent, session=others.session))
        self.database = Database(self.sql)
        for name in sorted(SESSIONS)[: turns // 4]:
            self.talk(name, turns)
        if worked:
            self.work("ok", 40)
        self.taken = self.export()

    def open(self) -> None:
        given = Overrides(memory_model=self.chat, clock=self.clock, randomness=self.randomness, counter=Words())
        self.manager = open_services(self.settings, given)
        self.memory = Memory(self.run(self.manager.__aenter__()))

    def teardown(self) -> None:
        if not hasattr(self, "memory"):
            return
        try:
            self.at_the_end()
        finally:
            self.run(self.manager.__aexit__(None, None, None))
            self.loop.close()
            self.opened.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    # -- what may happen ---------------------------------------------------------------------------------------

    @rule(name=NAMES, turns=st.integers(1, 4))
    def talk(self, name: str, turns: int) -> None:
        """In a session that is out of sight, too: that brings it back."""
        said = self.said.setdefault(name, Said(used=self.clock.now()))
        for _ in range(turns):
            self.count += 1
            word = f"zz{self.count:05}q"
            turn = [
                {"role": "user", "content": f"I like {word} more than all else that grows."},
                {"role": "assistant", "content": "Noted."},
            ]
            receipt = self.run(self.session(name).add_turn(turn))
            assert receipt.range.start == said.head, "the log goes on elsewhere"
            said.words[said.head] = word
            said.head += 2
        self.seen["written to while out of sight"] += said.expired is not None
        said.used, said.expired = self.clock.now(), None

    @rule(name=NAMES)
    def end(self, name: str) -> None:
        if self.there(name):
            self.run(self.session(name).end())

    @rule(mode=st.sampled_from(MODES), steps=st.sampled_from([1, 2, 12]))
    def work(self, mode: str, steps: int) -> None:
        self.chat.script = retelling if mode == "ok" else script_of(mode)
        for _ in range(steps):
            self.run(self.memory._services.worker.step())

    @rule()
    def claim(self) -> None:
        """And do nothing about it yet."""
        job = self.run(self.memory._services.worker.claim())
        if job is not None:
            self.hands.append(job)

    @precondition(lambda self: self.hands)
    @rule(place=PLACES)
    def do_late(self, place: int) -> None:
        """I5: what was claimed before an erasure brings nothing back."""
        job = self.hands.pop(place % len(self.hands))
        services = self.memory._services
        fence = fence_of(job, services.worker.owner)
        still = self.run(services.store.read(job.tenant, lambda unit: unit.jobs.holds(fence)))
        before = None if still else self.export()
        self.chat.script = retelling
        self.run(services.worker.do(job))
        self.seen["in time" if still else "late"] += 1
        assert before is None or self.export() == before, "I5: a late worker changed something"

    @rule(days=st.sampled_from([0.001, 1, 4, 8]))
    def time_passes(self, days: float) -> None:
        self.run(self.clock.advance(days * DAY.total_seconds()))

    @rule()
    def crash(self) -> None:
        """Another process goes on."""
        self.run(self.manager.__aexit__(None, None, None))
        self.open()

    # -- what must hold ----------------------------------------------------------------------------------------

    @invariant()
    def what_was_erased_is_nowhere(self) -> None:
        """I12: in no row of no table."""
        if hasattr(self, "memory") and self.erased:
            stored = str(self.sql.contents(_TABLES))
            back = [word for word in self.erased if word in stored]
            assert not back, f"I12: {back} were erased, and are there"

    @invariant()
    def the_database_is_sound(self) -> None:
        if hasattr(self, "memory"):
            broken = [what for what, query in doctors_questions(self.sql.dialect) if self.sql.rows(query)]
            assert not broken, f"the doctor found {broken}"

    @rule()
    def look(self) -> None:
        """Everything that is said and in sight is found; nothing else is, by whatever way."""
        exported = "".join(self.export())
        listed = {row.key.session for row in self.run(self.memory.sessions(user=USER))}
        assert listed == {name for name in self.said if self.there(name)}
        kept = self.run(self.memory.knowledge.list(user=USER, limit=100))
        made = {document.metadata["session_id"] for document in kept}
        assert made <= listed, f"documents: {made - listed} are out of sight"
        self.seen["archived"] += bool(made)
        known = " ".join(fact.content for fact in self.run(self.memory.facts.list(user=USER, limit=1000)))
        assert not any(content in known for content in self.unlearnt), "an erased fact is known again"
        for name, said in self.said.items():
            hidden = said.expired is not None
            self.seen["looked for what is out of sight"] += hidden
            for seq, word in list(said.words.items())[-3:]:
                assert (word in exported) != hidden, f"export: {word} of {name}, {hidden=}"
                assert not (hidden and word in known), f"facts: {word} of {name} is out of sight"
                hits = self.run(self.memory.knowledge.search(word, user=USER))
                assert {hit.document.metadata["session_id"] for hit in hits} <= listed, "documents are out of sight"
                assert ((name, seq) in self.found(word)) != hidden, f"search: {word} of {name}, {hidden=}"
            self.look_at_the_prompt(name, said)

    def look_at_the_prompt(self, name: str, said: Said) -> None:
        """I1: what is left is in exactly one part; what is out of sight is in none."""
        context = self.run(self.session(name).context(budget=1_000))
        parts = context.coverage
        spans = (*parts.summarised, *parts.verbatim, *parts.elided, *parts.deleted)
        head = 0 if said.expired is not None else said.head
        assert sorted(n for span in spans for n in span) == list(range(head)), "I1: no partition"
        gone = {n for span in parts.deleted for n in span}
        assert gone == set(range(0, head, 2)) - set(said.words if head else ()), "I1: deleted"
        self.seen["compressed"] += bool(parts.summarised)

    def at_the_end(self) -> None:
        """When all is quiet nobody is left with something to do; unused, everything goes; and no byte of it is left."""
        self.chat.script = retelling
        for _ in range(6):
            self.run(self.clock.advance(LONG))
            self.run(self.memory.work())
        self.look_at_what_expired(set())
        self.look()
        self.what_was_erased_is_nowhere()
        assert self.database.bystander_is_untouched(), "I11: another session was changed"
        for days in (DAYS + 1, DAYS + 1):
            self.run(self.clock.advance(days * DAY.total_seconds()))
            self.run(self.memory.work())
            self.look_at_what_expired(set())
        assert not self.said, f"I13: {sorted(self.said)} are kept for ever"
        if self.erased:
            found = verify_erasure(self.settings, self.erased[-6:])
            assert not found.residues, f"I12: {found.residues}"
        self.the_database_is_sound()

    # -- what they need ----------------------------------------------------------------------------------------

    def session(self, name: str) -> Session:
        return self.memory.session(user=USER, agent=SESSIONS[name], session=name)

    def there(self, name: str) -> bool:
        return name in self.said and self.said[name].expired is None

    def gone(self, said: Said) -> None:
        self.erased += said.words.values()

    def export(self) -> list[str]:
        async def lines() -> list[str]:
            return [line async for line in self.memory.export(user=USER)]

        return self.run(lines())

    def found(self, word: str) -> set[tuple[str, int]]:
        hits = self.run(self.memory.search(word, user=USER, limit=5)).hits
        return {(hit.key.session, hit.message.seq) for hit in hits}

    def spoken_of(self, word: str) -> bool:
        return word in str(self.sql.contents(("points",)))

    def look_at_what_expired(self, waiting: set[str]) -> None:
        """Believe it only where it may be so."""
        stored = {name: at is not None for name, at in self.sql.rows(_EXPIRED, USER)}
        now, days = self.clock.now(), DAYS * DAY
        for name, said in list(self.said.items()):
            if name not in stored:
                assert said.expired is not None, f"I13: {name} was erased, and was in sight"
                assert now - said.expired >= days, f"I13: {name} was erased before its time"
                self.gone(self.said.pop(name))
                self.seen["erased in the end"] += 1
            elif stored[name] and said.expired is None:
                assert now - said.used >= days, f"I13: {name} expired before its time"
                assert name not in waiting, f"I13: {name} expired, and was still to be read"
                said.expired = now
                self.seen["expired"] += 1
            else:
                assert stored[name] == (said.expired is not None), f"{name} came back by itself"
        self.seen["kept because it is to be read"] += any(
            now - said.used >= days and said.expired is None and name in waiting for name, said in self.said.items()
        )
