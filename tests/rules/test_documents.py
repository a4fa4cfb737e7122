"""Documents in chunks: whole sentences, sizes, overlaps, and nothing lost."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anaphora.errors import InvalidInput
from anaphora.rules.documents import Chunking, chunk_passages, cut

ID = UUID(int=7)
SMALL = Chunking(size=20, overlap=6)
SENTENCES = st.lists(
    st.lists(st.sampled_from(["Alpha", "beta", "gamma", "über", "delta", "x" * 30]), min_size=1, max_size=30).map(
        lambda words: f"{' '.join(words).capitalize()}."
    ),
    min_size=1,
    max_size=25,
)


def words(text: str) -> int:
    return len(text.split())


@given(SENTENCES, st.sampled_from([" ", "\n\n", "  "]))
def test_every_sentence_is_whole_in_one_chunk_unless_it_alone_is_larger(said: list[str], between: str) -> None:
    content = between.join(said)
    chunks = cut(ID, content, SMALL, words)
    for sentence in said:
        if words(sentence) <= SMALL.size:
            assert any(sentence in chunk.text for chunk in chunks)
    for number, chunk in enumerate(chunks):
        assert (chunk.number, chunk.document_id) == (number, ID)
        assert chunk.text == content[chunk.start : chunk.stop]
        assert 0 < words(chunk.text) == chunk.tokens <= SMALL.size


@given(st.text(max_size=400) | SENTENCES.map("".join), st.integers(20, 60), st.integers(0, 10))
def test_chunks_cover_the_text_and_each_goes_on_with_something_new(content: str, size: int, overlap: int) -> None:
    chunks = cut(ID, content, Chunking(size=size, overlap=overlap), len)
    covered = 0
    for before, chunk in zip([None, *chunks], chunks, strict=False):
        assert not content[covered : chunk.start].strip()
        assert chunk.tokens <= size
        assert chunk.text.strip()
        if before is not None:
            assert before.start < chunk.start
            assert before.stop < chunk.stop
            assert len(content[chunk.start : before.stop]) <= max(overlap, 0)
        covered = chunk.stop
    assert not content[covered:].strip()


def test_a_chunk_begins_with_the_end_of_the_one_before() -> None:
    said = [f"Sentence number {number} is here." for number in range(12)]
    chunks = cut(ID, " ".join(said), SMALL, words)
    assert [chunk.text.split(" is here. ")[-1] for chunk in chunks[:-1]] == [
        chunk.text.split(" is here.")[0] + " is here." for chunk in chunks[1:]
    ]


def test_what_is_said_is_cut_where_sentences_paragraphs_and_lists_are() -> None:
    text = "Dr. smith came. 東京は大きい。大阪も。\n\nA paragraph\nwith a wrapped line\n- one\n- two\n1. three"
    (whole,) = cut(ID, text, SMALL, words)
    assert whole.text == text
    found = cut(ID, text, Chunking(size=20, overlap=0), len)
    assert [chunk.text for chunk in found] == [
        "Dr. smith came.",
        "東京は大きい。大阪も。",
        "A paragraph\nwith a",
        "wrapped line\n- one",
        "- two\n1. three",
    ]


@pytest.mark.parametrize(
    "text", [" " * 200_000 + "x", "." * 100_000, "a" * 100_000, "\n" * 100_000 + "a", ". " * 50_000]
)
def test_no_text_takes_long_to_cut(text: str) -> None:
    assert cut(ID, text, Chunking(size=200, overlap=40), lambda piece: len(piece) // 4)


@pytest.mark.parametrize(("size", "overlap"), [(19, 0), (20, 11), (800, -1), (0, 0)])
def test_sizes_that_cannot_work_are_refused(size: int, overlap: int) -> None:
    with pytest.raises(InvalidInput, match="chunk_"):
        Chunking(size=size, overlap=overlap)


def test_passages_of_a_chunk_say_which_document_they_are_of() -> None:
    passages = chunk_passages("Cafe\u0301", "One sentence. " * 100)
    assert len(passages) > 1
    assert all(passage.startswith("Café\n") for passage in passages)
