# Everything a developer or a first-time user runs. Each target sets up .venv by itself; a second run starts at once.
#
#   make demo  [ARGS="--seconds 60 --no-open"]   a server and real training jobs, shown live
#   make test  [ARGS="-k eta"] [WORKERS=3]       every test
#   make check                                   style, types, layers, generated docs
#   make bench [ARGS=--quick]                    figures beside the peers'
#   make format | clean

PYTHON ?= python3
ARGS ?=
WORKERS ?= 3
BIN := .venv/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: dashboard demo test check bench format docs clean

demo: .venv/.demo dashboard
	@$(BIN)/headway demo $(ARGS)

# Does nothing while web/ is as it was built.
dashboard: .venv/.demo
	@needs="$$($(BIN)/python hatch_build.py --needs)"; [ -z "$$needs" ] || $(BIN)/python -m pip install --quiet "$$needs"
	@$(BIN)/python hatch_build.py

# The whole suite runs on a few workers; whatever ARGS names, in one process, unless they say otherwise.
test: .venv/.test dashboard
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest $(or $(ARGS),--numprocesses $(WORKERS) --dist loadfile)

check: .venv/.test
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python tools/generate_docs.py --check

bench: .venv-bench/.peers
	@.venv-bench/bin/python benchmarks/bench.py $(ARGS)

format: .venv/.test
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

docs: .venv/.test
	@$(BIN)/python tools/generate_docs.py

clean:
	rm -rf .venv .venv-bench build dist .mypy_cache .ruff_cache .hypothesis benchmarks/results

.venv/.base:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Headway needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Name another: make PYTHON=python3.12 demo")'
	@echo "Setting up .venv (once)"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	@touch $@

# The stamps say what .venv holds: rebuilt when what is declared changes.
.venv/.demo: .venv/.base pyproject.toml
	@echo "Installing Headway with what the demo needs"
	@$(BIN)/python -m pip install --quiet --editable ".[demo]"
	@touch $@

.venv/.test: .venv/.base pyproject.toml
	@echo "Installing Headway with what the tests need (PyTorch and Transformers among it: the first time takes a while)"
	@$(BIN)/python -m pip install --quiet --editable ".[all]" --group test --group check --group frameworks
	@touch $@ .venv/.demo

# What the peers bring along never decides what Headway itself is tested with.
.venv-bench/.peers: benchmarks/peers.txt pyproject.toml
	@echo "Setting up .venv-bench with the benchmarks' peers (the first time takes a while)"
	@$(PYTHON) -m venv .venv-bench
	@.venv-bench/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	@.venv-bench/bin/python -m pip install --quiet --editable ".[client,server]" --requirement benchmarks/peers.txt
	@touch $@
