"""Samples of primitives for the conformance kit, made on demand from generic numbers."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.provisional.arguments import integer, numpy_dtype

__all__ = ["array_samples", "bound_by", "elementwise_samples", "numbers", "samples"]

Maker = Callable[[], list[core.Sample]]

_REALS = (0.3, -1.2, 2.6, 1.7, 0.8, -0.6, -0.4, 2.1, 0.9, -2.3, 1.4, -1.6)
_INTEGERS = (7, -3, 4, 2, 5, 4, 8, 1, 6, -9, 11, 3)
_TRUTHS = (True, False, True, True, True, False, False, True, True, False, True, False)


def numbers(shape: Sequence[int], dtype: Any = np.float32, start: int = 0) -> Any:
    """An array of up to 12 different numbers.

    Args:
      shape: its shape.
      dtype: its dtype.
      start: the place of the first number, so that two arrays differ.
    """
    kind = numpy_dtype("numbers", "dtype", dtype).kind
    start = integer("numbers", "start", start)
    values = np.roll(_TRUTHS if kind == "b" else _INTEGERS if kind in "iu" else _REALS, -start)
    if kind == "c":
        values = values - 0.5j * np.roll(values, 5)
    return np.resize(values, shape).astype(dtype)


def samples(
    shapes: Sequence[Sequence[int]], *params: Mapping[str, Any], dtype: Any = np.float32, **options: Any
) -> Maker:
    """Samples with the same arguments, one for each set of parameters, to find rules that ignore a parameter.

    Args:
      shapes: the shapes of the arguments.
      params: the parameters of each sample.
      dtype: the dtype of the arguments.
      options: further fields of all samples.
    """

    def make() -> list[core.Sample]:
        args = [numbers(shape, dtype, 3 * i) for i, shape in enumerate(shapes)]
        return [core.Sample(args, values, **options) for values in params]

    return make


def array_samples(
    accepts: Container[Any], reference: Callable[..., Any], *ways: dict[str, Any], shape: tuple[int, ...] = (3, 4)
) -> Maker:
    """Samples with one array each, one for each accepted kind of dtype.

    Args:
      accepts: the dtypes.
      reference: the same computation in NumPy.
      ways: parameters, which the samples take in turn.
      shape: the shape of the arrays.
    """

    def make() -> list[core.Sample]:
        dtypes = [dtype for dtype in (np.float32, np.complex64, np.int32, np.bool_) if np.dtype(dtype) in accepts]
        chosen = zip(dtypes, cycle(ways), strict=False)
        return [core.Sample([numbers(shape, dtype)], way, reference=reference) for dtype, way in chosen]

    return make


def elementwise_samples(
    accepts: Sequence[Container[Any]],
    at: Sequence[Sequence[float]] | None = None,
    same_shape: bool = False,
    **options: Any,
) -> Maker:
    """Samples of an elementwise primitive: one for each kind of dtype, then one for each argument as a scalar.

    The last sample of a primitive of several arguments repeats axes of length 1.

    The kit itself replaces real numbers by complex ones, and dtypes by others of their kind.

    Args:
      accepts: the dtypes of each argument.
      at: for each argument real numbers, in the domain and away from kinks; None for numbers of both signs.
      same_shape: whether arguments must have the same shape, or rank 0.
      options: further fields of all samples.
    """

    def make() -> list[core.Sample]:
        positions = range(len(accepts))
        arguments = [
            [numbers((3,), dtype, 3 * i) for i in positions]
            for dtype in (np.float32, np.int32, np.bool_)
            if all(np.dtype(dtype) in accept for accept in accepts)
        ] or [[numbers((3,), np.complex64, 3 * i) for i in positions]]
        if at is not None:
            arguments[0] = [np.array(x, y.dtype) for x, y in zip(at, arguments[0], strict=True)]
        named = {args[0].dtype.name: args for args in arguments}
        for i in positions if len(accepts) > 1 else ():
            named[f"argument {i} of rank 0"] = [x[0] if j == i else x for j, x in enumerate(arguments[0])]
        if len(accepts) > 1 and not same_shape:
            named["axes of length 1"] = [x[None, :2] if i % 2 else x[:, None] for i, x in enumerate(arguments[0])]
        return [core.Sample(args, name=name, **options) for name, args in named.items()]

    return make


def bound_by(primitive: core.Primitive, fun: Callable[..., Any], *args: Any, **options: Any) -> core.Sample:
    """The arguments with which a function binds a primitive, as a sample; for primitives that hold programs.

    Args:
      primitive: the primitive.
      fun: a function of arrays that binds the primitive once; it is traced in double precision.
      args: its arguments.
      options: further fields of the sample.
    """
    with core.config.enable_x64(True):
        closed = core.trace_to_jaxpr(lambda *xs: core.tree.tree_leaves(fun(*xs)), [core.get_aval(x) for x in args])
        jaxpr = closed.jaxpr
        (n,) = [n for n, eqn in enumerate(jaxpr.eqns) if eqn.primitive is primitive]
        eqn = jaxpr.eqns[n]
        before = jaxpr.replace(eqns=jaxpr.eqns[:n], outvars=eqn.invars)
        values = core.eval_jaxpr(before, closed.consts, *args)
    return core.Sample([np.asarray(x) for x in values], eqn.params, **options)
