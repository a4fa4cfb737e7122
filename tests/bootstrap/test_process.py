"""What our own processes decide for themselves, and give back."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator

import pytest

from anaphora.bootstrap.process import settled

#: counts a token when nothing can be unpacked any more
_COUNTS = """
import gzip, sys
from anaphora.bench.setup import plain_settings
from anaphora.bootstrap.process import load
from anaphora.bootstrap.providers import counter_from
settings = plain_settings("memory.db", embedder="openai:some")
load(settings)
gzip.decompress = None
print(counter_from(settings).count("one two"), "numpy" in sys.modules)
"""


@pytest.fixture
def nothing_frozen() -> Iterator[None]:
    """As in a new process; processes of tests may have frozen what they loaded."""
    frozen = gc.get_freeze_count()
    gc.unfreeze()
    yield
    gc.unfreeze()
    if frozen:
        gc.freeze()


@pytest.mark.usefixtures("nothing_frozen")
def test_what_is_there_is_left_out_of_collections_until_the_end() -> None:
    before = (gc.get_threshold(), sys.getswitchinterval(), gc.get_freeze_count())
    with settled():
        assert gc.get_freeze_count() > len(sys.modules)
        assert gc.get_threshold()[0] > before[0][0]
        assert sys.getswitchinterval() < before[1]
    assert (gc.get_threshold(), sys.getswitchinterval(), gc.get_freeze_count()) == before


def test_no_request_waits_for_what_is_loaded_once() -> None:
    told = subprocess.run([sys.executable, "-c", _COUNTS], check=True, capture_output=True, text=True)
    assert told.stdout.split() == ["2", "True"]


@pytest.mark.usefixtures("nothing_frozen")
def test_what_somebody_else_froze_stays_so() -> None:
    gc.freeze()
    with settled():
        pass
    assert gc.get_freeze_count() > 0
