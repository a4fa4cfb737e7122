"""What the processes of a run are told, and the settings that all of them go by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from anaphora.settings import PostgresSettings, RollingPairsSettings, Settings, WorkerSettings

#: seconds for which a job is claimed
LEASE = 3.0
#: seconds that a model may take
TIMEOUT = 1.5
#: seconds for which a client waits for a server that restarts, before it meets an error
PATIENCE = 1.0
_ROLLING = RollingPairsSettings(window_pairs=2, min_messages_for_summary=6, summarise_after=4)
_WORKER = WorkerSettings(
    lease_seconds=LEASE,
    max_attempts=4,
    backoff_seconds=0.2,
    max_backoff_seconds=2.0,
    batch_messages=24,
    redo_seconds=1.0,
)


@dataclass(frozen=True, kw_only=True)
class Told:
    """What a process is told."""

    db: str
    tenant: str = ""
    #: which of several clients
    number: int = 0
    seed: int = 0
    #: the client's book
    book: str = ""
    #: where a file appears when it is time to end
    stop: str = ""
    #: seconds between two deeds, in the middle
    pause: float = 0.05
    #: the words of a command, and its environment
    words: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


def settings_for(told: Told) -> Settings:
    """A client's settings: what it plans is what the workers do."""
    return Settings(
        db=told.db,
        tenant=told.tenant,
        embedder="none",
        busy_timeout=PATIENCE,
        postgres=PostgresSettings(connections=2),
        rolling_pairs=_ROLLING,
        worker=_WORKER,
    )


def environment(db: str, model_url: str) -> Mapping[str, str]:
    """The same settings for commands, with a model."""
    numbers = {
        f"ANAPHORA_{section}__{name}".upper(): str(value)
        for section, numbers in (("rolling_pairs", _ROLLING), ("worker", _WORKER))
        for name, value in numbers.model_dump(exclude_unset=True).items()
    }
    return {
        **numbers,
        "ANAPHORA_DB": db,
        "ANAPHORA_EMBEDDER": "none",
        "ANAPHORA_ENCODING": "cl100k_base",
        "ANAPHORA_MEMORY_MODEL": "openai:scripted",
        "ANAPHORA_MEMORY_BASE_URL": model_url,
        "ANAPHORA_MEMORY_API_KEY": "none",
        "ANAPHORA_MEMORY_TIMEOUT": str(TIMEOUT),
    }
