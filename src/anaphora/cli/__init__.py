"""The command line: a thin face on the public API."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Final, cast

import typer
import typer.main

from anaphora.cli.app import app
from anaphora.errors import AnaphoraError, ConfigError, InvalidInput

__all__ = ["app", "main"]

OK: Final = 0
FAILURE: Final = 1
USAGE: Final = 2
INTERRUPTED: Final = 130

#: what a wrong command line raises, in every release of typer
_UsageErrors = cast("tuple[type[typer.BadParameter]]", typer.BadParameter.__bases__)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; what went wrong is said in one line on stderr.

    Args:
        argv: the words after `anaphora`; None = those of this process.

    Returns:
        The exit code: 0 done, 1 it failed, 2 it was asked for wrongly, 130 interrupted.

    """
    _never_fail_to_print()
    try:
        code = typer.main.get_command(app).main(
            list(sys.argv[1:] if argv is None else argv), prog_name="anaphora", standalone_mode=False
        )
    except KeyboardInterrupt:
        return INTERRUPTED
    except typer.Abort:
        return _complain("nothing was done", FAILURE)
    except (*_UsageErrors, AnaphoraError, OSError, ExceptionGroup) as error:
        return _explained(error)
    return code if isinstance(code, int) else OK


def _explained(error: Exception) -> int:
    """Say what went wrong; what is nobody's mistake but ours is raised again."""
    leaves = list(_leaves(error))
    unknown = [leaf for leaf in leaves if not isinstance(leaf, (*_UsageErrors, AnaphoraError, OSError))]
    if unknown:
        raise error
    codes = [_complain(_message(leaf), _code(leaf)) for leaf in leaves]
    return max(codes)


def _code(error: BaseException) -> int:
    return USAGE if isinstance(error, (*_UsageErrors, InvalidInput, ConfigError)) else FAILURE


def _message(error: BaseException) -> str:
    if isinstance(error, _UsageErrors):
        return _usage(error)
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}"
    return str(error)


def _usage(error: typer.BadParameter) -> str:
    message = " ".join(error.format_message().split()).rstrip(".")
    hint = f" (see `{error.ctx.command_path} --help`)" if error.ctx is not None else ""
    return f"{message[:1].lower()}{message[1:]}{hint}"


def _complain(message: str, code: int) -> int:
    """Each line in red where people look at it."""
    red = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    for line in message.splitlines() or [""]:
        text = f"anaphora: {line}"
        print(f"\x1b[31m{text}\x1b[0m" if red else text, file=sys.stderr)  # noqa: T201 - the one voice of errors
    return code


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


def _never_fail_to_print() -> None:
    """What the terminal's encoding does not have is shown by its code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
