"""Stores that break the laws of stamps."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from tests.conformance.broken import Broken, caught_by

from anaphora.domain.changes import ChangeKind, Stamp
from anaphora.ports.store import Unit

Found = Mapping[str, Mapping[ChangeKind, Stamp]]


@caught_by("test_an_append_stamps_the_messages_of_its_user_and_of_nobody_else")
class StampsOnce(Broken):
    def changes_stamps(self, unit: Unit, tenant: str, users: Collection[str]) -> Found:
        found = unit.changes.stamps(tenant, users)
        return {user: {kind: replace(stamp, number=1) for kind, stamp in of.items()} for user, of in found.items()}


@caught_by("test_an_append_stamps_the_messages_of_its_user_and_of_nobody_else")
class TellsOthers(Broken):
    def changes_stamps(self, unit: Unit, tenant: str, users: Collection[str]) -> Found:
        found = unit.changes.stamps(tenant, {*users, "bob"})
        return {**{user: found.get("bob", {}) for user in users}, **found}


@caught_by("test_messages_of_many_at_once_stamp_each_of_them_whether_for_the_first_time_or_again")
class StampsOneOfMany(Broken):
    def changes_stamps(self, unit: Unit, tenant: str, users: Collection[str]) -> Found:
        return unit.changes.stamps(tenant, sorted(users)[:1])


@caught_by("test_a_stamp_outlives_the_session_that_it_names_without_naming_it")
class NeverForgets(Broken):
    def changes_stamps(self, unit: Unit, tenant: str, users: Collection[str]) -> Found:
        found = unit.changes.stamps(tenant, users)
        return {user: found.get(user, {ChangeKind.ERASED: Stamp(number=1)}) for user in users}


@caught_by("test_what_was_not_written_is_not_stamped")
class StampsWhatFailed(Broken):
    def changes_stamps(self, unit: Unit, tenant: str, users: Collection[str]) -> Found:
        found = unit.changes.stamps(tenant, users)
        return found or {user: {ChangeKind.NOTEPAD: Stamp(number=1)} for user in users}
