"""What answers a question best: every kind of evidence counts as it says, and nothing else does."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from random import Random
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anaphora.domain.keys import SessionKey
from anaphora.domain.messages import Role
from anaphora.domain.vectors import Scale
from anaphora.ports.rows import VectorMatch, Voice, WordMatch, WordMatches
from anaphora.rules.evidence import WEIGHTS, Weights, rarity, weigh
from anaphora.rules.ranking import Place, Ranked, promising, undecided
from anaphora.rules.ranking import rank as rank_evidence

KEY = SessionKey(tenant="t", user="u", agent="a", session="s")
SCALE = Scale(mean=0.1, spread=0.1)
USER, ASSISTANT = Voice(role=Role.USER, name=None), Voice(role=Role.ASSISTANT, name=None)
#: how many messages have each word: 0 is rare, 2 is common
HAVING = (1, 5, 40)
MESSAGES = 100


def match(session: int, seq: int, *words: int, part: int = 0, parts: int = 1) -> WordMatch:
    return WordMatch(session_id=UUID(int=session), key=KEY, seq=seq, part=part, parts=parts, words=words)


def close(session: int, seq: int, similarity: float, part: int = 0) -> VectorMatch:
    return VectorMatch(session_id=UUID(int=session), key=KEY, seq=seq, part=part, similarity=similarity)


def place(session: int, seq: int = 0) -> Place:
    return (UUID(int=session), seq)


def matches(*found: WordMatch, having: Sequence[int] = HAVING, messages: int = MESSAGES) -> WordMatches:
    return WordMatches(messages=messages, having=tuple(having), found=found)


def places_of(worded: Iterable[WordMatch], meant: Iterable[VectorMatch]) -> list[Place]:
    """The messages that were found."""
    by_words = [(each.session_id, each.seq) for each in worded]
    return [*by_words, *((each.session_id, each.seq) for each in meant)]


def ranked(
    words: Iterable[WordMatch] | WordMatches,
    meaning: Sequence[VectorMatch] = (),
    *,
    question: str = "?",
    voices: dict[Place, Voice] | None = None,
    weights: Weights = WEIGHTS,
) -> list[Ranked]:
    """The answer; whoever is not in `voices` is the assistant."""
    given_ = words if isinstance(words, WordMatches) else matches(*words)
    places = places_of(given_.found, meaning)
    said = dict.fromkeys(places, ASSISTANT) | (voices or {})
    return rank(question, given_, meaning, said, scale=SCALE if meaning else None, weights=weights)


def rank(
    question: str,
    words: WordMatches,
    meaning: Sequence[VectorMatch],
    voices: Mapping[Place, Voice],
    *,
    scale: Scale | None,
    weights: Weights = WEIGHTS,
    limit: int | None = None,
) -> list[Ranked]:
    """From what was found to the answer."""
    evidence = weigh(words, meaning, scale=scale, weights=weights)
    return rank_evidence(question, evidence, voices, weights=weights, limit=limit)


def by_place(entries: Sequence[Ranked]) -> dict[Place, Ranked]:
    assert len({entry.place for entry in entries}) == len(entries), "a message stands in the answer twice"
    return {entry.place: entry for entry in entries}


@st.composite
def evidence(draw: st.DrawFn) -> tuple[list[WordMatch], list[VectorMatch], dict[Place, Voice]]:
    """Passages of two sessions that were found by words, by meaning, or both; some of their messages are gone."""
    parts = draw(st.dictionaries(st.tuples(st.integers(1, 2), st.integers(0, 7)), st.integers(1, 3), max_size=8))
    passages = [(session, seq, part, of) for (session, seq), of in parts.items() for part in range(of)]
    some = st.permutations(passages).flatmap(lambda each: st.integers(0, len(each)).map(lambda stop: each[:stop]))
    which = st.sets(st.integers(0, len(HAVING) - 1), min_size=1).map(sorted)
    worded = [match(session, seq, *draw(which), part=part, parts=of) for session, seq, part, of in draw(some)]
    meant = [close(session, seq, draw(st.integers(-10, 10)) / 10, part=part) for session, seq, part, _ in draw(some)]
    voice = st.builds(Voice, role=st.sampled_from(Role), name=st.sampled_from([None, "Ann", "Bob"]))
    there = [place(*each) for each in parts if draw(st.integers(0, 9))]
    return worded, meant, {each: draw(voice) for each in there}


# -- what the answer depends on ------------------------------------------------------------------------------------


@given(evidence(), st.randoms(use_true_random=False))
def test_what_is_found_decides_and_not_the_order_in_which_it_was_found(
    found: tuple[list[WordMatch], list[VectorMatch], dict[Place, Voice]], chance: Random
) -> None:
    worded, meant, voices = found
    others = matches(*chance.sample(worded, len(worded))), chance.sample(meant, len(meant))
    one = rank("Ann?", matches(*worded), meant, voices, scale=SCALE)
    other = rank("Ann?", *others, voices, scale=SCALE)
    expected = by_place(one)
    assert {entry.place for entry in other} == set(expected)
    for entry in other:
        same = expected[entry.place]
        assert entry.scores == pytest.approx(same.scores)
        assert entry.similarity == same.similarity


@given(evidence())
def test_the_answer_is_in_order_each_message_once_and_only_those_that_are_there(
    found: tuple[list[WordMatch], list[VectorMatch], dict[Place, Voice]],
) -> None:
    worded, meant, voices = found
    answer = rank("Ann?", matches(*worded), meant, voices, scale=SCALE)
    scores = [entry.score for entry in answer]
    assert scores == sorted(scores, reverse=True)
    assert set(by_place(answer)) == set(places_of(worded, meant)) & set(voices)
    assert answer == rank("Ann?", matches(*worded), meant, dict(reversed(voices.items())), scale=SCALE)


@given(evidence())
def test_the_scores_add_up_to_the_score(
    found: tuple[list[WordMatch], list[VectorMatch], dict[Place, Voice]],
) -> None:
    worded, meant, voices = found
    for entry in rank("Ann?", matches(*worded), meant, voices, scale=SCALE):
        assert entry.score == pytest.approx(sum(entry.scores.values()))
        assert set(entry.scores) <= {"words", "meaning", "session", "speaker", "user"}
        assert 0 <= entry.share <= 1
        assert all(math.isfinite(value) for value in entry.scores.values())


@given(evidence(), st.integers(0, 9))
def test_a_limit_leaves_out_the_last_and_changes_nothing_else(
    found: tuple[list[WordMatch], list[VectorMatch], dict[Place, Voice]], limit: int
) -> None:
    worded, meant, voices = found
    whole = rank("Ann?", matches(*worded), meant, voices, scale=SCALE)
    assert rank("Ann?", matches(*worded), meant, voices, scale=SCALE, limit=limit) == whole[:limit]


@given(evidence(), st.integers(0, 9))
def test_who_said_what_is_decided_changes_nothing(
    found: tuple[list[WordMatch], list[VectorMatch], dict[Place, Voice]], limit: int
) -> None:
    worded, meant, voices = found
    weighed = weigh(matches(*worded), meant, scale=SCALE)
    few = {each: voices[each] for each in promising(weighed, limit) if each in voices}
    few |= {each: voices[each] for each in undecided("?", weighed, few, limit) if each in voices}
    assert rank_evidence("?", weighed, few, limit=limit) == rank_evidence("?", weighed, voices, limit=limit)


def test_of_many_it_is_asked_of_few_who_said_them() -> None:
    found = [match(1, 9 * at, 1) for at in range(4)] + [match(2 + at, 0, 2) for at in range(40)]
    weighed = weigh(matches(*found), [], scale=None)
    first = promising(weighed, 2)
    assert len(first) == 6
    assert first[:4] == [place(1, 9 * at) for at in range(4)]
    by_user = dict.fromkeys(first, Voice(role=Role.USER, name="Ann"))
    assert undecided("What did Ann say?", weighed, by_user, 2) == []
    close = weigh(matches(*(match(at, 0, 2) for at in range(40))), [], scale=None)
    assert len(undecided("What did Bob say?", close, dict.fromkeys(promising(close, 2), ASSISTANT), 2)) == 34


def test_of_equals_the_one_that_was_found_first_comes_first() -> None:
    order = [3, 1, 4, 2]
    assert [entry.place for entry in ranked(match(each, 0, 1) for each in order)] == [place(each) for each in order]
    by_meaning = [close(each, 0, 0.5) for each in order]
    assert [entry.place for entry in ranked([], by_meaning)] == [place(each) for each in order]


def test_words_find_before_meaning_does() -> None:
    even = Weights(words=0.0, session=0.0)
    assert [e.place for e in ranked([match(2, 0, 1)], [close(1, 0, 0.5), close(2, 0, 0.5)], weights=even)] == [
        place(2),
        place(1),
    ]


@given(st.permutations(range(8)))
def test_in_which_order_the_words_of_a_passage_are_named_does_not_matter(order: list[int]) -> None:
    """Databases name them in any order; equals stay equal to the last bit."""
    having = (1, 3, 7, 11, 19, 31, 47, 62)
    found = matches(match(1, 0, *range(8)), match(2, 0, *order), match(3, 0, *reversed(order)), having=having)
    answer = ranked(found)
    assert [entry.place for entry in answer] == [place(1), place(2), place(3)]
    assert len({entry.score for entry in answer}) == 1


def test_a_message_that_nobody_said_is_left_out() -> None:
    answer = rank("?", matches(match(1, 0, 0), match(2, 0, 0)), [close(3, 0, 0.9)], {place(2): USER}, scale=SCALE)
    assert [entry.place for entry in answer] == [place(2)]


def test_nothing_found_is_no_answer() -> None:
    assert rank("?", WordMatches(messages=0, having=(), found=()), [], {}, scale=None) == []


# -- words ---------------------------------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_word_that_fewer_passages_have_is_rarer(messages: int, one: int, other: int) -> None:
    assert rarity(messages, one) > 0
    if one < other:
        assert rarity(messages, one) > rarity(messages, other)


@pytest.mark.parametrize("rare_first", [True, False])
def test_a_rarer_word_beats_a_common_one(*, rare_first: bool) -> None:
    found = [match(1, 0, 0), match(2, 0, 2)]
    answer = ranked(found if rare_first else found[::-1])
    assert [entry.place for entry in answer] == [place(1), place(2)]
    assert answer[0].share > answer[1].share


def test_more_of_the_words_beat_fewer_of_them() -> None:
    answer = ranked([match(1, 0, 0), match(2, 0, 0, 2)])
    assert [entry.place for entry in answer] == [place(2), place(1)]


def test_a_word_in_a_passage_nearby_counts_less_than_in_the_passage_itself_the_further_the_less() -> None:
    """Both words together, then one of them one, two, three passages on; further away it is not there."""

    def worth(away: int) -> float:
        there = [match(1, 5, 0, 1)] if away == 0 else [match(1, 5, 0), match(1, 5 + away, 1)]
        # measured against a message that is always the same, because the spread is that of all
        entries = by_place(ranked([*there, match(2, 0, 0)]))
        return entries[place(1, 5)].scores["words"] / entries[place(2)].scores["words"]

    values = [worth(away) for away in range(5)]
    assert values[:4] == sorted(set(values[:4]), reverse=True)
    assert values[3] > 1
    assert values[4] == pytest.approx(1)


def test_passages_count_and_not_messages() -> None:
    """The last passage of a long message is next to the message that follows, and its first one is not."""

    def worth(part: int) -> float:
        found = [match(1, 0, 0, part=part, parts=4), match(1, 1, 1), match(2, 0, 0)]
        entries = by_place(ranked(found))
        return entries[place(1)].scores["words"] / entries[place(2)].scores["words"]

    values = [worth(part) for part in (3, 2, 1, 0)]
    assert values[:3] == sorted(set(values[:3]), reverse=True)
    assert values[2] > 1
    assert values[3] == pytest.approx(1)


@given(st.integers(0, 9), st.integers(0, 9))
def test_what_stands_near_in_another_session_counts_nothing(one: int, other: int) -> None:
    def scores(first: int, second: int) -> list[float]:
        return sorted(entry.score for entry in ranked([match(1, first, 0), match(2, second, 1)]))

    assert scores(one, other) == scores(0, 1_000)


@pytest.mark.parametrize("seq", [4, 6])
def test_words_nearby_speak_for_what_was_found_by_meaning_alone(seq: int) -> None:
    """The answer to a question repeats none of its words."""
    entries = by_place(ranked([match(1, 5, 0), match(2, 0, 0)], [close(1, seq, 0.5), close(3, seq, 0.5)]))
    assert 0 < entries[place(1, seq)].scores["words"] < entries[place(2)].scores["words"]
    assert (entries[place(1, seq)].words, entries[place(1, seq)].share) == ((), 0)
    assert "words" not in entries[place(3, seq)].scores


def test_of_a_message_near_words_the_closest_passage_is_shown() -> None:
    entries = by_place(ranked([match(1, 5, 0)], [close(1, 6, 0.4, part=0), close(1, 6, 0.7, part=1)]))
    assert entries[place(1, 6)].part == 1


def test_a_message_is_worth_its_best_passage() -> None:
    long = [match(1, 0, 2, part=0, parts=9), match(1, 0, 0, part=8, parts=9)]
    entry = by_place(ranked([*long, match(2, 0, 0)]))
    assert (entry[place(1)].part, entry[place(1)].words) == (8, (0,))
    assert entry[place(1)].scores["words"] == pytest.approx(entry[place(2)].scores["words"])


def test_the_share_is_that_of_the_passages_own_words_by_their_rarity() -> None:
    entry = by_place(ranked([match(1, 0, 0, 1, 2), match(2, 0, 1), match(2, 1, 0)]))
    worth = [rarity(MESSAGES, having) for having in HAVING]
    assert entry[place(1)].share == pytest.approx(1)
    assert entry[place(2)].share == pytest.approx(worth[1] / sum(worth))


# -- meaning -------------------------------------------------------------------------------------------------------


def test_a_message_is_as_close_as_its_closest_passage() -> None:
    (entry,) = ranked([], [close(1, 0, 0.7, part=4), close(1, 0, 0.2, part=1)])
    assert (entry.part, entry.similarity) == (4, 0.7)
    assert entry.scores["meaning"] == pytest.approx(SCALE.of(0.7))


def test_what_is_not_among_the_closest_is_taken_for_the_last_of_them() -> None:
    entries = by_place(ranked([match(9, 0, 0)], [close(1, 0, 0.7), close(2, 0, 0.4)]))
    assert entries[place(9)].similarity is None
    assert entries[place(9)].scores["meaning"] == entries[place(2)].scores["meaning"]


def test_without_meaning_words_count_in_full() -> None:
    found = [match(1, 0, 0), match(2, 0, 2)]
    alone = by_place(ranked(found))
    beside = by_place(ranked(found, [close(3, 0, 0.5)]))
    for each in (place(1), place(2)):
        assert alone[each].scores["words"] * WEIGHTS.words == pytest.approx(beside[each].scores["words"])
        assert "meaning" not in alone[each].scores


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_of_two_messages_the_closer_one_comes_first(one: float, other: float) -> None:
    if one > other and SCALE.of(one) > SCALE.of(other) + 1e-9:
        answer = ranked([], [close(2, 0, other), close(1, 0, one)], weights=replace(WEIGHTS, session=0.0))
        assert [entry.place for entry in answer] == [place(1), place(2)]


# -- what is added -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("What did Ann buy?", {1}),
        ("what did ANN buy?", {1}),
        ("Ann's dog?", {1}),
        ("Did Bob sing?", {2}),
        ("Who sang?", set()),
        ("Anna and Annette?", set()),
        ("Where is J.R. (junior)?", {3}),
        # of several the first is asked about
        ("Did Ann meet Bob?", {1}),
        ("What does Bob think of Ann's dog?", {2}),
        ("What did Bob, who knows Ann, buy?", {2}),
        # unless they are named in one breath, or the first one is only whose it was
        ("Did Ann and Bob sing?", set()),
        ("Ann, Bob: who sang?", set()),
        ("Bob & Ann?", set()),
        ("Who was Ann's friend before Bob came?", set()),
    ],
)
def test_who_is_asked_about_comes_first(question: str, named: set[int]) -> None:
    names = {1: "Ann", 2: "Bob", 3: "J.R. (junior)", 4: None}
    voices = {place(each): Voice(role=Role.ASSISTANT, name=name) for each, name in names.items()}
    answer = ranked([match(each, 0, 1) for each in (4, 3, 2, 1)], question=question, voices=voices)
    assert {entry.place for entry in answer if "speaker" in entry.scores} == {place(each) for each in named}
    assert {entry.place for entry in answer[: len(named)]} == {place(each) for each in named}
    assert {entry.scores["speaker"] for entry in answer[: len(named)]} <= {WEIGHTS.speaker}


def test_a_name_within_a_longer_one_names_nobody() -> None:
    voices = {place(each): Voice(role=Role.USER, name=name) for each, name in {1: "Lee", 2: "Ann Lee"}.items()}
    answer = ranked([match(1, 0, 1), match(2, 0, 1)], question="What did Ann Lee say?", voices=voices)
    assert [entry.place for entry in answer if "speaker" in entry.scores] == [place(2)]


@pytest.mark.parametrize("role", [Role.ASSISTANT, Role.TOOL, Role.SYSTEM])
def test_at_equal_evidence_the_users_own_message_comes_first(role: Role) -> None:
    voices = {place(1): Voice(role=role, name=None), place(2): USER}
    for found, meant in (([match(1, 0, 0), match(2, 0, 0)], []), ([], [close(1, 0, 0.5), close(2, 0, 0.5)])):
        first, second = ranked(found, meant, voices=voices)
        assert (first.place, second.place) == (place(2), place(1))
        assert first.scores["user"] == WEIGHTS.user
        assert "user" not in second.scores


def test_what_was_talked_about_around_a_message_counts() -> None:
    """Of two messages that are alike, the one in the session that has more of it comes first."""
    more = [match(1, 20 * seq, 0) for seq in range(1, 4)]
    answer = ranked([match(2, 0, 2), match(1, 0, 2), *more])
    places_ = [entry.place for entry in answer]
    assert places_.index(place(1)) < places_.index(place(2))


def test_three_messages_of_a_session_speak_for_it_however_many_it_has() -> None:
    def support(count: int) -> float:
        found = [match(1, 20 * seq, 0) for seq in range(count)]
        entry = by_place(ranked(found, weights=replace(WEIGHTS, session=1.0)))[place(1)]
        return entry.scores["session"] / entry.scores["words"]

    assert [support(count) for count in (1, 3, 9)] == pytest.approx([1, 1, 1])
