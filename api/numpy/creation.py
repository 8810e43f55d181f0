"""Creation of arrays from host values and from shapes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from primax.extend import backend, core, dtypes
from primax.extend.core import Array, ShapeDtypeStruct, Tracer, get_aval
from primax.extend.provisional import runtime
from primax.extend.provisional.arguments import among, canonical_shape, integer, naming, numpy_dtype, of_call, read_size
from primax.extend.provisional.avals import ExtendedArray, unwrap
from primax.extend.provisional.sharding import canonical_sharding, get_mesh, match_placement
from primax.extend.provisional.tracing import remember_memory, thread
from primax.extend.provisional.typing import ArrayLike, DeviceLike, DTypeLike, ShapeLike, ShardingLike
from primax.extend.sharding import AbstractMesh, Sharding
from primax.numpy.promotion import aval_of, broadcast_to_shape, convert
from primax.plugins.devices import device_put
from primax.plugins.resharding import filled, from_host, place_of, resharded
from primax.plugins.structural import (
    broadcast_in_dim_p,
    broadcast_shapes,
    concatenate_p,
    convert_element_type_p,
    copy_p,
    reshape_p,
    warn_if_real,
    zero_of,
)
from primax.plugins.structural.creation import with_large_integer

__all__ = [
    "array",
    "asarray",
    "copy",
    "empty",
    "empty_like",
    "from_dlpack",
    "frombuffer",
    "fromiter",
    "full",
    "full_like",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]


def _on_host() -> bool:
    """Whether constants can be computed on the host now, outside of a program."""
    return not thread.trace.tracing


_MOST_COPIED = 1 << 16


def _is_cheap(count: int) -> bool:
    """Whether it is cheaper to copy this many elements to the device than to compile a program that creates them."""
    return count <= _MOST_COPIED or backend.platform_of(backend.get_default_device()) == "cpu"


def read_dtype(dtype: Any, function: str) -> Any:
    """Convert a dtype from the user."""
    return dtypes.check_user_dtype(dtype, "dtype", function)


def read_shape(shape: Any, function: str) -> tuple[int, ...]:
    """Convert a shape from the user, a sequence or one number."""
    if isinstance(shape, int) or (hasattr(shape, "__index__") and not getattr(shape, "shape", ())):
        shape = (shape,)  # arrays of any rank have __index__
    return canonical_shape(shape, function)


def constant(value: Any, shape: tuple[int, ...], dtype: Any, weak: bool = False, device: Any = None) -> Array:
    """An array of one host scalar; on a device, if it is given and the array is made on the host."""
    if dtype == dtypes.float0:  # jaxlib has no such arrays
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


def stage(x: object, /) -> Array:
    """Convert an array or a number to a value of the program being traced, or to an array outside of tracing.

    Raises:
      TypeError: `x` is neither.

    >>> import primax as px
    >>> px.lax.stage(1.0)
    Array(1., dtype=float32, weak_type=True)
    """
    aval_of("stage", x, "x")
    return asarray(x)


def asarray(
    a: object,
    dtype: DTypeLike | None = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    device: DeviceLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Convert a value to an array; an array is returned unchanged.

    Args:
      a: an array, a number, or nested sequences of them.
      dtype: the dtype of the result; found by promotion if None.
      order: None, "K", "A", "C" or "F"; ignored, since arrays have no memory order.
      copy: True always copies; False raises an error if a copy is needed; None copies if needed. Values other than
        arrays and buffers share no memory.
      device: the device or sharding of the result; if None, it is uncommitted on the default device.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Raises:
      TypeError: `a` cannot be converted, `dtype` is not a dtype of arrays, or `copy` is neither a bool nor None.
      ValueError: nested sequences are ragged, or `copy` is False and a copy is needed.

    >>> import primax as px
    >>> px.numpy.asarray([1, 2.5])
    Array([1. , 2.5], dtype=float32)
    """
    out = _array("asarray", a, dtype, order, read_copy("asarray", copy), device)
    return out if out_sharding is None else resharded("asarray", out, out_sharding)


