"""`Array`: an immutable value on a device, with the interface of a NumPy array."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from importlib import import_module
from operator import attrgetter
from typing import Any
from weakref import ref

import numpy as np

from primax.core import _jaxlib, dtypes, tree
from primax.core._jaxlib import ArrayImpl, buffer_to_dlpack_managed_tensor
from primax.core.arguments import among, integer, numpy_dtype, sequence
from primax.core.avals import ShapedArray, register_aval
from primax.core.errors import DeletedArrayError, XlaError, ambiguous_truth
from primax.core.host_values import maker
from primax.core.operand import Operand, operator_names, operators
from primax.core.pickling import pickled
from primax.core.trace import Tracer
from primax.interpreters.runtime import fork_guard
from primax.interpreters.runtime.dlpack import capsule_address, capsule_view

_new = object.__new__


class _ArrayType(type):
    """Makes tracers of arrays and arrays of extended dtypes instances of `Array`, for annotations and checks."""

    # `help` shows the methods, whose docstrings are those of plugins.
    __doc__ = property(lambda cls: [*map(operators.ask, operator_names)] and vars(cls)["__doc__"])

    def __instancecheck__(cls, x: object) -> bool:
        return type(x) in array_classes or (isinstance(x, Tracer) and isinstance(x.aval, ShapedArray))


array_classes: set[type] = set()


class Array(Operand, metaclass=_ArrayType):
    """An immutable n-dimensional array on a device.

    `primax.numpy.asarray`, `primax.device_put` and all computations return arrays; the class is not called directly.
    Its operators and methods are those of NumPy's arrays, as far as the active plugins supply them. Tracers of arrays
    are instances of this class, too.

    `numpy.asarray(x)` is a read-only view if the device is the host. `memoryview(x)` needs Python 3.12; earlier
    versions can use `memoryview(numpy.asarray(x))`.

    Examples:
      >>> import primax as px
      >>> import numpy as np
      >>> px.jit(lambda x: print(isinstance(x, px.Array), x.shape))(np.ones(2))
      True (2,)
      >>> isinstance(np.ones(2), px.Array)
      False
    """

    __slots__ = ("__weakref__", "_b", "_signature")

    _b: Any
    _signature: Any  # set by the first call of a compiled program; see `primax.interpreters.runtime.arg_signature`

    def __init__(self, _b: Any) -> None:
        self._b = _b

    @property
    def aval(self) -> Any:
        return self._b.aval

    @property
    def shape(self) -> tuple[int, ...]:
        return self._b.aval.shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._b.aval.dtype  # type: ignore[no-any-return]

    @property
    def ndim(self) -> int:
        return len(self._b.aval.shape)

    @property
    def size(self) -> int:
        return self._b.aval.size  # type: ignore[no-any-return]

    @property
    def weak_type(self) -> bool:
        return self._b.aval.weak_type  # type: ignore[no-any-return]

    @property
    def sharding(self) -> Any:
        return self._b._sharding

    @property
    def format(self) -> Any:
        """The row-major layout with the sharding."""
        layout = import_module("primax.interpreters.runtime.sharding.layout")
        return layout.Format(layout.Layout(tuple(range(self.ndim))), self._b._sharding)

    @property
    def committed(self) -> bool:
        """Whether computations with this array must run on its device."""
        return self._b._committed  # type: ignore[no-any-return]

    def devices(self) -> set[Any]:
        """The devices that hold this array."""
        return set(self._b._sharding._internal_device_list)

    @property
    def device(self) -> Any:
        """The device that holds this array, or its sharding if there are several."""
        devices = self.devices()
        return next(iter(devices)) if len(devices) == 1 else self.sharding

    def block_until_ready(self) -> Array:
        """Wait until the value has been computed; returns this array.

        Raises:
          XlaError: the computation failed.
        """
        try:
            self._require_alive()
            fork_guard.await_buffer(self._b)
        except XlaError:
            self._require_alive()
            raise
        return self

    @staticmethod
    def _await_all(arrays: list[Array]) -> None:
        """Wait until the values of several arrays have been computed.

        Raises:
          XlaError: a computation failed.
        """
        try:
            fork_guard.await_buffers([x._b for x in arrays])
        except XlaError:
            for x in arrays:
                x.block_until_ready()
            raise

    def is_ready(self) -> bool:
        """Whether the value has been computed."""
        return self._call_buffer("is_ready")  # type: ignore[no-any-return]

    def copy_to_host_async(self) -> None:
        """Start copying the value to the host; nothing happens if the device is the host."""
        if self.platform() == "cpu":
            self._require_alive()
        else:
            self._call_buffer("_copy_single_device_array_to_host_async")

    @property
    def is_fully_addressable(self) -> bool:
        """Whether this process can read the whole array."""
        return bool(self._b._sharding._internal_device_list.is_fully_addressable)

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each device that holds the array holds all of it."""
        return bool(self._b._sharding.is_fully_replicated)

    def addressable_data(self, index: int) -> Array:
        """The shard on a device, by its index among the devices of this process that hold the array."""
        index = integer("addressable_data", "index", index)
        if len(self._b._sharding._internal_device_list) == 1 and index in (0, -1):
            return self
        parts = constructor.parts(self._b)
        mark_shared(self._b)  # including its parts, which no program may take as a donated buffer
        if not -len(parts) <= index < len(parts):
            raise IndexError(f"addressable_data: index must be below {len(parts)}, the number of parts, got {index}")
        return Array(parts[index])

    @property
    def addressable_shards(self) -> list[Shard]:
        """The shards of the array on the devices of this process."""
        return [shard for shard in self.global_shards if shard.data is not None]

    @property
    def global_shards(self) -> list[Shard]:
        """The shards of the array on all devices; shards on devices of other processes have no data."""
        sharding = self._b._sharding
        addressable = sharding.addressable_devices
        data = iter(constructor.parts(self._b))
        mark_shared(self._b)
        return [
            Shard(device, sharding, self.shape, Array(next(data)) if device in addressable else None)
            for device in _places(sharding, self.shape)
        ]

    def on_device_size_in_bytes(self) -> int:
        """The bytes that the value occupies on its devices."""
        return self._call_buffer("on_device_size_in_bytes")  # type: ignore[no-any-return]

    def platform(self) -> str:
        """The platform of the array's device, such as `cpu`."""
        return platform_of(self._b)

    def delete(self) -> None:
        """Delete the array; its buffer is freed when no computation and no view on the host needs it."""
        if not self._b.is_deleted():
            self._drop_buffer("was deleted (delete())")

    def _drop_buffer(self, reason: str) -> None:
        """Drop the buffer; messages give the reason, such as `was deleted (delete())`."""
        buffer = DeletedBuffer(self._b, reason, getattr(self, "_signature", None))
        self._signature = None
        self._b = buffer

    def is_deleted(self) -> bool:
        """Whether the buffer was donated or deleted."""
        return self._b.is_deleted()  # type: ignore[no-any-return]

    def unsafe_buffer_pointer(self) -> int:
        """The address of the buffer on its device."""
        if self.platform() != "cpu" or self.dtype.name in _SUB_BYTE:
            return self._call_buffer("unsafe_buffer_pointer")  # type: ignore[no-any-return]
        return capsule_address(_capsule(self._b))

    def _require_alive(self) -> None:
        if self._b.is_deleted():
            raise deleted_error(self._b)

    def _call_buffer(self, method: str) -> Any:
        """The result of a method of the buffer. If the method fails, another thread may have donated the buffer."""
        try:
            self._require_alive()
            return getattr(self._b, method)()
        except XlaError:
            self._require_alive()
            raise

    def _host(self) -> np.ndarray[Any, Any]:
        """A read-only view of the value in host memory, without a copy where the device allows.

        Raises:
          DeletedArrayError: it was deleted or donated.
          XlaError: its computation failed.
        """
        b = self._b
        try:
            if not hasattr(b, "is_computed"):
                if platform_of(b) != "cpu" and len(b._sharding._internal_device_list) == 1:
                    b._copy_single_device_array_to_host_async()
                fork_guard.await_buffer(b)  # jaxlib aborts the process if it reads memory that was never computed
                b.is_computed = True
            return np.asarray(memoryview(b))
        except BufferError:
            self._require_alive()
            return _host_view(b)
        except Exception:
            self._require_alive()
            raise

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        host = self._host()
        if dtype is not None and host.dtype != (dtype := numpy_dtype("__array__", "dtype", dtype)):
            if copy is False:
                raise ValueError(f"an array of dtype {host.dtype} must be copied to become {np.dtype(dtype)}")
            return host.astype(dtype)
        return host.copy() if copy else host

    def __buffer__(self, flags: int) -> memoryview:
        self._require_alive()
        integer("__buffer__", "flags", flags)
        host: Any = self._host()
        return memoryview(host)

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        self._require_alive()
        if max_version is not None and not (isinstance(max_version, tuple) and len(max_version) == 2):
            raise TypeError(f"__dlpack__: max_version must be None or a pair of integers, got {max_version!r}")
        target = None if dl_device is None else tuple(sequence("__dlpack__", "dl_device", dl_device))
        if target is not None and target != self.__dlpack_device__():
            if target == _HOST and copy is not False:
                return self._host().copy().__dlpack__(max_version=max_version)
            raise BufferError(f"__dlpack__: dl_device must be {self.__dlpack_device__()}, its device, got {dl_device}")
        return _capsule(constructor.copy(self)._b if copy else self._b)

    def __dlpack_device__(self) -> tuple[int, int]:
        if len(self.devices()) > 1:
            raise BufferError("dlpack is for arrays on one device; use the addressable_shards of this one")
        device = self.device
        platform = _jaxlib.platform_of(device.client)
        kind = {"cpu": 1, "cuda": 2, "rocm": 10}.get(platform)
        if kind is None:
            raise BufferError(f"dlpack does not know the platform {platform!r}")
        return kind, 0 if kind == 1 else device.local_hardware_id

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The address and the type of the array for other libraries, if it is on one GPU of NVIDIA's."""
        (device, *others) = self._b._sharding._internal_device_list
        if others or _jaxlib.platform_of(device.client) != "cuda":
            raise AttributeError("__cuda_array_interface__: the array must be on one GPU of NVIDIA's")
        self._require_alive()
        fork_guard.await_buffer(self._b)
        return self._b.__cuda_array_interface__  # type: ignore[no-any-return]

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ambiguous_truth(self)
        return bool(self._host())

    def __int__(self) -> int:
        return int(self._scalar("int"))

    def __float__(self) -> float:
        return float(self._scalar("float"))

    def __complex__(self) -> complex:
        return complex(self._scalar("complex"))

    def __index__(self) -> int:
        if self.shape or not dtypes.is_integer(self.dtype):
            raise TypeError(f"only an integer array of rank 0 can be an index, got {self.aval.str_short()}")
        return int(self._host())

    def _scalar(self, kind: str) -> Any:
        if self.shape:
            raise TypeError(
                f"only arrays of rank 0 can become a Python {kind}, got {self.aval.str_short()}; use .item()"
            )
        return self._host().item()

    def item(self, *args: int) -> Any:
        """The value, or one element of it, as a Python scalar."""
        host = self._host()
        try:
            return host.item(*args)
        except TypeError:
            raise TypeError(f"item: args must be integers or one tuple of them, got {args!r}") from None
        except (IndexError, OverflowError):
            raise IndexError(f"item: args must be within the bounds of {self.aval.str_short()}, got {args!r}") from None
        except ValueError:
            raise ValueError(f"item: args must select one element of {self.aval.str_short()}, got {args!r}") from None

    def tolist(self) -> Any:
        """The value as nested Python lists."""
        return self._host().tolist()

    def tobytes(self, order: Any = "C") -> bytes:
        """The bytes of the value, in one of NumPy's orders: `"C"`, `"F"`, or None or `"A"` for either."""
        if not among(order, ("C", "F", "A", None)):
            raise ValueError(f"tobytes: order must be 'C', 'F', 'A' or None, got {order!r}")
        return self._host().tobytes(order)

    def __format__(self, spec: str) -> str:
        if not spec and getattr(self.sharding, "_summands", None):
            return repr(self)
        return format(self._host()[()] if not self.shape else self._host(), spec)

    def __str__(self) -> str:
        apart = not self.is_fully_addressable or getattr(self.sharding, "_summands", None)
        if apart and not self.is_fully_replicated and not self.is_deleted():
            return repr(self)
        return str(self._host())

    def __repr__(self) -> str:
        if self.is_deleted():
            return f"<deleted Array {self.aval.str_short()}>"
        weak = ", weak_type=True" if self.weak_type else ""
        tail = f"dtype={self.dtype.name}{weak})"
        if not self.is_fully_addressable and not self.is_fully_replicated:
            text = f"shape={self.shape}, over devices of several processes"
        elif self.size == 0:
            text = f"[], shape={self.shape}"
        elif getattr(self.sharding, "_summands", None):
            text = f"shape={self.shape}, sharding={self.sharding}"
        else:
            text = np.array2string(self._host(), separator=", ", prefix="Array(", suffix=",")
        room = np.get_printoptions()["linewidth"] - len(text.rsplit("\n", 1)[-1]) - 3
        return f"Array({text},{' ' if len(tail) <= room else ' ' * 6}{tail}"

    def __copy__(self) -> Array:
        self._require_alive()
        return constructor.copy(self)  # not the array itself, which may be donated

    def __deepcopy__(self, memo: Any) -> Array:
        return self.__copy__()

    def __reduce__(self) -> Any:
        return pickled("primax:Array._restored", self._host().copy(), self.weak_type)

    @staticmethod
    def _restored(value: np.ndarray[Any, Any], weak_type: bool) -> Array:
        """An array that was pickled; if it has 64-bit types and these are off, it gets the 32-bit ones."""
        array: Array = maker.put(value.astype(dtypes.canonicalize_dtype(value.dtype), copy=False), weak_type)
        return array


