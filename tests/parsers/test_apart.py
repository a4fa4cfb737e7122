"""Files that were made to hang or to swell whoever reads them are read in a process that is ended."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import pytest
from tests.parsers.test_files import pdf

from anaphora.errors import InvalidInput
from anaphora.parsers import apart
from anaphora.parsers.files import FileParser


def unfolding(content: bytes) -> bytes:
    """A small PDF of one page, whose content unfolds into this."""
    packed = zlib.compress(content)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Contents 4 0 R /Resources 6 0 R >>",
        b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(packed), packed),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Font << /F1 5 0 R >> >>",
    ]
    out, places = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, one)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return out + b"xref\n0 7\n0000000000 65535 f \n%strailer\n<< /Size 7 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        table,
        len(out),
    )


def children() -> set[str]:
    """What this process has started and not ended."""
    return set(Path("/proc/self/task").joinpath(str(os.getpid()), "children").read_text().split())


def test_a_page_that_does_not_end_is_given_up_and_goes_on_nowhere() -> None:
    assert FileParser().parse(unfolding(b"BT /F1 12 Tf (a) Tj ET"), "a.pdf").text == "a"
    endless = unfolding(b"BT /F1 12 Tf " + b"(a) Tj 1 0 0 1 0 0 Tm " * 2_000_000 + b"ET")
    before = children()
    with pytest.raises(InvalidInput, match=r"^a.pdf takes too long to read \(the setting knowledge.max_seconds\)$"):
        FileParser(max_seconds=2).parse(endless, "a.pdf")
    assert children() <= before


def test_a_page_of_html_that_takes_too_long_is_given_up() -> None:
    deep = b"<html><body>" + b"<div>" * 400_000
    with pytest.raises(InvalidInput, match=r"^a.html takes too long to read"):
        FileParser(max_seconds=2).parse(deep, "a.html")


def test_what_takes_too_much_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    plenty = pdf("Hello")
    assert FileParser().parse(plenty, "a.pdf").text == "Hello"
    monkeypatch.setattr(apart, "_MOST_MEMORY", 16 << 20)
    with pytest.raises(InvalidInput, match=r"^a.pdf cannot be read: open it elsewhere"):
        FileParser().parse(plenty, "a.pdf")


def test_the_reader_is_given_no_keys_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    environment = apart.environment()
    assert "PYTHONPATH" in environment
    assert "secret" not in environment.values()


def test_the_reader_is_ours_whatever_lies_in_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pypdf.py", "json.py", "anaphora.py"):
        (tmp_path / name).write_text("raise SystemExit('not ours')")
    monkeypatch.chdir(tmp_path)
    assert FileParser().parse(pdf("Hello"), "a.pdf").text == "Hello"
