# Two commands for a stranger: `make reproduce` and `make test`. Both need Python 3.11 or newer, make and a registry.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
GENERATED := README.md CITATION.cff docs/pictures/decisions-edit.svg

.PHONY: help reproduce test check generate bench mutate clean

help: ## say what each target does
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

reproduce: $(VENV)/ready ## run the record I05 again and compare every byte with what is published
	$(BIN)/dispatch-audit reproduce i05 --format text

test: $(VENV)/ready ## run the tests
	$(BIN)/python -m pytest

check: $(VENV)/ready ## lint, types, schemas, and what is generated from the code
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/check-jsonschema --check-metaschema capture/schemas/*.schema.json
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
	$(BIN)/cog --check -I . $(GENERATED)
	$(BIN)/towncrier build --draft --version next > /dev/null

generate: $(VENV)/ready ## write what is generated from the code and from results
	$(BIN)/cog -r -I . $(GENERATED)

bench: $(VENV)/ready ## time the run against a bare script, as ratios in one run
	$(BIN)/python -m tests.bench

mutate: $(VENV)/ready ## change the judge in small ways, one at a time, and see whether its tests notice
	$(BIN)/python -m tests.mutants

clean: ## delete the virtual environment; the cache of environments stays
	rm -rf $(VENV)

$(VENV)/ready: requirements-dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo 'dispatch-audit needs Python 3.11 or newer: make PYTHON=/path/to/python3.12'; exit 1; }
	@$(PYTHON) -m venv --clear $(VENV) || { echo 'Python cannot make a virtual environment: install its venv package (Debian: python3-venv)'; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: --requirement requirements-dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@
