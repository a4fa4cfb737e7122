"""Stores that break the laws of pauses."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from tests.conformance.broken import Broken, caught_by

from anaphora.domain.pauses import Pause
from anaphora.ports.store import Unit


@caught_by("test_a_pause_is_of_one_user_of_one_tenant_and_lasts_once")
class PausesPrefixes(Broken):
    def pauses_lasting(self, unit: Unit, tenant: str, user: str) -> Pause | None:
        return unit.pauses.lasting(tenant, user) or unit.pauses.lasting(tenant, "alice")


@caught_by("test_a_pause_is_of_one_user_of_one_tenant_and_lasts_once")
class BeginsAnew(Broken):
    def pauses_begin(self, unit: Unit, tenant: str, user: str, *, now: datetime) -> None:
        unit.pauses.end(tenant, user, now=now)
        unit.pauses.begin(tenant, user, now=now)


@caught_by("test_pauses_are_found_by_the_moments_that_they_hold")
class FindsWhatHasEnded(Broken):
    def pauses_between(self, unit: Unit, tenant: str, user: str, first: datetime, last: datetime) -> Sequence[Pause]:
        return unit.pauses.between(tenant, user, first - timedelta(seconds=1), last)


@caught_by("test_what_does_not_last_has_no_end")
class EndsTwice(Broken):
    def pauses_end(self, unit: Unit, tenant: str, user: str, *, now: datetime) -> None:
        if unit.pauses.lasting(tenant, user) is None:
            unit.pauses.begin(tenant, user, now=now)
        unit.pauses.end(tenant, user, now=now)
