from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import UUID

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import Message, Role
from anaphora.domain.summaries import Method, Point
from anaphora.errors import ModelUnavailable
from anaphora.models.embedders.profiles import BGE_SMALL
from anaphora.models.extractive import NO_TEXT, ExtractiveSummariser
from anaphora.models.sentences import MAX_SENTENCE_CHARS, excerpt, split_sentences, worth
from anaphora.models.tokenizer import TiktokenCounter
from anaphora.ports.models import Embedder, EmbedderProfile, SummaryDraft, SummaryRequest

COUNTER = TiktokenCounter()
FACTS = {
    2: "By the way, I'm allergic to peanuts.",
    7: "My sister Anna lives in Oslo and her birthday is on 14 May.",
    12: "I start at Acme on Monday.",
    17: "Please always answer in metric units.",
}
CHATTER = (
    "Hi there!",
    "Hello! How can I help you today?",
    "Thanks so much!",
    "You're welcome! Let me know if you need anything else.",
    "Ok, sounds good.",
    "What do you think?",
    "Could you tell me more?",
    "Haha, nice.",
)

Said = tuple[Role, str]


class Broken:
    """An embedder whose model is gone."""

    profile: EmbedderProfile = BGE_SMALL

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        raise ModelUnavailable(f"no vectors for {len(texts)} texts")

    def embed_query(self, text: str) -> list[float]:
        raise ModelUnavailable(f"no vector for {len(text)} characters")


def messages(*said: Said, start: int = 0, **fields: Any) -> tuple[Message, ...]:
    return tuple(
        Message(
            id=UUID(int=seq),
            seq=seq,
            turn=seq,
            role=role,
            content=content,
            tokens=COUNTER.count(content) + 4,
            created_at=datetime(2026, 3, 2, tzinfo=UTC),
            **fields,
        )
        for seq, (role, content) in enumerate(said, start)
    )


def draft(
    new: tuple[Message, ...],
    *,
    max_tokens: int = 200,
    embedder: Embedder | None = None,
    points: tuple[Point, ...] = (),
    merge: int = 0,
    merged_tokens: int = 0,
) -> SummaryDraft:
    request = SummaryRequest(
        points=points,
        merge=merge,
        messages=new,
        range=SeqRange(new[0].seq, new[-1].seq + 1),
        max_tokens=max_tokens,
        merged_tokens=merged_tokens,
    )
    return anyio.run(partial(ExtractiveSummariser(COUNTER, embedder).summarise, request))


def texts(made: SummaryDraft) -> list[str]:
    return [text for text, _ in made.statements]


def tokens(made: SummaryDraft) -> int:
    return sum(map(COUNTER.count, texts(made)))


def small_talk(facts: dict[int, str], length: int = 20) -> tuple[Message, ...]:
    roles = (Role.USER, Role.ASSISTANT)
    said = [
        (Role.USER, facts[at]) if at in facts else (roles[at % 2], CHATTER[at % len(CHATTER)]) for at in range(length)
    ]
    return messages(*said)


@pytest.fixture(params=["words", "bge"])
def embedder(request: pytest.FixtureRequest) -> Embedder | None:
    get: Callable[[str], Any] = request.getfixturevalue
    return None if request.param == "words" else get("bge")


def test_facts_are_picked_out_of_chatter(embedder: Embedder | None) -> None:
    made = draft(small_talk(FACTS), max_tokens=90, embedder=embedder)
    assert {cites for _, ((cites, _),) in made.statements} >= set(FACTS)
    for seq, fact in FACTS.items():
        assert (f"User: {fact}", ((seq, seq),)) in made.statements
    for phrase in ("Hi there", "Haha", "sounds good", "welcome"):
        assert not any(phrase in text for text in texts(made))


def test_under_a_tight_limit_the_weightiest_fact_stays(embedder: Embedder | None) -> None:
    made = draft(small_talk(FACTS), max_tokens=14, embedder=embedder)
    assert texts(made) == [f"User: {FACTS[2]}"]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(list(Role)),
            st.text(max_size=200) | st.sampled_from([*FACTS.values(), *CHATTER, "", "\x00", "\ud800", "漢字。" * 90]),
        ),
        min_size=1,
        max_size=12,
    ),
    st.integers(1, 120),
    st.integers(0, 1000),
)
@settings(max_examples=150)
def test_a_draft_is_within_its_tokens_one_line_a_message_each_citing_its_own(
    said: list[Said], max_tokens: int, start: int
) -> None:
    new = messages(*said, start=start)
    made = draft(new, max_tokens=max_tokens)
    cited = [cites for _, cites in made.statements]
    assert tokens(made) <= max_tokens
    assert cited
    assert cited == sorted({((m.seq, m.seq),) for m in new} & set(cited))
    for text in texts(made):
        assert text == " ".join(text.split()) != ""


