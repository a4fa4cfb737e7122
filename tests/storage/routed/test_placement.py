"""Where tenants live: the same answer everywhere, and hardly anybody moves."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anaphora.errors import ConfigError, UnknownName
from anaphora.storage.routed.placement import Placement

TENANTS = [f"tenant-{number}" for number in range(1000)]

GOLDEN = {"": "a", "default": "a", "acme": "b", "Acme": "b", "東京": "a", "t-1": "b", "t-2": "c"}

names = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,39}", fullmatch=True)
lists = st.lists(names, min_size=1, max_size=8, unique=True)


def homes(*servers: str, pinned: dict[str, str] | None = None) -> dict[str, str]:
    placement = Placement(servers=servers, pinned=pinned or {})
    return {tenant: placement.server_of(tenant) for tenant in TENANTS}


def test_a_tenants_home_is_the_same_in_every_version() -> None:
    """Whoever changes the rule loses everybody's memory: these answers are for ever."""
    placement = Placement(servers=("a", "b", "c"))
    found = {tenant: placement.server_of(tenant) for tenant in ("", "default", "acme", "Acme", "東京", "t-1", "t-2")}
    assert found == GOLDEN


@given(lists, names)
def test_a_server_that_is_added_takes_its_share_and_nobody_else_moves(servers: list[str], added: str) -> None:
    before, after = homes(*servers), homes(*servers, added)
    moved = {tenant for tenant in TENANTS if before[tenant] != after[tenant]}
    assert {after[tenant] for tenant in moved} <= {added}
    if added in servers:
        assert not moved
    else:
        share = 1000 / (len(servers) + 1)
        assert abs(len(moved) - share) < 6 * share**0.5


@given(lists.flatmap(lambda servers: st.tuples(st.just(servers), st.permutations(servers))))
def test_neither_the_order_of_the_servers_nor_a_double_matters(both: tuple[list[str], list[str]]) -> None:
    servers, shuffled = both
    assert homes(*servers) == homes(*shuffled, servers[0])


def test_the_share_of_each_server_is_about_the_same() -> None:
    shares = Counter(homes("a", "b", "c", "d", "e").values())
    assert len(shares) == 5
    assert all(150 < share < 250 for share in shares.values()), shares


@given(st.dictionaries(st.sampled_from(TENANTS), st.sampled_from(["a", "b", "c"]), max_size=20))
def test_a_pinned_tenant_lives_where_it_is_pinned_and_moves_no_other(pinned: dict[str, str]) -> None:
    free, found = homes("a", "b", "c"), homes("a", "b", "c", pinned=pinned)
    assert found == {**free, **pinned}


def test_a_name_that_is_no_text_has_a_home_too() -> None:
    assert Placement(servers=("a", "b")).server_of("\ud800") in {"a", "b"}


def test_other_servers_or_pins_have_another_fingerprint_and_the_same_ones_the_same() -> None:
    lists = [
        Placement(servers=("a", "b")),
        Placement(servers=("a", "b", "c")),
        Placement(servers=("a", "b"), pinned={"acme": "a"}),
        Placement(servers=("a", "b"), pinned={"acme": "b"}),
        Placement(servers=("a",)),
    ]
    assert len({placement.fingerprint for placement in lists}) == len(lists)
    assert lists[0].fingerprint == Placement(servers=("b", "a")).fingerprint


@pytest.mark.parametrize("name", ["", "A", "a b", "ä", "-a", "a" * 41, "a:b"])
def test_a_name_that_cannot_be_written_everywhere_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="cannot be the name of a server"):
        Placement(servers=("a", name))


def test_a_list_without_servers_and_a_pin_to_nowhere_are_refused() -> None:
    with pytest.raises(ConfigError, match="name at least one"):
        Placement(servers=())
    with pytest.raises(UnknownName, match=r"unknown server 'berlinn': did you mean 'berlin'\?"):
        Placement(servers=("berlin", "paris"), pinned={"acme": "berlinn"})
