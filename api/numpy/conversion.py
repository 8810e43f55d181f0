"""Conversion to arrays: from numbers, NumPy arrays, nested sequences, buffers and other libraries' arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, ShapeDtypeStruct, Tracer, get_aval
from primax.extend.provisional import runtime
from primax.extend.provisional.arguments import among, canonical_shape, integer, naming, numpy_dtype, read_size
from primax.extend.provisional.avals import ExtendedArray, unwrap
from primax.extend.provisional.tracing import remember_memory
from primax.extend.provisional.typing import ArrayLike, DeviceLike, DTypeLike, ShardingLike
from primax.numpy.promotion import aval_of, convert
from primax.plugins.devices import device_put
from primax.plugins.resharding import from_host, resharded
from primax.plugins.structural import concatenate_p, convert_element_type_p, copy_p, reshape_p, warn_if_real

__all__ = ["array", "asarray", "copy", "from_dlpack", "frombuffer", "fromiter"]


def read_dtype(dtype: Any, function: str) -> Any:
    """Convert a dtype from the user."""
    return dtypes.check_user_dtype(dtype, "dtype", function)


def read_shape(shape: Any, function: str) -> tuple[int, ...]:
    """Convert a shape from the user, a sequence or one number."""
    if isinstance(shape, int) or (hasattr(shape, "__index__") and not getattr(shape, "shape", ())):
        shape = (shape,)  # arrays of any rank have __index__
    return canonical_shape(shape, function)


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
        return a.copy() if copy else a  # jaxlib has no arrays of float0
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


def place(out: Any, device: Any) -> Array:
    """Put an array on a device, if one is given."""
    if device is None:
        return out
    return runtime.put_value(out, out.weak_type, device) if type(out) is Array else device_put(out, device)
