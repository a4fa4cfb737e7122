"""Files as text: what is read, and one clear line for whatever is no document."""

from __future__ import annotations

import io
import os
import time
from contextlib import suppress
from pathlib import Path

import pytest
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from anaphora.errors import InvalidInput
from anaphora.parsers.files import FileParser
from anaphora.parsers.pdf import read

PARSER = FileParser(max_bytes=200_000, max_pages=3, max_seconds=20)


def pdf(*texts: str, title: str | None = None, locked: str | None = None) -> bytes:
    """A PDF with a page for each text."""
    writer = PdfWriter()
    for text in texts:
        page = writer.add_blank_page(200, 200)
        font = DictionaryObject(
            {
                NameObject("/Type"): NameObject("/Font"),
                NameObject("/Subtype"): NameObject("/Type1"),
                NameObject("/BaseFont"): NameObject("/Helvetica"),
            }
        )
        page[NameObject("/Resources")] = DictionaryObject(
            {NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})}
        )
        content = DecodedStreamObject()
        content.set_data(f"BT /F1 12 Tf 10 100 Td ({text}) Tj ET".encode())
        page[NameObject("/Contents")] = writer._add_object(content)
    if title is not None:
        writer.add_metadata({"/Title": title})
    if locked is not None:
        writer.encrypt(locked, algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def test_text_is_kept_as_it_is_whatever_unicode_it_is_in() -> None:
    said = "Zoë's tea 🍵\nsecond line"
    for data in (said.encode(), b"\xef\xbb\xbf" + said.encode(), said.encode("utf-16")):
        found = PARSER.parse(data, "notes.txt")
        assert (found.text, found.title, found.kind) == (said, None, "text")


def test_markdown_is_kept_as_it_is_and_called_by_its_first_heading() -> None:
    found = PARSER.parse(b"intro\n\n## The *Handbook*\n\n```\n# code\n```\n", "a.MD")
    assert (found.title, found.kind) == ("The *Handbook*", "markdown")
    assert "```\n# code\n```" in found.text


def test_of_a_page_only_what_is_read_is_kept() -> None:
    page = (
        b"<!doctype html><html><head><title>A &amp; B</title><style>p {color: red}</style></head><body>"
        b"<script>steal()</script><h1>Head</h1><p>One <b>two</b>&nbsp;three.<p>Four.<ul><li>a<li>b</ul>"
        b"<table><tr><td>1<td>2</table><noscript>no</noscript><p hidden>hidden</p><!-- no --></body></html>"
    )
    found = PARSER.parse(page, "page")
    assert (found.title, found.kind) == ("A & B", "html")
    assert found.text == "Head\n\nOne two three.\n\nFour.\n\na\nb\n\n1 2"
    latin = "<html><meta charset=iso-8859-1><body>café</body></html>".encode("latin-1")
    assert PARSER.parse(latin, "a.html").text == "café"


def test_a_pdf_is_read_page_by_page() -> None:
    found = PARSER.parse(pdf("Hello first", "Hello second", title="Two pages"), "a.bin")
    assert (found.text, found.title, found.kind) == ("Hello first\n\nHello second", "Two pages", "pdf")
    assert PARSER.parse(pdf("Open to all", locked=""), "a.pdf").text == "Open to all"


@pytest.mark.parametrize(
    ("data", "name", "said"),
    [
        (b"", "a.txt", "a.txt is empty"),
        (b" \n\t", "a.txt", "a.txt holds no text"),
        (b"\x7fELF\x00\x01", "a", "a is a binary file: text, Markdown, HTML and PDF can be read"),
        (b"caf\xe9", "a.md", "a.md is not valid UTF-8 (byte 3)"),
        (b"\xff\xfea", "a.txt", "a.txt is not valid UTF-8"),
        (b"<html><body><script>x</script></body></html>", "a.html", "a.html holds no text"),
        (b"<html>\x00\x01", "a.html", "a.html is in no encoding"),
        (b"x" * 200_001, "a.txt", "a.txt is too large: a file has at most 200000 bytes"),
        (b"%PDF-1.7 and no more", "a.txt", "a.txt is a broken PDF"),
        (pdf("Hello")[:300], "a.pdf", "a.pdf is a broken PDF"),
        (pdf("Secret", locked="x"), "a.pdf", "a.pdf is encrypted"),
        (pdf("1", "2", "3", "4"), "a.pdf", "a.pdf has 4 pages, and a PDF at most 3"),
        (pdf(""), "a.pdf", "a.pdf holds no text: it may hold pictures of pages only"),
    ],
)
def test_what_is_no_document_is_told_in_one_line(data: bytes, name: str, said: str) -> None:
    with pytest.raises(InvalidInput) as error:
        PARSER.parse(data, name)
    assert str(error.value).startswith(said)
    assert "\n" not in str(error.value)


def test_no_broken_pdf_is_anything_but_refused() -> None:
    whole = pdf("Hello first", "Hello second")
    for at in range(10, len(whole), 37):
        for data in (whole[:at], whole[:at] + b"\xff<<" + whole[at + 3 :]):
            with suppress(InvalidInput):
                assert read(data, "a.pdf", max_pages=3, until=time.monotonic() + 20).kind == "pdf"


def test_a_pdf_that_takes_too_long_is_given_up() -> None:
    with pytest.raises(InvalidInput, match="takes too long"):
        FileParser(max_seconds=-1).parse(pdf("Hello"), "a.pdf")


def test_paths_that_are_no_files_are_told_by_their_names(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("said")
    assert PARSER.read(tmp_path / "a.txt").text == "said"
    os.mkfifo(tmp_path / "pipe")
    for path, said in (
        (tmp_path, f"{tmp_path.name} is a folder: give the path of a file"),
        (tmp_path / "none.txt", "none.txt cannot be read: No such file or directory"),
        (tmp_path / "pipe", "pipe is no ordinary file: give the path of a file"),
        (tmp_path / ("x" * 300), "cannot be read: File name too long"),
        (tmp_path / "a\x00b", "is no name of a file"),
    ):
        with pytest.raises(InvalidInput) as error:
            PARSER.read(path)
        assert said in str(error.value)
