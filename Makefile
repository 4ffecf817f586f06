# Every target sets up what it needs. Wanted on the machine: Python 3.11 to 3.13 and make; nothing else.
PYTHON ?= python3
UV := $(or $(shell command -v uv 2>/dev/null),.uv/bin/uv)
BIN := .venv/bin
PACKAGES := plugin/litellm_evenkeel mock_llm/evenkeel_mock loadtest/evenkeel_load investigations/evenkeel_lab
SUBJECT_LOCKS := investigations/evenkeel_lab/stack/locks
SUBJECT_VERSIONS := 1.81.8 1.81.9 1.106.2 1.108.7 1.110.2
COMPILE = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header

# uv uses the environment of this folder, even if another one is activated.
export VIRTUAL_ENV := $(CURDIR)/.venv
export UV_PROJECT_ENVIRONMENT := $(CURDIR)/.venv

# Tests that start servers wait half of the time, so there are more test processes than cores.
TEST_PROCESSES ?= $(shell $(PYTHON) -c 'import os; print(min(os.cpu_count() + 2, 8))')
PARALLEL := -n $(TEST_PROCESSES) --dist loadfile
# Tests that measure something run without others beside them.
ALONE = $(shell grep -rl --include='test_*.py' 'pytest.mark.alone' $(wildcard */tests))
# What test-quick leaves out beside the tests that start a process: all that renders, and what takes seconds.
NOT_QUICK := $(addprefix --ignore=investigations/tests/,report notebook compat diagnosis bench plugin test_live_page.py) \
  -k 'not machine and not multiple_comparisons and not lease_pending'

LOCKED = $(shell grep -oE '^[A-Za-z0-9._-]+==' locks/plugin.txt | tr -d =)
LICENCES := MIT;BSD;Apache;ISC;PSF;Python Software Foundation;CNRI-Python;MPL;Mozilla Public License

.PHONY: help setup demo test test-quick test-slow test-all check check-style check-types check-imports check-docs check-reports check-wheel check-dependencies matrix bench chaos fuzz reports browser site format lock clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-18s  %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "Durations are those of two cores, once everything is installed."

setup: .venv/.ready ## build .venv with everything in it (1 minute)

# A uv of the project's own, when there is none on PATH.
.uv/bin/uv: locks/uv.txt
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || \
	  { echo "make: $(PYTHON) is not Python 3.11 to 3.13. Name one that is: make PYTHON=/path/to/python3.12" >&2; exit 2; }
	@echo "fetching uv from PyPI into .uv"
	@rm -rf .uv && $(PYTHON) -m venv .uv 2>/dev/null || $(PYTHON) -m venv --without-pip .uv
	@{ [ -x .uv/bin/pip ] && .uv/bin/pip install --quiet --disable-pip-version-check --require-hashes -r locks/uv.txt; } || \
	  $(PYTHON) -m pip --quiet --disable-pip-version-check --python .uv/bin/python install --require-hashes -r locks/uv.txt || \
	  { echo "make: cannot install uv. Install Python's pip (Debian: apt install python3-pip python3-venv), or put uv on PATH." >&2; rm -rf .uv; exit 2; }
	@touch $@

.venv/.ready: locks/dev.txt pyproject.toml $(filter .uv/%,$(UV))
	@echo "setting up .venv"
	@$(UV) venv --quiet --allow-existing --python $(PYTHON) .venv
	@$(UV) pip sync --quiet --require-hashes locks/dev.txt
	@$(UV) pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

demo: .venv/.ready ## accounts fail behind two proxies: LiteLLM's router, and this plugin (90 seconds)
	@$(BIN)/evenkeel demo

test: .venv/.ready ## all tests but the slow ones (4 minutes)
	@$(BIN)/pytest -q $(PARALLEL) --no-loadscope-reorder -m "not slow and not docs and not alone" $(ARGS)
	@$(BIN)/pytest -q -m "alone and not slow" $(ALONE)

test-quick: .venv/.ready ## tests that start no process and render nothing, with few examples (40 seconds)
	@$(BIN)/pytest -q -n 3 --dist loadfile --quick -m "not slow and not docs and not alone" $(NOT_QUICK) $(ARGS)

