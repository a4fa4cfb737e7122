"""Messages as they are searched: by their passages.

A long answer says many things, and a question is about one of them; measured as a whole it is close to every question
and answers none. So what is searched, by words and by meaning, is a passage of about a paragraph.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

from anaphora.domain.messages import Message, NewMessage, Part

#: characters of a passage, as far as sentences allow
PASSAGE_CHARS = 700
#: a text that is hardly longer than a passage is one
_LONGEST = PASSAGE_CHARS * 13 // 10

_BREAK = re.compile(r"(?<=[.!?:;。！？])\s+|\n+")
_LAST_BLANK = re.compile(r"\s\S*\Z")
_TEXT_KEYS = ("text", "content", "caption", "alt", "title")


def searchable(message: NewMessage | Message) -> str:
    """Name, content, and the texts of the parts that the content does not have already, in NFC."""
    pieces = [message.name] if message.name else []
    pieces.append(_said(message))
    return unicodedata.normalize("NFC", "\n".join(pieces))


def passages(message: NewMessage | Message) -> tuple[str, ...]:
    """What can be found of a message, piece by piece; at least one, and every word of it in one of them.

    Who spoke stands before each of them: a passage is looked at alone.
    """
    texts = split(unicodedata.normalize("NFC", _said(message)))
    if not message.name:
        return texts
    name = unicodedata.normalize("NFC", message.name)
    return tuple(f"{name}: {text}" for text in texts)


def split(text: str) -> tuple[str, ...]:
    """A text in pieces of about `PASSAGE_CHARS`, cut between sentences if it can be, between words if not."""
    if len(text) <= _LONGEST:
        return (text,)
    pieces: list[str] = []
    piece = ""
    for sentence in _short(text):
        if piece and len(piece) + len(sentence) >= PASSAGE_CHARS:
            pieces.append(piece)
            piece = sentence
        else:
            piece = f"{piece} {sentence}" if piece else sentence
    return tuple([*pieces, piece] if piece else pieces) or ("",)


def _short(text: str) -> Iterator[str]:
    """The sentences of a text, none of them longer than a passage may be."""
    for sentence in _BREAK.split(text):
        rest = sentence.strip()
        while len(rest) > _LONGEST:
            blank = _LAST_BLANK.search(rest, PASSAGE_CHARS // 2, PASSAGE_CHARS)
            cut = blank.start() if blank else PASSAGE_CHARS
            yield rest[:cut].rstrip()
            rest = rest[cut:].lstrip()
        if rest:
            yield rest


def _said(message: NewMessage | Message) -> str:
    return "\n".join([message.content, *(text for text in _part_texts(message.parts) if text not in message.content)])


def _part_texts(parts: Iterable[Part]) -> Iterator[str]:
    for part in parts:
        for key in _TEXT_KEYS:
            value = part.get(key)
            if isinstance(value, str) and value:
                yield value
