"""Creation of arrays from shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from primax.extend import backend, core, dtypes
from primax.extend.core import Array, ShapeDtypeStruct, Tracer, get_aval
from primax.extend.provisional import runtime
from primax.extend.provisional.arguments import of_call
from primax.extend.provisional.sharding import canonical_sharding, get_mesh, match_placement
from primax.extend.provisional.tracing import thread
from primax.extend.provisional.typing import ArrayLike, DeviceLike, DTypeLike, ShapeLike, ShardingLike
from primax.extend.sharding import AbstractMesh, Sharding
from primax.numpy.conversion import asarray, place, read_dtype, read_shape
from primax.numpy.promotion import aval_of, broadcast_to_shape, convert
from primax.plugins.resharding import filled, from_host, place_of, resharded
from primax.plugins.structural import broadcast_in_dim_p, broadcast_shapes, zero_of
from primax.plugins.structural.creation import with_large_integer

__all__ = ["empty", "empty_like", "full", "full_like", "ones", "ones_like", "zeros", "zeros_like"]


def _on_host() -> bool:
    """Whether constants can be computed on the host now, outside of a program."""
    return not thread.trace.tracing


_MOST_COPIED = 1 << 16


def _is_cheap(count: int) -> bool:
    """Whether it is cheaper to copy this many elements to the device than to compile a program that creates them."""
    return count <= _MOST_COPIED or backend.platform_of(backend.get_default_device()) == "cpu"


def constant(value: Any, shape: tuple[int, ...], dtype: Any, weak: bool = False, device: Any = None) -> Array:
    """An array filled with one host scalar; `device` has an effect only if the array is created on the host."""
    if dtype == dtypes.float0:  # jaxlib has no arrays of float0
        return np.zeros(shape, dtype)  # type: ignore[return-value]
    is_host = type(value) in (int, float, complex, bool) or isinstance(value, np.number | np.bool_)
    if is_host and isinstance(value, float | np.floating) and dtypes.is_integer(dtype):
        limits = dtypes.iinfo(dtype)
        is_host = limits.min <= value <= limits.max  # NumPy wraps or refuses values out of range
    count = math.prod(shape)
    if (
        is_host
        and _on_host()
        and type(count) is int
        and _is_cheap(count)
        and not isinstance(dtype, dtypes.ExtendedDType)
    ):
        try:
            with np.errstate(all="ignore"):
                element = np.asarray(value).astype(dtype)
                lent = count > _MOST_COPIED and dtype.isbuiltin == 1
                host = runtime.full_on_host(shape, element, dtype) if lent else np.full(shape, element, dtype)
        except (ValueError, OverflowError) as error:
            raise ValueError(f"no array can be of dtype {dtype} and shape {shape}{of_call()}: {error}") from None
        return from_host(host, weak, device, lent)
    if is_host and isinstance(dtype, dtypes.ExtendedDType) and value == 0:
        value = zero_of(dtype)
    elif not weak and is_host and isinstance(dtype, np.dtype):
        value = np.asarray(value).astype(dtype)[()]
    else:
        value = convert(value, get_aval(value), dtype, weak)
    if not shape:
        return asarray(value)
    return broadcast_in_dim_p.bind(value, shape=shape, broadcast_dimensions=())


def full(
    shape: ShapeLike,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    *,
    device: DeviceLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """An array filled with one value, or with an array that broadcasts.

    Args:
      shape: a sequence of sizes, or one size.
      fill_value: a number, or an array whose shape broadcasts to `shape`.
      dtype: the dtype; that of `fill_value` if None.
      device: the device or sharding of the result; if None, it is uncommitted on the default device.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Raises:
      TypeError: `shape` does not consist of non-negative integers, or `dtype` is not a dtype of arrays.
      ValueError: `fill_value` does not broadcast to `shape`.

    >>> import primax as px
    >>> px.numpy.full(2, 7, "int32")
    Array([7, 7], dtype=int32)
    """
    if out_sharding is not None:
        return resharded("full", full(shape, fill_value, dtype, device=device), out_sharding)
    return _full("full", read_shape(shape, "full"), fill_value, dtype, device, False)


def _full(function: str, shape: tuple[int, ...], value: Any, dtype: Any, device: Any, weak: bool) -> Array:
    if isinstance(value, list | tuple):
        value = asarray(value)
    if dtype is not None:
        dtype = read_dtype(dtype, function)
        value = with_large_integer(value, dtype)
    aval = aval_of(function, value, "fill_value")
    weak = weak or (dtype is None and aval.weak_type)
    dtype = aval.dtype if dtype is None else dtype
    if not aval.shape:
        return _constant_on(function, value, shape, dtype, device, weak)
    broadcast_shapes(aval.shape, shape)
    return place(asarray(broadcast_to_shape(convert(value, aval, dtype), shape)), device)


def _like(function: str, a: Any, value: Any, dtype: Any, shape: Any, device: Any) -> Array:
    if _is_duck(a):
        aval = a
        shape = a.shape if shape is None else shape
    else:
        aval = aval_of(function, a, "a")
    weak = dtype is None and getattr(aval, "weak_type", False)
    dtype = aval.dtype if dtype is None else dtype
    sizes = aval.shape if shape is None else read_shape(shape, function)
    sharding = _place_like(function, a, sizes) if device is None else None
    if sharding is not None and not np.shape(value):
        return filled(sharding, sizes, lambda part: _full(function, part, value, dtype, None, weak))
    device = device if sharding is None else sharding
    return match_placement(_full(function, sizes, value, dtype, device, weak), aval)


def _place_like(function: str, a: Any, shape: Sequence[int]) -> Any:
    """The sharding of an array that is made like another, or like a `ShapeDtypeStruct`; None leaves it open."""
    if not isinstance(a, ShapeDtypeStruct):
        return place_of(a, shape)
    if a.sharding is None or a.shape != tuple(shape) or core.current_trace().tracing:
        return None
    scope = get_mesh()
    mesh = getattr(a.sharding, "mesh", scope)
    if isinstance(mesh, AbstractMesh) and (scope.empty or scope.shape_tuple != mesh.shape_tuple):
        return None  # it names no devices
    return canonical_sharding(function, "a", a.sharding)


def _is_duck(a: Any) -> bool:
    """Whether an object has a shape and a dtype, but is not an array."""
    return not isinstance(a, Array | Tracer | np.ndarray | np.generic) and hasattr(a, "shape") and hasattr(a, "dtype")


def full_like(
    a: ArrayLike | ShapeDtypeStruct,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    shape: ShapeLike | None = None,
    *,
    device: DeviceLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """An array of one value, with the shape and dtype of another.

    Args:
      a: an array, a number, or an object with a shape and a dtype.
      fill_value: a number, or an array whose shape broadcasts to that of the result.
      dtype: the dtype; that of `a` if None.
      shape: the shape; that of `a` if None.
      device: the device or sharding of the result. If None, it is that of `a` if this is a committed array of the same
        shape, outside of traces; otherwise the result is uncommitted on the default device.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.full_like(pnp.array([1, 2]), 2.7)  # in the dtype of the array
      Array([2, 2], dtype=int32)
    """
    if out_sharding is not None:
        return resharded("full_like", full_like(a, fill_value, dtype, shape, device=device), out_sharding)
    return _like("full_like", a, fill_value, dtype, shape, device)


def zeros_like(
    a: ArrayLike | ShapeDtypeStruct,
    dtype: DTypeLike | None = None,
    shape: ShapeLike | None = None,
    *,
    device: DeviceLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """An array of zeros, with the shape and dtype of another. The arguments are those of `full_like`.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.zeros_like(pnp.array([1, 2]), dtype="float16", shape=(3,))
      Array([0., 0., 0.], dtype=float16)
    """
    if out_sharding is not None:
        return resharded("zeros_like", zeros_like(a, dtype, shape, device=device), out_sharding)
    return _like("zeros_like", a, 0, dtype, shape, device)


def ones_like(
    a: ArrayLike | ShapeDtypeStruct,
    dtype: DTypeLike | None = None,
    shape: ShapeLike | None = None,
    *,
    device: DeviceLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """An array of ones, with the shape and dtype of another. The arguments are those of `full_like`.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> pnp.ones_like(px.ShapeDtypeStruct((2,), np.int8))
      Array([1, 1], dtype=int8)
    """
    if out_sharding is not None:
        return resharded("ones_like", ones_like(a, dtype, shape, device=device), out_sharding)
    return _like("ones_like", a, 1, dtype, shape, device)


def empty_like(
    prototype: ArrayLike | ShapeDtypeStruct,
    dtype: DTypeLike | None = None,
    shape: ShapeLike | None = None,
    *,
    device: DeviceLike | None = None,
) -> Array:
    """An array of zeros; NumPy leaves its values unspecified. The arguments are those of `full_like`.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> pnp.empty_like(pnp.ones((2, 3), np.int8)).dtype
      dtype('int8')
    """
    return _like("empty_like", prototype, 0, dtype, shape, device)


def zeros(
    shape: ShapeLike,
    dtype: DTypeLike | None = None,
    *,
    device: DeviceLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """An array of zeros.

    Args:
      shape: a sequence of sizes, or one size.
      dtype: the dtype; the default float dtype if None.
      device: the device or sharding of the result; if None, it is uncommitted on the default device.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Raises:
      TypeError: `shape` does not consist of non-negative integers, or `dtype` is not a dtype that arrays may have.

    >>> import primax as px
    >>> px.numpy.zeros((2,))
    Array([0., 0.], dtype=float32)
    """
    if out_sharding is not None:
        return resharded("zeros", zeros(shape, dtype, device=device), out_sharding)
    return _filled("zeros", shape, 0, dtype, device)


def ones(
    shape: ShapeLike,
    dtype: DTypeLike | None = None,
    *,
    device: DeviceLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """An array of ones. The arguments and errors are those of `zeros`.

    >>> import primax as px
    >>> px.numpy.ones(2, "int32")
    Array([1, 1], dtype=int32)
    """
    if out_sharding is not None:
        return resharded("ones", ones(shape, dtype, device=device), out_sharding)
    return _filled("ones", shape, 1, dtype, device)


def empty(
    shape: ShapeLike,
    dtype: DTypeLike | None = None,
    *,
    device: DeviceLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """An array of zeros; NumPy leaves its values unspecified. The arguments are those of `zeros`.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.empty((2,), "int8")  # the elements are zeros, since programs have no uninitialized memory
      Array([0, 0], dtype=int8)
    """
    if out_sharding is not None:
        return resharded("empty", empty(shape, dtype, device=device), out_sharding)
    return _filled("empty", shape, 0, dtype, device)


def _filled(function: str, shape: Any, value: Any, dtype: Any, device: Any) -> Array:
    shape = read_shape(shape, function)
    dtype = dtypes.default_float_dtype() if dtype is None else read_dtype(dtype, function)
    out = _constant_on(function, value, shape, dtype, device)
    if not shape and thread.trace.tracing:  # packages look at ones(()) to know whether a trace is active
        return broadcast_in_dim_p.bind(out, shape=(), broadcast_dimensions=())
    return out


def _constant_on(
    function: str, value: Any, shape: tuple[int, ...], dtype: Any, device: Any, weak: bool = False
) -> Array:
    """An array filled with one host scalar, on one or several devices; each device makes its own part."""
    spread = isinstance(device, Sharding) and len(device.device_set) > 1 and not device._summands
    if not spread or not _on_host():
        out = constant(value, shape, dtype, weak, device)
        # A donation of the result must not take the caller's scalar.
        return place(runtime.copy_if_shared(out, constant=True) if out is value and device is not None else out, device)
    device.check_shape(shape, function)
    return filled(device, shape, lambda part: constant(value, part, dtype, weak))
