"""Results on disk: one JSON file a question and run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from anaphora.bench.questions import QUESTIONS
from anaphora.bench.result import Result
from anaphora.errors import InvalidInput, NotFound


def keep(result: Result, folder: Path) -> Path:
    """Write the result into the folder, which is made if it is not there; the file's name says question and time."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{result.question}-{result.started_at:%Y%m%dT%H%M%SZ}.json"
    text = json.dumps(result.to_dict(), ensure_ascii=False, indent=1)
    path.write_text(f"{text}\n", encoding="utf-8")
    return path


def kept(path: Path) -> Sequence[Result]:
    """The result in a file, or the newest of each question in a folder, in the order of the questions.

    Raises:
        NotFound: nothing is there.
        InvalidInput: a file holds something else.

    """
    if path.is_file():
        return [_read(path)]
    newest: dict[str, Result] = {}
    for file in sorted(path.glob("*.json")):
        result = _read(file)
        if result.question not in newest or newest[result.question].started_at < result.started_at:
            newest[result.question] = result
    if not newest:
        raise NotFound(f"there are no results in {path}: `anaphora bench --out {path}` makes them")
    order = [*QUESTIONS, *sorted(newest.keys() - QUESTIONS.keys())]
    return sorted(newest.values(), key=lambda result: order.index(result.question))


def _read(path: Path) -> Result:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        return Result.from_dict(document)
    except ValueError as error:
        reason = error if isinstance(error, InvalidInput) else "not JSON"
        raise InvalidInput(f"{path}: {reason}") from None
