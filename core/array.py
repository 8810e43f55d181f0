"""`Array`: a value on a device, which reads like a NumPy array and cannot be written to."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np

from primax.core import dtypes, tree
from primax.core._jaxlib import ArrayImpl, buffer_to_dlpack_managed_tensor
from primax.core.avals import register_aval
from primax.core.errors import DeletedArrayError
from primax.core.operand import Operand

__all__ = ["Array"]


class Array(Operand):
    """An immutable n-dimensional array on a device.

    Made by `primax.numpy.asarray`, `primax.device_put` and by every computation, never by calling the class.
    Its operators and methods are those of NumPy's arrays as far as the active plugins supply them.
    """

    __slots__ = ("__weakref__", "_b")

    _b: Any

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
    def committed(self) -> bool:
        """Whether computations must follow this array to its device."""
        return self._b._committed  # type: ignore[no-any-return]

    def devices(self) -> set[Any]:
        """The devices that hold this array."""
        return set(self._b._sharding._internal_device_list)

    @property
    def device(self) -> Any:
        """The device that holds this array, or its sharding if there are several."""
        found = self.devices()
        return next(iter(found)) if len(found) == 1 else self.sharding

    def block_until_ready(self) -> Array:
        """Wait until the value has been computed; returns this array."""
        self._alive()
        self._b.block_until_ready()
        return self

    def is_ready(self) -> bool:
        """Whether the value has been computed."""
        self._alive()
        return self._b.is_ready()  # type: ignore[no-any-return]

    def copy_to_host_async(self) -> None:
        """Start bringing the value to the host; where the device is the host there is nothing to do."""
        self._alive()
        if self._b.platform() != "cpu":
            self._b._copy_single_device_array_to_host_async()

    def delete(self) -> None:
        """Free the buffer now; reading the array afterwards raises."""
        self._b.delete()

    def is_deleted(self) -> bool:
        """Whether the buffer was donated or deleted."""
        return self._b.is_deleted()  # type: ignore[no-any-return]

    def unsafe_buffer_pointer(self) -> int:
        """The address of the buffer on its device."""
        self._alive()
        return self._b.unsafe_buffer_pointer()  # type: ignore[no-any-return]

    def _alive(self) -> None:
        if self._b.is_deleted():
            raise DeletedArrayError(
                f"the array of type {self.aval.str_short()} was deleted or donated (donate_argnums) "
                "and has no value any more; keep a copy before donating it"
            )

    def _host(self) -> np.ndarray[Any, Any]:
        """A read-only view of the value in host memory, without a copy where the device allows."""
        b = self._b
        try:
            return np.asarray(memoryview(b))
        except BufferError:
            self._alive()
            return _host_view(b)
        except Exception:
            self._alive()
            raise

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        host = self._host()
        if dtype is not None and host.dtype != dtype:
            if copy is False:
                raise ValueError(f"an array of dtype {host.dtype} cannot be viewed as {np.dtype(dtype)} without a copy")
            return host.astype(dtype)
        return host.copy() if copy else host

    def __buffer__(self, flags: int) -> memoryview:
        self._alive()
        return memoryview(self._host())

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None) -> Any:
        self._alive()
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(f"dl_device must be {self.__dlpack_device__()}, where this array is, got {dl_device}")
        if copy:
            return self._host().copy().__dlpack__()
        if self.dtype == np.bool_:
            return self._host().__dlpack__() if max_version else buffer_to_dlpack_managed_tensor(self._b)
        return buffer_to_dlpack_managed_tensor(self._b)

    def __dlpack_device__(self) -> tuple[int, int]:
        device = self.device
        kinds = {"cpu": 1, "cuda": 2, "gpu": 2, "rocm": 10}
        kind = kinds.get(device.platform)
        if kind is None:
            raise BufferError(f"dlpack does not know the platform {device.platform!r}")
        return kind, 0 if kind == 1 else device.local_hardware_id

    def __bool__(self) -> bool:
        return bool(self._scalar("bool"))

    def __int__(self) -> int:
        return int(self._scalar("int"))

    def __float__(self) -> float:
        return float(self._scalar("float"))

    def __complex__(self) -> complex:
        return complex(self._scalar("complex"))

    def __index__(self) -> int:
        if self.shape or not dtypes.is_integer(self.dtype):
            raise TypeError(f"only integer scalar arrays can be used as an index, got {self.aval.str_short()}")
        return int(self._host())

    def _scalar(self, kind: str) -> Any:
        if self.size != 1:
            raise (ValueError if kind == "bool" else TypeError)(
                f"only arrays of one element can be made a Python {kind}, got {self.aval.str_short()}"
                + ("; use .any() or .all()" if kind == "bool" else "")
            )
        return self._host().reshape(())[()]

    def item(self, *args: int) -> Any:
        """The value as a Python scalar; with arguments, that of one element."""
        return self._host().item(*args)

    def tolist(self) -> Any:
        """The value as nested Python lists."""
        return self._host().tolist()

    def tobytes(self, order: Any = "C") -> bytes:
        """The bytes of the value."""
        return self._host().tobytes(order)

    def __format__(self, spec: str) -> str:
        return format(self._host()[()] if not self.shape else self._host(), spec)

    def __str__(self) -> str:
        return str(self._host())

    def __repr__(self) -> str:
        if self.is_deleted():
            return f"<deleted Array {self.aval.str_short()}>"
        weak = ", weak_type=True" if self.weak_type else ""
        tail = f", dtype={self.dtype.name}{weak})"
        text = np.array2string(self._host(), separator=", ", prefix="Array(")
        if self.size == 0:
            text = f"[], shape={self.shape}"
        if "\n" in text and len(text.rsplit("\n", 1)[-1]) + len(tail) > 72:
            tail = ",\n      " + tail[2:]
        return f"Array({text}{tail}"

    def __copy__(self) -> Array:
        return self

    def __deepcopy__(self, memo: Any) -> Array:
        return rebuild(self._host().copy(), self.weak_type)

    def __reduce__(self) -> Any:
        return rebuild, (self._host().copy(), self.weak_type)


class _View:
    """Lends a device buffer to NumPy for dtypes that the buffer protocol has no format for, keeping it alive."""

    def __init__(self, b: Any, size: int) -> None:
        self.owner = b
        self.__array_interface__ = {
            "version": 3,
            "shape": b.aval.shape,
            "typestr": f"|V{size}",
            "data": (b.unsafe_buffer_pointer(), True),
        }


_SUB_BYTE = frozenset(("int2", "uint2", "int4", "uint4", "float4_e2m1fn"))


def _host_view(b: Any) -> np.ndarray[Any, Any]:
    dtype = b.aval.dtype
    if b.platform() == "cpu" and dtype.name not in _SUB_BYTE and len(b._sharding._internal_device_list) == 1:
        b.block_until_ready()
        if 0 in b.aval.shape:
            return np.empty(b.aval.shape, dtype)
        return np.asarray(_View(b, dtype.itemsize)).view(dtype)
    value: np.ndarray[Any, Any] = b._single_device_array_to_np_array_did_copy()[0]
    value.flags.writeable = False
    return value


class _Constructor:
    """Set by the interpreters: how a host value becomes an array."""

    put: Callable[[Any, bool], Array]


constructor = _Constructor()


def rebuild(value: np.ndarray[Any, Any], weak_type: bool) -> Array:
    """The inverse of pickling."""
    return constructor.put(value, weak_type)


register_aval(Array, attrgetter("_b.aval"))
register_aval(ArrayImpl, attrgetter("aval"))
tree.dispatch_registry.register_dataclass_node(Array, ["_b"], [])
