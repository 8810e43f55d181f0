"""primax in a process in which many threads begin at once."""

from __future__ import annotations

import subprocess
import sys

import pytest

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


@pytest.mark.parametrize("order", [1, 2])
def test_threads_may_be_the_first_to_name_functions_of_primax(order: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(order)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
