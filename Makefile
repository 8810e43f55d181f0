# Every target sets up what it needs in .venv, given Python 3.11 to 3.14 (name one with PYTHON=...).

VENV := .venv
BIN := $(VENV)/bin
# Errors only: pip shows the warnings of setuptools, too.
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
SOURCES := $(sort $(shell find api core extend interpreters plugins -name '*.py' -o -name '*.pyi' -o -name '*.in' -o -name '*.json' -o -name '*.toml' -o -name py.typed))
JOBS ?= auto
SECONDS ?= 1200
SEED ?= 0

.PHONY: help setup demo gallery notebooks demo-for-jax demo-sharded docs docs-serve test test-suite test-x64 costs test-slow test-processors test-gpu test-matrix test-oldest canary accuracy fuzz mistakes mutants doctest lint format surface ecosystem golden bench release-check clean
.DELETE_ON_ERROR:

help:
	@echo "make demo             train a network on handwritten digits with an example plugin; write a report with pictures"
	@echo "make demo-sharded     train on eight devices, in one process and in two; draw where the data is"
	@echo "make gallery          draw the pictures of docs/gallery again, by the examples that they show"
	@echo "make notebooks        write Jupyter notebooks of some pages to build/notebooks"
	@echo "make docs             build the documentation in build/site; a broken link, or a public name without a page, fails"
	@echo "make docs-serve       show the documentation at localhost:8000, with each change of docs/ as it is saved"
	@echo "make demo-for-jax     run programs of Flax, Diffrax and NumPyro without jax; needs a package index"
	@echo "make test             run the tests and doctests, then the tests in 64 bits"
	@echo "make test-slow        run the tests that need a package index or more than 20 seconds, and all others in random order"
	@echo "make costs            run the tests and write down in tests/README.md what processor time and memory they take"
	@echo "make test-processors  run the tests as on an older processor"
	@echo "make test-gpu         run the tests of the families and the API on a GPU; needs a plugin, see docs/guide/devices.md"
	@echo "make test-matrix      run the tests in fresh environments: the oldest, a middle and the newest release of jaxlib"
	@echo "make accuracy         measure errors of all functions and derivatives against mpmath; writes docs/reference/accuracy.md; an hour"
	@echo "make fuzz             compare random calls with jax; options: SECONDS=1200 SEED=0 ONLY=name, see tests/fuzz/README.md"
	@echo "make mistakes         print what primax and jax say about 150 mistakes of users; options: ONLY=text"
	@echo "make mutants          break rules one by one and count what the tests find; options: SECONDS=3600 SEED=0 ONLY=name"
	@echo "make canary           check in seconds that the installed jaxlib has what primax uses"
	@echo "make lint             run ruff, mypy, and typos for the spelling"
	@echo "make format           apply the fixes and the format of ruff"
	@echo "make golden           record in tests/golden what jax computes, after a change of the calls there"
	@echo "make surface          record the names of primax.extend, the contents of the families, and draw the rooms, after a change"
	@echo "make ecosystem        run packages written for JAX on jax and on primax; needs a package index; writes docs/reference/ecosystem.md; options: CHECKOUT=folder PACKAGES=name SECONDS=60 SEED=0"
	@echo "make bench            compare the workloads of benchmarks/ on primax and on jax; writes docs/gallery/performance.md"
	@echo "make release-check    build sdist and wheel, check them, and use the wheel on each Python that is installed; needs a package index"
	@echo "make clean            remove all that was built, .venv too"

setup: $(VENV)/.dev

demo: $(VENV)/.demo
	PYTHONPATH=examples $(BIN)/python -m digits --out report

demo-sharded: $(VENV)/.demo
	mkdir -p report
	for example in many_devices transformer; do for processes in 1 2; do \
	  $(BIN)/python examples/$$example.py --processes $$processes --out report/$$example-$$processes.png || exit 1; \
	done; done

# What make demo-for-jax writes is copied by hand, because it needs a package index.
PICTURES = docs/images/gallery
gallery: demo
	$(BIN)/python examples/pictures.py --out $(PICTURES)
	for example in many_devices transformer; do \
	  $(BIN)/python examples/$$example.py --out $(PICTURES)/$$example.png || exit 1; \
	done
	cp report/confusion.svg report/accuracy.svg $(PICTURES)

demo-for-jax: $(VENV)/.for-jax
	mkdir -p report
	for example in flax_nnx neural_ode launches; do \
	  $(VENV)/for-jax/bin/python -m primax as-jax examples/for_jax/$$example.py --out report/$$example.png || exit 1; \
	done

