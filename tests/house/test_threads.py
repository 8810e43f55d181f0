"""primax in a process in which many threads begin at once."""

from __future__ import annotations

import subprocess
import sys

import pytest
from processes import HANG

_PROGRAM = """
import random, sys, threading
import primax as px

sys.setswitchinterval(1e-5)
names = ["custom_jvp", "device_put", "devices", "effects_barrier", "grad", "jacfwd", "jit", "lax", "make_jaxpr",
         "numpy", "pure_callback", "random", "reshard", "shard_map", "vmap"]
random.Random(int(sys.argv[1])).shuffle(names)
together, failures = threading.Barrier(len(names)), []

def begin(name):
    together.wait()
    try:
        getattr(px, name)
        assert float(px.grad(px.jit(lambda x: x * x))(3.0)) == 6.0
    except BaseException as error:
        failures.append((name, error))

threads = [threading.Thread(target=begin, args=(name,)) for name in names]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not failures, failures
"""


@pytest.mark.parametrize("order", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_threads_may_be_the_first_to_name_functions_of_primax(order: int) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", _PROGRAM, str(order)],
        capture_output=True,
        text=True,
        timeout=HANG,
        check=False,
    )
    assert done.returncode == 0, done.stderr


_HALF_IMPORTED = """
import sys, threading
from importlib import import_module
from importlib.abc import MetaPathFinder
import primax

package, pause, module = sys.argv[1:]
half, failures = threading.Event(), []

class Pause(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == pause and threading.current_thread() is first:
            half.set()
            second.join(0.3)  # it ends, or it waits for what this thread imports

def load(name):
    try:
        import_module(name)
    except BaseException as error:
        failures.append((name, error))

def load_after_half():
    assert half.wait(HANG)
    load(module)

sys.meta_path.insert(0, Pause())
first = threading.Thread(target=load, args=(package,))
second = threading.Thread(target=load_after_half)
second.start()  # it waits for `half`
first.start()
first.join()
second.join()
assert half.is_set() and not failures, failures
"""


@pytest.mark.parametrize(
    ("package", "pause", "module"),
    [
        ("primax.numpy", "primax.numpy.creation", "primax.numpy.operators"),
        ("primax.numpy", "primax.numpy.creation", "primax.numpy.padding"),
        ("primax.numpy", "primax.numpy.creation", "primax.numpy.triangles"),
        ("primax.numpy", "primax.numpy.creation", "primax.random"),
        ("primax.experimental.sparse", "primax.experimental.sparse.products", "primax.experimental.sparse.transform"),
        ("primax.extend.testing", "primax.extend.testing.types", "primax.extend.testing.runner"),
    ],
)
def test_a_module_is_imported_while_another_thread_is_half_way_through_its_package(
    package: str, pause: str, module: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _HALF_IMPORTED, package, pause, module],
        capture_output=True,
        text=True,
        timeout=HANG,
        check=False,
    )
    assert done.returncode == 0, done.stderr


_POOLS = """
import threading, time
import primax as px
from primax.interpreters.runtime import mlir_context as contexts

real, made = contexts._jaxlib.ir.ThreadPool, []

def slow():
    made.append(real())
    time.sleep(0.2)  # the other threads go on
    return made[-1]

class Slow:
    ThreadPool = staticmethod(slow)
    def __getattr__(self, name):
        return getattr(ir, name)

ir = contexts._jaxlib.ir
contexts._jaxlib.ir = Slow()
threads = [threading.Thread(target=px.jit(lambda x, i=i: x + i), args=(1.0,)) for i in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert len(made) == 1, made
"""


def test_threads_that_compile_first_share_one_pool_of_threads() -> None:
    """A context does not keep its pool alive, so a second pool that nothing else holds would crash the process."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", _POOLS], capture_output=True, text=True, timeout=HANG, check=False
    )
    assert done.returncode == 0, done.stderr
