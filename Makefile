# The front door. `make serve` and `make test` set up everything they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
export PYTHONDONTWRITEBYTECODE :=
export OPENBLAS_NUM_THREADS := 1

.PHONY: serve test quick conformance check format bench bench-peers bench-large bench-catalogues bench-server eval lock clean

serve: $(STAMP)  ## set up, install the sample library and the model, show it at work, and serve it over HTTP
	$(BIN)/pinakes tour
	$(BIN)/pinakes serve --http

test: $(STAMP)  ## set up and run the tests
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile -m "not alone"
	$(BIN)/python -m pytest -m alone

quick: $(STAMP)  ## the tests worth running after every change, in under a minute
	PINAKES_QUICK=1 $(BIN)/python -m pytest -q -n 2 --dist worksteal

conformance: $(STAMP)  ## the protocol's official suite and Inspector against our server (gets two npm packages once)
	PYTHONPATH=tests $(BIN)/python -m conformance

check: $(STAMP)  ## format, lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP)  ## put the code in form
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMP)  ## latency, start and memory on the real anime data
	$(BIN)/python benchmarks/anime.py

bench-peers: $(STAMP)  ## the same work by other engines, interleaved in one run
	$(BIN)/python benchmarks/peers.py

bench-large: $(STAMP)  ## a million records
	$(BIN)/python benchmarks/large.py

bench-catalogues: $(STAMP)  ## papers and documents on the real data, both shelves
	$(BIN)/python benchmarks/catalogues.py

bench-server: $(STAMP)  ## the server under load, beside a bare one
	$(BIN)/python benchmarks/server.py

eval: $(STAMP)  ## retrieval and recommendation quality on the real data
	$(BIN)/python benchmarks/quality.py

LOCK := $(BIN)/pip-compile -q --generate-hashes --allow-unsafe --no-emit-index-url --no-emit-find-links \
	--no-emit-trusted-host --strip-extras --no-header

lock: $(STAMP)  ## renew what is installed, here and in the container, from pyproject.toml
	$(BIN)/pip install -q pip-tools
	$(LOCK) --extra dev --output-file requirements.lock pyproject.toml
	$(LOCK) --extra postgres --output-file requirements-server.lock pyproject.toml

clean:  ## remove everything that was made
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache

$(STAMP): requirements.lock pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q --require-hashes -r requirements.lock
	$(BIN)/pip install -q --no-deps -e .
	$(BIN)/python -m compileall -q src
	touch $(STAMP)
