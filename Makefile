# Every target sets up what it needs in a virtual environment of its own: .venv.
PYTHON ?= python3
BIN := .venv/bin
SOURCES := instances schedules formulations solvers studies executors cli tests tools benchmarks

# Compiled modules are kept: to compile them anew would cost each of many processes half a second.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help install demo quick test lint test-torch test-jax test-cluster bench notebooks docs wheel-test
.PHONY: sanitize slow-tests clean
.DEFAULT_GOAL := help

help:
	@echo "make demo        solve, bound and compare on a bundled real instance; a table and pictures"
	@echo "make quick       ruff, and one case of every quick test, in less than a minute"
	@echo "make test        ruff, mypy --strict and all tests"
	@echo "make test-torch  the tests that need PyTorch, which it installs"
	@echo "make test-jax    the tests that need JAX, which it installs"
	@echo "make test-cluster  the tests that need Dask, DuckDB and PyArrow, which it installs"
	@echo "make bench       times the kernels beside their baselines"
	@echo "make notebooks   run the notebooks again, with their outputs and expected tables"
	@echo "make docs        build the pages of the documentation: docs/_build/html"
	@echo "make wheel-test  build the wheel and the source distribution, and test each as installed"
	@echo "make sanitize    the kernel tests under the address and undefined-behaviour sanitizers"
	@echo "make clean       remove the virtual environment and what was built"

.venv/made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "jettison needs Python 3.11 or newer; set it with: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet "scikit-build-core>=1.1" "nanobind>=3.1" "cmake>=3.25" ninja
	touch $@

# The package is installed in editable form; a change of the native sources builds it again.
.venv/installed: .venv/made pyproject.toml CMakeLists.txt jettison.py.in $(wildcard columns/*.py) $(shell find solvers/_native -type f)
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable ".[dev]"
	touch $@

install: .venv/installed

# Without the development tools: what a user has.
.venv/usable: .venv/made pyproject.toml CMakeLists.txt jettison.py.in $(wildcard columns/*.py) $(shell find solvers/_native -type f)
	@test .venv/installed -nt .venv/made || \
	  $(BIN)/python -m pip install --quiet --no-build-isolation --editable .
	touch $@

demo: .venv/usable
	@sh benchmarks/demo.sh $(BIN)/jettison

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# One process for each core. A process that has nothing left takes tests from another, so that those
# of a module mostly stay together and share what they have solved.
TOGETHER := -n auto --dist worksteal

quick: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m pytest $(TOGETHER) --quick

# Types are checked beside the tests, in one process more; what mypy has found is printed after them.
# Either may fail, and then both have run.
test: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@mkdir -p build
	@$(BIN)/mypy >build/mypy.txt 2>&1 & types=$$!; \
	  tests_pass=yes; types_hold=yes; \
	  $(BIN)/python -m pytest $(TOGETHER) || tests_pass=no; \
	  wait $$types || types_hold=no; \
	  echo "mypy:"; cat build/mypy.txt; \
	  echo "tests pass: $$tests_pass, types hold: $$types_hold"; \
	  test $$tests_pass = yes && test $$types_hold = yes

# After tests have become slower or faster: tests/slow_tests.txt, which says what is not quick.
slow-tests: install
	$(BIN)/python -m pytest $(TOGETHER) --note-slow

# An extra of pyproject.toml says what these tests need, and a variable one version of it:
# make test-torch TORCH=torch==2.13.0
test-torch: install
	$(BIN)/python -m pip install --quiet "jettison[torch]" $(TORCH)
	$(BIN)/python -m pytest -m torch tests/torch

test-jax: install
	$(BIN)/python -m pip install --quiet "jettison[jax]" $(JAX)
	$(BIN)/python -m pytest -m jax tests/jax

test-cluster: install
	$(BIN)/python -m pip install --quiet "jettison[distributed,tables]" $(DASK)
	$(BIN)/python -m pytest -m "minutes or not minutes" tests/studies/test_dask_sweep.py \
	  tests/studies/test_results_table.py tests/cli/test_sweep_command.py \
	  tests/studies/test_example_study.py

bench: install
	$(BIN)/python benchmarks/chain_dp.py
	$(BIN)/python benchmarks/exact_search.py
	$(BIN)/python benchmarks/pofo_kernel.py
	$(BIN)/python benchmarks/weight_offload.py greedy relaxations thousand_layers
	$(BIN)/python benchmarks/weight_exact.py 3 4 5 6

notebooks: install
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable ".[notebooks]"
	$(BIN)/python -m ipykernel install --sys-prefix --name python3 >/dev/null
	cd notebooks && ../$(BIN)/python -m jupytext --to ipynb --execute *.py
	$(BIN)/ruff format --quiet notebooks
	$(BIN)/python tests/notebooks/refresh_expected.py

# Warnings are errors, and references that lead nowhere are warnings.
docs: install
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable ".[docs]"
	$(BIN)/python -m sphinx -b html --fail-on-warning --keep-going --quiet docs docs/_build/html
	@echo "docs/_build/html/index.html"

# Each is installed into an empty environment, and tested from a folder without the sources.
wheel-test: .venv/made
	$(BIN)/python -m pip install --quiet "build>=1.2"
	$(BIN)/python tests/distributions/build_and_try.py

# A second environment, because the sanitized kernels need their run-time library loaded first. The
# sanitizer ends the process where it cannot allocate, so that one test is left out; another one
# compares two searches that have not enough time when they run at a fraction of their speed.
sanitize:
	$(PYTHON) -m venv build/sanitize
	build/sanitize/bin/python -m pip install --quiet ".[test]" --config-settings=cmake.define.JETTISON_SANITIZE=ON
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so)" \
	  ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc \
	  build/sanitize/bin/python -m pytest -k "not beyond_all_memory and not too_many_layers and not other_compilers" \
	  tests/core/test_kernels.py tests/core/test_vector_units.py tests/remat_chain/test_rotor.py tests/remat_chain/test_rotor_exact.py tests/remat_chain/test_limited_grids.py \
	  tests/remat_chain/test_revolve.py tests/remat_chain/test_subchain.py tests/remat_chain/test_drop_search.py tests/remat_chain/test_drop_grid.py \
	  tests/remat_chain/test_least_chain_memory.py tests/remat_chain/test_cut_bound.py \
	  tests/remat_chain/test_unrestricted.py tests/remat_offload/test_pofo_program.py tests/remat_offload/test_pofo_grids.py \
	  tests/certificates/test_pofo_bellman.py \
	  tests/remat_offload/test_kernel.py tests/remat_offload/test_cut_bound.py \
	  tests/pipeline_chain/test_device_times.py tests/pipeline_chain/test_exact.py \
	  tests/training_chain/test_step_timing.py \
	  tests/weight_offload/test_selection.py tests/weight_offload/test_scheduler.py \
	  tests/weight_offload/test_local_search.py tests/weight_offload/test_state_sweep.py \
	  tests/weight_offload/test_exact.py tests/weight_offload/test_recut.py \
	  tests/remat_graph/annealing/test_remat_anneal.py tests/remat_graph/annealing/test_least_peak_anneal.py \
	  tests/remat_graph/annealing/test_beside_models.py tests/remat_graph/orders/test_least_peak_order.py \
	  tests/remat_offload_graph/test_over_moments.py \
	  tests/remat_sharding/test_joint_annealing.py tests/remat_sharding/test_messages.py

clean:
	rm -rf .venv build demo dist docs/_build docs/generated
