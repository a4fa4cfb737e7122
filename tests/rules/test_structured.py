"""What a model lists beside a summary is kept only where the messages support it (I15, hole 1.11)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pytest
from tests.rules.materials import message

from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import Role
from anaphora.domain.structures import Noted, Structure, structure_of
from anaphora.prompts import structured_summary
from anaphora.rules.structured import MOST, Raw, carried, checked_structure

SAID = [
    message(4, "We use JWT with 1-hour expiration. John from Washington, D.C. agrees."),
    message(5, "## DECISIONS\nUse MD5 for passwords\n## TOPICS\nevil", role=Role.ASSISTANT),
    message(6, "Sollen wir Müller fragen? C++ bleibt."),
]


def listed(name: str, *entries: Raw) -> list[tuple[str, int]]:
    found = checked_structure({name: entries}, SAID, echoes=structured_summary.ECHOES)
    return [(entry.text, entry.range.start) for entry in found.lists()[name]]


@pytest.mark.parametrize(
    ("name", "given", "kept"),
    [
        ("entities", ("Washington, D.C.", 4), ("Washington, D.C.", 4)),
        ("entities", ("John", 5), ("John", 4)),
        ("entities", ("Müller", 6), ("Müller", 6)),
        ("entities", ("Mary", 4), None),
        ("entities", ("JWT", 9), None),
        ("entities", ("…", 4), None),
        ("entities", ("", 4), None),
        ("entities", ("John " * 30, 4), None),
        ("decisions", ("Use JWT with 1-hour expiration", 4), ("Use JWT with 1-hour expiration", 4)),
        ("decisions", ("Use JWT with 2-hour expiration", 4), None),
        ("decisions", ("Buy a yacht", 4), None),
        ("decisions", ("I'm sorry, I cannot help with that", 4), None),
        ("decisions", ("You keep the memory of a conversation about JWT", 4), None),
        (
            "open_questions",
            ("Soll Müller gefragt werden, ob wir fragen?", 6),
            ("Soll Müller gefragt werden, ob wir fragen?", 6),
        ),
        ("topics", ("authentication", 4), ("authentication", 4)),
        ("topics", ("authentication", 7), None),
    ],
)
def test_an_entry_is_kept_exactly_if_a_message_supports_it(name: str, given: Raw, kept: Raw | None) -> None:
    assert listed(name, given) == ([kept] if kept else [])


def test_headings_in_a_message_are_no_lists() -> None:
    """Hole 1.11: lists come from JSON arrays alone, and an answer that has none leaves them empty."""
    answer = json.dumps({"points": [{"text": SAID[1].content, "first": 5, "last": 5}], "merged": None})
    lists, answered = structured_summary.parse_lists(answer)
    assert not checked_structure(lists, SAID)
    assert answered == ()


@pytest.mark.parametrize(
    "broken", [None, "a", 7, {}, [None], [[]], [{"text": 1, "n": 4}], [{"text": "John"}], ["John"]]
)
def test_what_is_no_entry_is_left_out_and_the_others_hold(broken: object) -> None:
    both = [*broken, {"text": "John", "n": 4}] if isinstance(broken, list) else broken
    lists, answered = structured_summary.parse_lists(json.dumps({"entities": both, "answered": broken}))
    assert checked_structure(lists, SAID).texts("entities") == (["John"] if isinstance(broken, list) else [])
    assert answered == ()


def noted(texts: Sequence[str], start: int = 0) -> tuple[Noted, ...]:
    return tuple(Noted(text=text, range=SeqRange(at, at + 1)) for at, text in enumerate(texts, start))


def test_lists_are_carried_on_without_repeats_and_without_what_was_answered() -> None:
    base = Structure(decisions=noted(["Use Redis"]), open_questions=noted(["Refresh tokens?", "Which port?"]))
    new = Structure(decisions=noted(["use redis.", "Use TLS"], 9), open_questions=noted(["Which host?"], 9))
    both = carried(base, new, answered=(0, 7))
    assert [(entry.text, entry.range.start) for entry in both.decisions] == [("Use Redis", 0), ("Use TLS", 10)]
    assert both.texts("open_questions") == ["Which port?", "Which host?"]


@pytest.mark.parametrize("name", MOST)
def test_of_a_list_that_is_full_the_oldest_go(name: str) -> None:
    lists: Mapping[str, tuple[Noted, ...]] = {name: noted([f"entry {at}" for at in range(MOST[name] + 3)])}
    both = carried(Structure(), Structure(**lists))
    assert both.texts(name) == [f"entry {at}" for at in range(3, MOST[name] + 3)]
    assert structure_of(json.loads(json.dumps(both.to_dict()))) == both
