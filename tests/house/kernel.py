"""A program for the kernel alone: four primitives with rules of NumPy under all transformations.

Its arguments are the folder of the package that it must use, and a number that decides the order of its steps.
"""

from __future__ import annotations

import random
import sys

import numpy as np

import primax
from primax.core.array_protocol import ArrayProtocol, install_protocol
from primax.core.avals import ShapedArray
from primax.core.check import check_jaxpr
from primax.core.dce import dce_jaxpr
from primax.core.jaxpr import eval_jaxpr, jaxpr_as_fun
from primax.core.primitive import Primitive
from primax.core.rules import batch_rules, jvp_rules, transpose_rules
from primax.core.trace import thread
from primax.interpreters import grad, impl_trace, make_jaxpr, vmap
from primax.interpreters.batching import to_dim
from primax.interpreters.tangents import UndefinedPrimal, instantiate_zeros

sin_p, cos_p, mul_p, add_p = (Primitive(name) for name in ("sin", "cos", "mul", "add"))


def shaped(x, *others):
    assert all(y.shape == x.shape for y in others), (x, *others)
    return ShapedArray(x.shape, x.dtype)


def batched(primitive):
    def rule(args, dims):
        size = next(x.shape[d] for x, d in zip(args, dims, strict=True) if d is not None)
        return primitive.bind(*(to_dim(x, size, d, 0) for x, d in zip(args, dims, strict=True))), 0

    return rule


for p, function in ((sin_p, np.sin), (cos_p, np.cos), (mul_p, np.multiply), (add_p, np.add)):
    p.def_impl(function)
    p.def_abstract_eval(shaped)
    batch_rules[p] = batched(p)


def scaled(x, factor):
    return mul_p.bind(x, np.full(np.shape(x), factor, np.float32))


jvp_rules[sin_p] = lambda xs, ts: (sin_p.bind(*xs), mul_p.bind(cos_p.bind(*xs), instantiate_zeros(ts[0])))
jvp_rules[cos_p] = lambda xs, ts: (cos_p.bind(*xs), scaled(mul_p.bind(sin_p.bind(*xs), instantiate_zeros(ts[0])), -1))


def of_product(xs, ts):
    (x, y), (s, t) = xs, map(instantiate_zeros, ts)
    return mul_p.bind(x, y), add_p.bind(mul_p.bind(s, y), mul_p.bind(x, t))


jvp_rules[mul_p] = of_product
jvp_rules[add_p] = lambda xs, ts: (add_p.bind(*xs), add_p.bind(*map(instantiate_zeros, ts)))


def transpose_of_product(ct, x, y):
    if isinstance(x, UndefinedPrimal):
        return [mul_p.bind(instantiate_zeros(ct), y), None]
    return [None, mul_p.bind(x, instantiate_zeros(ct))]


transpose_rules[mul_p] = transpose_of_product
transpose_rules[add_p] = lambda ct, x, y: [ct if isinstance(z, UndefinedPrimal) else None for z in (x, y)]
install_protocol(
    ShapedArray,
    ArrayProtocol(
        zeros=lambda aval: np.zeros(aval.shape, aval.dtype),
        add=lambda x, y: add_p.bind(x, y),
        broadcast=lambda x, size, dim: np.stack([x] * size, dim),
        moveaxis=np.moveaxis,
        convert=lambda x, aval: np.asarray(x, aval.dtype),
        index=lambda x, i, dim: np.take(x, i, dim),
        stack=np.stack,
    ),
)


def f(x, y):
    return mul_p.bind(sin_p.bind(x), add_p.bind(y, mul_p.bind(x, y)))


def close(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


X, Y = np.float32(0.7), np.float32(-1.3)
VALUE = np.sin(X) * Y * (1 + X)
SLOPE = np.cos(X) * Y * (1 + X) + np.sin(X) * Y
SECOND = -np.sin(X) * Y * (1 + X) + 2 * np.cos(X) * Y
ROWS = np.float32([0.1, 0.7, -2.0])


def evaluates():
    close(f(X, Y), VALUE)


def differentiates_forward():
    close(grad.jvp(f, (X, Y), (np.float32(1), np.float32(0))), (VALUE, SLOPE))


def differentiates_backward():
    close(grad.grad(f, (0, 1))(X, Y), (SLOPE, np.sin(X) * (1 + X)))
    out, pullback = grad.vjp(f, X, Y)
    close((out, *pullback(np.float32(2))), (VALUE, 2 * SLOPE, 2 * np.sin(X) * (1 + X)))


def differentiates_twice():
    close(grad.grad(grad.grad(f))(X, Y), SECOND)
    close(grad.jvp(grad.grad(f), (X, Y), (np.float32(1), np.float32(0)))[1], SECOND)


def maps():
    close(vmap.vmap(f, (0, None))(ROWS, Y), [f(x, Y) for x in ROWS])
    close(vmap.vmap(grad.grad(f), (0, None))(ROWS, Y), [grad.grad(f)(x, Y) for x in ROWS])


def stages():
    closed = make_jaxpr.make_jaxpr(grad.grad(f))(X, Y)
    check_jaxpr(closed)
    close(jaxpr_as_fun(closed)(X, Y), [SLOPE])
    close(eval_jaxpr(closed.jaxpr, closed.consts, X, Y), [SLOPE])
    trimmed, used = dce_jaxpr(closed.jaxpr, [True])
    assert used == [True, True]
    assert len(trimmed.eqns) <= len(closed.jaxpr.eqns)


def prints():
    assert str(make_jaxpr.make_jaxpr(f)(X, Y)).splitlines()[1].strip() == "c:f32[] = sin a"


if __name__ == "__main__":
    folder, seed = sys.argv[1:]
    assert primax.__file__.startswith(folder), primax.__file__
    assert isinstance(thread.trace, impl_trace.ImplTrace)
    steps = [evaluates, differentiates_forward, differentiates_backward, differentiates_twice, maps, stages, prints]
    random.Random(seed).shuffle(steps)
    for step in steps:
        step()
    for name in ("primax.interpreters.runtime", "primax.extend", "primax.plugins", "primax.numpy"):
        assert name not in sys.modules, name
    print("the kernel runs alone")
