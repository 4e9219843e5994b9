# All targets work in .venv and build/, and need only Python 3.11+, pip, make and a C++20 compiler. A
# second call only updates what has changed.
#
#   make demo         solve the bundled example
#   make test         linters, type checker, C++ tests, Python tests: some minutes
#   make test-quick   the Python tests that take little time, with few random examples: under a
#                     minute
#   make test-extras  tests that need optional packages
#   make test-browser tests in a real browser; make test also runs them if it finds Chromium
#   make sanitize     the tests on a core built with address and undefined-behaviour sanitizers, and
#                     the C++ tests with the thread sanitizer
#   make explore      search for failures with random problems, limits, certificates, files and
#                     signals: MINUTES=5, prints its seed; failures go to tests/corpus.jsonl
#   make fuzz         run a coverage-guided fuzzer on the readers of files: MINUTES=5; findings are
#                     in build/fuzz
#   make bench        benchmarks (some minutes)
#   make reproduce    the paper's evaluation in a few minutes: runs, figures, docs/reproduction.md
#                     (reproduce-hour: about an hour; reproduce-page: that of the page, about 19 hours
#                     of processor time; reproduce-full: all of it, days of computing;
#                     a stopped run continues where it stopped)
#   make reproduce-again  docs/reproduction.md and its figures again, from the rows in
#                     benchmarks/results: EVALUATION=page
#   make format       format the code
#   make clean        remove build outputs (make distclean: also .venv), not build/reproduction
#
# NATIVE=1 optimises for this machine's processor.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
  if $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then echo $$p; break; fi; \
  done)
NATIVE ?= 0
MINUTES ?= 5
EVALUATION ?= hour
BIN := .venv/bin
STAMPS := build/stamps
CMAKE := PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/cmake
DEFINES := -DCOREPLAN_WERROR=ON -DCOREPLAN_NATIVE=$(NATIVE)
PIP := $(BIN)/pip --disable-pip-version-check --quiet

SOURCES := $(shell find cpp -name '*.hpp' -o -name '*.cpp')
CORE := CMakeLists.txt $(SOURCES)
MODULES := $(shell find src examples -name '*.py' -o -name '*.json' -o -name '*.yaml' \
  -o -name '*.csv' -o -name '*.html' -o -name '*.css' -o -name '*.js')

.PHONY: demo test test-quick test-extras test-browser lint types test-cpp test-python sanitize explore fuzz \
  bench reproduce reproduce-hour reproduce-page reproduce-full reproduce-again format clean distclean \
  install FORCE

demo: install
	@$(BIN)/coreplan demo

test: lint types test-cpp test-python

lint: install $(STAMPS)/test-tools
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports --no-cache
	$(BIN)/clang-format --dry-run --Werror $(SOURCES)

types: install $(STAMPS)/test-tools
	$(BIN)/mypy

test-cpp: build/cpp-tests/coreplan_tests
	build/cpp-tests/coreplan_tests

test-python: install $(STAMPS)/test-tools
	$(BIN)/python -m pytest -q -n auto -m "not extras"

# tests/conftest.py decides which files are left out, and how many examples are drawn.
test-quick: install $(STAMPS)/test-tools
	HYPOTHESIS_PROFILE=quick $(BIN)/python -m pytest -q -n auto -m "not extras and not slow"

test-extras: install $(STAMPS)/test-tools $(STAMPS)/extras
	$(BIN)/python -m pytest -q -n auto -m extras

test-browser: install $(STAMPS)/test-tools
	COREPLAN_NEEDS_CHROMIUM=1 $(BIN)/python -m pytest -q -n auto -m browser

sanitize: $(STAMPS)/test-tools
	bash tools/sanitize $(BIN)

# ONLY="problems,files" runs only these campaigns, SEED=7 starts from this seed.
explore: install $(STAMPS)/test-tools
	PYTHONPATH=tests $(BIN)/python -m explore --minutes $(MINUTES) \
	  $(if $(ONLY),--only $(ONLY)) $(if $(SEED),--seed $(SEED))

# READERS="mpp works" fuzzes only these readers.
fuzz: install $(STAMPS)/test-tools $(STAMPS)/fuzz-tools
	PYTHONPATH=tests $(BIN)/python -m explore.fuzz --minutes $(MINUTES) $(READERS)

