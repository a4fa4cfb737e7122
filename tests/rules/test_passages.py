"""A message is searched by its passages: nothing of it is lost, none of them is long, and each says who spoke."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from anaphora.domain.messages import NewMessage, Part, Role
from anaphora.rules.passages import PASSAGE_CHARS, passages, searchable, split

#: characters of the longest passage
LONGEST = PASSAGE_CHARS * 13 // 10
#: words that need not be cut, whatever stands around them
WORDS = st.text(st.characters(categories=("L", "N")), min_size=1, max_size=PASSAGE_CHARS // 3).map(
    lambda word: unicodedata.normalize("NFC", word)
)
BETWEEN = st.sampled_from([" ", ". ", "\n", "\n\n", "? ", "  "])
TEXTS = st.lists(st.tuples(WORDS, BETWEEN), min_size=1, max_size=60).map(
    lambda parts: "".join(word + between for word, between in parts)
)
#: anything, and long enough to be split
ANYTHING = st.text(min_size=1, max_size=300).flatmap(lambda text: st.integers(1, 20).map(lambda times: text * times))


def message(content: str, *, name: str | None = None, parts: tuple[Part, ...] = ()) -> NewMessage:
    return NewMessage(role=Role.USER, content=content, name=name, parts=parts)


@given(TEXTS)
def test_every_word_is_in_some_passage_and_they_keep_their_order(text: str) -> None:
    assert [word for passage in split(text) for word in passage.split()] == text.split()


@given(ANYTHING)
@example("x" * 5000)
@example("。" * 3000)
@example(" " * 2000)
def test_no_letter_is_lost_and_none_is_added(text: str) -> None:
    assert "".join("".join(passage.split()) for passage in split(text)) == "".join(text.split())


@given(ANYTHING | TEXTS)
@example("x" * 5000)
@example(f"{'x' * LONGEST} {'y' * LONGEST}")
def test_no_passage_is_much_longer_than_a_paragraph(text: str) -> None:
    assert max(map(len, split(text))) <= LONGEST
    named = passages(message(text, name="Ann"))
    assert max(map(len, named)) <= LONGEST + len("Ann: ")


@given(st.text(max_size=LONGEST))
@example("x. " * (LONGEST // 3))
def test_a_short_text_is_one_passage_as_it_stands(text: str) -> None:
    assert split(text) == (text,)


@given(ANYTHING | TEXTS)
def test_a_long_text_has_no_passage_without_words(text: str) -> None:
    pieces = split(text)
    assert pieces
    assert len(pieces) == 1 or all(piece.strip() for piece in pieces)


def test_passages_end_where_sentences_end() -> None:
    sentence = "This sentence says one thing, and says it plainly."
    pieces = split(" ".join([sentence] * 60))
    assert len(pieces) > 2
    assert all(piece.endswith("plainly.") and piece.startswith("This") for piece in pieces)
    assert all(len(piece) > PASSAGE_CHARS // 2 for piece in pieces[:-1])


@pytest.mark.parametrize("between", [" ", "\t", "\u3000", "\u00a0"])
def test_no_word_is_cut_whatever_blank_stands_between_them(between: str) -> None:
    """A table has tabs between its words, and no sentences."""
    words = [f"word{number}" for number in range(400)]
    assert [word for piece in split(between.join(words)) for word in piece.split()] == words


@given(TEXTS, st.none() | WORDS)
def test_the_same_message_always_has_the_same_passages(text: str, name: str | None) -> None:
    assert passages(message(text, name=name)) == passages(message(text, name=name))


@given(ANYTHING | TEXTS, WORDS)
def test_who_spoke_stands_before_each_passage(text: str, name: str) -> None:
    plain, named = passages(message(text)), passages(message(text, name=name))
    assert named == tuple(f"{name}: {passage}" for passage in plain)


@pytest.mark.parametrize("key", ["text", "content", "caption", "alt", "title"])
def test_texts_of_parts_are_searched_and_addresses_are_not(key: str) -> None:
    part = {"type": "image", key: "a heron at dawn", "url": "file:///heron.png", "width": 3}
    (passage,) = passages(message("look", parts=(part,)))
    assert passage == "look\na heron at dawn"
    assert searchable(message("look", name="Ann", parts=(part,))) == "Ann\nlook\na heron at dawn"


def test_what_the_content_says_already_is_not_said_twice() -> None:
    part = {"type": "text", "text": "a heron"}
    assert passages(message("I saw a heron", parts=(part,))) == ("I saw a heron",)


def test_a_message_without_text_has_one_passage() -> None:
    assert passages(message("")) == ("",)


def test_composed_and_decomposed_letters_make_the_same_passages() -> None:
    assert passages(message("cafe\u0301", name="Ame\u0301lie")) == passages(message("caf\u00e9", name="Am\u00e9lie"))
