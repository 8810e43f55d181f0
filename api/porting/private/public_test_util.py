"""The names of `jax._src.public_test_util` that packages use, besides the names of `primax.test_util`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from primax import dtypes
from primax.extend.core import get_aval
from primax.tree_util import tree_leaves, tree_map, tree_structure

__all__ = [
    "EPS",
    "_assert_numpy_allclose",
    "_check_dtypes_match",
    "_default_tolerance",
    "check_close",
    "default_gradient_tolerance",
    "default_tolerance",
    "rand_like",
    "tolerance",
]

EPS = 1e-4

_NARROW = "float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz"
_ROUGH = {np.dtype(name): 0.1 for name in _NARROW.split()}
_ROUGH |= {np.dtype("float4_e2m1fn"): 1.0, np.dtype("float8_e8m0fnu"): 1.0}
_EXACT = [np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)]
_EXACT += [np.dtype(kind) for kind in ("bool", "int2", "int4", "uint2", "uint4")]

# The tolerances of comparisons by dtype: of values, and of derivatives.
_default_tolerance: dict[Any, float] = {
    dtypes.float0: 0,
    **dict.fromkeys(_EXACT, 0),
    **_ROUGH,
    np.dtype("bfloat16"): 1e-2,
    np.dtype(np.float16): 1e-3,
    np.dtype(np.float32): 1e-6,
    np.dtype(np.float64): 1e-15,
    np.dtype(np.complex64): 1e-6,
    np.dtype(np.complex128): 1e-15,
}
default_gradient_tolerance: dict[Any, float] = {
    **_ROUGH,
    np.dtype("bfloat16"): 1e-1,
    np.dtype(np.float16): 1e-2,
    np.dtype(np.float32): 2e-3,
    np.dtype(np.float64): 1e-5,
    np.dtype(np.complex64): 1e-3,
    np.dtype(np.complex128): 1e-5,
}


def default_tolerance() -> dict[Any, float]:
    """The tolerances of values, by dtype."""
    return _default_tolerance


def rand_like(rng: Any, x: Any) -> Any:
    """Normal numbers of the shape and the dtype of an array or a scalar of Python."""
    kind = get_aval(x).dtype
    numbers = np.asarray(rng.randn(*np.shape(x)), kind)
    if np.issubdtype(kind, np.complexfloating):
        numbers = numbers + kind.type(1j) * np.asarray(rng.randn(*np.shape(x)), kind)
    return numbers.item() if type(x) in (bool, int, float, complex) else numbers


def tolerance(dtype: Any, tol: float | Mapping[Any, float] | None = None) -> float:
    """The tolerance for a dtype: a number for all, or one from a dictionary, or the default."""
    if tol is not None and not isinstance(tol, Mapping):
        return tol
    kind = np.dtype(dtypes.canonicalize_dtype(np.dtype(dtype)))
    named = {np.dtype(key): value for key, value in (tol or {}).items()}
    return named.get(kind, _default_tolerance[kind])


def _widened(x: Any) -> Any:
    """The array in a dtype of NumPy's own, which its comparisons know."""
    kind = x.dtype
    if kind in _ROUGH or kind == "bfloat16":
        return x.astype(np.float32)
    return x.astype(np.int8) if kind in _EXACT and kind.kind == "V" else x


def _assert_numpy_allclose(
    a: Any, b: Any, atol: float | None = None, rtol: float | None = None, err_msg: str = ""
) -> None:
    """Check that two arrays are close; without tolerances, within 1e-7 of the second."""
    if a.dtype == b.dtype == dtypes.float0:
        np.testing.assert_array_equal(a, b, err_msg=err_msg)
        return
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(_widened(a), _widened(b), atol=atol or 0, rtol=rtol or 1e-7, err_msg=err_msg)


def _check_dtypes_match(xs: Any, ys: Any) -> None:
    """Check that two pytrees have equal dtypes, leaf by leaf."""

    def check(x: Any, y: Any) -> None:
        kinds = [dtypes.canonicalize_dtype(get_aval(value).dtype) for value in (x, y)]
        assert kinds[0] == kinds[1], f"{kinds[0]} is not {kinds[1]}"

    tree_map(check, xs, ys)


def check_close(xs: Any, ys: Any, atol: Any = None, rtol: Any = None, err_msg: str = "") -> None:
    """Compare two pytrees of numbers, leaf by leaf.

    Args:
      xs: the first pytree.
      ys: the second pytree, of the same structure.
      atol: the absolute tolerance: a number, or one for each dtype.
      rtol: the tolerance relative to `ys`: a number, or one for each dtype.
      err_msg: the beginning of the error message.

    Raises:
      AssertionError: structures, shapes or numbers differ.
    """
    assert tree_structure(xs) == tree_structure(ys), f"{err_msg}{tree_structure(xs)} is not {tree_structure(ys)}"
    for x, y in zip(tree_leaves(xs), tree_leaves(ys), strict=True):
        a, b = np.asarray(x), np.asarray(y)
        assert a.shape == b.shape, f"{err_msg}{a.shape} is not {b.shape}"
        absolute, relative = (
            max(tolerance(a.dtype, tol), tolerance(b.dtype, tol)) * max(a.size, 1) for tol in (atol, rtol)
        )
        _assert_numpy_allclose(a, b, absolute, relative, err_msg)
