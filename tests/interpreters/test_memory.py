"""Functions, pullbacks and meshes that are dropped leave no memory behind."""

from __future__ import annotations

import gc
import os
import subprocess
import sys

import numpy as np
import pytest
from processes import HANG

import primax as px
import primax.numpy as pnp
from primax import lax
from primax.core.jaxpr import ClosedJaxpr
from primax.interpreters.runtime.sharding.mesh import Mesh

X = np.ones(4, np.float32)


def jitted(i):
    px.jit(lambda x: pnp.sin(x) * i)(X)


def derived(i):
    f = px.jit(lambda x: (pnp.sin(x) * i).sum())
    px.grad(f)(X)
    px.vmap(f)(np.ones((3, 4), np.float32))


def pulled_back(i):
    out, pullback = px.vjp(lambda x: pnp.sin(x) * i, pnp.asarray(X))
    pullback(out)


def on_a_mesh(i):
    mesh = px.make_mesh((2, 2), (f"rows{i}", "columns"))
    x = px.device_put(np.ones((4, 4), np.float32), px.NamedSharding(mesh, px.P(f"rows{i}")))
    px.jit(lambda x: x * 2)(x)


def branched(i):
    lax.cond(True, lambda x: x * i, lambda x: x + i, X)


def alive():
    """The numbers of programs, meshes and executables."""
    gc.collect()
    objects = gc.get_objects()
    return [sum(type(each) is kind for each in objects) for kind in (ClosedJaxpr, Mesh)] + [
        len(px.devices()[0].client.live_executables())
    ]


@pytest.mark.parametrize("make", [jitted, derived, pulled_back, on_a_mesh, branched])
def test_what_is_dropped_is_freed_with_the_caches(make):
    for i in range(3):
        make(i)
    px.clear_caches()
    before = alive()
    for i in range(10, 40):
        make(i)
    px.clear_caches()
    assert all(after <= count for after, count in zip(alive(), before, strict=True))


def scanned(i):
    px.grad(lambda x: lax.scan(lambda carry, y: (pnp.sin(carry) * y + i, carry), x, X)[0])(np.float32(1))


def looped(i):
    lax.while_loop(lambda carry: carry < 3, lambda carry: carry + i, np.float32(1))


def recomputed(i):
    px.grad(px.checkpoint(lambda x: pnp.sin(pnp.sin(x) * i).sum()))(X)


def mapped(i):
    px.jit(px.vmap(px.grad(lambda x: (pnp.sin(x) * i).sum())))(np.ones((3, 4), np.float32))


def with_own_derivatives(i):
    def fun(x):
        return (pnp.sin(x) * i).sum()

    own = px.custom_vjp(fun)
    own.defvjp(lambda x: (fun(x), x), lambda x, ct: (ct * pnp.cos(x) * i,))
    px.vmap(px.grad(own))(np.ones((3, 4), np.float32))


def compiled(i):
    px.jit(lambda x: pnp.sin(x) * i).lower(X).compile()(X)


@pytest.mark.parametrize(
    "make",
    [jitted, derived, pulled_back, branched, scanned, looped, recomputed, mapped, with_own_derivatives, compiled],
)
def test_what_is_dropped_is_freed_without_garbage_collection(make):
    count = 20
    for _ in range(3):
        make(1)
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        for _ in range(count):
            make(1)
        left = len(gc.get_objects()) - before
    finally:
        gc.enable()
    assert left < 2 * count  # some caches of the process are filled; one program has about a hundred objects


_PROCESS = """
import ctypes, gc, sys
import numpy as np
if sys.argv[1] == "jax":
    import jax as px, jax.numpy as pnp
    from jax.sharding import NamedSharding, PartitionSpec as P
else:
    import primax as px, primax.numpy as pnp
    from primax import NamedSharding, P

x = np.ones(4, np.float32)
def jitted(i):
    px.jit(lambda x: pnp.sin(x) * i)(x)
def pulled_back(i):
    out, pullback = px.vjp(lambda x: pnp.sin(x) * i, pnp.asarray(x))
    pullback(out)
def on_a_mesh(i):
    mesh = px.make_mesh((2, 2), (f"rows{i}", "columns"))
    y = px.device_put(np.ones((4, 4), np.float32), NamedSharding(mesh, P(f"rows{i}")))
    px.jit(lambda x: x * 2)(y)

def size():
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except AttributeError:
        pass
    return int(open("/proc/self/statm").read().split()[1]) * 4096

make = globals()[sys.argv[2]]
for i in range(50):
    make(i)
px.clear_caches()
before = size()
for i in range(1000):
    make(100 + i)
kept = size()
px.clear_caches()
print(before, kept, size())
"""


def sizes(library: str, make: str) -> list[int]:
    """The bytes of a process before it makes a thousand things and drops them, then, and with empty caches."""
    variables = {"PRIMAX_COMPILATION_CACHE_DIR": "", "JAX_COMPILATION_CACHE_DIR": ""}
    done = subprocess.run(
        [sys.executable, "-c", _PROCESS, library, make],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
        timeout=HANG,
    )
    return [int(word) for word in done.stdout.split()]


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the size of a process from /proc")
@pytest.mark.parametrize("make", ["jitted", "pulled_back", "on_a_mesh"])
def test_a_thousand_dropped_things_leave_the_process_as_large_as_before(make, jax):
    before, kept, cleared = sizes("primax", make)
    assert cleared < 1.05 * before
    assert kept < 1.2 * sizes("jax", make)[1]
