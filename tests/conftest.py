"""What holds in every test: quiet native logs, quick compilation, one word size for primax and jax, no deadlines."""

from __future__ import annotations

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
# Eight devices of the host, for meshes; programs run on the first, if they do not ask for more.
os.environ.setdefault("PRIMAX_NUM_CPU_DEVICES", "8")
os.environ.setdefault("JAX_NUM_CPU_DEVICES", os.environ["PRIMAX_NUM_CPU_DEVICES"])
if "PRIMAX_ENABLE_X64" in os.environ:
    os.environ.setdefault("JAX_ENABLE_X64", os.environ["PRIMAX_ENABLE_X64"])

import gc
import sys
from contextlib import ExitStack
from pathlib import Path

# Most of the time of the tests goes into compiling programs, the same in every run.
os.environ.setdefault("PRIMAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".compiled"))

import hypothesis
import pytest

import primax as px
from primax.extend.testing.programs import quick_flags

# Most of the time of the tests goes into compiling small programs, which need not be fast. Set XLA_FLAGS to nothing to
# compile as users do; the slow tests are run so. XLA reads the variable when the first program is compiled.
os.environ.setdefault("XLA_FLAGS", f"{quick_flags()} {os.environ.get('MORE_XLA_FLAGS', '')}")

# pytest may have imported primax before, for the plugin of the conformance kit.
px.config.update("num_cpu_devices", int(os.environ["PRIMAX_NUM_CPU_DEVICES"]))

hypothesis.settings.register_profile("primax", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("primax")


def pytest_collection_modifyitems(config, items):
    """Leave out of a run in 64 bits what would only repeat the run in 32 bits."""
    if px.config.enable_x64:
        repeated = [item for item in items if "in_32_bits" in item.fixturenames]
        items[:] = [item for item in items if "in_32_bits" not in item.fixturenames]
        config.hook.pytest_deselected(items=repeated)


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


# Linux gives a process 65,530 mappings of memory, and each compiled program takes nine.
MOST_MAPPINGS = 30_000


@pytest.fixture(scope="module", autouse=True)
def few_programs():
    """A process with many programs lets all go after a module, before a test finds no room for one more."""
    yield
    mapped = Path("/proc/self/maps")
    if mapped.exists() and mapped.read_bytes().count(b"\n") > MOST_MAPPINGS:
        px.clear_caches()
        if "jax" in sys.modules:
            sys.modules["jax"].clear_caches()
        gc.collect()


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
