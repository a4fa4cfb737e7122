"""Documents as they are searched: in chunks of whole sentences, and in passages of those. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple
from uuid import UUID

from anaphora.domain.documents import DocumentChunk
from anaphora.errors import InvalidInput
from anaphora.rules.passages import split
from anaphora.rules.tokens import Count

#: where a sentence ends: behind its mark, at a blank line, before the next entry of a list, a heading, a quotation
_BREAK: Final = re.compile(
    r"(?<=[.!?…])[\"'”’)\]]*\s+(?=[^\sa-z])|(?<=[。！？])\s*|\n[ \t\r]*\n\s*|\n(?=[ \t]*(?:[-*+#>|]|\d{1,3}[.)]\s))"
)
_BLANK: Final = re.compile(r"\s(?=\S)")
#: characters of a sentence that are counted at a time: counting a text without end takes as long
_MOST_CHARS: Final = 20_000
_MIN_SIZE: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunking:
    """How documents are cut (seed 001).

    Raises:
        InvalidInput: chunks that are too small, or an overlap that leaves no room for anything new.

    """

    #: tokens of a chunk
    size: int = 800
    #: tokens of its end that the next chunk begins with, as far as whole sentences allow
    overlap: int = 100

    def __post_init__(self) -> None:
        if self.size < _MIN_SIZE:
            raise InvalidInput(f"a chunk must have room for {_MIN_SIZE} tokens: chunk_size is {self.size}")
        if not 0 <= self.overlap <= self.size // 2:
            raise InvalidInput(f"chunk_overlap must be between 0 and half of chunk_size, not {self.overlap}")


class _Sentence(NamedTuple):
    """A sentence, or a piece of one that is larger than a chunk: its place, and its tokens with the blanks before."""

    start: int
    stop: int
    tokens: int


def searchable(title: str, text: str) -> str:
    """A chunk with the title of its document before it, in NFC: a chunk is looked at alone."""
    return unicodedata.normalize("NFC", f"{title}\n{text}")


def chunk_passages(title: str, text: str) -> tuple[str, ...]:
    """The passages of a chunk, each of which gets a vector: a whole chunk means too much at once."""
    return tuple(searchable(title, piece) for piece in split(text))


def cut(document_id: UUID, content: str, chunking: Chunking, count: Count) -> list[DocumentChunk]:
    """A text in chunks that cover it: every word is in one of them, and every sentence is whole in one.

    Only a sentence that alone is larger than a chunk is cut itself: between words if it can be. A chunk begins with
    the last sentences of the one before it, as many as the overlap has room for.

    Args:
        document_id: whose chunks they are.
        content: the text.
        chunking: how large they are.
        count: how many tokens a text has.

    """
    sentences = list(_sentences(content, chunking.size, count))
    made: list[DocumentChunk] = []
    for first, last in _groups(sentences, chunking):
        start, stop = sentences[first].start, sentences[last].stop
        text = content[start:stop]
        made.append(
            DocumentChunk(
                document_id=document_id, number=len(made), text=text, tokens=count(text), start=start, stop=stop
            )
        )
    return made


def _groups(sentences: Sequence[_Sentence], chunking: Chunking) -> Iterator[tuple[int, int]]:
    """The first and the last sentence of each chunk."""
    first, held = 0, 0
    for at, sentence in enumerate(sentences):
        if at > first and held + sentence.tokens > chunking.size:
            yield first, at - 1
            room = min(chunking.overlap, chunking.size - sentence.tokens)
            first, held = at, 0
            while first > 0 and held + sentences[first - 1].tokens <= room:
                first -= 1
                held += sentences[first].tokens
        held += sentence.tokens
    if sentences:
        yield first, len(sentences) - 1


def _sentences(content: str, size: int, count: Count) -> Iterator[_Sentence]:
    """The sentences of a text, none of them larger than a chunk."""
    start = last = 0
    for end in (*(found.start() for found in _BREAK.finditer(content)), len(content)):
        for piece in _pieces(content, start, end, size, count):
            blanks = piece.start - last
            yield piece._replace(tokens=count(content[last : piece.stop])) if 0 < blanks < _MOST_CHARS else piece
            last = piece.stop
        start = max(start, end)


def _pieces(content: str, start: int, stop: int, size: int, count: Count) -> Iterator[_Sentence]:
    """A stretch of the text without the blanks around it, in as many pieces as it takes."""
    while start < stop and content[start].isspace():
        start += 1
    while stop > start and content[stop - 1].isspace():
        stop -= 1
    while start < stop:
        end = min(stop, start + _MOST_CHARS)
        tokens = count(content[start:end])
        while end < stop or tokens > size:
            shorter = _shorter(content, start, end, tokens, size)
            if shorter == end:
                break
            end = shorter
            tokens = count(content[start:end])
            if tokens <= size:
                break
        yield _Sentence(start, end, max(1, tokens))
        start = end
        while start < stop and content[start].isspace():
            start += 1


def _shorter(content: str, start: int, end: int, tokens: int, size: int) -> int:
    """Where to cut so that about `size` tokens are left: before a word if there is one, else anywhere."""
    room = max(1, min(end - start - 1, (end - start) * size // max(tokens, 1)))
    blanks = [found.start() for found in _BLANK.finditer(content, start + room // 2, start + room)]
    return blanks[-1] if blanks and blanks[-1] > start else start + room
