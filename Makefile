# Everything runs in .venv, which the first of these commands makes from requirements.lock.
PYTHON ?= python3
VENV_PYTHON := .venv/bin/python

.DEFAULT_GOAL := help
.PHONY: help run test check format bench lock environment
.NOTPARALLEL:

help: ## what can be made
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: environment ## serve StreamLab on this machine (HOST=0.0.0.0: to the whole network)
	@exec $(VENV_PYTHON) manage.py up

test: environment ## every test; finds Chromium or installs it
	@$(VENV_PYTHON) -m scripts.chromium --install
	@$(VENV_PYTHON) -m pytest -q $(ARGS)

check: environment ## style, types, import rules, documentation
	$(VENV_PYTHON) -m ruff check .
	$(VENV_PYTHON) -m ruff format --check .
	$(VENV_PYTHON) -m mypy --strict engine
	$(VENV_PYTHON) -m mypy streamlab labs courses
	.venv/bin/lint-imports
	$(VENV_PYTHON) manage.py checklabs
	$(VENV_PYTHON) -m pytest -q tests/test_docs.py tests/test_import_rules.py

format: environment ## put the code into the form that `make check` asks for
	$(VENV_PYTHON) -m ruff check --fix .
	$(VENV_PYTHON) -m ruff format .

bench: ## measure the engine beside a plain loop, Streamz and SimPy
	@$(PYTHON) scripts/bootstrap.py --bench
	@$(VENV_PYTHON) -m benchmarks $(ARGS)

lock: environment ## write requirements.lock and requirements-bench.lock anew from pyproject.toml (needs uv)
	$(VENV_PYTHON) -m scripts.lock

environment:
	@$(PYTHON) scripts/bootstrap.py