REFERENCE = PYTHONPATH=tests:tests/support $(BIN)/python -m reference
# RELEASE=0.1 builds it in build/site/0.1, beside those of other releases that are there, and lists them.
docs: $(VENV)/.docs
	$(REFERENCE) $(if $(RELEASE),--release "$(RELEASE)",--build)

notebooks: $(VENV)/.dev
	PYTHONPATH=tests:tests/support $(BIN)/python -m reference.notebooks

docs-serve: $(VENV)/.docs
	$(REFERENCE) --serve $(or $(ADDRESS),localhost:8000)

test: test-suite
	@$(MAKE) --no-print-directory test-x64

# Tests of the plugin host count what is installed, so the plugin of the demo goes until the demo is run again.
.PHONY: without-demo
without-demo:
	@[ ! -e $(VENV)/.demo ] || { $(PIP) uninstall --yes primax-swish && rm $(VENV)/.demo; }

test-suite: $(VENV)/.dev without-demo
	$(BIN)/python -m pytest -n $(JOBS) -m "not slow" --doctest-modules --pyargs tests primax

X64 = tests/core tests/interpreters tests/plugins tests/api/lax tests/api/nn tests/api/numpy tests/api/random \
  tests/api/scipy --ignore tests/plugins/test_conformance.py

test-x64: $(VENV)/.dev without-demo
	PRIMAX_ENABLE_X64=1 $(BIN)/python -m pytest -n $(JOBS) -m "not slow" $(X64)

# RECORDS=folder reads what an earlier run has recorded.
costs: $(VENV)/.dev without-demo
	PYTHONPATH=tests $(BIN)/python -m costs $(if $(RECORDS),--records $(RECORDS), \
	  --run main '-n $(JOBS) -m "not slow" --doctest-modules --pyargs tests primax' \
	  --run x64 '-n $(JOBS) -m "not slow" $(X64)')

# The slow tests, as users compile; then all others in another order: SEED=7 chooses it.
test-slow: $(VENV)/.dev without-demo
	XLA_FLAGS= $(BIN)/python -m pytest -n $(JOBS) -m slow
	PRIMAX_TEST_ORDER=$(SEED) $(BIN)/python -m pytest -n $(JOBS) -m "not slow"

# Matrix products in full precision, and without a search for the fastest kernel.
test-gpu: $(VENV)/.dev without-demo
	$(BIN)/primax devices cuda
	PRIMAX_PLATFORMS=cuda,cpu XLA_PYTHON_CLIENT_PREALLOCATE=false XLA_FLAGS=--xla_gpu_autotune_level=0 \
	  PRIMAX_DEFAULT_MATMUL_PRECISION=highest $(BIN)/python -m pytest -n $(JOBS) -m "not slow" \
	  tests/interpreters/test_on_gpu.py tests/plugins tests/api/lax tests/api/nn tests/api/numpy tests/api/random tests/api/scipy \
	  --ignore tests/plugins/sharding --ignore tests/plugins/test_third_party.py

# No fused products and sums, vectors of 128 bits, other kernels of BLAS, one thread: what rounding decides on comes out
# otherwise. (AVX is the least: jaxlib cannot compile float16 for older processors.)
test-processors: $(VENV)/.dev without-demo
	OMP_NUM_THREADS=1 OPENBLAS_CORETYPE=Nehalem \
	  MORE_XLA_FLAGS="--xla_cpu_max_isa=AVX --xla_cpu_prefer_vector_width=128" \
	  $(BIN)/python -m pytest -n $(JOBS) -m "not slow" --doctest-modules --pyargs tests primax

# ROWS="oldest newest" are some of the environments, TESTS=tests/core some of the tests, SHORT=1 leaves out those with the
# mark any_release; see tests/support/matrix.py.
test-matrix: $(VENV)/.dev
	$(BIN)/python tests/support/matrix.py --folder $(VENV)/matrix --rows $(ROWS) $(if $(SHORT),--short) -- \
	  -n $(JOBS) $(or $(TESTS),--doctest-modules --pyargs tests primax)

test-oldest:
	@$(MAKE) --no-print-directory test-matrix ROWS=oldest

# Rows of an interrupted run are read again: remove the folder to measure anew.
ACCURACY = PYTHONPATH=tests $(BIN)/python -m accuracy --records $(VENV)/accuracy
accuracy: $(VENV)/.dev
	$(ACCURACY) --step 8 --dtypes float16,bfloat16,float32,complex64
	$(ACCURACY) --step 64 --each 1 --dtypes float64 --only scipy.special
	$(ACCURACY) --step 16 --each 1 --dtypes float64,complex128 --page docs/reference/accuracy.md

canary: $(VENV)/.dev
	$(BIN)/python tests/core/test_jaxlib_canary.py

fuzz: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python -m fuzz --seconds $(SECONDS) --seed $(SEED) $(if $(ONLY),--only $(ONLY))