class Shard:
    """The part of an array on one device.

    Args:
      device: the device.
      sharding: the sharding of the whole array.
      global_shape: the shape of the whole array.
      data: the part as an array on the device; None if the device belongs to another process.

    Attributes:
      device: the device.
      index: the part, as slices of the whole array.
      replica_id: the index of this copy among the copies of the same part.
      data: the part as an array on the device, or None.

    Raises:
      TypeError: the sharding cannot determine the parts, or the shape is not a sequence of integers.
      ValueError: the sharding does not include the device, or cannot divide the shape.

    Examples:
      >>> import primax.numpy as pnp
      >>> (shard,) = pnp.arange(3).addressable_shards
      >>> shard.index, shard.replica_id, shard.data
      ((slice(None, None, None),), 0, Array([0, 1, 2], dtype=int32))
    """

    __slots__ = ("data", "device", "index", "replica_id")

    def __init__(self, device: Any, sharding: Any, global_shape: Sequence[int], data: Array | None = None) -> None:
        if not hasattr(sharding, "devices_indices_map"):
            raise TypeError(f"Shard: sharding must be a sharding, got {sharding!r}")
        sizes = sequence("Shard", "global_shape", global_shape)
        places = _places(sharding, tuple([integer("Shard", "global_shape", size) for size in sizes]))
        if not among(device, places):
            raise ValueError(f"Shard: device must be one of {[*places]}, which the sharding has, got {device!r}")
        self.device = device
        self.index, self.replica_id = places[device]
        self.data = data

    def __repr__(self) -> str:
        return f"Shard(device={self.device!r}, index={self.index}, replica_id={self.replica_id}, data={self.data})"


