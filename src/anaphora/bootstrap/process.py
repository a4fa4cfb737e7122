"""A process of our own: what whoever embeds the library decides for theirs. docs/adr/0023."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Final

from anaphora.bootstrap.providers import counter_from
from anaphora.settings import Settings

#: new objects after which the youngest are looked at: one answer makes thousands, nearly all of which go with it
_YOUNG: Final = 10_000
#: seconds that a thread keeps the interpreter while others want it: who writes to the disk wants it back a dozen times
#: a commit, each time from threads that answer requests
_TURN: Final = 0.001


def load(settings: Settings) -> None:
    """Load what the first request would have to wait for: the ranks of tokens, and numpy where vectors are compared."""
    counter_from(settings).count(" ")
    if settings.embedder != "none" and find_spec("numpy") is not None:
        import_module("numpy")


@contextmanager
def settled() -> Iterator[None]:
    """Leave what is there by now out of collections, and let threads take shorter turns.

    A collection of everything takes a tenth of a second, most of it over modules and classes that never go.
    """
    collected, turn, frozen = gc.get_threshold(), sys.getswitchinterval(), gc.get_freeze_count()
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, *collected[1:])
    sys.setswitchinterval(_TURN)
    try:
        yield
    finally:
        sys.setswitchinterval(turn)
        gc.set_threshold(*collected)
        if not frozen:  # else somebody else's would come back too
            gc.unfreeze()
