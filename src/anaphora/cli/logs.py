"""Log events on stderr, when they are asked for."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


@contextmanager
def logging_to_stderr(verbose: int) -> Iterator[None]:
    """Show the events of Anaphora: 0 none but warnings, 1 what was done, 2 or more everything. Ids and numbers only."""
    if not verbose:
        yield
        return
    logger = logging.getLogger("anaphora")
    before = logger.level
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter(_FORMAT))
    logger.addHandler(handler)
    logger.setLevel(logging.INFO if verbose == 1 else logging.DEBUG)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
