"""Functions that return their arguments unchanged, with effects on compilation or transformations."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from primax.extend import core, dtypes
from primax.extend.core import Array, ShapedArray, get_aval, tree
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.interpreters.ad import linear_together
from primax.extend.provisional import runtime
from primax.extend.provisional.typing import ArrayLike
from primax.extend.rule_types import Table

copy_p = core.Primitive("copy")
optimization_barrier_p = core.Primitive("optimization_barrier", multiple_results=True)
stop_gradient_p = core.Primitive("stop_gradient")
for _primitive in (copy_p, optimization_barrier_p, stop_gradient_p):
    _primitive.takes_types = True


_T = TypeVar("_T")


def copy(x: ArrayLike) -> Array:
    """A copy of an array in new memory.

    Examples:
      >>> from primax import lax
      >>> import primax.numpy as pnp
      >>> x = pnp.arange(3)
      >>> lax.copy(x) is x
      False
    """
    return copy_p.bind(x)


def optimization_barrier(operand: _T) -> _T:
    """Keeps the compiler from moving computations across this point.

    Args:
      operand: a pytree of arrays.

    Returns:
      The same values. Operations on the results run after all operands are computed, separately from earlier
      operations.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.optimization_barrier({"a": np.arange(2), "b": 1.0})
      {'a': Array([0, 1], dtype=int32), 'b': Array(1., dtype=float32, weak_type=True)}
    """
    leaves, treedef = tree.tree_flatten(operand)
    if not leaves:
        return operand
    return tree.tree_unflatten(treedef, optimization_barrier_p.bind(*leaves))


def stop_gradient(x: _T) -> _T:
    """The same values, treated as constants by differentiation.

    Args:
      x: a pytree of arrays.

    >>> import primax as px
    >>> px.grad(lambda x: x * px.lax.stop_gradient(x))(3.0).item()
    3.0
    """
    return tree.tree_map(_stop, x)


def _stop(x: Any) -> Any:
    aval = get_aval(x)
    if aval.composite:
        return stop_gradient_p.bind(x)
    if dtypes.tangent_dtype(aval.dtype) != dtypes.float0:
        return stop_gradient_p.bind(x)
    return x.astype(aval.dtype, copy=False) if isinstance(x, np.ndarray | np.generic) else x


def _stop_gradient_impl(x: Any) -> Array:
    return x if type(x) is core.Array or get_aval(x).composite else runtime.put_value(x, get_aval(x).weak_type)


def _same(aval: Any) -> ShapedArray:
    return aval


def _lower_identity(ctx: Any, *xs: Any) -> tuple[Any, ...]:
    return xs


def _copy_transpose(ct: Any) -> list[Any]:
    return [copy(ct)]


def _barrier_abstract_eval(*avals: Any) -> list[Any]:
    return list(avals)


@linear_together
def _barrier_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    outs = optimization_barrier_p.bind(*primals)
    return outs, _barrier_nonzero(tangents)


def _barrier_nonzero(values: Any) -> list[Any]:
    """The values behind a barrier; symbolic zeros stay unchanged."""
    passed = iter(optimization_barrier_p.bind(*[x for x in values if type(x) is not ad.Zero]))
    return [x if type(x) is ad.Zero else next(passed) for x in values]


def _barrier_transpose(cts: Any, *args: Any) -> list[Any]:
    return _barrier_nonzero(cts)


def _barrier_batch(args: Any, dims: Any) -> tuple[Any, Any]:
    return optimization_barrier_p.bind(*args), list(dims)


@mlir.physical_lowering
def _barrier_lowering(ctx: Any, *xs: Any) -> list[Any]:
    return mlir.hlo.OptimizationBarrierOp(xs).results if xs else []


RULES: Table = {
    copy_p: {
        "abstract_eval": _same,
        "jvp": ad.linear_jvp(copy_p),
        "transpose": ad.linear_transpose(copy_p, _copy_transpose),
        "batch": batching.vectorized(copy_p),
        "lowering": _lower_identity,
        "key_use": lambda uses, eqn, walk: walk.same(),
    },
    optimization_barrier_p: {
        "abstract_eval": _barrier_abstract_eval,
        "jvp": _barrier_jvp,
        "transpose": _barrier_transpose,
        "batch": _barrier_batch,
        "lowering": _barrier_lowering,
    },
    stop_gradient_p: {
        "impl": _stop_gradient_impl,
        "abstract_eval": _same,
        "jvp": linear_together(ad.zero_jvp(stop_gradient_p)),
        "batch": batching.vectorized(stop_gradient_p),
        "lowering": _lower_identity,
    },
}