@lru_cache(maxsize=64)
def _places(sharding: Any, shape: tuple[int, ...]) -> dict[Any, tuple[tuple[slice, ...], int]]:
    """For each device of a sharding the part of an array, and the index of its copy of that part."""
    copies: dict[Any, int] = {}
    places = {}
    for device, index in sharding.devices_indices_map(shape).items():
        key = tuple([(part.start, part.stop) for part in index])
        copies[key] = copies.get(key, -1) + 1
        places[device] = index, copies[key]
    return places


# Weak references to buffers that have several owners, such as constants of programs, by identity.
_shared: dict[int, Any] = {}


def mark_shared(b: Any) -> None:
    """Record that a buffer has several owners; a donation copies it."""
    key = id(b)
    _shared[key] = ref(b, lambda _: _shared.pop(key, None))


def is_shared(b: Any) -> bool:
    """Whether a buffer has several owners."""
    return id(b) in _shared


def some_are_shared(buffers: Iterable[Any]) -> bool:
    """Whether one of several buffers has several owners."""
    return not _shared.keys().isdisjoint(map(id, buffers))


class DeletedBuffer:
    """Replaces the buffer of an array that was deleted or donated.

    jaxlib crashes if a program asks a deleted buffer for its platform, for example, or if one thread deletes a buffer
    while another thread calls a program with it. Therefore primax deletes no buffer: an array drops its reference.
    Programs and jaxlib's dispatcher refuse objects of this class, which leaves calls with such an array to Python.
    """

    __slots__ = ("_committed", "_sharding", "aval", "reason")

    def __init__(self, b: Any, reason: str, signature: Any = None) -> None:
        self.reason = reason
        if signature is None:
            self.aval, self._sharding, self._committed = b.aval, b._sharding, b._committed
        else:  # the same, in less time
            self.aval, self._sharding, self._committed = signature.aval, signature.sharding, signature.committed

    def is_deleted(self) -> bool:
        return True


