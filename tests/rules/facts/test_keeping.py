"""Which facts are kept, which are set aside, and what stated importance cannot do (hole 3.10)."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anaphora.domain.facts import Fact
from anaphora.domain.keeping import AsideFor, Held
from anaphora.domain.messages import Trust
from anaphora.rules.facts.keeping import (
    CAPACITY,
    PER_MESSAGE,
    PER_SESSION,
    Claim,
    Limits,
    aside_for,
    is_kept,
    is_protected,
    least_of,
    over_caps,
    spare_of,
    too_many,
    too_unimportant,
    weakest,
    worth,
)

NOW = datetime(2026, 6, 1, tzinfo=UTC)
TODAY = NOW.date()


def held(
    number: int = 1,
    *,
    importance: int = 5,
    sessions: int = 1,
    age: float = 0.0,
    pinned: bool = False,
    trust: Trust = Trust.OWNER_SAID,
) -> Held:
    """A fact that was made and last said some days ago."""
    at = NOW - timedelta(days=age)
    fact = Fact(
        id=UUID(int=number),
        owner="ann",
        agent="default",
        category="other",
        content=f"Fact {number}",
        importance=importance,
        pinned=pinned,
        trust=trust,
        valid_from=at,
        created_at=at,
        updated_at=at,
    )
    return Held(fact=fact, sessions=sessions, said_at=at)


def gone(*facts: Held, spare: int = 1) -> list[int]:
    return [uid.int for uid in weakest(facts, spare=spare, now=NOW)]


@pytest.mark.parametrize(("importance", "least", "kept"), [(1, 1, True), (6, 7, False), (7, 7, True), (10, 7, True)])
def test_what_is_as_important_as_is_asked_for_is_kept(importance: int, least: int, kept: bool) -> None:
    assert is_kept(importance, least) is kept


@pytest.mark.parametrize(("asked", "by_strategy", "least"), [(None, 1, 1), (None, 7, 7), (3, 7, 3), (9, 1, 9)])
def test_what_is_asked_for_goes_before_the_strategy(asked: int | None, by_strategy: int, least: int) -> None:
    assert least_of(asked, by_strategy) == least


@pytest.mark.parametrize(
    ("reason", "why"),
    [
        (too_unimportant(3, 7), AsideFor.IMPORTANCE),
        (too_many(Limits(capacity=1_000)), AsideFor.CAPACITY),
        ("more than 8 facts of one message", AsideFor.SOURCE),
        ("more than 60 facts of one session in a day", AsideFor.SOURCE),
        (None, AsideFor.CAPACITY),
    ],
)
def test_each_reason_is_counted_as_what_it_is(reason: str | None, why: AsideFor) -> None:
    assert aside_for(reason) is why


def test_reasons_say_the_numbers() -> None:
    assert too_unimportant(3, 7) == "importance 3 is below 7"
    assert too_many(Limits(capacity=1_000)) == "more than 1,000 facts"


# -- what goes -----------------------------------------------------------------------------------------------------

#: of each two the first goes
WEAKER = {
    "less important": (held(1, importance=3), held(2, importance=4)),
    "longer ago": (held(1, age=400), held(2, age=30)),
    "longer ago does not outweigh importance": (held(1, importance=4), held(2, importance=5, age=5_000)),
    "said once, however important": (held(1, importance=10), held(2, importance=1, sessions=2, age=5_000)),
    "said in fewer sessions": (held(1, sessions=2), held(2, sessions=3, age=300)),
    "said once: 10 is as good as 6, and older": (held(1, importance=10, age=9), held(2, importance=6)),
}


@pytest.mark.parametrize("name", WEAKER)
def test_of_two_facts_the_weaker_goes(name: str) -> None:
    weaker, stronger = WEAKER[name]
    assert gone(weaker, stronger) == gone(stronger, weaker) == [1]


def test_of_facts_that_are_worth_the_same_the_newest_goes() -> None:
    old, new = held(1, age=9), held(2, age=1)
    same = NOW - timedelta(days=1)
    assert gone(replace(old, said_at=same), replace(new, said_at=same)) == [2]


@pytest.mark.parametrize("how", [{"pinned": True}, {"trust": Trust.OWNER_CONFIRMED}])
def test_what_its_owner_wants_never_goes(how: dict[str, object]) -> None:
    wanted = [held(number, importance=1, sessions=0, age=9_999, **how) for number in (1, 2)]  # type: ignore[arg-type]
    assert gone(*wanted, held(3, importance=10, sessions=9), spare=3) == [3]


def test_a_fact_that_nothing_says_any_more_is_as_old_as_it_is() -> None:
    silent = replace(held(1, age=100, sessions=0), said_at=None)
    assert worth(silent, now=NOW) == worth(replace(silent, said_at=silent.fact.created_at), now=NOW)


def test_a_fact_of_the_future_is_as_good_as_one_of_now() -> None:
    assert worth(held(age=-99), now=NOW) == worth(held(), now=NOW)


helds = st.builds(
    held,
    importance=st.integers(1, 10),
    sessions=st.integers(0, 9),
    age=st.floats(0, 4_000),
    pinned=st.booleans(),
    trust=st.sampled_from([Trust.OWNER_SAID, Trust.OWNER_SAID, Trust.OWNER_CONFIRMED]),
)
many = st.lists(helds, max_size=30).map(
    lambda found: [replace(each, fact=replace(each.fact, id=UUID(int=at))) for at, each in enumerate(found)]
)


@given(many, st.integers(1, 30))
def test_pruning_leaves_no_more_than_the_capacity_and_all_that_is_protected(found: list[Held], capacity: int) -> None:
    out = weakest(found, spare=spare_of(len(found), capacity), now=NOW)
    left = [each for each in found if each.fact.id not in set(out)]
    assert len(set(out)) == len(out)
    assert all(each in left for each in found if is_protected(each.fact))
    assert len(left) <= capacity or all(is_protected(each.fact) for each in left)
    if len(found) <= capacity:
        assert not out


@given(many, st.integers(0, 30), st.data())
def test_a_fact_is_not_worse_off_for_being_more_important(found: list[Held], spare: int, data: st.DataObject) -> None:
    out = set(weakest(found, spare=spare, now=NOW))
    kept = [at for at, each in enumerate(found) if each.fact.id not in out]
    if not kept:
        return
    at = data.draw(st.sampled_from(kept))
    fact = found[at].fact
    raised = replace(fact, importance=data.draw(st.integers(fact.importance, 10)))
    again = [*found[:at], replace(found[at], fact=raised), *found[at + 1 :]]
    assert fact.id not in weakest(again, spare=spare, now=NOW)


@given(helds, helds)
def test_what_several_sessions_say_is_worth_more_than_whatever_one_says(one: Held, other: Held) -> None:
    once, often = replace(one, sessions=1), replace(other, sessions=max(2, other.sessions))
    assert worth(once, now=NOW) < worth(often, now=NOW)


@given(st.integers(0, 5_000), st.integers(1, 1_000))
def test_room_is_made_only_when_there_is_none_and_then_some(count: int, most: int) -> None:
    spare = spare_of(count, most)
    assert (spare > 0) == (count > most)
    assert count - spare <= most
    assert spare == 0 or count - spare >= 0.95 * most - 1


# -- how much one source may say -----------------------------------------------------------------------------------


def claims(*seqs: int, importance: int = 5, trust: Trust = Trust.OWNER_SAID, day: date = TODAY) -> list[Claim]:
    return [Claim(seq=seq, day=day, importance=importance, trust=trust) for seq in seqs]


def over(given: list[Claim], limits: Limits, said: dict[int, int] | None = None, learned: int = 0) -> dict[int, str]:
    return dict(over_caps(given, limits, of_messages=said or {}, of_days={TODAY: learned}))


def test_of_one_message_no_more_is_kept_than_may_be() -> None:
    limits = Limits(per_message=2)
    assert over(claims(1, 1, 3, 1, 3), limits) == {3: "more than 2 facts of one message"}
    assert over(claims(1, 1, 3), limits, {1: 1}) == {1: "more than 2 facts of one message"}
    assert set(over(claims(1, 1), limits, {1: 9})) == {0, 1}


def test_of_one_session_and_day_no_more_is_kept_than_may_be() -> None:
    limits = Limits(per_session=3)
    reason = "more than 3 facts of one session in a day"
    assert over(claims(1, 2, 3, 4), limits) == {3: reason}
    assert over(claims(1, 2, 3, 4), limits, learned=2) == {1: reason, 2: reason, 3: reason}
    tomorrow = claims(5, 6, 7, day=TODAY + timedelta(days=1))
    assert over([*claims(1, 2, 3), *tomorrow], limits) == {}


def test_the_least_important_go_first_and_of_equals_the_last() -> None:
    limits = Limits(per_message=2)
    given = [*claims(1, importance=3), *claims(1, 1, importance=9), *claims(1, importance=3)]
    assert set(over(given, limits)) == {0, 3}
    assert set(over([*claims(1, 1), *claims(1, importance=6)], limits)) == {1}


def test_what_is_not_the_owners_word_may_say_a_quarter() -> None:
    limits = Limits(per_message=8, per_session=60)
    for trust in (Trust.ASSISTANT, Trust.TOOL, Trust.OTHER):
        assert (limits.of_message(trust), limits.of_session(trust)) == (2, 15)
        assert set(over(claims(1, 1, 1, trust=trust), limits)) == {2}
        assert over(claims(1, trust=trust), Limits(per_message=1, per_session=1)) == {}
    for trust in (Trust.OWNER_SAID, Trust.OWNER_CONFIRMED):
        assert (limits.of_message(trust), limits.of_session(trust)) == (8, 60)


@given(
    st.lists(
        st.builds(
            Claim,
            seq=st.integers(0, 5),
            day=st.just(TODAY),
            importance=st.integers(1, 10),
            trust=st.just(Trust.OWNER_SAID),
        ),
        max_size=40,
    ),
    st.integers(1, 9),
    st.integers(1, 20),
)
def test_caps_hold_and_nothing_goes_that_there_was_room_for(given: list[Claim], message: int, session: int) -> None:
    out = over(given, Limits(per_message=message, per_session=session))
    kept = [claim for at, claim in enumerate(given) if at not in out]
    said = Counter(claim.seq for claim in kept)
    assert len(kept) <= session
    assert all(many <= message for many in said.values())
    for at in out:
        assert said[given[at].seq] == message or len(kept) == session


def test_the_defaults_are_those_that_are_documented() -> None:
    assert (CAPACITY, PER_MESSAGE, PER_SESSION, Limits().aside) == (500, 8, 60, 2_000)
