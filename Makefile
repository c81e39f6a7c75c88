# Sets everything up by itself: Python 3.11+, git and make are all it assumes.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
  $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
OLDEST ?= $(shell for minor in 11 12 13 14; do command -v python3.$$minor && break; done || echo $(PYTHON))
NEWEST ?= $(shell for minor in 14 13 12 11; do command -v python3.$$minor && break; done || echo $(PYTHON))
TESTS ?= tests
BIN := .venv/bin
JOBS ?= auto
PYTEST := $(BIN)/pytest -n $(JOBS) --dist worksteal -q  # neighbours share what one of them has built
UV := UV_FIND_LINKS="$$PIP_FIND_LINKS" .venv/uv/bin/uv
QUICK := project ground checks cli schema api

unexport PYTHONDONTWRITEBYTECODE  # else every process of a test compiles the whole package again

.PHONY: demo docs quick test test-oldest test-newest lint types style fresh sockets bench bench-quick findings fuzz clean

demo: .venv/run.stamp  ## replay the sample store's history into a folder to play in
	@$(BIN)/evalstore demo "$$(mktemp -d)/store"

quick: .venv/dev.stamp  ## what everything rests on, in less than a minute: no processes, crashes or sampling
	$(PYTEST) -m 'not (slow or chaos or process or sampling or heavy)' $(QUICK:%=tests/%)

test: .venv/dev.stamp lint  ## every check and every test
	$(PYTEST)

test-oldest: .venv/oldest.stamp  ## the tests on the oldest Python and the lowest versions that pyproject.toml promises: TESTS=tests/store
	.venv/oldest/bin/pytest -n $(JOBS) --dist worksteal -q $(TESTS)

test-newest: .venv/newest.stamp  ## the tests on the newest Python that is installed and the newest versions
	.venv/newest/bin/pytest -n $(JOBS) --dist worksteal -q $(TESTS)

lint: .venv/dev.stamp  ## style, types, layers
	@$(MAKE) --no-print-directory -j2 types style

types: .venv/dev.stamp
	$(BIN)/mypy

style: .venv/dev.stamp
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports

fresh: .venv/dev.stamp  ## generated files are up to date
	$(BIN)/python tests/schema/generate.py --check
	$(BIN)/python -m tests.diff.rule_sets --check
	$(BIN)/python -m tests.project.generate --check

sockets: .venv/dev.stamp .venv/sockets.stamp .venv/training.stamp .venv/bridges.stamp .venv/node.stamp  ## the programs that evalstore plugs into, and those whose files it reads, installed aside and tried
	$(PYTEST) -m slow tests/integrations/test_programs.py tests/integrations/test_bridges.py

docs: .venv/docs.stamp .venv/run.stamp  ## the site of docs/, in dist/site; a broken link ends it
	rm -rf dist/demo dist/samples
	$(BIN)/evalstore demo dist/demo --quiet
	$(BIN)/evalstore -C dist/demo site ../samples --quiet
	NO_MKDOCS_2_WARNING=1 .venv/docs/bin/mkdocs build --quiet
	@echo "dist/site/index.html"

bench: .venv/dev.stamp .venv/peers.stamp  ## the budgets of the contract beside their peers, the missed ones on top
	@$(BIN)/python benchmarks/run.py

bench-quick: .venv/dev.stamp .venv/peers.stamp  ## the same of small inputs, in two minutes
	@$(BIN)/python benchmarks/run.py --quick

fuzz: .venv/dev.stamp  ## the long forms of what the test suite samples: COUNT=1000000 SEED=new
	$(BIN)/python -m tests.diff.fuzz $(if $(COUNT),--count $(COUNT)) $(if $(SEED),--seed $(SEED))
	$(PYTEST) -m 'slow or sampling' --hypothesis-profile=anew

findings:  ## what surprised us in other programs, tried again, each installed aside: NAME=gto-candidate
	@changed=0; for script in findings/$(or $(NAME),*).sh; do \
	  answer=$$(sh "$$script") || changed=1; echo "$$(basename "$$script" .sh): $$answer"; done; exit $$changed

clean:
	rm -rf .venv dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

.venv/bin/python:
	@test -n "$(PYTHON)" || { echo "evalstore needs Python 3.11 or newer; set PYTHON=/path/to/python" >&2; exit 1; }
	$(PYTHON) -m venv .venv >/dev/null || { \
	  $(PYTHON) -m venv --clear --without-pip .venv && $(BIN)/python .ci/get_pip.py; }  # Debian has no ensurepip
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'

.venv/run.stamp: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[php]'
	@touch $@

.venv/docs.stamp: pyproject.toml | .venv/uv/bin/uv
	$(UV) venv --quiet --clear --python $(PYTHON) .venv/docs
	$(UV) pip install --quiet --python .venv/docs --group docs
	@touch $@

.venv/peers.stamp: pyproject.toml | .venv/bin/python
	$(PYTHON) -m venv --without-pip .venv/peers
	$(BIN)/python -m pip --python .venv/peers install --quiet --group peers
	@touch $@

# uv, because pip takes five times as long for a hundred packages.
.venv/uv/bin/uv: | .venv/bin/python
	$(PYTHON) -m venv --without-pip .venv/uv
	$(BIN)/python -m pip --python .venv/uv install --quiet uv

.venv/sockets.stamp: pyproject.toml | .venv/uv/bin/uv
	$(UV) venv --quiet --clear --python $(PYTHON) .venv/sockets
	$(UV) pip install --quiet --python .venv/sockets uv pipx --editable . --group sockets
	@touch $@

.venv/oldest.stamp: pyproject.toml | .venv/uv/bin/uv
	$(UV) venv --quiet --clear --python $(OLDEST) .venv/oldest
	$(UV) pip install --quiet --resolution lowest-direct --python .venv/oldest --group dev \
	  --editable '.[dask,inspect,judge,parquet,php,remote]'
	@touch $@

.venv/newest.stamp: pyproject.toml | .venv/uv/bin/uv
	$(UV) venv --quiet --clear --python $(NEWEST) .venv/newest
	$(UV) pip install --quiet --upgrade --python .venv/newest --editable . --group dev
	@touch $@

.venv/bridges.stamp: pyproject.toml | .venv/uv/bin/uv
	$(UV) venv --quiet --clear --python $(PYTHON) .venv/bridges
	$(UV) pip install --quiet --python .venv/bridges --group bridges
	@touch $@

# Pinned: what a release writes is part of what is tested.
.venv/node.stamp: Makefile | .venv/bin/python
	npm install --silent --no-audit --no-fund --prefix .venv/node promptfoo@0.121.20 agentv@4.42.4
	@touch $@

# PyTorch has no build for the CPU on PyPI: without an index that has one, TRL's test is skipped.
.venv/training.stamp: .venv/sockets.stamp
	-$(UV) pip install --quiet --python .venv/sockets --group training
	@touch $@

# Where only pip has been told of an index, pip it is.
.venv/dev.stamp: .venv/run.stamp | .venv/uv/bin/uv
	$(UV) pip install --quiet --python $(BIN)/python --group dev || $(BIN)/python -m pip install --quiet --group dev
	@touch $@