def deleted_error(b: Any) -> DeletedArrayError:
    """The error for a deleted buffer, which names the reason."""
    reason = getattr(b, "reason", "was deleted or donated (donate_argnums)")
    return DeletedArrayError(
        f"the array of type {b.aval.str_short()} {reason} and has no value any more; "
        "use the results of the computation, or keep a copy"
    )


def platform_of(b: Any) -> str:
    """The platform of a buffer's devices, even after its deletion."""
    try:
        return b._sharding.platform  # type: ignore[no-any-return]
    except AttributeError:  # a sharding of another library
        (device, *_) = b._sharding._internal_device_list
        return device.platform  # type: ignore[no-any-return]


def _capsule(b: Any) -> Any:
    """A DLPack capsule of a buffer on the host, by the one method for which jaxlib never imports jax."""
    if b.is_deleted():
        raise deleted_error(b)
    if len(b._sharding._internal_device_list) > 1:
        raise BufferError(
            f"an array of type {b.aval.str_short()} on several devices has no single address; use its "
            f"addressable_shards"
        )
    try:
        fork_guard.await_buffer(b)  # jaxlib aborts the process if it reads memory that was never computed
        # jaxlib aborts if the only handle of a lent buffer is deleted; the capsule keeps another one.
        return buffer_to_dlpack_managed_tensor(b.clone())
    except XlaError:
        if b.is_deleted():
            raise deleted_error(b) from None
        raise


