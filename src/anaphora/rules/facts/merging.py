"""Whether a new statement is one that is known, and what it puts an end to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from anaphora.domain.facts import Fact, FactState
from anaphora.rules.facts.judging.clauses import parse
from anaphora.rules.facts.slots import Slot, slot, whose
from anaphora.rules.language.stems import plain
from anaphora.rules.language.words import content_key, core, is_negative, names, numbers

#: near duplicates: the share of their telling words that both have
_ALIKE: Final = 0.8
#: statements of which one denies the other need only speak of the same
_SAME_TOPIC: Final = 0.75
#: a statement that is named as taking another's place has so much in common with it
_RELATED: Final = 0.5
#: why a statement waits for the owner
DOUBT: Final = "contradicts what the owner stands for"
NAMED: Final = "named as taking the place of what the owner stands for"
UNLIKE: Final = "named as taking the place of a fact that speaks of something else"


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """What becomes of a statement that the gate let through."""

    #: the known fact that says the same: it gets one more source
    same: UUID | None = None
    #: the active facts that it puts an end to, in the order in which they are known
    closes: tuple[UUID, ...] = ()
    #: why it waits for a review: it contradicts what only the owner may change; nothing is closed then
    doubt: str | None = None


def merge(
    content: str,
    category: str,
    known: Sequence[Fact],
    replaces: UUID | None = None,
    *,
    speaker: str | None = None,
) -> Merge:
    """What the statement does to what is known.

    It is the same as a known fact if it says so letter by letter (`content_key`) or nearly the same: equal numbers,
    names and polarity, and almost the same telling words. It closes what it contradicts: another value of what one has
    one of at a time (`slots`), the same with the other polarity, and what `replaces` names if both speak of the same;
    else it is doubtful, for whoever talks can have a model name anything. A fact that its owner
    added or confirmed, or pinned, is never closed: then the statement is doubtful.

    Args:
        content: the new statement.
        category: its category; instructions and other facts are never the same.
        known: active facts and those in review, of the same owner and subject.
        replaces: the known fact that its finder says it takes the place of.
        speaker: the name of the person whom the facts are about; with it "Anna lives ..." is "Lives ...".

    """
    new = _Said.of(content, speaker)
    kept = [(fact, _Said.of(fact.content, speaker)) for fact in known if _comparable(category, fact)]
    for fact, _ in kept:
        if content_key(fact.content) == new.key:
            return Merge(same=fact.id)
    for fact, old in kept:
        if new.repeats(old):
            return Merge(same=fact.id)
    active = [fact for fact in known if fact.state is FactState.ACTIVE]
    against = [fact.id for fact, old in kept if fact.state is FactState.ACTIVE and new.contradicts(old)]
    held = {fact.id for fact in active if fact.kept_by_owner or fact.pinned}
    if held.intersection(against):
        return Merge(doubt=DOUBT)
    if replaces in held:
        return Merge(doubt=NAMED)
    named = next((fact for fact in active if fact.id == replaces and fact.id not in against), None)
    if named is not None and not new.is_related(_Said.of(named.content, speaker)):
        return Merge(doubt=UNLIKE)
    return Merge(closes=tuple(fact.id for fact in active if fact.id == replaces or fact.id in against))


def said_again(
    waiting: Fact, known: Sequence[Fact], replaces: UUID | None = None, *, speaker: str | None = None
) -> Merge:
    """What becomes of a statement that waits for a review, and is said again without a doubt about its words.

    What it contradicts may stand as it did: then it waits as before. That it was named as taking the place of
    another is not seen in its words: only the owner settles that. If an active fact says the same it is that one.
    """
    if waiting.doubt in {NAMED, UNLIKE}:
        return Merge(doubt=waiting.doubt)
    active = [fact for fact in known if fact.state is FactState.ACTIVE]
    return merge(waiting.content, waiting.category, active, replaces, speaker=speaker)


def _comparable(category: str, fact: Fact) -> bool:
    return (category == "instruction") == (fact.category == "instruction")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """A statement, taken apart."""

    key: str
    who: str
    words: frozenset[str]
    numbers: frozenset[str]
    names: frozenset[str]
    negative: bool
    #: what is set against what is preferred
    against: frozenset[str]
    slot: Slot | None

    @classmethod
    def of(cls, content: str, speaker: str | None) -> _Said:
        who, rest = whose(content, speaker)
        return cls(
            key=content_key(content),
            who=who,
            words=core(rest),
            numbers=numbers(rest),
            names=names(f"- {rest[:1].lower()}{rest[1:]}"),
            negative=is_negative(rest),
            against=frozenset(word.stem for word in parse(plain(rest)) if word.compared),
            slot=slot(content, speaker),
        )

    def repeats(self, other: _Said) -> bool:
        """Nearly the same words, and nothing of what makes another statement of them."""
        if (self.who, self.numbers, self.negative) != (other.who, other.numbers, other.negative):
            return False
        if self.against != other.against:
            return False
        if self.slot and other.slot and self.slot.name == other.slot.name:
            # "Lives in Lisbon" adds nothing to "Lives in Lisbon, Portugal"
            return self.slot.value <= other.slot.value
        return self.names == other.names and _share(self.words, other.words) >= _ALIKE

    def contradicts(self, other: _Said) -> bool:
        """Both cannot be true at the same time, or this one says more precisely what the other says."""
        if self.who != other.who:
            return False
        if self.negative != other.negative or self.against != other.against:
            return self.numbers == other.numbers and _share(self.words, other.words) >= _SAME_TOPIC
        if self.slot and other.slot and self.slot.name == other.slot.name and not self.negative:
            return self.slot.value != other.slot.value
        return False

    def is_related(self, other: _Said) -> bool:
        """They fill the same slot, or have half of their telling words in common, and are of the same person."""
        if self.who != other.who:
            return False
        if self.slot and other.slot and self.slot.name == other.slot.name:
            return True
        return _share(self.words, other.words) >= _RELATED


def _share(one: frozenset[str], other: frozenset[str]) -> float:
    together = one | other
    return len(one & other) / len(together) if together else 0.0
