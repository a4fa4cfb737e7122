"""A pause lasts for one user of one tenant, once at a time, and ends where it was ended."""

from __future__ import annotations

from pathlib import Path

from anaphora.domain.pauses import Pause
from anaphora.testing.conformance.store_laws.base import StoreLaws
from anaphora.testing.conformance.store_laws.tools import NOW, TENANT, after


class PauseLaws(StoreLaws):
    """What holds of the pauses of users."""

    async def test_a_pause_is_of_one_user_of_one_tenant_and_lasts_once(self, tmp_path: Path) -> None:
        """Beginning it again changes nothing; others with the same name have none."""
        async with self.opened(tmp_path) as store:
            await store.write(TENANT, lambda unit: unit.pauses.begin(TENANT, "alice", now=NOW))
            await store.write(TENANT, lambda unit: unit.pauses.begin(TENANT, "alice", now=after(9)))
            assert await store.read(TENANT, lambda unit: unit.pauses.lasting(TENANT, "alice")) == Pause(started_at=NOW)
            assert await store.read(TENANT, lambda unit: unit.pauses.lasting(TENANT, "al")) is None
            assert await store.read("elsewhere", lambda unit: unit.pauses.lasting("elsewhere", "alice")) is None

    async def test_pauses_are_found_by_the_moments_that_they_hold(self, tmp_path: Path) -> None:
        """From the beginning on, and not from the end on; those that have ended, and the one that lasts."""
        async with self.opened(tmp_path) as store:
            await store.write(TENANT, lambda unit: unit.pauses.begin(TENANT, "alice", now=after(10)))
            await store.write(TENANT, lambda unit: unit.pauses.end(TENANT, "alice", now=after(20)))
            await store.write(TENANT, lambda unit: unit.pauses.begin(TENANT, "alice", now=after(30)))
            first, second = Pause(started_at=after(10), ended_at=after(20)), Pause(started_at=after(30))

            async def between(start: int, stop: int) -> list[Pause]:
                return list(
                    await store.read(
                        TENANT, lambda unit: unit.pauses.between(TENANT, "alice", after(start), after(stop))
                    )
                )

            assert await between(0, 9) == []
            assert await between(0, 10) == await between(19, 29) == [first]
            assert await between(20, 29) == []
            assert await between(19, 30) == [first, second]
            assert await between(99, 99) == [second]

    async def test_what_does_not_last_has_no_end(self, tmp_path: Path) -> None:
        """Ending what has ended moves nothing."""
        async with self.opened(tmp_path) as store:
            await store.write(TENANT, lambda unit: unit.pauses.begin(TENANT, "alice", now=NOW))
            await store.write(TENANT, lambda unit: unit.pauses.end(TENANT, "alice", now=after(5)))
            await store.write(TENANT, lambda unit: unit.pauses.end(TENANT, "alice", now=after(7)))
            found = await store.read(TENANT, lambda unit: unit.pauses.between(TENANT, "alice", NOW, after(9)))
            assert list(found) == [Pause(started_at=NOW, ended_at=after(5))]