def test_the_same_request_gives_the_same_draft(embedder: Embedder | None) -> None:
    new = small_talk(FACTS, 40)
    assert draft(new, embedder=embedder) == draft(new, embedder=embedder)


def test_without_a_working_embedder_words_do() -> None:
    new = small_talk(FACTS)
    assert draft(new, embedder=Broken()) == draft(new)


def test_what_the_user_says_counts_more_than_what_the_assistant_says() -> None:
    fact = "I prefer trains, and I never fly."
    made = draft(messages((Role.ASSISTANT, fact), (Role.USER, fact)), max_tokens=15)
    assert made.statements == ((f"User: {fact}", ((1, 1),)),)


def test_what_was_said_already_does_not_take_the_place_of_something_new(embedder: Embedder | None) -> None:
    again = (Role.USER, "I am allergic to peanuts, remember: allergic to peanuts.")
    made = draft(
        messages(again, again, again, (Role.USER, "The garage door is green.")), embedder=embedder, max_tokens=30
    )
    assert len([text for text in texts(made) if "peanuts" in text]) == 1
    assert any("garage" in text for text in texts(made))


def test_a_correction_stands_beside_what_it_corrects(embedder: Embedder | None) -> None:
    made = draft(
        messages(
            (Role.USER, "I live in Lisbon with my family."),
            (Role.ASSISTANT, "Lovely!"),
            (Role.USER, "Actually, I moved: I live in Oslo now, no longer in Lisbon."),
        ),
        embedder=embedder,
    )
    assert [cites for _, cites in made.statements] == [((0, 0),), ((2, 2),)]


def test_several_sentences_of_a_message_become_one_statement_in_their_order() -> None:
    text = "My name is Mara. Thanks a lot! I have two dogs, Rex and Bella. How are you?"
    made = draft(messages((Role.USER, text)), max_tokens=24)
    assert made.statements == (("User: My name is Mara. I have two dogs, Rex and Bella.", ((0, 0),)),)


def test_a_sentence_that_is_too_long_is_shortened_when_nothing_else_fits() -> None:
    made = draft(messages((Role.USER, "I always keep spare keys under the third flower pot " * 5)), max_tokens=12)
    (text,) = texts(made)
    assert text.startswith("User: I always keep spare")
    assert text.endswith("…")


@pytest.mark.parametrize("max_tokens", [0, 1, 2])
def test_even_one_token_gives_one_statement(max_tokens: int) -> None:
    made = draft(small_talk(FACTS), max_tokens=max_tokens)
    assert len(made.statements) == 1
    assert tokens(made) <= max(1, max_tokens)


def test_a_megabyte_is_read_at_both_ends() -> None:
    filler = "lorem ipsum dolor sit amet " * 40_000
    made = draft(messages((Role.USER, f"I'm allergic to bees.\n{filler}.\nMy name is Mara.")), max_tokens=60)
    assert any("allergic to bees" in text and "My name is Mara." in text for text in texts(made))


def test_many_messages_are_read_within_one_bound() -> None:
    said = [(Role.USER, "What do you think? " * 150)] * 300 + [(Role.USER, "I'm allergic to bees.")]
    assert "User: I'm allergic to bees." in texts(draft(messages(*said), max_tokens=60))


def test_messages_without_text_are_spoken_of_only_where_there_is_nothing_else() -> None:
    made = draft(messages((Role.USER, ""), (Role.ASSISTANT, " \n")))
    assert made.statements == ((f"User: {NO_TEXT}", ((0, 0),)),)
    assert NO_TEXT not in " ".join(texts(draft(messages((Role.USER, ""), (Role.USER, "The door is green.")))))


def test_a_call_without_text_says_what_was_called() -> None:
    call = {"type": "tool_call", "id": "1", "name": "book_flight", "arguments": {"to": "Oslo"}}
    made = draft(messages((Role.ASSISTANT, ""), parts=(call,)))
    assert texts(made) == ['Assistant: called book_flight {"to": "Oslo"}']


def test_a_named_speaker_is_called_by_name_on_one_line() -> None:
    made = draft(messages((Role.USER, "I'm allergic\n   to peanuts."), name="Mara\nBell"))
    assert texts(made) == ["Mara Bell: I'm allergic to peanuts."]


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("今天天气很好。我对花生过敏，1990年出生！你呢？", "我对花生过敏，1990年出生！"),
        ("お元気ですか？私は1990年に大阪で生まれました。", "私は1990年に大阪で生まれました。"),
        ("Wie geht es dir? Ich wohne seit 2019 in Wien.", "Ich wohne seit 2019 in Wien."),
        ("आप कैसे हैं? मेरा जन्म 1990 में हुआ था।", "मेरा जन्म 1990 में हुआ था।"),
    ],
)
def test_facts_are_found_in_other_scripts(text: str, fact: str) -> None:
    made = draft(messages((Role.USER, text)), max_tokens=COUNTER.count(f"User: {fact}"))
    assert texts(made) == [f"User: {fact}"]