def array(
    object: object,
    dtype: DTypeLike | None = None,
    copy: bool = True,
    order: str | None = "K",
    ndmin: int = 0,
    *,
    device: DeviceLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Convert a value to an array; an array is copied.

    Args:
      object: an array, a number, or nested sequences of them.
      dtype: the dtype of the result; found by promotion if None.
      copy: whether to copy an array.
      order: None, "K", "A", "C" or "F"; ignored, since arrays have no memory order.
      ndmin: the minimal rank of the result; axes of length 1 are added in front.
      device: the device or sharding of the result; if None, it is uncommitted on the default device.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Raises:
      TypeError: `object` cannot be converted, `dtype` is not a dtype of arrays, or `copy` is not a bool.
      ValueError: nested sequences are ragged.

    >>> import primax as px
    >>> px.numpy.array([[1, 2], [3, 4]])
    Array([[1, 2],
           [3, 4]], dtype=int32)
    """
    out = _array("array", object, dtype, order, read_copy("array", copy) or None, device)
    missing = read_size("array", "ndmin", max(integer("array", "ndmin", ndmin), 0), 1024) - out.ndim
    if missing > 0:
        out = reshape_p.bind(out, new_sizes=(1,) * missing + out.shape, dimensions=None)
    return out if out_sharding is None else resharded("array", out, out_sharding)


def read_copy(function: str, copy: Any) -> bool | None:
    """Read an argument `copy`: whether to copy.

    Raises:
      TypeError: `copy` is neither a bool nor None.
    """
    if copy is None or copy is True or copy is False:
        return copy
    if not among(copy, (True, False)):
        raise TypeError(f"{function}: copy must be a bool or None, got {copy!r}")
    return bool(copy)


def _array(function: str, a: Any, dtype: Any, order: Any, copy: Any, device: Any) -> Array:
    if order is not None and not among(order, ("K", "A", "C", "F")):
        raise ValueError(f"{function}: order must be None, 'K', 'A', 'C' or 'F', got {order!r}")
    if dtype is not None:
        dtype = read_dtype(dtype, function)
    out = _convert_to_array(function, a, dtype, copy, device)
    return out if device is None else place(out, device)


def _convert_to_array(function: str, a: Any, dtype: Any, copy: Any, device: Any = None) -> Any:
    """The value as an array; host values are put on the device, if one is given."""
    if isinstance(a, Array | Tracer):
        aval = a.aval
        if aval.mutable:
            aval_of(function, a, "a")  # raises the error
        if dtype is not None and (aval.dtype != dtype or aval.weak_type):
            if copy is False and aval.dtype != dtype:
                raise ValueError(f"{function}: dtype {dtype} of {aval.str_short()} needs a copy, and copy is False")
            if dtypes.is_complex(aval.dtype):
                warn_if_real(dtype)
            return convert_element_type_p.bind(a, new_dtype=dtype, weak_type=False)
        of_number = isinstance(a, Tracer) and a.is_concrete and not isinstance(a.concrete(), Array)
        if of_number or (copy and type(a) in (Array, ExtendedArray)):
            return copy_p.bind(a)
        return a
    if isinstance(a, list | tuple):
        return _of_sequence(function, "a", a, dtype, device)
    if not isinstance(a, np.ndarray | np.generic | int | float | complex):
        return _of_foreign(function, a, dtype, copy, device)
    if isinstance(a, np.ndarray) and a.dtype == dtypes.float0 and dtype in (None, dtypes.float0):
        return a.copy() if copy else a  # jaxlib has no such arrays
    if copy is False and isinstance(a, np.ndarray | np.generic):
        raise ValueError(f"{function}: a value of type {type(a).__name__} needs a copy, and copy is False")
    if dtype is None or isinstance(dtype, dtypes.ExtendedDType):
        out = from_host(a, aval_of(function, a, "a").weak_type, device)
    else:
        out = from_host(_host_cast(function, a, dtype), False, device)
    if type(a) is np.ndarray and a.ndim and out.dtype == a.dtype:
        remember_memory(out, a)
    return out


def _host_cast(function: str, a: Any, dtype: Any) -> np.ndarray:
    try:
        if not isinstance(a, np.ndarray):
            return np.array(a, dtype)
        with np.errstate(all="ignore"):
            return a.astype(dtype)
    except (TypeError, ValueError, OverflowError) as error:
        kind = next(known for known in (TypeError, OverflowError, ValueError) if isinstance(error, known))
        raise kind(f"{function}: a must be convertible to {dtype}: {error}") from None


def _of_foreign(function: str, a: Any, dtype: Any, copy: Any, device: Any = None) -> Array:
    """Convert a value that is neither a number nor a NumPy array."""
    if hasattr(type(a), "__jax_array__"):
        return _convert_to_array(function, unwrap(a), dtype, copy, device)
    if isinstance(a, ShapeDtypeStruct):
        runtime.on_host(a)  # raises an error, since the value is unknown
    try:
        get_aval(a)
    except TypeError:
        if _is_convertible(a):
            return _convert_to_array(function, _converted(a), dtype, copy, device)
    aval_of(function, a, "a")
    return a


def values_of(function: str, argument: str, a: Any) -> Any:
    """An array or a number unchanged; other values that `asarray` accepts, such as nested sequences, as arrays."""
    if isinstance(a, list | tuple):
        return _of_sequence(function, argument, a, None)
    return _of_foreign(function, a, None, None) if _is_convertible(a) and not isinstance(a, _ARRAYS) else a


def _of_sequence(function: str, argument: str, a: Any, dtype: Any, device: Any = None) -> np.ndarray | Array:
    try:
        a = _with_arrays(a)
    except RecursionError:
        raise ValueError(f"{function}: {argument} must be nested at most 64 deep, got sequences without end") from None
    leaves: list[Any] = []
    shape = _shape_of(function, a, leaves, 0)
    if dtype is None:
        avals = dict.fromkeys(aval_of(function, leaf, f"an element of {argument}") for leaf in leaves)
        dtype = dtypes.result_type(*avals) if leaves else dtypes.default_float_dtype()
    if any(isinstance(leaf, Array | Tracer) for leaf in leaves):
        return _stacked(a, dtype, shape)
    if isinstance(dtype, dtypes.ExtendedDType):
        raise TypeError(f"{function}: dtype must be a bool or number dtype for host values, got {dtype}")
    return from_host(_host_cast(function, a, dtype).reshape(shape), False, device)


def _with_arrays(a: Any) -> Any:
    """Replace, in nested sequences, the objects that can be converted to arrays by arrays."""
    if isinstance(a, list | tuple):
        return list(map(_with_arrays, a))
    if type(a) in _PLAIN:
        return a
    a = unwrap(a)
    try:
        get_aval(a)
    except TypeError:
        if _is_convertible(a):
            return _converted(a)
    except OverflowError:  # the requested dtype may hold it
        return a
    return a


def _is_convertible(a: Any) -> bool:
    """Whether NumPy can convert an object to an array."""
    if isinstance(a, str | bytes | type):
        return False
    return isinstance(a, memoryview | bytearray | Sequence) or any(hasattr(a, name) for name in _PROTOCOLS)


def _converted(a: Any) -> np.ndarray | Array:
    """The value of another library's object as an array, which may share memory with an object on a GPU."""
    if not hasattr(a, _ON_GPU):
        return np.asarray(a)
    shared = runtime.from_cuda_array_interface(a)
    return convert(shared, get_aval(shared), dtypes.canonicalize_dtype(shared.dtype))  # of 32 bits if enable_x64 is off


_ON_GPU = "__cuda_array_interface__"
_PROTOCOLS = ("__array__", "__array_interface__", "__array_struct__", _ON_GPU)
_ARRAYS = (Array, Tracer, np.ndarray, np.generic)
_PLAIN = (Array, np.ndarray, bool, int, float, complex)


def _shape_of(function: str, a: Any, leaves: list[Any], depth: int) -> tuple[int, ...]:
    """The shape of nested sequences; appends the innermost values to `leaves`."""
    if not isinstance(a, list | tuple):
        leaves.append(a)
        return tuple(np.shape(a)) if hasattr(a, "shape") else ()
    if not a:
        return (0,)
    shapes = [_shape_of(function, x, leaves, depth + 1) for x in a]
    if any(shape != shapes[0] for shape in shapes):
        other = next(shape for shape in shapes if shape != shapes[0])
        raise ValueError(
            f"{function}: nested sequences must be of the same shape, got {shapes[0]} and {other} at depth {depth + 1}"
        )
    return (len(a), *shapes[0])


def _stacked(a: Any, dtype: Any, shape: tuple[int, ...]) -> np.ndarray | Array:
    """Convert nested sequences of a known shape that hold arrays."""
    if not isinstance(a, list | tuple):
        x = convert(a, get_aval(a), dtype)
        aval = get_aval(x)
        return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=False) if aval.weak_type else x
    if all(not isinstance(x, list | tuple | Array | Tracer) and not np.shape(x) for x in a):
        return np.array(a, dtype).reshape(shape)
    parts = [reshape_p.bind(_stacked(x, dtype, shape[1:]), new_sizes=(1, *shape[1:]), dimensions=None) for x in a]
    return concatenate_p.bind(*parts, dimension=0) if len(parts) > 1 else parts[0]


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


