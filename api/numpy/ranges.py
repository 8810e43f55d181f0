"""Ranges and grids of evenly spaced numbers."""

from __future__ import annotations

import math
from typing import Any, Literal, SupportsIndex, overload

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, Tracer, get_aval
from primax.extend.dimensions import is_symbolic_dim, max_dim
from primax.extend.provisional.arguments import among, canonical_axis, of_call, read_size, sequence
from primax.extend.provisional.tracing import thread
from primax.extend.provisional.typing import ArrayLike, DeviceLike, DTypeLike, ShapeLike, ShardingLike
from primax.numpy.conversion import asarray, place, read_dtype, read_shape
from primax.numpy.creation import constant, full_like
from primax.numpy.division import power
from primax.numpy.programs import one_program
from primax.numpy.promotion import aval_of, broadcast, broadcast_to_shape, cast, convert, promote, strong
from primax.numpy.shaping import reshaped
from primax.numpy.ufuncs import add, divide, multiply, subtract
from primax.plugins import arithmetic, rounding
from primax.plugins.calls import jit
from primax.plugins.resharding import from_host, resharded
from primax.plugins.structural import as_scalar, broadcast_in_dim_p, concatenate, concatenate_p, iota_p, slice_in_dim
from primax.plugins.structural.creation import with_large_integer

__all__ = ["arange", "geomspace", "indices", "linspace", "logspace", "meshgrid"]


def _known(function: str, argument: str, x: Any) -> Any:
    """The value of a number that determines a shape."""
    if is_symbolic_dim(x):
        return x
    aval = aval_of(function, x, argument)
    if aval.shape:
        raise TypeError(f"{function}: {argument} must be a number, got {aval.str_short()}")
    if dtypes.is_complex(aval.dtype):
        raise ValueError(f"{function}: {argument} must be a real number, got {x!r}; dtype= makes the result complex")
    if isinstance(x, Tracer):
        return int(x) if dtypes.is_integer(aval.dtype) else float(x)
    return x.item() if isinstance(x, Array | np.ndarray | np.generic) else x


def _as_scalar(x: Any, dtype: Any) -> Any:
    return as_scalar(x, dtype) if is_symbolic_dim(x) else np.asarray(x).astype(dtype)[()]


def counted(count: int, start: Any, step: Any, dtype: Any, device: Any = None) -> Array:
    """start, start + step, ...: `count` numbers of a dtype; on a device, if it is given and nothing is traced."""
    if not thread.trace.tracing and not is_symbolic_dim(count):
        try:
            host = np.arange(count).astype(dtype)
        except (ValueError, OverflowError) as error:
            raise ValueError(f"no array can have {count} elements{of_call()}: {error}") from None
        with np.errstate(all="ignore"):
            if step != 1:
                host = host * np.asarray(step).astype(dtype)
            if start != 0:
                host = host + np.asarray(start).astype(dtype)
        return from_host(host.astype(dtype), False, device)
    out = iota_p.bind(dtype=dtype, shape=(count,), dimension=0)
    if step != 1:
        out = arithmetic.mul_p.bind(out, _as_scalar(step, dtype))
    if start != 0:
        out = arithmetic.add_p.bind(out, _as_scalar(start, dtype))
    return out


