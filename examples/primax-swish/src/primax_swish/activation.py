"""x * sigmoid(beta * x) as a primitive. Its derivative saves x and beta and recomputes the rest."""

from __future__ import annotations

from typing import Any

import numpy as np

import primax as px
import primax.numpy as pnp
from primax.extend import Definitions, core, define_primitive, derive, hookimpl
from primax.extend.interpreters import ad, batching, mlir

__all__ = ["primax_register", "swish", "swish_p", "swish_slope_p"]

definitions = Definitions()


def swish(x: Any, beta: Any = 1.0) -> Any:
    """x * sigmoid(beta * x): linear for beta = 0, and close to max(x, 0) for a large beta.

    P. Ramachandran, B. Zoph, Q. V. Le, "Searching for activation functions" (2017). Reverse mode saves only x and beta.
    The same formula in primax.numpy would also save the sigmoid and products, each as large as x.

    Args:
      x: an array or a number, real; integers are converted to a floating dtype.
      beta: the slope, such as one for each channel; it broadcasts with x.

    Raises:
      TypeError: an argument is not real, or the shapes do not broadcast.

    >>> float(swish(2.0, 0.0))
    1.0
    """
    dtype = pnp.result_type(x, beta, float)
    if not core.dtypes.is_floating(dtype):
        raise TypeError(f"swish: x and beta must be real, got {pnp.result_type(x)} and {pnp.result_type(beta)}")
    x, beta = pnp.broadcast_arrays(pnp.asarray(x, dtype), pnp.asarray(beta, dtype))
    return swish_p.bind(x, beta)


def _swish_abstract_eval(x: core.ShapedArray, beta: core.ShapedArray) -> core.ShapedArray:
    return _common_type("swish", x, beta)


def _common_type(name: str, x: core.ShapedArray, *others: core.ShapedArray) -> core.ShapedArray:
    if not core.dtypes.is_floating(x.dtype):
        raise TypeError(f"{name}: arguments must be floating, got {x.str_short()}")
    for other in others:
        if other.shape != x.shape or other.dtype != x.dtype:
            raise TypeError(
                f"{name}: arguments must have the same shape and dtype, got {x.str_short()} and {other.str_short()}"
            )
    return core.ShapedArray(x.shape, x.dtype, all(aval.weak_type for aval in (x, *others)))


def _swish_jvp(primals: Any, tangents: Any) -> Any:
    out = swish_p.bind(*primals)
    total: Any = ad.Zero.from_primal_value(out)
    for t, by in zip(tangents, ("x", "beta"), strict=True):
        if type(t) is not ad.Zero:
            total = ad.add_tangents(total, swish_slope_p.bind(*primals, t, by=by))
    return out, total


def _elementwise_batch(primitive: core.Primitive) -> Any:
    """The batch rule of a primitive with arguments of the same shape: the mapped axis becomes the first of each."""

    def batch(args: Any, dims: Any, **params: Any) -> Any:
        size = next(x.shape[dim] for x, dim in zip(args, dims, strict=True) if dim is not None)
        mapped = [batching.bdim_at_front(x, dim, size) for x, dim in zip(args, dims, strict=True)]
        return primitive.bind(*mapped, **params), 0

    return batch


def _swish_lowering(ctx: mlir.LoweringRuleContext, x: Any, beta: Any) -> Any:
    return [mlir.hlo.multiply(x, mlir.hlo.logistic(mlir.hlo.multiply(beta, x)))]


def _slope(x: Any, beta: Any, t: Any, *, by: str) -> Any:
    """t times the derivative of x * sigmoid(beta * x) with respect to x or beta."""
    sigmoid = px.nn.sigmoid(beta * x)
    falling = sigmoid * (1 - sigmoid)
    return t * (sigmoid + beta * x * falling if by == "x" else x * x * falling)


def _slope_abstract_eval(x: Any, beta: Any, t: Any, *, by: str) -> core.ShapedArray:
    return _common_type("swish_slope", x, beta, t)


def _slope_jvp(primals: Any, tangents: Any, *, by: str) -> Any:
    """Along t, in which the primitive is linear, the primitive itself; along x and beta, by the formula."""
    x, beta, t = primals
    *others, along_t = tangents
    total: Any = ad.Zero.from_primal_value(t)
    if type(along_t) is not ad.Zero:
        total = swish_slope_p.bind(x, beta, along_t, by=by)
    if any(type(each) is not ad.Zero for each in others):
        steps = tuple(map(ad.instantiate_zeros, others))
        total = ad.add_tangents(total, px.jvp(lambda x, beta: _slope(x, beta, t, by=by), (x, beta), steps)[1])
    return swish_slope_p.bind(x, beta, t, by=by), total


def _slope_transpose(ct: Any, x: Any, beta: Any, t: Any, *, by: str) -> Any:
    # An elementwise product is its own transpose. The primitive is linear only in t.
    return [None, None, swish_slope_p.bind(x, beta, ct, by=by)]


def _samples() -> Any:
    rng = np.random.default_rng(0)
    x, beta = rng.normal(size=(2, 2, 3)).astype(np.float32)
    yield core.Sample([x, beta], name="matrices", reference=_by_numpy)
    yield core.Sample([x[0, 0], beta[0, 0]], name="scalars", reference=_by_numpy)


def _by_numpy(x: Any, beta: Any) -> Any:
    return x / (1 + np.exp(-beta * x))


def _slope_samples() -> Any:
    rng = np.random.default_rng(1)
    x, beta, t = rng.normal(size=(3, 2, 3)).astype(np.float32)
    for by in ("x", "beta"):
        yield core.Sample([x, beta, t], {"by": by}, name=f"by {by}", reference=_by_differences)


def _by_differences(x: Any, beta: Any, t: Any, *, by: str) -> Any:
    x, beta, step = np.float64(x), np.float64(beta), 1e-5
    dx, dbeta = (step, 0.0) if by == "x" else (0.0, step)
    return t * (_by_numpy(x + dx, beta + dbeta) - _by_numpy(x - dx, beta - dbeta)) / (2 * step)


swish_p = define_primitive(
    "swish",
    abstract_eval=_swish_abstract_eval,
    jvp=_swish_jvp,
    batch=derive.by(_elementwise_batch),
    lowering=_swish_lowering,
    samples=[_samples],
    doc="x * sigmoid(beta * x), elementwise.",
    registry=definitions,
)

swish_slope_p = define_primitive(
    "swish_slope",
    impl=_slope,
    abstract_eval=_slope_abstract_eval,
    jvp=_slope_jvp,
    transpose=_slope_transpose,
    batch=derive.by(_elementwise_batch),
    lowering=derive.from_impl,
    samples=[_slope_samples],
    doc="A tangent of swish: linear in its last argument.",
    registry=definitions,
)


@hookimpl
def primax_register(registry: Any) -> None:
    """Register the primitives. primax calls this when a program first needs a rule."""
    definitions.enter(registry)
