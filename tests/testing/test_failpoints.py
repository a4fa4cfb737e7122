from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from anaphora.errors import InvalidInput
from anaphora.ports.clock import Failpoint
from anaphora.testing import KillAt, RaiseAt, Recorder

DIES = """
import atexit
from anaphora.testing import KillAt
atexit.register(print, "cleaned up", flush=True)
point = KillAt("commit", 2)
for name in ("claim", "commit", "claim", "commit", "never"):
    print(name, flush=True)
    point(name)
"""


def test_a_recorder_keeps_the_names_in_order() -> None:
    recorder = Recorder()
    point: Failpoint = recorder
    for name in ("a", "b", "a"):
        point(name)
    assert recorder.names == ["a", "b", "a"]


def test_a_process_is_killed_at_the_nth_hit_and_cleans_nothing_up() -> None:
    run = subprocess.run([sys.executable, "-c", DIES], capture_output=True, text=True, timeout=30, check=False)
    assert run.returncode == -signal.SIGKILL
    assert run.stdout.split() == ["claim", "commit", "claim", "commit"]


def test_an_error_is_raised_at_the_nth_hit_only() -> None:
    point = RaiseAt("commit", OSError("disk"), 2)
    point("commit")
    point("claim")
    with pytest.raises(OSError, match="disk"):
        point("commit")
    point("commit")
    assert point.names == ["commit", "claim", "commit", "commit"]


def test_hits_are_counted_from_one() -> None:
    with pytest.raises(InvalidInput, match="first time is 1"):
        KillAt("commit", 0)
