"""What a client did and what it was told, on disk before it goes on; and what must therefore stand in the database.

A client writes down each deed before it begins it, what it was told when it was done, and each error in between. A
deed is repeated until it is done, also by the next client that opens the book: an append with the same key.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

What = Literal["add", "edit", "delete", "reset"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """One change that a client wants."""

    number: int
    what: What
    session: str
    #: of an edit or a deletion
    seq: int = 0
    #: of an append or an edit
    texts: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A message as its client knows it."""

    text: str
    #: counts up with each edit
    version: int = 1
    deleted: bool = False


@dataclass(slots=True)
class Book:
    """A client's book; one client writes in it at a time."""

    path: Path
    number: int = 0
    pending: Deed | None = None
    #: what this client said, by session and place
    logs: dict[str, dict[int, Said]] = field(default_factory=dict)
    #: messages that were acknowledged, whether or not they were deleted or reset later
    acknowledged: int = 0
    #: deeds by how many
    deeds: dict[str, int] = field(default_factory=dict)
    #: appends that met an error
    troubled: set[int] = field(default_factory=set)
    errors: dict[str, int] = field(default_factory=dict)
    #: deeds that a client left unanswered when it was killed
    taken_over: int = 0

    @classmethod
    def read(cls, path: Path) -> Self:
        """What is written so far; a line that a kill cut short was never begun."""
        book = cls(path)
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        for line in text.splitlines(keepends=True):
            if line.endswith("\n"):
                book._take(json.loads(line))
        return book

    def begin(self, what: What, session: str, *, seq: int = 0, texts: Sequence[str] = ()) -> Deed:
        """Write down what will be done."""
        line = {"deed": self.number + 1, "what": what, "session": session, "seq": seq, "texts": list(texts)}
        self._write(line)
        assert self.pending is not None
        return self.pending

    def done(self, told: int) -> None:
        """The deed is done: an append at this place, an edit as this version."""
        self._write({"told": told})

    def failed(self, error: str) -> None:
        """The deed met an error, and will be tried again."""
        self._write({"error": error})

    def resumed(self) -> None:
        """Another client takes over what is pending."""
        self._write({"resumed": True})

    def _write(self, line: Mapping[str, Any]) -> None:
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(descriptor, (json.dumps(line) + "\n").encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        self._take(line)

    def _take(self, line: Mapping[str, Any]) -> None:
        if "deed" in line:
            self.number = line["deed"]
            names = ("what", "session", "seq", "texts")
            self.pending = Deed(number=self.number, **{name: line[name] for name in names})
            return
        deed = self.pending
        assert deed is not None
        if "error" in line:
            self.errors[line["error"]] = self.errors.get(line["error"], 0) + 1
            if deed.what == "add":
                self.troubled.add(deed.number)
        elif "resumed" in line:
            self.taken_over += 1
        else:
            self._apply(deed, line["told"])
            self.deeds[deed.what] = self.deeds.get(deed.what, 0) + 1
            self.pending = None

    def _apply(self, deed: Deed, told: int) -> None:
        log = self.logs.setdefault(deed.session, {})
        if deed.what == "add":
            self.acknowledged += len(deed.texts)
            for at, text in enumerate(deed.texts):
                assert told + at not in log, f"two messages were acknowledged at {told + at} of {deed.session}"
                log[told + at] = Said(text=text)
        elif deed.what == "edit":
            log[deed.seq] = Said(text=deed.texts[0], version=log[deed.seq].version + 1)
            assert told == log[deed.seq].version, f"an edit was done {told - log[deed.seq].version + 1} times"
        elif deed.what == "delete":
            log[deed.seq] = Said(text="", version=log[deed.seq].version + 1, deleted=True)
        else:
            log.clear()
