"""A stencil along the last axis that a C++ function computes, as a primitive with all its rules."""

from __future__ import annotations

import ctypes
import importlib.util
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import primax.numpy as pnp
from primax.extend import Definitions, core, define_primitive, derive, ffi, hookimpl
from primax.typing import ArrayLike

__all__ = ["blur", "blur_p", "primax_register"]

definitions = Definitions()
_TARGET = "stencil_blur"


def blur(x: ArrayLike, side: float) -> Any:
    """Each element plus `side` times its neighbours along the last axis, by C++.

    Args:
      x: a float32 array with at least one axis.
      side: a number that is not negative.

    Raises:
      TypeError: `x` is of another dtype, or has no axis.

    >>> blur([0.0, 1.0, 0.0], 0.5).tolist()
    [0.5, 1.0, 0.5]
    """
    return blur_p.bind(pnp.asarray(x), side=np.float32(side))


def _blur_abstract_eval(x: core.ShapedArray, *, side: np.float32) -> core.ShapedArray:
    if x.dtype != np.float32 or not x.shape:
        raise TypeError(f"blur: x must be float32 and have an axis, got {x.str_short()}")
    return core.ShapedArray(x.shape, x.dtype)


def _blur_transpose(ct: Any, x: Any, *, side: np.float32) -> list[Any]:
    # The matrix of the stencil is symmetric.
    return [blur_p.bind(ct, side=side)]


def _blur_batch(args: Sequence[Any], dims: Sequence[int], *, side: np.float32) -> tuple[Any, int]:
    return blur_p.bind(pnp.moveaxis(args[0], dims[0], 0), side=side), 0


def _register_target() -> None:
    """Load the C++ function and tell XLA of it."""
    spec = importlib.util.find_spec("stencil._blur")
    if spec is None or spec.origin is None:
        raise ImportError("stencil._blur is missing: the package was installed without compiling it")
    ffi.register_ffi_target(_TARGET, ffi.pycapsule(ctypes.CDLL(spec.origin).Blur), platform="cpu")


def _by_numpy(x: Any, side: Any) -> Any:
    before, after = np.roll(x, 1, -1), np.roll(x, -1, -1)
    before[..., 0] = after[..., -1] = 0
    return x + side * (before + after)


def _blur_samples() -> Iterator[core.Sample]:
    x = np.random.default_rng(0).normal(size=(2, 5)).astype(np.float32)
    for side in (0.5, 2.0):
        yield core.Sample([x], {"side": np.float32(side)}, reference=_by_numpy)


blur_p = define_primitive(
    "blur",
    abstract_eval=_blur_abstract_eval,
    jvp=derive.linear,
    transpose=_blur_transpose,
    batch=_blur_batch,
    lowering={"cpu": ffi.ffi_lowering(_TARGET)},
    sharding="... n! -> ... n!",
    samples=[_blur_samples],
    doc="A symmetric stencil of three points, by C++.",
    registry=definitions,
)


@hookimpl
def primax_register(registry: core.Registry) -> None:
    """Enter the primitive and its function."""
    _register_target()
    definitions.enter(registry)
    registry.functions(blur=blur)
