"""How the command line shows facts, their histories, and subjects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Final

from anaphora.cli.ids import short_ids
from anaphora.cli.output import cell, say, table
from anaphora.cli.shapes import found_by
from anaphora.domain.facts import Fact, FactState, FactVersion, Subject, Visibility, fact_dict
from anaphora.domain.keeping import AsideFor, FactCounts
from anaphora.domain.search import FactHit

_WHY: Final = {
    AsideFor.IMPORTANCE: "of low importance",
    AsideFor.SOURCE: "of too much from one source",
    AsideFor.CAPACITY: "over the capacity",
}
_TIMES = ("valid_from", "valid_to", "created_at", "updated_at")


def fact_json(fact: Fact) -> dict[str, Any]:
    """A fact, with what it was learned from if it is the user's own; times as everywhere in these documents."""
    told = fact_dict(fact)
    sources = [
        {**plain, "learned_at": source.learned_at} for plain, source in zip(told["sources"], fact.sources, strict=True)
    ]
    return {**told, **{name: getattr(fact, name) for name in _TIMES}, "sources": sources}


def fact_hit_json(hit: FactHit) -> dict[str, Any]:
    """A fact that was found, and why it was."""
    return {
        **fact_json(hit.fact),
        "relevance": round(hit.relevance, 4),
        "scores": {name: round(value, 4) for name, value in hit.scores.items()},
        "words": list(hit.words),
        "found_by": found_by(hit.hit),
    }


def version_json(version: FactVersion) -> dict[str, Any]:
    """A fact as it was after a change."""
    return {field.name: getattr(version, field.name) for field in fields(version)}


def subject_json(subject: Subject) -> dict[str, Any]:
    """A subject with its members."""
    return {
        "subject": subject.id,
        "name": subject.name,
        "owner": subject.owner,
        "members": list(subject.members),
        "created_at": subject.created_at,
    }


def aside_json(counts: FactCounts) -> dict[str, int]:
    """How many facts are set aside, by why."""
    return {why.value: counts.aside_for.get(why, 0) for why in AsideFor}


def aside_line(counts: FactCounts) -> str:
    """How many facts are set aside, and why."""
    told = [f"{counts.aside_for[why]:,} {text}" for why, text in _WHY.items() if counts.aside_for.get(why)]
    return f"{counts.aside:,} set aside ({', '.join(told)})"


def marks_of(fact: Fact) -> str:
    """What of a fact is not as usual, in a few words."""
    marks = {
        "pinned": fact.pinned,
        "shared": fact.visibility is Visibility.SHARED,
        "review": fact.state is FactState.REVIEW,
        "closed": fact.state is FactState.CLOSED,
        "aside": fact.state is FactState.ASIDE,
        "confirmed": fact.kept_by_owner,
    }
    return ", ".join(mark for mark, given in marks.items() if given)


def show_facts(facts: Sequence[Fact], *, user: str, empty: str) -> None:
    """A line for each fact; whom it is about and who keeps it only where that is not the user."""
    ids = short_ids(fact.id for fact in facts)
    about = any(fact.subject is not None for fact in facts)
    aside = any(fact.state is FactState.ASIDE for fact in facts)
    by_others = any(fact.owner != user for fact in facts)
    more = {"why": aside, "about": about, "author": by_others}
    columns = ("id", "category", "content", "importance", "marks", *(name for name, given in more.items() if given))
    table(
        columns,
        (
            (
                ids[fact.id],
                fact.category,
                fact.content,
                fact.importance,
                marks_of(fact),
                *(((fact.doubt or "") if fact.state is FactState.ASIDE else "",) if aside else ()),
                *((fact.subject or "",) if about else ()),
                *(("" if fact.owner == user else fact.owner,) if by_others else ()),
            )
            for fact in facts
        ),
        empty=empty,
    )


def show_doubts(facts: Sequence[Fact]) -> None:
    """The facts that wait for a review: why, and what was said."""
    ids = short_ids(fact.id for fact in facts)
    table(
        ("id", "category", "content", "why", "said"),
        (
            (ids[fact.id], fact.category, fact.content, fact.doubt, fact.sources[0].quote if fact.sources else None)
            for fact in facts
        ),
        empty="Nothing waits for a review.",
    )


def show_fact(fact: Fact, history: Sequence[FactVersion]) -> None:
    """Everything about a fact."""
    marks = marks_of(fact)
    about = f"subject {fact.subject!r}" if fact.subject is not None else repr(fact.owner)
    learned = f"learned by agent {fact.agent!r}" if fact.agent is not None else "added by its owner"
    say(fact.content)
    say(f"id {fact.id}, version {fact.version}")
    say(f"{fact.category}, importance {fact.importance}{', ' + marks if marks else ''}")
    say(f"about {about}, kept by {fact.owner!r}, {learned}, trust {fact.trust}")
    until = f" until {cell(fact.valid_to)}" if fact.valid_to else ""
    after = f"; fact {fact.superseded_by} took its place" if fact.superseded_by else ""
    say(f"true since {cell(fact.valid_from)}{until}{after}")
    if fact.doubt is not None:
        say(f"{'set aside' if fact.state is FactState.ASIDE else 'waits for a review'}: {fact.doubt}")
    if fact.sources:
        say()
        table(
            ("session", "message", "said to", "read at", "model", "quote"),
            (
                (
                    source.key.session,
                    source.seq,
                    source.key.agent,
                    source.learned_at,
                    source.model or "rules",
                    source.quote,
                )
                for source in fact.sources
            ),
            empty="",
        )
    if history:
        say()
        show_history(history)


def show_history(history: Sequence[FactVersion]) -> None:
    """Every version of a fact, the oldest first."""
    table(
        ("version", "at", "what", "state", "category", "importance", "pinned", "visibility", "content"),
        (
            (
                version.version,
                version.at,
                version.action if version.restores is None else f"{version.action} to {version.restores}",
                version.state,
                version.category,
                version.importance,
                version.pinned,
                version.visibility,
                version.content,
            )
            for version in history
        ),
        empty="There is no history.",
    )