bench: install
	$(BIN)/python benchmarks/dp.py
	$(BIN)/python benchmarks/core_2016.py --time-limit 1.5
	$(BIN)/python benchmarks/grouping.py --count 6
	$(BIN)/python benchmarks/core.py
	$(BIN)/python benchmarks/dec_mdp.py --seeds 50
	$(BIN)/python benchmarks/simulate.py --most-agents 8
	$(BIN)/python benchmarks/reading.py --megabytes 10
	$(BIN)/python benchmarks/start.py

# $(1): the name of a configuration benchmarks/reproduce-*.yaml. A run goes on where it stopped, also
# from the rows of another machine.
define REPRODUCE
@mkdir -p build/reproduction benchmarks/results
$(BIN)/coreplan bench run benchmarks/reproduce-$(1).yaml -o build/reproduction/$(1).sqlite \
  $(patsubst %,--from %,$(wildcard benchmarks/results/$(1).csv.gz \
  benchmarks/results/unfinished/$(1).csv.gz))
$(BIN)/coreplan bench show build/reproduction/$(1).sqlite --csv benchmarks/results/$(1).csv.gz
$(MAKE) reproduce-again EVALUATION=$(1)
endef

reproduce: install $(STAMPS)/plot
	$(call REPRODUCE,small)

reproduce-hour: install $(STAMPS)/plot
	$(call REPRODUCE,hour)

reproduce-page: install $(STAMPS)/plot
	$(call REPRODUCE,page)

reproduce-full: install $(STAMPS)/plot
	$(call REPRODUCE,full)

# The page and its figures from the rows of an evaluation: EVALUATION=small, hour, page or full.
reproduce-again: install $(STAMPS)/plot
	$(BIN)/coreplan bench figures benchmarks/results/$(EVALUATION).csv.gz \
	  -o docs/images/reproduction --page docs/reproduction.md \
	  --rows benchmarks/results/$(EVALUATION).csv.gz --choices benchmarks/results/choices.json \
	  --command "make reproduce$(patsubst %,-%,$(filter-out small,$(EVALUATION)))"

format: $(STAMPS)/test-tools
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BIN)/clang-format -i $(SOURCES)

# Keep the results of evaluations, which may have taken days.
clean:
	@mkdir -p build
	find build -mindepth 1 -maxdepth 1 ! -name reproduction -exec rm -rf {} +
	rm -rf dist src/coreplan/_core.pyi

distclean: clean
	rm -rf .venv

# -- set-up -----------------------------------------------------------------------------------

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "coreplan needs Python 3.11 or newer"; exit 1; }
	$(PYTHON) -m venv .venv
	$(PIP) install --upgrade pip

$(STAMPS)/build-tools: pyproject.toml | $(BIN)/python
	$(PIP) install --group build
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/test-tools: pyproject.toml | $(BIN)/python
	$(PIP) install --group test
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/fuzz-tools: pyproject.toml | $(BIN)/python
	$(PIP) install --group fuzz
	@mkdir -p $(STAMPS) && touch $@

# All extras of the package, which is already installed.
$(STAMPS)/extras: $(STAMPS)/install
	$(PIP) install --group extras
	@touch $@

# The packages that draw figures.
$(STAMPS)/plot: pyproject.toml | $(BIN)/python
	$(PIP) install $$($(BIN)/python -c 'import tomllib; \
	  print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["plot"])')
	@mkdir -p $(STAMPS) && touch $@

# The installed package uses the Python files in this folder; it must be installed again when the
# core changes or a file is added or removed.
$(STAMPS)/files: FORCE
	@mkdir -p $(STAMPS)
	@echo "$(sort $(MODULES)) $(NATIVE)" | cmp -s - $@ || echo "$(sort $(MODULES)) $(NATIVE)" > $@

$(STAMPS)/install: pyproject.toml $(CORE) $(STAMPS)/build-tools $(STAMPS)/files
	PATH="$(CURDIR)/$(BIN):$$PATH" $(PIP) install --no-build-isolation \
	  $(patsubst -D%,-C cmake.define.%,$(DEFINES)) --editable .
	cp build/*/_core.pyi src/coreplan/_core.pyi
	@touch $@

install: $(STAMPS)/install

build/cpp-tests/coreplan_tests: $(CORE) $(STAMPS)/build-tools
	$(CMAKE) -S . -B build/cpp-tests -G Ninja -DCOREPLAN_TESTS=ON $(DEFINES) > /dev/null
	$(CMAKE) --build build/cpp-tests
	@touch $@
