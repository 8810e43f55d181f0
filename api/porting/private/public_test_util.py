"""The names that packages use of `jax._src.public_test_util`, beside the names of `primax.test_util`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from primax import dtypes
from primax.tree_util import tree_leaves, tree_structure

__all__ = ["check_close"]

# The default tolerances of comparisons, by dtype.
_TOLERANCES = {"float16": 1e-3, "bfloat16": 1e-2, "float32": 1e-6, "complex64": 1e-6, "float64": 1e-15}


def _tolerance(tolerance: float | Mapping[Any, float] | None, a: Any, b: Any) -> float:
    names = [np.dtype(dtypes.canonicalize_dtype(x.dtype)).name for x in (a, b)]
    if isinstance(tolerance, Mapping):
        named = {np.dtype(dtype).name: value for dtype, value in tolerance.items()}
        return max(named.get(name, _TOLERANCES.get(name, 0.0)) for name in names)
    return max(_TOLERANCES.get(name, 0.0) for name in names) if tolerance is None else tolerance


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
        wide = np.complex128 if a.dtype.kind == "c" or b.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(
            a.astype(wide), b.astype(wide), atol=_tolerance(atol, a, b), rtol=_tolerance(rtol, a, b), err_msg=err_msg
        )