mistakes: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python -m mistakes $(if $(ONLY),--only "$(ONLY)")

golden: $(VENV)/.dev
	PYTHONPATH=tests XLA_FLAGS= $(BIN)/python -m golden

mutants: $(VENV)/.dev
	XLA_FLAGS=--xla_force_host_platform_device_count=8 PYTHONPATH=tests $(BIN)/python -m mutants --seed $(SEED) \
	  $(if $(filter command line,$(origin SECONDS)),--seconds $(SECONDS)) $(if $(ONLY),--only "$(ONLY)")

doctest: $(VENV)/.dev
	$(BIN)/python -m pytest --doctest-modules --pyargs primax

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff check --preview --select DOC102,DOC202,DOC403 .
	$(BIN)/ruff format --check .
	$(BIN)/typos
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

surface: $(VENV)/.dev
	$(BIN)/python tests/support/surface.py
	$(BIN)/python tests/support/families.py
	$(BIN)/python tests/support/rooms.py
	$(BIN)/python tests/support/discharged.py

# PACKAGES="optax chex" are some of the packages, CHECKOUT="../equinox ../lineax" folders with the sources of some, whose
# tests are run; RESUME=1 goes on with a run; see tests/ecosystem/run.py.
ecosystem: $(VENV)/.dev
	$(BIN)/python tests/ecosystem/run.py $(PACKAGES) $(addprefix --checkout ,$(CHECKOUT)) --seed $(SEED) $(if $(RESUME),--resume) \
	  $(if $(filter command line,$(origin SECONDS)),--seconds $(SECONDS))

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/compare.py --a primax --b jax --page docs/gallery/performance.md

# TAG=v0.1.0 also checks that the sources are ready to be released under this tag.
release-check: $(VENV)/.release
	$(BIN)/python tests/support/release.py --dist dist $(if $(TAG),--tag "$(TAG)")

clean:
	rm -rf $(VENV) report build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .compiled
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A python may be on the path and yet not run (a version manager's shim), or lack ensurepip: try before choosing.
# The groups of pyproject.toml need pip 25.1.
$(VENV)/.base:
	@for python in $(or $(PYTHON),python3.14 python3.13 python3.12 python3.11 python3 python); do \
	  if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    echo "$(VENV): $$($$python --version)"; \
	    $$python -m venv --clear $(VENV) 2>/dev/null \
	      || { $$python -m venv --clear --without-pip $(VENV) \
	           && $$python -m pip --quiet --python $(BIN)/python install pip; } \
	      || exit 1; \
	    $(PIP) install --upgrade "pip>=25.1" "setuptools>=77" && touch $@; exit; \
	  fi; \
	done; \
	echo "primax needs Python 3.11 or later; none was found. Name one: make PYTHON=/path/to/python" >&2; exit 1

# Changes only when a source file comes or goes: the editable install is a tree of links to the files it found.
$(VENV)/.sources: $(VENV)/.base force
	@echo '$(SOURCES)' | cmp -s - $@ || echo '$(SOURCES)' > $@

.PHONY: force
force:

# pip compiles the modules that it copies, not those behind links: a Python that writes no bytecode would start slowly.
COMPILE = $(BIN)/python -m compileall -q build/__editable__.*
METADATA := pyproject.toml setup.py

# The first metadata on the path count, so those that a build by hand leaves here would hide those of the install.
$(VENV)/.dev: $(VENV)/.sources $(METADATA)
	@rm -rf primax_core.egg-info primax.egg-info
	$(PIP) install --no-build-isolation --editable ".[oracle]" --group dev
	@$(COMPILE)
	@touch $@

$(VENV)/.demo: $(VENV)/.sources $(METADATA) $(wildcard examples/primax-swish/pyproject.toml)
	$(PIP) install --no-build-isolation --group demo --editable . --editable examples/primax-swish
	@$(COMPILE)
	@touch $@

$(VENV)/.release: $(VENV)/.dev
	$(PIP) install --group release
	@touch $@

$(VENV)/.docs: $(VENV)/.sources $(METADATA)
	$(PIP) install --no-build-isolation --group docs --editable .
	@$(COMPILE)
	@touch $@

# An environment without jax for the packages that were written for it.
$(VENV)/.for-jax: $(VENV)/.sources $(METADATA) $(wildcard examples/for_jax/*.txt)
	$(BIN)/python -m venv --clear $(VENV)/for-jax
	$(VENV)/for-jax/bin/python -m pip --quiet install . -r examples/for_jax/requirements.txt
	$(VENV)/for-jax/bin/python -m pip --quiet install --no-deps -r examples/for_jax/packages.txt
	@touch $@