_HOST = (1, 0)  # DLPack's code for the host

_SUB_BYTE = frozenset(("int2", "uint2", "int4", "uint4", "float4_e2m1fn"))


def _host_view(b: Any) -> np.ndarray[Any, Any]:
    """The value of a buffer whose dtype has no format in the buffer protocol."""
    dtype = b.aval.dtype
    if len(b._sharding._internal_device_list) > 1:
        return constructor.gather(b)
    if platform_of(b) != "cpu":
        value: np.ndarray[Any, Any] = b._single_device_array_to_np_array_did_copy()[0]
    elif dtype.name in _SUB_BYTE:
        value = np.asarray(memoryview(constructor.widen(b))).astype(dtype)
    elif 0 in b.aval.shape:
        value = np.empty(b.aval.shape, dtype)
    else:
        value = capsule_view(_capsule(b), b.aval.shape, dtype)
    value.flags.writeable = False
    return value


class _Constructor:
    """Functions that the interpreters set.

    Attributes:
      copy: copies an array on the same devices.
      parts: returns the buffers of an array's parts on the devices of this process.
      gather: copies a buffer on several devices to host memory.
      widen: converts a buffer of packed elements to one with whole bytes per element.
    """

    copy: Callable[[Array], Array]
    gather: Callable[[Any], np.ndarray[Any, Any]]
    parts: Callable[[Any], list[Any]]
    widen: Callable[[Any], Any]


constructor = _Constructor()


def _buffer_aval(b: Any) -> ShapedArray:
    """The type of a bare buffer, which may be an array of another library."""
    aval = b.aval
    if type(aval) is ShapedArray:
        return aval
    return ShapedArray(aval.shape, aval.dtype, bool(aval.weak_type))


array_classes.add(Array)
register_aval(Array, attrgetter("_b.aval"))
register_aval(ArrayImpl, _buffer_aval)
tree.dispatch_registry.register_dataclass_node(Array, ["_b"], [])


def _of_buffer(_: None, children: Any) -> Array:
    """`Array(children[0])` without its `__init__`, which halves the time to wrap results."""
    array = _new(Array)
    (array._b,) = children
    return array


tree.result_registry.register_node(Array, lambda x: ((x._b,), None), _of_buffer)
