"""Small primitives with correct rules, and a registry for wrong ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

import primax.numpy as pnp
from primax.extend import core
from primax.extend.interpreters import ad, batching, mlir

Rules = dict[str, Any]

X = np.array([[0.3, -1.2, 0.7], [1.1, 0.45, -0.6]])
Y = np.array([[1.4, 0.35, -0.8], [-0.55, 0.9, 1.3]])


@dataclass(frozen=True)
class Toy:
    """A primitive's rules, and samples of it."""

    name: str
    make: Callable[[core.Primitive], Rules]
    samples: tuple[core.Sample, ...]
    multiple_results: bool = False


@contextmanager
def registered(toy: Toy, unsupported: dict[str, str] | None = None, **replaced: Any) -> Iterator[core.Primitive]:
    """The toy's primitive, with some rules replaced (or left out, for None), until the block ends."""
    p = core.Primitive(toy.name, multiple_results=toy.multiple_results)
    registry = core.Registry("toys", {})
    rules = {**toy.make(p), **replaced}
    registry.define(p, unsupported=unsupported, **rules)
    registry.samples(p, *toy.samples)
    try:
        yield p
    finally:
        registry.roll_back()


def inexact(*avals: core.ShapedArray) -> None:
    """Raise an error unless the operands have one inexact dtype and one shape."""
    for aval in avals:
        if not core.dtypes.is_inexact(aval.dtype) or aval.dtype != avals[0].dtype or aval.shape != avals[0].shape:
            raise TypeError(f"expected arrays of the same shape and inexact dtype, got {avals}")


def zero_or(make: Callable[..., Any], t: Any, out: Any) -> Any:
    """The tangent `make(t)`, if `t` is not zero."""
    return ad.Zero.from_primal_value(out) if type(t) is ad.Zero else make(t)


def as_array(x):
    """An operand, which may be a Python number, as an array."""
    return np.asarray(x, core.get_aval(x).dtype)


def _wave(p: core.Primitive) -> Rules:
    """sin(factor x)."""

    def abstract_eval(x, *, factor):
        inexact(x)
        return core.ShapedArray(x.shape, x.dtype)

    def jvp(primals, tangents, *, factor):
        (x,), (t,) = primals, tangents
        y = p.bind(x, factor=factor)
        return y, zero_or(lambda t: t * pnp.cos(x * factor) * factor, t, y)

    return {
        "impl": lambda x, *, factor: np.sin(as_array(x) * as_array(x).dtype.type(factor)),
        "abstract_eval": abstract_eval,
        "jvp": jvp,
        "batch": batching.vectorized(p),
        "lowering": mlir.lower_fun(lambda x, *, factor: pnp.sin(x * factor), multiple_results=False),
    }


def _product(p: core.Primitive) -> Rules:
    """x y."""

    def abstract_eval(x, y):
        inexact(x, y)
        return core.ShapedArray(x.shape, x.dtype)

    return {
        "impl": lambda x, y: np.multiply(as_array(x), as_array(y)),
        "abstract_eval": abstract_eval,
        "jvp": ad.bilinear_jvp(p),
        "transpose": ad.bilinear_transpose(p, lambda ct, x, y: p.bind(ct, y), lambda ct, x, y: p.bind(x, ct)),
        "batch": batching.broadcasting(p),
        "lowering": mlir.lower_fun(lambda x, y: x * y, multiple_results=False),
    }


def _turn(p: core.Primitive) -> Rules:
    """c x, for complex x."""

    def abstract_eval(x, *, c):
        if not core.dtypes.is_complex(x.dtype):
            raise TypeError(f"turn: x must be complex, got {x}")
        return core.ShapedArray(x.shape, x.dtype)

    return {
        "impl": lambda x, *, c: np.multiply(as_array(x), as_array(x).dtype.type(c)),
        "abstract_eval": abstract_eval,
        "jvp": ad.linear_jvp(p),
        "transpose": ad.linear_transpose(p, lambda ct, *, c: [p.bind(ct, c=c)]),
        "batch": batching.vectorized(p),
        "lowering": mlir.lower_fun(lambda x, *, c: x * c, multiple_results=False),
    }


def _total(p: core.Primitive) -> Rules:
    """The sum along axes."""

    def abstract_eval(x, *, axes):
        inexact(x)
        if any(axis >= len(x.shape) for axis in axes):
            raise ValueError(f"total: axes must be less than {len(x.shape)}, got {axes}")
        return core.ShapedArray([n for axis, n in enumerate(x.shape) if axis not in axes], x.dtype)

    def transpose(ct, x, *, axes):
        kept = [axis for axis in range(len(x.aval.shape)) if axis not in axes]
        shape = [n if axis in kept else 1 for axis, n in enumerate(x.aval.shape)]
        return [pnp.broadcast_to(pnp.reshape(ct, shape), x.aval.shape)]

    return {
        "impl": lambda x, *, axes: np.sum(np.asarray(x), axes),
        "abstract_eval": abstract_eval,
        "jvp": ad.linear_jvp(p),
        "transpose": transpose,
        "batch": batching.reducer(p),
        "lowering": mlir.lower_fun(lambda x, *, axes: pnp.sum(x, axes), multiple_results=False),
    }


def _several(p: core.Primitive) -> Rules:
    """[x y, x + 2 y, whether x > y as an integer]."""

    def abstract_eval(x, y):
        inexact(x, y)
        if core.dtypes.is_complex(x.dtype):
            raise TypeError(f"several: arguments must be real, got {x}")
        out = core.ShapedArray(x.shape, x.dtype)
        return [out, out, core.ShapedArray(x.shape, np.int32)]

    def impl(x, y):
        x, y = as_array(x), as_array(y)
        return [x * y, x + y * y.dtype.type(2), np.greater(x, y) * np.int32(1)]

    def jvp(primals, tangents):
        (x, y), (s, t) = primals, tangents
        outs = p.bind(x, y)
        terms = [(s * y, s)] if type(s) is not ad.Zero else []
        terms += [(x * t, 2 * t)] if type(t) is not ad.Zero else []
        first, second = (sum(each[1:], each[0]) for each in zip(*terms, strict=True))
        return outs, [first, second, ad.Zero.from_primal_value(outs[2])]

    def batch(args, dims):
        size = next(x.shape[d] for x, d in zip(args, dims, strict=True) if d is not None)
        return p.bind(*[batching.bdim_at_front(x, d, size) for x, d in zip(args, dims, strict=True)]), [0, 0, 0]

    return {
        "impl": impl,
        "abstract_eval": abstract_eval,
        "jvp": jvp,
        "batch": batch,
        "lowering": mlir.lower_fun(lambda x, y: [x * y, x + 2 * y, (x > y).astype(np.int32)]),
    }


WAVE = Toy("wave", _wave, (core.Sample([X], {"factor": 1.5}), core.Sample([X], {"factor": 0.5})))
PRODUCT = Toy("product", _product, (core.Sample([X, Y]), core.Sample([X + 1j * Y, Y - 0.5j * X], name="complex")))
TURN = Toy("turn", _turn, (core.Sample([X + 1j * Y], {"c": 0.6 + 0.8j}),))
TOTAL = Toy("total", _total, (core.Sample([X], {"axes": (1,)}),))
SEVERAL = Toy("several", _several, (core.Sample([X, Y]),), multiple_results=True)
TOYS = (WAVE, PRODUCT, TURN, TOTAL, SEVERAL)
