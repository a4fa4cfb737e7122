"""Log lines of the service, on stderr: ids, numbers and names of routes, nothing that anybody said or is called."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Literal

import structlog

Format = Literal["text", "json", "none"]

#: the name of the log that has a line for each request
REQUESTS: Final = "anaphora.requests"
_SHARED: Final = (
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
)


@contextmanager
def service_logs(form: Format) -> Iterator[None]:
    """Write what the service logs to stderr, in this form; warnings of the library and of the server too."""
    if form == "none":
        yield
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_formatter(form))
    loggers = [logging.getLogger(name) for name in (REQUESTS, "anaphora", "uvicorn")]
    before = [(logger, logger.level, logger.propagate) for logger in loggers]
    loggers[0].setLevel(logging.INFO)
    loggers[0].propagate = False
    for logger in loggers:
        logger.addHandler(handler)
    try:
        yield
    finally:
        for logger, level, propagate in before:
            logger.removeHandler(handler)
            logger.setLevel(level)
            logger.propagate = propagate


def _formatter(form: Format) -> logging.Formatter:
    last: list[structlog.typing.Processor]
    if form == "json":
        last = [structlog.processors.EventRenamer("event"), structlog.processors.JSONRenderer()]
    else:
        keys = ("at", "level", "event", "method", "route", "status", "ms")
        last = [structlog.processors.KeyValueRenderer(key_order=keys, drop_missing=True, repr_native_str=False)]
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=_SHARED,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
    )
