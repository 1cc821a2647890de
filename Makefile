# make eval: the headline evaluation.  make test: everything CI checks.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
SEED ?= 42
PLUGINS := -e plugins/sage -e plugins/operators -e plugins/openrlhf
PROJECTS := pyproject.toml $(wildcard plugins/*/pyproject.toml)

.PHONY: eval test test-slow test-appworld test-cluster lint docs bench clean

# One install for each set of requirements; made again when a pyproject changes.
$(VENV)/.eval: $(PROJECTS)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check -e . $(PLUGINS)
	touch $@

$(VENV)/.test: $(PROJECTS)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[test]' $(PLUGINS)
	touch $@

eval: $(VENV)/.eval
	$(BIN)/auto-research agent-eval --method sage --benchmark planbench-mini --episodes 120 --seed $(SEED)

test: $(VENV)/.test lint
	$(BIN)/pytest

test-slow: $(VENV)/.test
	$(BIN)/pytest -m slow

# AppWorld in an environment of its own, a few minutes the first time; then what needs it.
test-appworld: export AUTO_RESEARCH_APPWORLD ?= $(CURDIR)/build/appworld
test-appworld: $(VENV)/.test
	$(BIN)/auto-research appworld setup
	$(BIN)/pytest -m appworld tests/benchmarks/appworld

# Ray, vLLM and OpenRLHF in an environment of their own (some 4 GB), on a CPU.
test-cluster:
	bash plugins/openrlhf/tests/cluster/setup.sh build/cluster $(PYTHON)
	build/cluster/bin/python -m pytest -n 0 -m cluster plugins/openrlhf/tests

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/.test
	$(BIN)/python docs/fill_results.py
	$(BIN)/python docs/fill_facts.py
	$(BIN)/python docs/fill_methods.py
	$(BIN)/mkdocs build --strict

# A peer to measure against is not to change what the tests run on.
build/bench/.installed: $(PROJECTS)
	test -x build/bench/bin/python || $(PYTHON) -m venv build/bench
	build/bench/bin/python -m pip install -q --disable-pip-version-check -e '.[bench]' $(PLUGINS)
	touch $@

bench: build/bench/.installed
	build/bench/bin/python benchmarks/overhead.py

clean:
	rm -rf $(VENV) build runs site
