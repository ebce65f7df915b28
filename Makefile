# make demo and make test need Python 3.11+, make and a C++20 compiler; they set up all the rest.
# Everything lives in .venv and build; a stamp per set of extras makes the second call quick.

PYTHON ?= python3
VENV   ?= .venv
RUN    := $(VENV)/bin/python
PIP    := $(RUN) -m pip --disable-pip-version-check install --quiet
CORE   := $(shell find core -name '*.cpp' -o -name '*.hpp')
BUILD  := pyproject.toml CMakeLists.txt $(CORE)

.PHONY: help setup demo test conformance lint types bench sanitize baseline clean

help:  ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

setup: $(VENV)/.dev  ## create .venv with the package (editable) and the development tools

demo: $(VENV)/.demo  ## fit classic problems, audit scikit-learn beside them, tune, draw a path
	@$(VENV)/bin/minimand demo

test: $(VENV)/.dev  ## run the tests and the examples in docstrings, on two processes
	@$(RUN) -m pytest -n 2 src/minimand tests

conformance: $(VENV)/.dev  ## run all of scikit-learn's checks, and its own test files on the drop-ins
	@$(RUN) -m pytest -n 2 -m conformance tests

lint: $(VENV)/.dev  ## check the style of Python and C++
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check -q .
	@$(VENV)/bin/clang-format --dry-run --Werror $(CORE)

types: $(VENV)/.dev  ## check the types
	@$(VENV)/bin/mypy

bench: $(VENV)/.bench  ## measure against other libraries; writes bench/RESULTS.md
	@$(RUN) -m bench

clean:  ## remove everything that was built
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Set-up ------------------------------------------------------------------------------------------
# The build runs in .venv itself (no isolation), so that a changed kernel recompiles one file.
# setuptools and wheel are for peers of the benchmark that come as source.

EXTRAS_demo  := progress,plot
EXTRAS_dev   := dev
EXTRAS_bench := bench,progress

$(VENV)/.demo $(VENV)/.dev $(VENV)/.bench: $(VENV)/.%: $(BUILD) | $(VENV)/.tools
	@for compiler in "$$CXX" c++ g++ clang++; do command -v "$$compiler" >/dev/null && exit 0; done; \
	  $(call refuse,a C++ compiler is missing: install g++ (on Debian and Ubuntu: apt install g++).)
	@echo "setting up minimand[$(EXTRAS_$*)] in $(VENV)"
	@$(PIP) --no-build-isolation --editable '.[$(EXTRAS_$*)]'
	@touch $@

REQUIRES := import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"])

$(VENV)/.tools: $(VENV)/bin/python
	@$(PIP) 'pip>=23.1'
	@$(PIP) $$($(RUN) -c '$(REQUIRES)') 'cmake>=3.26' 'ninja>=1.11' 'setuptools>=70' wheel
	@touch $@

$(VENV)/bin/python:
	@command -v $(PYTHON) >/dev/null || \
	  $(call refuse,$(PYTHON) is missing: install Python 3.11 or newer or name one with make PYTHON=….)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  $(call refuse,$(PYTHON) is older than 3.11: install a newer Python or name one with make PYTHON=….)
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  $(call refuse,the venv module of $(PYTHON) is missing: install it (on Debian and Ubuntu: apt install python3-venv).)
	@$(PYTHON) -c 'import os, sys, sysconfig as s; sys.exit(not os.path.exists(s.get_path("include") + "/Python.h"))' || \
	  $(call refuse,the C headers of $(PYTHON) are missing: install them (on Debian and Ubuntu: apt install python3-dev).)
	@$(PYTHON) -m venv $(VENV)

refuse = { echo "minimand cannot be set up: $(1)" >&2; exit 1; }

# Second cores ------------------------------------------------------------------------------------
# Each in its own folder, never meeting .venv's: the editable install is taken off the import path.
# The sanitizer's run-time is loaded before Python.

SECOND         := build/second
# Left out: what counts memory or the width of a batch, which are others in a core with sanitizers.
SANITIZE_TESTS ?= $(wildcard tests/core tests/solvers) --ignore=tests/solvers/test_memory_use.py \
	--deselect=tests/solvers/kinked/test_class_batches.py::test_without_memory_for_a_batch_every_class_is_solved_by_itself
BASELINE_TESTS ?= tests/core
PRELOAD         = $(foreach lib,libasan.so libstdc++.so,$(shell $${CXX:-c++} -print-file-name=$(lib)))
WITHOUT_EDITABLE := import sys; folder = sys.argv.pop(1); \
	sys.meta_path[:] = [f for f in sys.meta_path if "editable" not in type(f).__module__]; \
	sys.path.insert(0, folder + "/lib"); \
	import minimand._core as c; assert folder in c.__file__, c.__file__; \
	import pytest; sys.exit(pytest.main(sys.argv[1:]))

# $(1): the folder, $(2): options of CMake
define second_core
	@$(VENV)/bin/cmake -S . -B $(SECOND)/$(1) -G Ninja $(2) -DPython_EXECUTABLE=$(CURDIR)/$(RUN) \
	  -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(VENV)/bin/ninja >/dev/null
	@$(VENV)/bin/cmake --build $(SECOND)/$(1)
	@$(VENV)/bin/cmake --install $(SECOND)/$(1) --prefix $(SECOND)/$(1)/lib >/dev/null
	@cp -r src/minimand $(SECOND)/$(1)/lib/
endef

sanitize: $(VENV)/.dev  ## run the kernels' tests under the address and undefined-behaviour sanitizers
	$(call second_core,sanitize,-DMINIMAND_SANITIZE=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo)
	@LD_PRELOAD='$(PRELOAD)' ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	  $(RUN) -c '$(WITHOUT_EDITABLE)' $(SECOND)/sanitize -p no:cacheprovider $(SANITIZE_TESTS)

baseline: $(VENV)/.dev  ## run the kernels' tests on a core for the oldest processor, as other compilers build it
	$(call second_core,baseline,-DMINIMAND_BASELINE=ON)
	@$(RUN) -c '$(WITHOUT_EDITABLE)' $(SECOND)/baseline -p no:cacheprovider $(BASELINE_TESTS)
