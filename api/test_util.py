"""Checks of derivatives against finite differences, in one random direction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

import primax
from primax import numpy as pnp
from primax import tree_util
from primax.extend import dtypes
from primax.extend.core import get_aval
from primax.extend.provisional.arguments import check_function, integer, real_number, sequence

__all__ = ["check_grads", "check_jvp", "check_vjp"]
__dir__ = __all__.copy

_STEP = 1e-4
# In 32 bits, rounding alone is an error of 1 % for the small step and values near 10; the large one crosses more kinks.
_STEPS_OF_32_BITS = (1e-3, 1e-4)
_MOST_ORDERS = 16  # each order doubles the work
# The tolerances of values and of derivatives by differences: relative to the expected value, and absolute.
_VALUES = {"float16": 1e-3, "bfloat16": 1e-2, "float32": 1e-6, "complex64": 1e-6, "float64": 1e-15, "complex128": 1e-15}
_GRADIENTS = {
    "float16": 1e-2,
    "bfloat16": 1e-1,
    "float32": 2e-3,
    "complex64": 1e-3,
    "float64": 1e-5,
    "complex128": 1e-5,
}


def _is_inexact(x: Any) -> bool:
    return bool(dtypes.is_inexact(get_aval(x).dtype))


def _away_from_zero(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Numbers with absolute values from 0.5 to 1.5, so that no element's error is below the tolerance."""
    return rng.uniform(0.5, 1.5, shape) * rng.choice([-1.0, 1.0], shape)


def _random_like(rng: np.random.Generator, x: Any) -> np.ndarray:
    """A random direction at `x`; of dtype float0 if `x` has no derivatives."""
    aval = get_aval(x)
    if not dtypes.is_inexact(aval.dtype):
        return np.zeros(aval.shape, primax.float0)
    direction = _away_from_zero(rng, aval.shape)
    if dtypes.is_complex(aval.dtype):
        direction = direction + 1j * _away_from_zero(rng, aval.shape)
    return np.asarray(direction).astype(aval.dtype)


def _wide(x: Any) -> np.ndarray[Any, Any]:
    array = np.asarray(x)
    return array.astype(np.complex128 if dtypes.is_complex(array.dtype) else np.float64)


def _moved(args: Any, tangents: Any, step: float) -> Any:
    def move(x: Any, t: Any) -> Any:
        return (pnp.asarray(x) + pnp.asarray(step * _wide(t), get_aval(x).dtype)) if _is_inexact(x) else x

    return tree_util.tree_map(move, args, tangents)


def _differences(f: Callable[..., Any], args: Any, tangents: Any, eps: float) -> Any:
    """The derivative in a direction by central differences, in double precision."""
    above, below = f(*_moved(args, tangents, eps)), f(*_moved(args, tangents, -eps))

    def quotient(a: Any, b: Any) -> Any:
        return (_wide(a) - _wide(b)) / (2 * eps) if _is_inexact(a) else np.zeros(np.shape(a), primax.float0)

    return tree_util.tree_map(quotient, above, below)


def _tolerance(tol: Any, dtype: Any, defaults: dict[str, float]) -> float:
    if isinstance(tol, dict):
        tol = {np.dtype(key).name: value for key, value in tol.items()}.get(np.dtype(dtype).name)
    return defaults.get(np.dtype(dtype).name, 0.0) if tol is None else real_number("check_grads", "atol and rtol", tol)


def _require_close(got: Any, want: Any, atol: Any, rtol: Any, defaults: dict[str, float], message: str) -> None:
    got_leaves, got_tree = tree_util.tree_flatten(got)
    want_leaves, want_tree = tree_util.tree_flatten(want)
    if got_tree != want_tree:
        raise AssertionError(f"{message}: structures differ, {got_tree} and {want_tree}")
    for a, b in zip(got_leaves, want_leaves, strict=True):
        if not _is_inexact(a):
            continue
        dtype = get_aval(a).dtype
        np.testing.assert_allclose(
            _wide(a),
            _wide(b),
            atol=_tolerance(atol, dtype, defaults),
            rtol=_tolerance(rtol, dtype, defaults),
            err_msg=message,
        )


