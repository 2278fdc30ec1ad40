# The only entry points. Each target sets up what it needs in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# What `make test` may take, in seconds of CPU; the report says how much it took. Time never decides a test.
TEST_BUDGET := 900
PYTEST_WHEEL = cd $(1) && bin/python -m pytest -n 2 -q -m "contract and not slow" -p no:cacheprovider \
	-c $(CURDIR)/tests/wheel.ini --rootdir $(CURDIR)/tests $(CURDIR)/tests/contract

.PHONY: help run test test-slow test-lanes test-wheel test-min lint format dist bench clean

help:
	@echo "make run        cluster the wine data under 60 constraints; leaves runs/wine/report.html"
	@echo "make test       the suite (budget $(TEST_BUDGET) s of CPU)"
	@echo "make test-slow  the long property tests"
	@echo "make test-lanes every kernel compiled, with bounds checking, and with the JIT off"
	@echo "make test-wheel build the wheel and run the contract tests against it"
	@echo "make test-min   the same with the oldest supported scikit-learn"
	@echo "make lint       ruff, mypy, import-linter"
	@echo "make bench      measure the quick figures of benchmarks/ (python -m benchmarks --list: all of them)"

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Coterie needs Python 3.11 or later; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	@touch $(READY)

run: $(READY)
	$(BIN)/python examples/wine_files.py runs/wine-data
	$(BIN)/coterie check runs/wine-data/wine.csv --id bottle --pairs runs/wine-data/pairs.csv -k 3
	$(BIN)/coterie cluster runs/wine-data/wine.csv -k 3 --id bottle --pairs runs/wine-data/pairs.csv \
		-o runs/wine --title "Wine under sixty constraints" --force
	@echo "Open runs/wine/report.html"

test: $(READY)
	COTERIE_TEST_BUDGET=$(TEST_BUDGET) $(BIN)/python -m pytest -n 2 --durations=10

test-slow: $(READY)
	COTERIE_TEST_SEED=$${COTERIE_TEST_SEED:-new} $(BIN)/python -m pytest -n 2 --durations=10 -m slow

test-lanes: $(READY)
	$(BIN)/python -m pytest -n 2 -m slow tests/test_compiled.py

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

dist: $(READY)
	rm -rf dist
	$(BIN)/python -m build --wheel --outdir dist . > /dev/null

test-wheel: dist
	rm -rf .venv-wheel
	$(PYTHON) -m venv .venv-wheel
	.venv-wheel/bin/python -m pip install --quiet --disable-pip-version-check "$$(ls dist/*.whl)[test]"
	$(call PYTEST_WHEEL,.venv-wheel)

test-min: dist
	rm -rf .venv-min
	$(PYTHON) -m venv .venv-min
	.venv-min/bin/python -m pip install --quiet --disable-pip-version-check "$$(ls dist/*.whl)[test]" "scikit-learn==1.7.*"
	$(call PYTEST_WHEEL,.venv-min)

bench: $(READY)
	$(BIN)/python -m benchmarks

clean:
	rm -rf .venv .venv-wheel .venv-min .cache dist build
