# For GNU make, on a machine with Python 3.11 or later, its venv module, and git.
# Everything is installed into .venv, from wherever pip is set to look; nothing else is touched.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PACKAGE := crewflow schemas workflows

# Hypothesis draws new examples each time; the number that is printed brings them back.
ifndef HYPOTHESIS_SEED
HYPOTHESIS_SEED := $(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')
endif
PYTEST_ARGS ?=

MAKEFLAGS += --no-print-directory
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test long bench clean FORCE

help:  ## show this list
	@awk -F ':|  ## ' '/^[a-z]+:.*  ## / { printf "  make %-6s %s\n", $$1, $$NF }' Makefile

demo: $(VENV)/.installed  ## install crewflow and let it check up this repository
	@$(BIN)/crewflow apply checkup

test: $(VENV)/.dev  ## format, lint, types, layers, then all tests against the installed package
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@echo "hypothesis seed $(HYPOTHESIS_SEED) (again: make test HYPOTHESIS_SEED=$(HYPOTHESIS_SEED))"
	@FUZZ_SEED=$${FUZZ_SEED-$(HYPOTHESIS_SEED)}; export FUZZ_SEED; loopback="127.0.0.1,localhost,::1"; \
	NO_PROXY="$$loopback$${NO_PROXY:+,$$NO_PROXY}" no_proxy="$$loopback$${no_proxy:+,$$no_proxy}" \
	$(BIN)/pytest -n 2 --hypothesis-seed=$(HYPOTHESIS_SEED) $(PYTEST_ARGS)

long: $(VENV)/.dev  ## try 100,000 mutated files, 20 minutes at a time
	@$(BIN)/python tests/fuzz/long.py

bench: $(VENV)/.dev  ## measure what a start, a plan and a task cost, and what hostile files do
	@set -e; for name in startup plan ninja hostile; do echo "bench/$$name.py"; $(BIN)/python "bench/$$name.py"; done

clean:  ## remove .venv and all caches; runs in .crewflow stay
	rm -rf $(VENV) build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache .fuzz_cache
	find crewflow tests bench -name __pycache__ -type d -prune -exec rm -rf {} +

# The package is installed as a wheel, so that what is tested is what users get.
$(VENV)/.installed: $(VENV)/.made $(VENV)/.sources
	@echo "installing crewflow"
	@$(BIN)/python -m pip install --quiet -c constraints.txt .
	@touch $@

$(VENV)/.dev: $(VENV)/.made $(VENV)/.sources
	@echo "installing crewflow and what its tests need"
	@$(BIN)/python -m pip install --quiet -c constraints.txt '.[dev]'
	@touch $(VENV)/.installed $@

# Rewritten only when something differs: also a file that is gone makes the package out of date.
$(VENV)/.sources: $(VENV)/.made FORCE
	@find $(PACKAGE) pyproject.toml constraints.txt README.md LICENSE docs/rules.md -type f ! -name '*.pyc' -exec cksum {} + \
	  | LC_ALL=C sort > $@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

# Remade where the folder was moved: the programs in it hold its path. A half-made one is not left behind.
$(VENV)/.made: FORCE
	@if [ "$$(cat $@ 2>/dev/null)" != "$(CURDIR)" ]; then \
	  $(CHECK_PYTHON); \
	  rm -rf $(VENV); \
	  $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); $(NO_VENV); }; \
	  printf '%s' "$(CURDIR)" > $@; \
	fi

CHECK_PYTHON = \
  $(PYTHON) -c '' 2>/dev/null || { \
    echo "crewflow needs Python 3.11 or later: \`$(PYTHON)\` does not run" >&2; \
    echo "hint: name one with make PYTHON=python3.11" >&2; exit 1; }; \
  $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
    echo "crewflow needs Python 3.11 or later: \`$(PYTHON)\` is $$($(PYTHON) --version 2>&1)" >&2; \
    echo "hint: name another with make PYTHON=python3.11" >&2; exit 1; }; \
  $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { $(NO_VENV); }

NO_VENV = \
  version=$$($(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
  echo "\`$(PYTHON)\` cannot make a virtual environment" >&2; \
  echo "hint: on Debian and Ubuntu, apt install python$$version-venv (or python3-venv)" >&2; exit 1
