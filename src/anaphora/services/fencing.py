"""Whether work is still ours: asked once more just before a model is, so that it is told nothing that was erased."""

from __future__ import annotations

from anaphora.domain.jobs import Fence
from anaphora.errors import LeaseLost
from anaphora.ports.store import Store


async def still_ours(store: Store, fence: Fence) -> None:
    """Go on only if nobody took the job, and nothing of what it has read was changed or erased.

    Raises:
        LeaseLost: the job is not ours any more.

    """
    if not await store.read(fence.tenant, lambda unit: unit.jobs.holds(fence)):
        raise LeaseLost(f"job {fence.job_id} is not ours any more")
