"""The laws of Anaphora as tests that ship: subclass a suite, say how yours is opened, and let pytest run it.

`store.StoreConformance` holds for everything that fulfils `anaphora.ports.store.Store`; `memory.MemoryConformance` for
everything that has the shape of `anaphora.Memory`. They need pytest and nothing else that Anaphora does not bring.
"""

from __future__ import annotations

import pkgutil

import pytest

# before any of them is imported: without it a broken law would only say "AssertionError"
pytest.register_assert_rewrite(*(f"{__name__}.{module.name}" for module in pkgutil.iter_modules(__path__)))
