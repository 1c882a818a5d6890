# Every command of the project. Logic lives in scripts and modules; here stand only their names.
# Named by its path where it can be: an empty environment has no PATH to find it by.
SHELL := $(firstword $(wildcard /bin/bash /usr/bin/bash) bash)
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
export HOME ?= $(shell getent passwd "$$(id -u)" | cut -d: -f6)
export PATH := $(PATH):/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/go/bin
export PYTHONUNBUFFERED := 1
# Packages are fetched with the certificates that the system trusts, as a network's own authority asks.
export UV_SYSTEM_CERTS ?= 1
unexport VIRTUAL_ENV
# Hundreds of processes are started, here and by the tests: each source is compiled once for all.
unexport PYTHONDONTWRITEBYTECODE

ON ?= auto
KEEP ?=
M ?=
MINUTES ?= 5
SEED ?= 1
# Tests wait for servers part of their time, so there are more workers than cores.
WORKERS ?= 4
OLDEST = 1.30.14
RUN = .venv/bin/python -m
# The tests that write what they compare with, if they are asked to.
REWRITTEN = tests/cli/test_cli_cases.py tests/cli/test_pages.py tests/cli/test_stories.py \
	tests/cli/test_tamperings.py tests/cli/test_two_partitions.py tests/simulation/test_job_path.py \
	tests/store/test_reports_page.py tests/store/test_views.py

.PHONY: help env lint types mypy pyright arrows collected tests test test-all admission nightly generate rewrite pins migrate demo bench chaos controlplane clean

help: ## what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

env: .venv/stamp ## the environment, exactly as uv.lock has it

.venv/stamp: pyproject.toml uv.lock .ci/uv
	@echo "making .venv from uv.lock"
	@"$$(.ci/uv)" sync --locked --all-extras --no-progress --quiet
	@touch $@

lint: env ## format and lint, without changing anything
	$(RUN) ruff format --check .
	$(RUN) ruff check .

types: mypy pyright ## mypy and pyright, both strict

mypy: env
	nice -n 5 $(RUN) mypy

pyright: env
	.venv/bin/pyright

arrows: env ## who may import whom
	.venv/bin/lint-imports

collected: env # each test module is compiled once, not by every worker at the same time
	$(RUN) pytest -m "not slow" --collect-only -qqq | sed '/: [0-9]*$$/d'

controlplane: env ## build the local control plane once, if Go is there
	$(RUN) tidegate.cluster.go build --if-possible

tests: env controlplane ## every test but the long ones
	$(RUN) pytest -m "not slow" -q -n $(WORKERS) --dist loadfile --ignore tests/e2e
	$(RUN) pytest -m "not slow" -q -n $(WORKERS) --dist loadfile tests/e2e

test: env ## what CI runs: the cheapest first, then mypy in what the tests leave of the cores
	$(MAKE) --no-print-directory --jobs 3 controlplane lint pyright arrows collected
	$(MAKE) --no-print-directory --jobs 2 tests mypy

test-all: lint types arrows controlplane admission ## all of it, the long ones too
	$(RUN) pytest -q -n $(WORKERS) --dist loadfile --ignore tests/e2e
	$(RUN) pytest -q -n $(WORKERS) --dist loadfile tests/e2e
	$(RUN) tests.simulation --seeds 500

admission: env ## what happens to objects when they are made, on the oldest Kubernetes, with the webhook
	$(RUN) tidegate.cluster.go build --if-possible --kubernetes $(OLDEST)
	TIDEGATE_TEST_KUBERNETES=$(OLDEST) TIDEGATE_TEST_ADMISSION=webhook $(RUN) pytest -q -m real tests/kinds tests/webhook tests/deploy/test_server_side_apply.py

nightly: env ## what is drawn: fifty times more of it, and anew each time
	DRAW_TIMES=50 $(RUN) pytest -m hypothesis -q -n $(WORKERS) --timeout 7200
	$(RUN) tests.simulation --seeds 10000 --first $$(date +%Y%m%d)00000
	$(RUN) tests.simulation.topologies --seeds 2000 --first $$(date +%Y%m%d)00000

generate: env ## CRDs, AsyncAPI, JSON Schemas: from the code
	$(RUN) tidegate.generate

rewrite: env ## write today's answers into the command line's stories and the reports; review the diff
	REWRITE=1 $(RUN) pytest -q $(REWRITTEN)

pins: env ## write what the default mode answers to Kueue's records anew; review the diff
	$(RUN) tests.conformance.pins
	$(RUN) tests.differential.pins
	$(RUN) tests.differential.differences

migrate: env ## a new migration: make migrate M="what it does"
	$(RUN) alembic --config migrations/alembic.ini revision --autogenerate --message "$(M)"

demo: env ## bring everything up, run 60 Jobs, show it, take it down (ON=go, KEEP=1)
	$(RUN) tidegate.cli.main demo --on $(ON) $(if $(KEEP),--keep)

bench: env ## all benchmarks; compares with the kept table
	$(RUN) bench

chaos: env controlplane ## faults at random on the real parts, then a table (MINUTES=40, SEED=1)
	$(RUN) tests.chaos --minutes $(MINUTES) --seed $(SEED)

clean: ## remove what the build made here; the user's cache stays
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache dist
