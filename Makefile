# Every target sets up what it needs. Wanted on the machine: Python 3.11 to 3.13 and make; nothing else.
PYTHON ?= python3
UV := $(or $(shell command -v uv 2>/dev/null),.uv/bin/uv)
BIN := .venv/bin
PACKAGES := plugin/litellm_evenkeel mock_llm/evenkeel_mock loadtest/evenkeel_load investigations/evenkeel_lab
SUBJECT_LOCKS := investigations/evenkeel_lab/stack/locks
SUBJECT_VERSIONS := 1.81.8 1.81.9 1.106.2 1.108.7 1.110.2
COMPILE = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header

# uv is told about one environment only: an activated one elsewhere is none of its business.
export VIRTUAL_ENV := $(CURDIR)/.venv
export UV_PROJECT_ENVIRONMENT := $(CURDIR)/.venv

# Half of a test's time is spent on waiting for servers, so one more process than there are cores keeps all of them busy.
TEST_PROCESSES ?= $(shell $(PYTHON) -c 'import os; print(min(os.cpu_count() + 1, 8))')
PARALLEL := -n $(TEST_PROCESSES) --dist loadfile --no-loadscope-reorder

.PHONY: help setup demo test test-quick test-slow test-all check matrix bench reports format lock clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: .venv/.ready ## build .venv with everything in it

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

demo: .venv/.ready ## what Prometheus costs a proxy, then, today, and with ours: less than six minutes, once all is installed
	@$(BIN)/evenkeel investigate callback_overhead --quick

test: .venv/.ready ## the tests, without the slow ones (4 minutes on two cores)
	@$(BIN)/pytest $(PARALLEL) -m "not slow and not docs and not alone" $(ARGS)
	@$(BIN)/pytest -m "alone and not slow" $(ARGS)

test-quick: .venv/.ready ## tests that start no process, with few examples (40 s)
	@$(BIN)/pytest -q $(PARALLEL) --quick $(ARGS)

test-slow: .venv/.ready ## only the slow ones: every supported LiteLLM version on the whole stack (40 minutes)
	@$(BIN)/pytest -n 2 --dist loadfile -m "slow and not alone" $(ARGS)
	@$(BIN)/pytest -m "slow and alone" $(ARGS)

test-all: test test-slow ## both

check: .venv/.ready ## style, types, import contracts, documentation, reports
	@$(BIN)/ruff format --check --quiet . || { echo "hint: make format" >&2; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/pytest -q -m docs
	@$(BIN)/evenkeel report --check

matrix: .venv/.ready ## the plugin with every LiteLLM version of the matrix: minutes each, resumable; writes the README's table
	@$(BIN)/evenkeel compat --run --write

bench: .venv/.ready ## every benchmark, as a table
	@$(BIN)/evenkeel bench

reports: .venv/.ready ## render the reports from the committed summaries
	@$(BIN)/evenkeel report

format: .venv/.ready ## mend what ruff can mend
	@$(BIN)/ruff check --quiet --fix . ; $(BIN)/ruff format --quiet .

lock: .venv/.ready ## resolve all dependencies anew, with hashes and without index lines
	@$(COMPILE) pyproject.toml --extra lab --extra dev -o locks/dev.txt
	@$(COMPILE) pyproject.toml --extra lab -o locks/lab.txt
	@# fastapi and orjson are what the plugin, and LiteLLM's authentication, import where they live: in a proxy.
	@printf 'fastapi\norjson\npytest\npytest-asyncio\nhypothesis\n' | $(COMPILE) pyproject.toml - -c locks/dev.txt -o locks/plugin.txt
	@printf 'uv\n' | $(COMPILE) - -c locks/dev.txt -o locks/uv.txt
	@for version in $(SUBJECT_VERSIONS); do \
	  wanted=$$($(BIN)/python -m evenkeel_lab.stack.litellm.requirements $$version) && echo "$$wanted" | \
	    $(COMPILE) - -o $(SUBJECT_LOCKS)/litellm-$$version.txt || exit 1; done
	@printf 'memray\n' | $(COMPILE) - --no-deps -o $(SUBJECT_LOCKS)/memray.txt

clean: ## remove what was built here (the caches of proxies: evenkeel cache --clear)
	@rm -rf .venv .uv dist build .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
