"""What holds in every test: quiet native logs, quick compilation, one word size for primax and jax, no deadlines."""

from __future__ import annotations

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
# Eight devices of the host, for meshes; programs run on the first, if they do not ask for more.
os.environ.setdefault("PRIMAX_NUM_CPU_DEVICES", "8")
os.environ.setdefault("JAX_NUM_CPU_DEVICES", os.environ["PRIMAX_NUM_CPU_DEVICES"])
# Threads of BLAS wait for work by spinning, in each of the workers.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
if "PRIMAX_ENABLE_X64" in os.environ:
    os.environ.setdefault("JAX_ENABLE_X64", os.environ["PRIMAX_ENABLE_X64"])

import gc
import random
import sys
from contextlib import ExitStack
from pathlib import Path

# Most of the time of the tests goes into compiling programs, the same in every run, process and part of the suite.
os.environ.setdefault("PRIMAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".compiled"))
os.environ.setdefault("PRIMAX_COMPILATION_CACHE_MAX_SIZE", str(4 * 2**30))
# jax may read an entry of its cache that another process still writes, so each worker has a folder of its own.
os.environ["JAX_COMPILATION_CACHE_DIR"] = str(
    Path(os.environ["PRIMAX_COMPILATION_CACHE_DIR"], f"jax-{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}")
)
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")

import hypothesis
import pytest
from heap import mappings, release_free_memory, resident_memory

import primax as px
from primax.extend.testing.programs import quick_flags

# Most of the time of the tests goes into compiling small programs, which need not be fast. Set XLA_FLAGS to nothing to
# compile as users do; the slow tests are run so. XLA reads the variable when the first program is compiled.
os.environ.setdefault("XLA_FLAGS", f"{quick_flags()} {os.environ.get('MORE_XLA_FLAGS', '')}")

collect_ignore = ["house/kernel.py"]  # a program that test_kernel.py runs

# The run in random order looks at more examples, too.
examples = 200 if "PRIMAX_TEST_ORDER" in os.environ else 60
hypothesis.settings.register_profile("primax", deadline=None, derandomize=True, database=None, max_examples=examples)
hypothesis.settings.load_profile("primax")


def pytest_collection_modifyitems(config, items):
    """A run in 64 bits leaves out what it would repeat; one in random order shuffles the tests."""
    if px.config.enable_x64:
        repeated = [
            item for item in items if "in_32_bits" in item.fixturenames or item.get_closest_marker("any_word_size")
        ]
        left_out = {id(item) for item in repeated}
        items[:] = [item for item in items if id(item) not in left_out]
        config.hook.pytest_deselected(items=repeated)
    if "PRIMAX_TEST_ORDER" in os.environ:
        in_random_order(items, os.environ["PRIMAX_TEST_ORDER"])


def in_random_order(items, seed):
    """Shuffle the files, and the tests of each, so that it shows if one depends on another."""
    chance = random.Random(seed)
    chance.shuffle(items)
    files = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    items[:] = [item for tests in files.values() for item in tests]


# Programs, jax's caches and recorded results take most of the memory of a process. They go when it has grown by this.
MOST_GROWTH = 300e6  # bytes
# Linux gives a process 65,530 mappings of memory, and each compiled program takes nine.
MOST_MAPPINGS = 30_000


class Upkeep:
    """Keeps a test process small.

    The garbage collector looks only at what the tests of a file have made: otherwise a collection, of which tests ask
    for hundreds, takes a second. It comes by itself after more objects than usual.
    """

    def __init__(self):
        gc.set_threshold(20_000, 20, 20)
        self.let_go()

    def let_go(self):
        """Empty all caches, and freeze what remains."""
        px.clear_caches()
        if "jax" in sys.modules:
            sys.modules["jax"].clear_caches()
        gc.unfreeze()
        gc.collect()
        release_free_memory()
        gc.freeze()
        self.size = resident_memory()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item, nextitem):
        """Let go after a test that made the process large."""
        try:
            return (yield)
        finally:
            if resident_memory() > self.size + MOST_GROWTH or mappings() > MOST_MAPPINGS:
                self.let_go()
            elif nextitem is None or nextitem.path != item.path:
                gc.freeze()


def pytest_collection_finish(session):
    """Begin the upkeep in a process that runs tests."""
    if not session.config.pluginmanager.hasplugin("dsession"):
        session.config.pluginmanager.register(Upkeep())


def pytest_terminal_summary(terminalreporter):
    """Say in one line what was not compared, where jax is not installed."""
    skipped = terminalreporter.stats.get("skipped", [])
    count = sum("'jax" in str(report.longrepr) for report in skipped)
    if count:
        terminalreporter.write_line(
            f"{count} tests, or files of tests, were skipped, which compare with jax: it is not installed. "
            "tests/golden compares with values recorded from it."
        )


@pytest.fixture
def jax():
    """The oracle; a test that asks for it is skipped where it is not installed."""
    pytest.importorskip("jax.experimental")
    return pytest.importorskip("jax")


@pytest.fixture
def without_gc():
    """Nothing is collected in a test that gives trees without end to dispatchers.

    jaxlib calls Python with the error set that it met in such a tree. Where a collection falls into this call, what
    watches collections, as hypothesis does, fails in a way that nobody can catch and that becomes a warning.
    """
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def in_32_bits():
    """Python's scalars are of 32 bits, in jax too, and the test is not repeated in a run in 64 bits."""
    with ExitStack() as stack:
        stack.enter_context(px.enable_x64(False))
        if "jax" in sys.modules:
            stack.enter_context(sys.modules["jax"].enable_x64(False))
        yield
