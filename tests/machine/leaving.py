"""Rules of those who leave: what is erased, what nobody uses any more, and who tries to bring it back."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule
from tests.machine.keeping import DAYS, NAMES, PLACES, SESSIONS, USER, WAITING, Keeping

from anaphora.errors import NotFound


class Leaving(Keeping):
    """Parts of a life are to go, at any moment of what is made of it."""

    @precondition(lambda self: any(said.words for said in self.said.values()))
    @rule(name=NAMES, place=PLACES)
    def erase_a_message(self, name: str, place: int) -> None:
        words = self.said[name].words if self.there(name) else {}
        if not words:
            return
        seq = sorted(words)[place % len(words)]
        self.seen["erased what was summarised"] += self.spoken_of(words[seq])
        self.run(self.memory.erase(user=USER, agent=SESSIONS[name], session=name, message=seq))
        self.erased.append(words.pop(seq))

    @rule(name=NAMES, dry=st.booleans())
    def erase_a_session(self, name: str, dry: bool) -> None:
        """I13: one that is out of sight as well; to ask first changes nothing."""
        before = self.export()
        asked = self.memory.erase(user=USER, agent=SESSIONS[name], session=name, dry_run=dry)
        try:
            report = self.run(asked)
        except NotFound:
            assert name not in self.said, "a session that is there cannot be erased"
            return
        if dry:
            assert self.export() == before, "a dry run changed something"
            return
        said = self.said.pop(name)
        self.seen["erased while out of sight"] += said.expired is not None
        assert report.counts["messages"] >= len(said.words)
        self.gone(said)

    @rule(sure=st.integers(0, 7))
    def erase_the_user(self, sure: int) -> None:
        if sure:
            return
        self.run(self.memory.erase(user=USER))
        for said in self.said.values():
            self.gone(said)
        self.said.clear()
        self.seen["the user erased"] += 1

    @rule(place=PLACES)
    def erase_a_fact(self, place: int) -> None:
        facts = self.run(self.memory.facts.list(user=USER, limit=1000))
        if facts:
            fact = facts[place % len(facts)]
            self.run(self.memory.erase(user=USER, fact=fact.id))
            self.unlearnt.add(fact.content)
            self.seen["a fact erased"] += 1

    @rule()
    def sweep(self) -> None:
        """I13: what was not used for long enough goes out of sight, and then for good; nothing unread does."""
        waiting = {name for (name,) in self.sql.rows(WAITING)}
        self.run(self.memory.retention.run())
        self.look_at_what_expired(waiting)

    @rule(name=NAMES, then=st.sampled_from(["nothing", "bring back", "talk", "erase"]), read=st.booleans())
    def weeks_go_by(self, name: str, then: str, read: bool) -> None:
        """What is in sight goes out of it, unless it is to be read; then somebody remembers one of them."""
        if read:
            self.work("ok", 40)
        self.time_passes(DAYS + 1)
        self.sweep()
        match then:
            case "bring back":
                self.bring_back(name)
            case "talk":
                self.talk(name, 2)
            case "erase":
                self.erase_a_session(name, dry=False)
            case _:
                self.look()

    @rule(name=NAMES)
    def bring_back(self, name: str) -> None:
        said = self.said.get(name)
        asked = self.memory.retention.restore(user=USER, session=name, agent=SESSIONS[name])
        try:
            self.run(asked)
        except NotFound:
            assert said is None or said.expired is None, "what is out of sight cannot be brought back"
            return
        assert said is not None, "something came back that nobody said"
        assert said.expired is not None, "something came back that was there"
        said.used, said.expired = self.clock.now(), None
        self.seen["brought back"] += 1

    @rule()
    def take_an_export(self) -> None:
        self.taken = self.export()

    @rule()
    def put_it_back(self) -> None:
        """I12: all that was taken is either still there, or was erased: nothing comes back, nothing is there twice."""
        before = self.export()
        self.run(self.memory.restore(self.taken))
        after = self.export()
        assert after == before, f"an export of earlier times brought {set(after) - set(before)}"
        self.seen["put back"] += 1