def _inner(xs: Any, ys: Any) -> float:
    """The real part of the sum of products of elements: the pairing of tangents and cotangents."""
    pairs = zip(tree_util.tree_leaves(xs), tree_util.tree_leaves(ys), strict=True)
    return float(sum(np.sum(_wide(x) * _wide(y)).real for x, y in pairs if _is_inexact(x)))


def _widest(tree: Any) -> Any:
    leaf_dtypes = [np.dtype(get_aval(x).dtype) for x in tree_util.tree_leaves(tree) if _is_inexact(x)]
    return max(leaf_dtypes, key=lambda dtype: _GRADIENTS.get(dtype.name, 0.0), default=np.dtype(np.float32))


def _precision(args: Any) -> float:
    """The machine epsilon of the least precise dtype of the arguments."""
    kinds = [get_aval(x).dtype for x in tree_util.tree_leaves(args) if _is_inexact(x)]
    return max([float(dtypes.finfo(kind).eps) for kind in kinds], default=0.0)


def check_jvp(
    f: Callable[..., Any],
    f_jvp: Callable[..., Any],
    args: Sequence[Any],
    atol: Any = None,
    rtol: Any = None,
    eps: float = _STEP,
    err_msg: str = "",
) -> None:
    """Compare a JVP with central differences, in one random direction.

    Args:
      f: a function of pytrees of arrays that returns one.
      f_jvp: a function of a tuple of arguments and a tuple of tangents, with the results of `px.jvp`, such as
        `partial(px.jvp, f)`.
      args: the arguments.
      atol: the absolute tolerance of tangents; a number, a dictionary by dtype, or None for a number by dtype.
      rtol: the tolerance relative to the expected value; a number, a dictionary by dtype, or None for a number by
        dtype.
      eps: the step.
      err_msg: the beginning of messages.

    Raises:
      AssertionError: the values or the tangents differ.

    >>> from functools import partial
    >>> import primax as px
    >>> px.test_util.check_jvp(px.numpy.sin, partial(px.jvp, px.numpy.sin), (0.5,))
    """
    check_function("check_jvp", "f", f)
    check_function("check_jvp", "f_jvp", f_jvp)
    args = tuple(args)
    rng = np.random.default_rng(0)
    tangents = tree_util.tree_map(lambda x: _random_like(rng, x), args)
    out, out_tangents = f_jvp(args, tangents)
    prefix = f"{err_msg}: " if err_msg else ""
    _require_close(
        out, f(*args), atol, rtol, _VALUES, f"{prefix}check_jvp: the value of the JVP differs from that of f"
    )
    numeric = _differences(f, args, tangents, eps)
    _require_close(
        out_tangents, numeric, atol, rtol, _GRADIENTS, f"{prefix}check_jvp: the tangents differ from finite differences"
    )


def check_vjp(
    f: Callable[..., Any],
    f_vjp: Callable[..., Any],
    args: Sequence[Any],
    atol: Any = None,
    rtol: Any = None,
    eps: float = _STEP,
    err_msg: str = "",
) -> None:
    """Compare a VJP with central differences, in one random direction and for one random cotangent.

    Args:
      f_vjp: a function of the arguments with the results of `px.vjp`, such as `partial(px.vjp, f)`.
      atol: the absolute tolerance of the product of cotangent and tangent.
      f, args, rtol, eps, err_msg: as for `check_jvp`.

    Raises:
      AssertionError: the values or the products differ.

    >>> from functools import partial
    >>> import primax as px
    >>> px.test_util.check_vjp(px.numpy.sin, partial(px.vjp, px.numpy.sin), (0.5,))
    """
    check_function("check_vjp", "f", f)
    check_function("check_vjp", "f_vjp", f_vjp)
    args = tuple(args)
    rng = np.random.default_rng(0)
    out, pull = f_vjp(*args)
    prefix = f"{err_msg}: " if err_msg else ""
    _require_close(
        out, f(*args), atol, rtol, _VALUES, f"{prefix}check_vjp: the value of the VJP differs from that of f"
    )
    tangents = tree_util.tree_map(lambda x: _random_like(rng, x), args)
    cotangents = tree_util.tree_map(lambda x: _random_like(rng, x), out)
    numeric = _inner(cotangents, _differences(f, args, tangents, eps))
    got = _inner(tangents, pull(cotangents))
    dtype = _widest((args, out))
    np.testing.assert_allclose(
        got,
        numeric,
        atol=_tolerance(atol, dtype, _GRADIENTS),
        rtol=_tolerance(rtol, dtype, _GRADIENTS),
        err_msg=f"{prefix}check_vjp: <cotangent J, tangent> differs from <cotangent, finite differences>",
    )


