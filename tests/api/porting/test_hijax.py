"""Programs written for `jax.experimental.hijax` run as they do with jax."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.hijax import (
    HiPrimitive, HiType, ShapedArray, VJPHiPrimitive, aval_method, aval_property, register_hitype
)


@dataclass(frozen=True)
class QArrayTy(HiType):
    shape: tuple

    def lo_ty(self):
        return [ShapedArray(self.shape, np.dtype("int8")), ShapedArray(self.shape[:1], np.dtype("float32"))]

    def lower_val(self, q):
        return [q.arr, q.scale]

    def raise_val(self, arr, scale):
        return QArray(arr, scale)

    def to_tangent_aval(self):
        return ShapedArray(self.shape, np.dtype("float32"))

    def str_short(self, short_dtypes=False):
        return f"q8[{','.join(map(str, self.shape))}]"

    rows = aval_property(lambda q: q.aval.shape[0])
    floats = aval_method(lambda q: from_q.bind(q))

    def _add(self, q, other):
        return from_q.bind(q) + other


@dataclass
class QArray:
    arr: jax.Array
    scale: jax.Array


register_hitype(QArray, lambda q: QArrayTy(q.arr.shape))


class ToQ(HiPrimitive):
    def abstract_eval(self, aval):
        return QArrayTy(aval.shape), set()

    def to_lojax(self, x):
        scale = jnp.abs(x).max(1) / 127
        return QArray((x / scale[:, None]).astype("int8"), scale)

    def jvp(self, primals, tangents):
        return self.bind(*primals), tangents[0]


class FromQ(HiPrimitive):
    def abstract_eval(self, aval):
        return ShapedArray(aval.shape, np.dtype("float32")), set()

    def to_lojax(self, q):
        return q.arr.astype("float32") * q.scale[:, None]

    def jvp(self, primals, tangents):
        return self.bind(*primals), tangents[0]


to_q, from_q = ToQ("to_q"), FromQ("from_q")


class Product(VJPHiPrimitive):
    def __init__(self, a, b, factor):
        self.in_avals = ({"a": a}, b)
        self.out_aval = {"out": a}
        self.params = {"factor": factor}
        super().__init__()

    def expand(self, x, y):
        return {"out": self.factor * x["a"] * y}

    def vjp_fwd(self, nzs_in, x, y):
        return self(x, y), (x, y)

    def vjp_bwd(self, residuals, ct, x_sum, y_sum):
        x, y = residuals
        if hasattr(x_sum["a"], "accum"):
            x_sum["a"].accum(10 * self.factor * ct["out"] * y)
        if hasattr(y_sum, "accum"):
            y_sum.accum(10 * self.factor * ct["out"] * x["a"])

    def batch_dim_rule(self, axis_data, dims):
        return {"out": 0}


class Twice(VJPHiPrimitive):
    def __init__(self, a):
        self.in_avals, self.out_aval, self.params = (a,), a, {}
        super().__init__()

    def expand(self, x):
        return x * 2

    def lin(self, nzs_in, x):
        return self(x), None

    def linearized(self, residuals, t):
        return 5 * t


class Rescale(VJPHiPrimitive):
    def __init__(self, a):
        self.in_avals, self.out_aval, self.params = (a,), (), {}
        super().__init__()

    def expand(self, q):
        q.scale = q.scale * 2
        return ()


def product(x, y, factor=3):
    return Product(jax.typeof(x), jax.typeof(y), factor)({"a": x}, y)["out"]


x = jnp.arange(6.0).reshape(2, 3) + 1
q = to_q.bind(x)
results = [
    q.arr, q.scale, jax.jit(lambda x: from_q.bind(to_q.bind(x)))(x), jax.jit(lambda q: q)(q).arr,
    jax.jit(lambda q: q.floats() * q.rows)(q), jax.grad(lambda x: from_q.bind(to_q.bind(x)).sum())(x),
    jax.lax.fori_loop(0, 2, lambda i, q: to_q.bind(2 * from_q.bind(q)), q).scale,
    product(2.0, 3.0), jax.jit(product)(2.0, 3.0), jax.grad(product)(2.0, 3.0), jax.grad(product, 1)(2.0, 3.0),
    jax.vmap(product)(jnp.arange(3.0), jnp.arange(3.0)), jax.vmap(product, (0, None))(jnp.arange(3.0), 2.0),
    jax.linearize(lambda x: Twice(jax.typeof(x))(x), 1.0)[1](1.0), jax.jit(lambda q: q + 1.0)(q),
    jax.jit(lambda q: jnp.ones(q.shape))(q),
]
Rescale(jax.typeof(q))(q)
results.append(q.scale)
print([np.asarray(r).tolist() for r in results])
print(jax.make_jaxpr(lambda x: from_q.bind(to_q.bind(x)))(x))
print(Product(1, 2, 3) == Product(1, 2, 3), Product(1, 2, 3) == Product(1, 2, 4))
for run in (lambda: product(jnp.ones(2), 1.0, factor=[]), lambda: jax.vmap(lambda x: Twice(jax.typeof(x))(x))(x)):
    try:
        run()
    except (NotImplementedError, TypeError) as error:
        print(type(error).__name__)
"""


def _run(*command):
    environment = {name: value for name, value in os.environ.items() if name != "PRIMAX_ENABLE_X64"}
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, check=False, env=environment, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_program_of_hijax_runs_as_with_jax(tmp_path):
    hijax = pytest.importorskip("jax.experimental.hijax")
    if not hasattr(hijax, "VJPHiPrimitive"):
        pytest.skip("hijax has other names in this release of jax")
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    assert _run("-m", "primax", "as-jax", str(path)) == _run(str(path))
