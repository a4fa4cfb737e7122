"""Cutting says what it cuts, keeps what it can, and stays within its size."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from anaphora.rules.text import MIN_SHORTENED, shorten, truncate


def count(text: str) -> int:
    return (len(text) + 3) // 4


@given(st.text(max_size=3000), st.integers(MIN_SHORTENED, 200))
def test_a_shortened_text_fits_and_shows_its_mark(text: str, limit: int) -> None:
    tokens = count(text)
    result = shorten(text, tokens=tokens, max_tokens=limit, count=count)
    assert count(result) <= limit
    if tokens > limit:
        assert "left out" in result
    else:
        assert result is text


def test_a_shortened_text_keeps_its_beginning_and_its_end() -> None:
    text = "START " + "middle " * 3000 + "END"
    result = shorten(text, tokens=count(text), max_tokens=60, count=count)
    assert result.startswith("START")
    assert result.endswith("END")


def test_a_megabyte_is_shortened_by_counting_small_slices_only() -> None:
    longest = 0

    def counting(text: str) -> int:
        nonlocal longest
        longest = max(longest, len(text))
        return count(text)

    shorten("a" * (1 << 20), tokens=1 << 18, max_tokens=500, count=counting)
    assert longest < 10_000


@given(st.text(max_size=400), st.integers(1, 60))
def test_a_truncated_text_fits(text: str, limit: int) -> None:
    assert count(truncate(text, limit, count)) <= limit


def test_truncation_prefers_whole_sentences() -> None:
    text = "She moved to Lisbon in May. Her brother stayed behind in the old house with the dog."
    assert truncate(text, 12, count) == "She moved to Lisbon in May."
