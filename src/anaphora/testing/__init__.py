"""Doubles that ship: time, chance, deaths at named places and a scripted model server.

The server is `anaphora.testing.model_server.ScriptedModelServer`; it stands apart since it needs the extra `server`.
"""

from __future__ import annotations

from anaphora.testing.clock import FakeClock, SeededRandom
from anaphora.testing.failpoints import KillAt, RaiseAt, Recorder

__all__ = ["FakeClock", "KillAt", "RaiseAt", "Recorder", "SeededRandom"]