def test_the_draft_says_how_it_was_made() -> None:
    made = draft(small_talk(FACTS))
    assert (made.method, made.model, made.merged, made.keep) == (Method.EXTRACTIVE, None, None, None)
    request = SummaryRequest(points=(), merge=0, messages=small_talk(FACTS), range=SeqRange(0, 20), max_tokens=90)
    digest = anyio.run(ExtractiveSummariser(COUNTER, method=Method.DIGEST).summarise, request)
    assert digest.method is Method.DIGEST


def old_points(*lines: str) -> tuple[Point, ...]:
    return tuple(
        Point(text=text, range=SeqRange(at, at + 1), tokens=COUNTER.count(text)) for at, text in enumerate(lines)
    )


def test_of_the_oldest_points_the_best_within_their_size_stay_and_all_newer_ones(embedder: Embedder | None) -> None:
    points = old_points(
        "User: We looked at some chairs.",
        "User: I'm allergic to peanuts.",
        "Assistant: The weather turned out rather well.",
        "User: My name is Mara.",
        "User: The chairs were brown.",
        "User: Ok.",
    )
    made = draft(messages((Role.USER, "Hello."), start=6), points=points, merge=5, merged_tokens=20, embedder=embedder)
    assert made.keep == (1, 3, 5)
    assert made.merged is None


@given(st.lists(st.sampled_from([*FACTS.values(), *CHATTER]), min_size=2, max_size=12), st.data())
@settings(max_examples=60)
def test_what_is_kept_of_the_oldest_is_within_its_tokens(lines: list[str], data: st.DataObject) -> None:
    points = old_points(*lines)
    merge = data.draw(st.integers(2, len(lines)))
    limit = data.draw(st.integers(0, 60))
    keep = draft(messages((Role.USER, "Hi")), points=points, merge=merge, merged_tokens=limit).keep
    assert keep is not None
    assert keep == tuple(sorted(set(keep)))
    assert set(range(merge, len(lines))) <= set(keep) <= set(range(len(lines)))
    assert sum(points[at].tokens for at in keep if at < merge) <= limit


@given(st.text(max_size=300) | st.lists(st.sampled_from([*FACTS.values(), "漢字。", "\n", "a" * 900])).map("".join))
@settings(max_examples=150)
def test_no_character_is_lost_between_sentences(text: str) -> None:
    sentences = split_sentences(text)
    assert all(0 < len(s) <= MAX_SENTENCE_CHARS and s == " ".join(s.split()) for s in sentences)
    letters = [c for c in text if c.isalpha()]
    assert [c for s in sentences for c in s if c.isalpha()] == letters


def test_lines_of_a_list_are_sentences_and_wrapped_lines_are_not() -> None:
    text = (
        "Dr. Smith said I should buy:\n- Oat milk\n- Brown rice\n\nand then sleep well. After that I walked\nto town."
    )
    assert split_sentences(text) == [
        "Dr. Smith said I should buy:",
        "Oat milk",
        "Brown rice",
        "and then sleep well.",
        "After that I walked to town.",
    ]


@given(st.text(max_size=400), st.integers(1, 200))
def test_an_excerpt_is_the_text_or_two_pieces_of_it_within_the_limit(text: str, limit: int) -> None:
    pieces = excerpt(text, limit)
    assert sum(map(len, pieces)) <= limit or pieces == (text,)
    assert (pieces == (text,)) == (len(text) <= limit)
    assert text.startswith(pieces[0])
    assert text.endswith(pieces[-1]) or pieces[-1] == pieces[-1].rstrip()


@pytest.mark.parametrize(
    ("more", "less"),
    [
        ("I'm allergic to peanuts.", "I had lunch."),
        ("My dog is called Rex.", "Dogs are nice animals to have."),
        ("I never eat meat.", "Should I eat meat?"),
        ("The rent is 1,150 euros.", "The rent is high."),
        ("We met Walter Prewett.", "We met somebody there."),
        ("I had lunch.", "Thanks a lot!"),
        ("It rained.", "Ok."),
    ],
)
def test_some_sentences_are_worth_more_than_others(more: str, less: str) -> None:
    assert worth(more) > worth(less)
