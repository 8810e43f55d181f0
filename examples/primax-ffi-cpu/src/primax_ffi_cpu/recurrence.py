"""The recurrence y[t] = a[t] y[t-1] + x[t]: a primitive that a C++ function computes, with its rules."""

from __future__ import annotations

import ctypes
import importlib.util
from collections.abc import Iterator
from typing import Any

import numpy as np

import primax.numpy as pnp
from primax.extend import core, ffi, hookimpl
from primax.extend.interpreters import ad, batching

__all__ = ["primax_register", "recurrence", "recurrence_p", "smooth"]

recurrence_p = core.Primitive("recurrence")


def recurrence(x: Any, a: Any, *, reverse: bool = False) -> Any:
    """The solution y of y[t] = a[t] y[t-1] + x[t] along the last axis, with y[-1] = 0.

    Args:
      x: the input at each step; real.
      a: the factor of the previous value; real.
      reverse: whether to run from the end: y[t] = a[t] y[t+1] + x[t].

    Returns:
      y, in float32 or float64; the shapes of x and a broadcast to its shape.

    Raises:
      TypeError: an argument is not real.
      ValueError: both are scalars, or their shapes do not broadcast.

    >>> import numpy as np
    >>> recurrence(np.float32([1, 0, 0, 1]), np.float32(0.5)).tolist()
    [1.0, 0.5, 0.25, 1.125]
    """
    dtype = pnp.result_type(x, a, np.float32)
    if dtype not in (np.float32, np.float64):
        raise TypeError(f"recurrence: x and a must be real, got dtypes {pnp.result_type(x)} and {pnp.result_type(a)}")
    x, a = pnp.broadcast_arrays(pnp.asarray(x, dtype), pnp.asarray(a, dtype))
    if not pnp.ndim(x):
        raise ValueError("recurrence: x or a must have an axis, got two scalars")
    return recurrence_p.bind(x, a, reverse=bool(reverse))


def smooth(x: Any, alpha: Any) -> Any:
    """The exponential moving average along the last axis: y[t] = (1 - alpha) y[t-1] + alpha x[t].

    >>> import numpy as np
    >>> smooth(np.float32([4, 4, 4]), 0.5).tolist()
    [2.0, 3.0, 3.5]
    """
    return recurrence(alpha * x, 1 - alpha)


def _recurrence_abstract_eval(x: core.ShapedArray, a: core.ShapedArray, *, reverse: bool) -> core.ShapedArray:
    if x.shape != a.shape or not x.shape:
        raise TypeError(f"recurrence_p: x and a must have the same shape, with an axis, got {x.shape} and {a.shape}")
    if x.dtype != a.dtype or x.dtype not in (np.float32, np.float64):
        raise TypeError(
            f"recurrence_p: x and a must both be float32 or both float64, got {x.str_short()} and {a.str_short()}"
        )
    return core.ShapedArray(x.shape, x.dtype)


def _before(y: Any, reverse: bool) -> Any:
    """The element before each element, zero for the first."""
    zero = pnp.zeros_like(y[..., :1])
    return pnp.concatenate([y[..., 1:], zero] if reverse else [zero, y[..., :-1]], axis=-1)


def _recurrence_jvp(primals: Any, tangents: Any, *, reverse: bool) -> Any:
    """The tangent solves the same recurrence: dy[t] = a[t] dy[t-1] + (dx[t] + y[t-1] da[t])."""
    (x, a), (dx, da) = primals, tangents
    y = recurrence_p.bind(x, a, reverse=reverse)
    if type(da) is not ad.Zero:
        by_a = _before(y, reverse) * da
        dx = by_a if type(dx) is ad.Zero else dx + by_a
    if type(dx) is ad.Zero:
        return y, ad.Zero.from_primal_value(y)
    return y, recurrence_p.bind(dx, a, reverse=reverse)


def _recurrence_transpose(ct: Any, x: Any, a: Any, *, reverse: bool) -> Any:
    """The recurrence is linear in x. Its transpose runs in the other direction, with the factor of the next step."""
    if type(ct) is ad.Zero:
        return [ct, None]
    return [recurrence_p.bind(ct, _before(a, not reverse), reverse=not reverse), None]


def _recurrence_batch(args: Any, dims: Any, *, reverse: bool) -> Any:
    size = next(np.shape(x)[dim] for x, dim in zip(args, dims, strict=True) if dim is not None)
    x, a = (batching.bdim_at_front(x, dim, size) for x, dim in zip(args, dims, strict=True))
    return recurrence_p.bind(x, a, reverse=reverse), 0


def _by_numpy(x: Any, a: Any, *, reverse: bool) -> Any:
    """The recurrence step by step, which the kit compares with the C++ function."""
    y, carry = np.zeros_like(x), np.zeros_like(x[..., 0])
    for t in reversed(range(x.shape[-1])) if reverse else range(x.shape[-1]):
        carry = a[..., t] * carry + x[..., t]
        y[..., t] = carry
    return y


def _samples() -> Iterator[core.Sample]:
    """One sample for each rank and direction; the kit adds other dtypes and sizes."""
    random = np.random.default_rng(0)
    for name, shape, reverse in (("forward", (5,), False), ("backward", (5,), True), ("rows", (2, 3, 4), True)):
        x, a = random.normal(size=shape), random.uniform(0.2, 0.9, shape)
        yield core.Sample([np.float32(x), np.float32(a)], {"reverse": reverse}, name=name, reference=_by_numpy)


def _register_target() -> str:
    """Load the C++ function and register it with XLA; returns its name in XLA."""
    spec = importlib.util.find_spec("primax_ffi_cpu._recurrence")
    if spec is None or spec.origin is None:
        raise ImportError("primax_ffi_cpu._recurrence is missing: the package was installed without compiling it")
    library = ctypes.CDLL(spec.origin)
    ffi.register_ffi_target("primax_ffi_cpu_recurrence", ffi.pycapsule(library.PrimaxRecurrence), platform="cpu")
    return "primax_ffi_cpu_recurrence"


@hookimpl
def primax_register(registry: Any) -> None:
    """Register the primitive. primax calls this when a program first needs a rule."""
    registry.define(
        recurrence_p,
        abstract_eval=_recurrence_abstract_eval,
        jvp=_recurrence_jvp,
        transpose=_recurrence_transpose,
        batch=_recurrence_batch,
        lowering={"cpu": ffi.ffi_lowering(_register_target())},
        samples=[_samples],
    )