def copy(a: object, order: str | None = None) -> Array:
    """A copy of an array. `order` is ignored, as in `asarray`.

    Examples:
      >>> import primax.numpy as pnp
      >>> x = pnp.arange(3)
      >>> pnp.copy(x) is x, pnp.asarray(x) is x
      (False, True)
    """
    return _array("copy", a, None, order, True, None)


def frombuffer(buffer: object, dtype: DTypeLike = float, count: int = -1, offset: int = 0) -> Array:
    """An array of the elements in a buffer.

    Args:
      buffer: an object with the buffer protocol.
      dtype: the dtype of the elements in the buffer, such as float64 for `float`.
      count: the number of elements; -1 for all.
      offset: the byte at which the first element begins.

    Raises:
      ValueError: the buffer is too small, or its size is not a multiple of an element's size.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> pnp.frombuffer(b"abc", dtype=np.uint8, offset=1)
      Array([98, 99], dtype=uint8)
    """
    read_dtype(dtype, "frombuffer")
    # Before Python 3.12, arrays do not support the buffer protocol.
    source: Any = np.asarray(buffer) if isinstance(buffer, Array) else buffer
    with naming("frombuffer"):
        return asarray(np.frombuffer(source, numpy_dtype("frombuffer", "dtype", dtype), count, offset))


