"""What is said in benchmarks depends on the seed and the place alone."""

from __future__ import annotations

from collections import Counter
from itertools import islice

from anaphora.bench.filling import spread
from anaphora.bench.words import VOCABULARY, Words


def said(seed: int, place: str = "alice/1", count: int = 20) -> list[tuple[str, str]]:
    return list(islice(Words(seed).talk(place), count))


def test_the_same_seed_and_place_say_the_same_and_others_something_else() -> None:
    assert said(7) == said(7)
    assert said(7) != said(8)
    assert said(7) != said(7, "alice/2")


def test_what_is_said_at_a_place_does_not_depend_on_what_was_said_before() -> None:
    words = Words(3)
    list(islice(words.talk("bob/1"), 9))
    assert list(islice(words.talk("alice/1"), 20)) == said(3)


def test_question_and_answer_take_turns_and_answers_are_longer() -> None:
    talk = said(1, count=400)
    assert [role for role, _ in talk] == ["user", "assistant"] * 200
    lengths = {role: sum(len(text.split()) for speaker, text in talk if speaker == role) for role, _ in talk}
    assert 1.5 < lengths["assistant"] / lengths["user"] < 2.5


def test_a_few_words_are_frequent_and_many_are_rare() -> None:
    words = Words(1)
    assert len(set(words.vocabulary)) == VOCABULARY
    counts = Counter(word.strip(".").lower() for _, text in said(1, count=4_000) for word in text.split())
    common = counts[words.vocabulary[0]]
    assert common > 10 * counts[words.vocabulary[100]] > 0
    assert sum(counts[word] == 0 for word in words.vocabulary) < VOCABULARY / 10


def test_queries_are_of_the_frequency_that_they_name() -> None:
    words = Words(1)
    rank = {word: at for at, word in enumerate(words.vocabulary)}
    for number in range(50):
        rare, middling, common = (
            [rank[word] for word in make(f"{number}").split()] for make in (words.rare, words.middling, words.common)
        )
        assert len(rare) == len(middling) == len(common) == 3
        assert max(common) < min(middling)
        assert max(middling) < min(rare)


def test_messages_are_shared_out_whole_and_evenly() -> None:
    shares = list(spread(10, users=2, sessions=4))
    assert [size for _, size in shares] == [3, 3, 2, 2]
    assert [(key.user, key.session) for key, _ in shares] == [
        ("user0", "session0"),
        ("user1", "session1"),
        ("user0", "session2"),
        ("user1", "session3"),
    ]
    assert len(list(spread(2, users=2, sessions=4))) == 2