def arange(
    start: ArrayLike | SupportsIndex,
    stop: ArrayLike | SupportsIndex | None = None,
    step: ArrayLike | SupportsIndex | None = None,
    dtype: DTypeLike | None = None,
    *,
    device: DeviceLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Evenly spaced numbers from start up to, but not including, stop.

    Args:
      start: the first number; if `stop` is None, this argument is the end, and the first number is 0.
      stop: the end.
      step: the step; 1 if None.
      dtype: the dtype of the result; that to which the arguments promote if None.
      device: the device or sharding of the result; if None, it is uncommitted on the default device.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Returns:
      An array of shape (ceil((stop - start) / step),).

    Raises:
      TypeError: an argument is not a number, or is traced.
      ValueError: `step` is 0, an argument is complex, or the length of the result is not finite.

    >>> import primax as px
    >>> px.numpy.arange(2, 8, 2)
    Array([2, 4, 6], dtype=int32)
    """
    if out_sharding is not None:
        return resharded("arange", arange(start, stop, step, dtype, device=device), out_sharding)
    bounds = [x for x in (start, stop, step) if x is not None]
    if stop is None:
        start, stop = 0, start
    if dtype is not None:
        dtype = read_dtype(dtype, "arange")
    as_floats = dtype is not None and not dtypes.is_integer(dtype)
    numbers: list[Any] = [
        x if x is None or (as_floats and type(x) is int) else _known("arange", name, with_large_integer(x, dtype))
        for name, x in (("start", start), ("stop", stop), ("step", 1 if step is None else step))
    ]
    low, high, gap = numbers
    if gap == 0:
        raise ValueError("arange: step must not be 0, got 0")
    if dtype is None:
        dtype = dtypes.result_type(*[get_aval(x) for x in bounds])
    if all(isinstance(x, int) for x in (low, high, gap)):
        count = len(range(low, high, gap))
    elif any(is_symbolic_dim(x) for x in (low, high, gap)):
        count = _symbolic_count(low, high, gap)
    else:
        length = (high - low) / gap
        if not math.isfinite(length):
            raise ValueError(f"arange: the numbers must be finitely many, got start={low}, stop={high}, step={gap}")
        count = max(0, math.ceil(length))
    if dtypes.is_bool(dtype):
        if count > 2:
            raise TypeError(f"arange: there must be at most 2 numbers of dtype bool, got {count}")
        return from_host(np.arange(low, high, gap, dtype=bool), False, device)
    return place(counted(count, low, gap, dtype, device), device)


def _symbolic_count(low: Any, high: Any, gap: Any) -> Any:
    for x in (low, high, gap):
        if not (isinstance(x, int) or is_symbolic_dim(x)):
            raise TypeError(f"arange: with a symbolic dimension, all arguments must be integers, got {x!r}")
    return max_dim(-((low - high) // gap), 0)


def _require_ends(function: str, start: Any, stop: Any) -> None:
    for x, argument in ((start, "start"), (stop, "stop")):
        aval_of(function, x, argument)


def _interpolated(
    function: str, start: Any, stop: Any, num: Any, endpoint: bool, dtype: Any, axis: int
) -> tuple[Any, Any, Any, Any, Any, Any]:
    """`num` points from start to stop, their fractions of the way, and the dtype of the result."""
    num = read_size(function, "num", num)
    ends = promote(function, start, stop, to=dtypes.to_inexact_dtype)
    computed = get_aval(ends[0]).dtype
    out_dtype = computed if dtype is None else read_dtype(dtype, function)
    if dtypes.is_inexact(out_dtype) and not (dtypes.is_complex(computed) and not dtypes.is_complex(out_dtype)):
        computed, ends = out_dtype, [cast(x, out_dtype) for x in (start, stop)]  # not by way of the common dtype
    start, stop = broadcast(function, ends)
    shape = get_aval(start).shape or get_aval(stop).shape
    steps = num - 1 if endpoint else num
    real = dtypes.to_floating_dtype(computed)
    way = counted(num, 0, 1, real)
    if is_symbolic_dim(steps) or steps > 1:
        way = arithmetic.div_p.bind(way, as_scalar(max_dim(steps, 1), real))
    axis = canonical_axis(axis, len(shape) + 1, function)
    return start, stop, convert(way, get_aval(way), computed), shape, out_dtype, axis


def _ending(out: Any, stop: Any, axis: int) -> Array:
    """Set the last point to exactly `stop`, from which the formula differs by rounding."""
    shape = list(get_aval(out).shape)
    others, shape[axis] = slice_in_dim(out, 0, -1, axis=axis), 1
    return concatenate([others, broadcast_to_shape(stop, tuple(shape))], axis)


def _along(x: Any, shape: tuple[int, ...], axis: int) -> Any:
    """Add an axis of length 1 to an array of `shape`, or to a scalar."""
    return x if not shape or not get_aval(x).shape else reshaped(x, (*shape[:axis], 1, *shape[axis:]))


def _across(way: Any, shape: tuple[int, ...], axis: int) -> Array:
    """A vector, reshaped to lie along a new axis of arrays of `shape`."""
    if not shape:
        return way
    sizes = [1] * (len(shape) + 1)
    sizes[axis] = get_aval(way).shape[0]
    return reshaped(way, tuple(sizes))


@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: SupportsIndex = 50,
    endpoint: bool = True,
    retstep: Literal[False] = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: DeviceLike | None = None,
) -> Array: ...
@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: SupportsIndex = 50,
    endpoint: bool = True,
    *,
    retstep: Literal[True],
    dtype: DTypeLike | None = None,
    axis: int = 0,
    device: DeviceLike | None = None,
) -> tuple[Array, Array]: ...
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: SupportsIndex = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: DeviceLike | None = None,
) -> tuple[Array, Array] | Array:
    """Evenly spaced numbers from start to stop.

    Args:
      start, stop: arrays or numbers, of shapes that broadcast together.
      num: the number of values.
      endpoint: whether the last number is `stop`.
      retstep: whether to return the step too.
      dtype: the dtype of the result; if None, the floating or complex dtype to which `start` and `stop` promote.
      axis: the position of the new axis in the result.
      device: the device or sharding of the result; if None, it is uncommitted on the default device.

    Returns:
      An array with one more axis than `start` and `stop`; if `retstep`, a pair of the array and the step.

    Raises:
      TypeError: `num` is not an integer, or is traced.
      ValueError: `num` is negative.

    >>> import primax as px
    >>> px.numpy.linspace(0, 1, 5)
    Array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    count = read_size("linspace", "num", num)
    if dtype is not None:
        dtype = read_dtype(dtype, "linspace")
    _require_ends("linspace", start, stop)
    out = place(_compiled_linspace(start, stop, count, bool(endpoint), dtype, axis), device)
    if not retstep:
        return out
    steps = count - bool(endpoint)
    last, first = promote("linspace", stop, start, to=dtypes.to_inexact_dtype)
    width = subtract(last, first)
    return out, strong(divide(width, steps) if steps > 0 else full_like(width, math.nan))


def _linspace(start: Any, stop: Any, num: int, endpoint: bool, dtype: Any, axis: int) -> Array:
    start, stop, way, shape, out_dtype, axis = _interpolated("linspace", start, stop, num, endpoint, dtype, axis)
    low, high = _along(start, shape, axis), _along(stop, shape, axis)
    way = _across(way, shape, axis)
    computed = get_aval(way).dtype
    rest = arithmetic.sub_p.bind(computed.type(1), way)
    # The quotient comes first, as in JAX: so whole steps from 0, such as the edges of histograms, are rounded once.
    steps = max_dim(num - 1 if endpoint else num, 1)
    places = _across(counted(num, 0, 1, dtypes.to_floating_dtype(computed)), shape, axis)
    share = divide(high, as_scalar(steps, computed))
    out = add(multiply(low, rest), multiply(share, convert(places, get_aval(places), computed)))
    if endpoint and num > 1:
        out = _ending(out, high, axis)
    if dtypes.is_integer(out_dtype):
        out = rounding.floor_p.bind(out)
    return strong(convert(out, get_aval(out), out_dtype))


# One call in programs, and one program outside of them, in place of half a dozen operations.
_compiled_linspace = jit(_linspace, static_argnums=(2, 3, 4, 5))


@one_program("num endpoint base dtype axis")
def logspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: SupportsIndex = 50,
    endpoint: bool = True,
    base: ArrayLike = 10.0,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Array:
    """Numbers evenly spaced on a log scale, from base**start to base**stop.

    Args:
      start, stop: arrays or numbers, of shapes that broadcast together.
      num: the number of values.
      endpoint: whether the last number is base**stop.
      base: the base, an array or a number.
      dtype: the dtype of the result; if None, the floating or complex dtype to which `start` and `stop` promote.
      axis: the position of the new axis in the result.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.logspace(0, 3, 4, base=2.0)
      Array([1., 2., 4., 8.], dtype=float32)
    """
    out_dtype = None if dtype is None else read_dtype(dtype, "logspace")
    _require_ends("logspace", start, stop)
    computed = out_dtype if out_dtype is not None and dtypes.is_inexact(out_dtype) else None
    exponents = linspace(start, stop, num, endpoint, dtype=computed, axis=axis)
    out = power(asarray(base, exponents.dtype), exponents)
    return out if out_dtype is None else cast(out, out_dtype)


@one_program("num endpoint dtype axis")
def geomspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: SupportsIndex = 50,
    endpoint: bool = True,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Array:
    """Numbers evenly spaced on a log scale, from start to stop.

    Args:
      start, stop: arrays or numbers of the same sign, of shapes that broadcast together.
      num: the number of values.
      endpoint: whether the last number is `stop`.
      dtype: the dtype of the result; if None, the floating or complex dtype to which `start` and `stop` promote.
      axis: the position of the new axis in the result.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.geomspace(1, 8, 4).round(5), pnp.geomspace(-1, -8, 4, endpoint=False).shape
      (Array([1., 2., 4., 8.], dtype=float32), (4,))
    """
    _require_ends("geomspace", start, stop)
    start, stop, way, shape, out_dtype, axis = _interpolated("geomspace", start, stop, num, endpoint, dtype, axis)
    low, high = _along(start, shape, axis), _along(stop, shape, axis)
    way = _across(way, shape, axis)
    out = multiply(low, power(divide(high, low), way))
    if endpoint and get_aval(out).shape[axis] > 1:
        out = _ending(out, high, axis)
    return strong(convert(out, get_aval(out), out_dtype))


def meshgrid(*xi: ArrayLike, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> list[Any]:
    """The coordinates of the points of a grid, one array per axis.

    Args:
      xi: the coordinates along each axis, arrays of rank 1 or 0.
      copy: ignored, since arrays are immutable.
      sparse: whether each result has length 1 along the other axes.
      indexing: "xy" if the first array varies along the second axis, "ij" if it varies along the first.

    Raises:
      ValueError: an array is of rank 2 or more; `indexing` is neither "xy" nor "ij".

    Examples:
      >>> import primax.numpy as pnp
      >>> x, y = pnp.meshgrid(pnp.arange(3), pnp.arange(2))
      >>> x.shape, pnp.meshgrid(pnp.arange(3), pnp.arange(2), indexing="ij")[0].shape
      ((2, 3), (3, 2))
    """
    if not among(indexing, ("xy", "ij")):
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij', got {indexing!r}")
    sizes = []
    for i, x in enumerate(xi):
        aval = aval_of("meshgrid", x, i)
        if len(aval.shape) > 1:
            raise ValueError(f"meshgrid: arguments must be of rank 1, got {aval.str_short()}")
        sizes.append(aval.size)
    order = list(range(len(xi)))
    if indexing == "xy" and len(xi) > 1:
        order[:2] = 1, 0
    full_shape = tuple([sizes[i] for i in order])
    out = []
    for axis, i in sorted(enumerate(order), key=lambda item: item[1]):
        x = reshaped(xi[i], (sizes[i],))
        if sparse:
            out.append(reshaped(x, tuple([size if k == axis else 1 for k, size in enumerate(full_shape)])))
        elif full_shape == (sizes[i],):
            out.append(x)
        else:
            out.append(broadcast_in_dim_p.bind(x, shape=full_shape, broadcast_dimensions=(axis,)))
    return out


def indices(dimensions: ShapeLike, dtype: DTypeLike | None = None, sparse: bool = False) -> tuple[Any, ...] | Array:
    """The positions of the elements of an array of a given shape.

    Args:
      dimensions: the shape.
      dtype: the dtype of the result; the default int dtype if None.
      sparse: whether to return a tuple with one array per axis, of length 1 along the other axes.

    Returns:
      An array with an additional leading axis, of the length of `dimensions`; if `sparse`, a tuple of arrays.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.indices((2, 2))
      Array([[[0, 0],
              [1, 1]],
      <BLANKLINE>
             [[0, 1],
              [0, 1]]], dtype=int32)
      >>> pnp.indices((2, 3), sparse=True)[1].shape
      (1, 3)
    """
    shape = read_shape(tuple(sequence("indices", "dimensions", dimensions)), "indices")
    dtype = dtypes.default_int_dtype() if dtype is None else read_dtype(dtype, "indices")
    positions = [counted(size, 0, 1, dtype) for size in shape]
    grids = meshgrid(*positions, sparse=sparse, indexing="ij")
    if sparse:
        return tuple(grids)
    if not grids:
        return constant(0, (0,), dtype)
    parts = [reshaped(x, (1, *shape)) for x in grids]
    return concatenate_p.bind(*parts, dimension=0) if len(parts) > 1 else parts[0]
