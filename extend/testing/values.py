"""Values for checks: directions of derivatives, other elements, and tolerances."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from primax.core.arguments import integer
from primax.extend import dtypes
from primax.interpreters.runtime import device_put
from primax.interpreters.runtime.extended_array import ExtendedArray

__all__ = [
    "default_rtol",
    "difference",
    "direction",
    "directions_of_seed",
    "double",
    "epsilon",
    "is_inexact",
    "largest",
    "least",
    "type_difference",
    "varied",
]

_RTOL = {"float64": 1e-12, "complex128": 1e-12, "float32": 1e-5, "complex64": 1e-5, "float16": 4e-3, "bfloat16": 3e-2}


def is_inexact(x: Any) -> bool:
    """Whether a value is of a floating or complex type, so that it has tangents."""
    return type(x) is not ExtendedArray and bool(dtypes.is_inexact(np.asarray(x).dtype))


def epsilon(x: Any) -> float:
    """The spacing of numbers near 1 in the inexact type of a value."""
    return float(dtypes.finfo(np.asarray(x).dtype).eps)


def largest(x: Any) -> float:
    """The largest number in the inexact type of a value."""
    return float(dtypes.finfo(np.asarray(x).dtype).max)


def least(x: Any) -> float:
    """A number in the inexact type of a value below which others have few digits, or are 0."""
    return min(float(dtypes.finfo(np.asarray(x).dtype).tiny), 1e-6)


def default_rtol(dtype: Any) -> float:
    """The tolerance between two computations of the same value, relative to the largest element."""
    return _RTOL.get(np.dtype(dtype).name, 0.3)


def double(x: Any) -> Any:
    """The value in double precision if its type is inexact."""
    x = np.asarray(x)
    if not is_inexact(x):
        return x
    return x.astype(np.complex128 if np.iscomplexobj(x) else np.float64)


_base_seed: ContextVar[int] = ContextVar("base_seed", default=0)


@contextmanager
def directions_of_seed(seed: int) -> Iterator[None]:
    """A `with` block in which tangents and cotangents are drawn anew, as another seed than 0 decides."""
    token = _base_seed.set(seed)
    try:
        yield
    finally:
        _base_seed.reset(token)


def direction(x: Any, seed: Any) -> Any:
    """A tangent of `x` in its dtype, about as large as `x` but at most 1; it depends only on the seeds."""
    x = np.asarray(x)
    base = _base_seed.get()
    random = np.random.default_rng(zlib.crc32(repr((base, seed) if base else seed).encode()))
    t = random.uniform(0.5, 1.5, x.shape) * random.choice([-1.0, 1.0], x.shape)
    if np.iscomplexobj(x):
        t = t + 1j * random.uniform(0.5, 1.5, x.shape) * random.choice([-1.0, 1.0], x.shape)
    size = np.abs(double(x))
    return np.asarray(t * np.where((size > 0) & (size < 1), size, 1.0)).astype(x.dtype)


def varied(x: Any, k: int) -> Any:
    """The k-th of several values like `x`: with its elements in another order, or close to it if it has only one."""
    if type(x) is ExtendedArray:
        return ExtendedArray(device_put.put_value(varied(x.base, k)), x.dtype)
    x, k = np.asarray(x), integer("varied", "k", k)
    if x.size > 1:
        return np.roll(x.ravel(), k).reshape(x.shape)
    return (double(x) * (1 + 0.0625 * k)).astype(x.dtype) if is_inexact(x) else x


def difference(got: Any, want: Any, rtol: float | None = None, noise: Any = 0.0) -> str:
    """How two arrays differ, in words; empty if they have the same shape and dtype and nearly the same elements.

    Args:
      got: the result of a rule.
      want: the expected result.
      rtol: the tolerance relative to the largest element; None for that of the dtype, which is 0 for integers.
      noise: an absolute tolerance to add, for each element or for all; or a function that returns it, called if needed.
    """
    got, want = np.asarray(got), np.asarray(want)
    off_in_type = type_difference(got, want)
    if off_in_type:
        return off_in_type
    if want.dtype == dtypes.float0 or not want.size:
        return ""
    a, b = double(got), double(want)
    if not is_inexact(want):
        off = np.asarray(a != b)
    else:
        rtol = default_rtol(want.dtype) if rtol is None else rtol
        finite = np.abs(b[np.isfinite(b)])
        atol = rtol * finite.max(initial=0.0) + (least(want) if rtol else 0.0)
        off = ~np.isclose(a, b, rtol=rtol, atol=atol + (0.0 if callable(noise) else noise), equal_nan=True)
        if callable(noise) and off.any():
            off = ~np.isclose(a, b, rtol=rtol, atol=atol + noise(), equal_nan=True)
    if not off.any():
        return ""
    where = tuple(int(i) for i in np.argwhere(off)[0])
    place = f" at {list(where)} ({int(off.sum())} of {off.size} elements differ)" if want.ndim else ""
    return f"expected {_shown(want[where])}, got {_shown(got[where])}{place}"


def type_difference(got: Any, want: Any) -> str:
    """How two arrays differ in shape or dtype, in words; empty if they agree."""
    if got.shape != want.shape:
        return f"expected shape {want.shape}, got {got.shape}"
    if got.dtype != want.dtype:
        return f"expected dtype {want.dtype}, got {got.dtype}"
    return ""


def _shown(x: Any) -> str:
    return f"{double(x)[()]:.8g}" if is_inexact(x) else str(x)