test-slow: .venv/.ready ## tests that boot real proxies, of every supported LiteLLM version (20 minutes)
	@$(BIN)/pytest -q $(PARALLEL) -m "slow and not alone" $(ARGS)
	@$(BIN)/pytest -q -m "slow and alone" $(ALONE)

test-all: test test-slow ## both

# The longest first, so that the others run beside it.
check: check-reports check-style check-types check-imports check-docs check-wheel check-dependencies ## all of the following, two at once with -j2 (5 minutes)

check-style: .venv/.ready ## format and lint: ruff
	@$(BIN)/ruff format --check --quiet . || { echo "hint: make format" >&2; exit 1; }
	@$(BIN)/ruff check --quiet .

check-types: .venv/.ready ## types: mypy, strict
	@$(BIN)/mypy

check-imports: .venv/.ready ## import contracts
	@$(BIN)/lint-imports --no-logo

check-docs: .venv/.ready ## documentation and language
	@$(BIN)/pytest -q -m docs

check-reports: .venv/.ready ## committed reports and notebooks are what their data says (3 minutes)
	@$(BIN)/evenkeel report --check

check-wheel: .venv/.ready ## the wheel works where it is installed, with and without the lab (1 minute)
	@.ci/wheel

check-dependencies: .venv/.ready ## of what the plugin needs: known vulnerabilities, licences; writes dist/sbom.json (20 seconds)
	@audit=$$($(BIN)/pip-audit --requirement locks/plugin.txt --no-deps --disable-pip --progress-spinner off 2>&1) || { echo "$$audit" >&2; exit 1; }
	@$(BIN)/pip-licenses --python $(BIN)/python --packages $(LOCKED) --partial-match --allow-only="$(LICENCES)" >/dev/null
	@mkdir -p dist && $(BIN)/cyclonedx-py requirements locks/plugin.txt --output-reproducible --output-file dist/sbom.json

matrix: .venv/.ready ## the plugin with every LiteLLM version of the matrix; resumable, writes the README's table (minutes each)
	@$(BIN)/evenkeel compat --run --write

bench: .venv/.ready ## every benchmark, as a table (half an hour)
	@$(BIN)/evenkeel bench

chaos: .venv/.ready ## everything around a proxy fails; resumable (20 minutes)
	@$(BIN)/evenkeel chaos

fuzz: .venv/.ready ## a million inputs over all parsers (30 seconds)
	@$(BIN)/python plugin/tests/fuzz/fuzz.py

reports: .venv/.ready ## render the reports from the committed summaries (3 minutes)
	@$(BIN)/evenkeel report

browser: ## Chromium for the tests of the live page: Debian or Ubuntu, as root (1 minute)
	@command -v chromium >/dev/null || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
	  apt-get install -y -qq --no-install-recommends chromium >/dev/null; }

site: .venv/.ready ## the documentation as HTML, in dist/site (1 minute)
	@$(BIN)/python docs/site/build.py

format: .venv/.ready ## fix what ruff can fix (seconds)
	@$(BIN)/ruff check --quiet --fix . ; $(BIN)/ruff format --quiet .

lock: .venv/.ready ## resolve all dependencies again, with hashes and without index lines (2 minutes)
	@$(COMPILE) pyproject.toml --extra lab --extra dev -o locks/dev.txt
	@$(COMPILE) pyproject.toml --extra lab -o locks/lab.txt
	@# These packages are what the plugin, and LiteLLM's authentication, import where they live: in a proxy.
	@printf 'backoff\nfastapi\norjson\nuvicorn\npytest\npytest-asyncio\npytest-xdist\nhypothesis\n' | $(COMPILE) pyproject.toml - -c locks/dev.txt -o locks/plugin.txt
	@printf 'uv\n' | $(COMPILE) - -c locks/dev.txt -o locks/uv.txt
	@for version in $(SUBJECT_VERSIONS); do \
	  wanted=$$($(BIN)/python -m evenkeel_lab.stack.litellm.requirements $$version) && echo "$$wanted" | \
	    $(COMPILE) - -o $(SUBJECT_LOCKS)/litellm-$$version.txt || exit 1; done
	@printf 'memray\n' | $(COMPILE) - --no-deps -o $(SUBJECT_LOCKS)/memray.txt

clean: ## remove what was built here (caches of proxies: evenkeel cache --clear)
	@rm -rf .venv .uv dist build .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