def fromiter(iterable: Iterable[ArrayLike], dtype: DTypeLike, count: int = -1) -> Array:
    """An array of the numbers of an iterable.

    Args:
      iterable: the numbers.
      dtype: the dtype of the result.
      count: the number of elements to take; -1 for all.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> pnp.fromiter((i * i for i in range(4)), dtype=np.int32)
      Array([0, 1, 4, 9], dtype=int32)
    """
    with naming("fromiter"):
        return asarray(np.fromiter(iterable, np.dtype(read_dtype(dtype, "fromiter")), count))


def from_dlpack(x: object, /, *, device: DeviceLike | None = None, copy: bool | None = None) -> Array:
    """An array of the values of another library's array, through DLPack.

    Args:
      x: an array with `__dlpack__` and `__dlpack_device__`.
      device: the device of the result; that of `x` if None.
      copy: True always copies; False raises an error if a copy is needed; None copies if needed.

    Raises:
      TypeError: `x` lacks these methods.
      ValueError: `copy` is False and a copy is needed.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> pnp.from_dlpack(np.arange(3, dtype=np.int32))
      Array([0, 1, 2], dtype=int32)
    """
    return runtime.from_dlpack(x, device, copy)


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


def place(out: Any, device: Any) -> Array:
    """Put an array on a device, if one is given."""
    if device is None:
        return out
    return runtime.put_value(out, out.weak_type, device) if type(out) is Array else device_put(out, device)