def _linearized(f: Callable[..., Any], primals: Any, tangents: Any) -> tuple[Any, Any]:
    """The results of `px.jvp`, by `px.linearize`."""
    out, derivative = primax.linearize(f, *primals)
    return out, derivative(*tangents)


def _tangents_of(jvp: Callable[..., Any], f: Callable[..., Any], directions: Any, *primals: Any) -> Any:
    return jvp(f, primals, directions)[1]


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: Any = None,
    rtol: Any = None,
    eps: float | None = None,
) -> None:
    """Compare derivatives with central differences, in random directions.

    Args:
      f: a function of pytrees of arrays that returns one.
      args: the arguments.
      order: the highest order to check; derivatives of second order are compared with differences of those of first
        order.
      modes: "fwd" for `px.jvp`, "rev" for `px.vjp`, "lin" for `px.linearize`; higher orders mix them.
      atol: the absolute tolerance of derivatives; a number, a dictionary by dtype, or None for a number by dtype.
      rtol: the tolerance relative to the expected value; a number, a dictionary by dtype, or None for a number by
        dtype.
      eps: the step; if None, 1e-4. If the arguments have 32 bits or fewer, a check with a step of 1e-3 comes first,
        and a derivative must pass only one of both checks.

    Raises:
      AssertionError: a derivative differs.
      ValueError: a mode is unknown, or `order` is above 16.

    >>> import primax as px
    >>> px.test_util.check_grads(lambda x, y: px.numpy.sin(x) * y, (0.5, 2.0), order=2)
    """
    check_function("check_grads", "f", f)
    order = integer("check_grads", "order", order)
    if order > _MOST_ORDERS:
        raise ValueError(f"check_grads: order must be at most {_MOST_ORDERS}, got {order}")
    modes = (modes,) if isinstance(modes, str) else tuple(sequence("check_grads", "modes", modes))
    for mode in modes:
        if mode not in ("fwd", "rev", "lin"):
            raise ValueError(f'check_grads: modes must be "fwd", "rev" and "lin", got {mode!r}')
    if eps is None:
        steps = (_STEP,) if _precision(args) < np.finfo(np.float32).eps else _STEPS_OF_32_BITS
    else:
        steps = (real_number("check_grads", "eps", eps),)

    def compare(compared: Callable[..., None], f: Any, derivative: Callable[..., Any], args: Any, message: str) -> None:
        for step in steps:
            try:
                compared(f, derivative, args, atol, rtol, step, message)
            except AssertionError:
                if step == steps[-1]:
                    raise
            else:
                break

    def check(f: Callable[..., Any], args: tuple[Any, ...], order: int, path: str) -> None:
        for mode, name, derivative in (("fwd", "jvp", primax.jvp), ("lin", "linearize", _linearized)):
            if mode not in modes:
                continue
            message = f"{path}{name}"
            compare(check_jvp, f, lambda xs, ts, jvp=derivative: jvp(f, xs, ts), args, message)
            if order > 1:
                rng = np.random.default_rng(order)
                directions = tree_util.tree_map(partial(_random_like, rng), args)
                tangents_of = partial(_tangents_of, derivative, f, directions)
                check(tangents_of, args, order - 1, f"{message} of ")
        if "rev" in modes:
            message = f"{path}vjp"
            compare(check_vjp, f, lambda *xs: primax.vjp(f, *xs), args, message)
            if order > 1:
                rng = np.random.default_rng(order)
                cotangents = tree_util.tree_map(lambda x: _random_like(rng, x), f(*args))
                check(lambda *xs: primax.vjp(f, *xs)[1](cotangents), args, order - 1, f"{message} of ")

    if order > 0:
        check(f, tuple(sequence("check_grads", "args", args)), order, "check_grads: ")
