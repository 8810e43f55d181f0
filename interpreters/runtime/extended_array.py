"""Arrays of extended dtypes, which NumPy lacks: each element is a small array of another dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.core import tree
from primax.core.avals import ShapedArray, register_aval
from primax.core.config import enable_x64
from primax.core.diagnostics import of_call
from primax.core.dtypes import ExtendedDType
from primax.core.operand import Operand
from primax.core.pickling import pickled
from primax.interpreters.runtime.array import Array, array_classes


def has_extended_dtype(aval: Any) -> bool:
    """Whether values of a type are arrays of an extended dtype."""
    return isinstance(getattr(aval, "dtype", None), ExtendedDType)


def physical_aval(aval: Any) -> Any:
    """The type of the array that holds the elements of an array of an extended dtype; other types unchanged.

    Its first axes are those of the array, its last axes are those of an element.
    """
    if not has_extended_dtype(aval):
        return aval
    dtype = aval.dtype
    shape = (*aval.shape, *dtype.element_shape)
    placement = None if aval.placement is None else aval.placement.reshaped(len(shape))
    return ShapedArray(shape, dtype.element_dtype, placement=placement)


def _of_base(name: str, doc: str) -> property:
    """A property that an array of an extended dtype takes from the array of its elements."""
    return property(lambda self: getattr(self.base, name), doc=doc)


class ExtendedArray(Operand):
    """An immutable array of an extended dtype.

    Args:
      base: the array of the elements, whose last axes are those of an element.
      dtype: the extended dtype.

    Its operators and methods are those of `Array`, without those that depend on the numbers in an element.
    """

    __slots__ = ("__weakref__", "base", "dtype")

    base: Any
    dtype: Any

    def __init__(self, base: Any, dtype: Any) -> None:
        self.base = base
        self.dtype = dtype

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.base.shape
        return shape[: len(shape) - len(self.dtype.element_shape)]

    @property
    def aval(self) -> ShapedArray:
        placement = getattr(getattr(self.base, "aval", None), "placement", None)
        if placement is not None:
            placement = placement.reshaped(len(self.shape))
        return ShapedArray(self.shape, self.dtype, placement=placement)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return self.aval.size

    @property
    def weak_type(self) -> bool:
        return False

    sharding = _of_base("sharding", "The sharding of the array, whose axes are those of the base.")
    committed = _of_base("committed", "Whether computations with this array must run on its device.")
    device = _of_base("device", "The device that holds this array, or its sharding if there are several.")
    is_fully_addressable = _of_base("is_fully_addressable", "Whether this process can read the whole array.")
    is_fully_replicated = _of_base("is_fully_replicated", "Whether each device that holds the array has all of it.")

    @staticmethod
    def of_elements(elements: Any, dtype: Any) -> ExtendedArray:
        """An array of an extended dtype from a NumPy array of its elements, which are not narrowed to 32 bits."""
        with enable_x64(True):
            return ExtendedArray(Array._restored(np.asarray(elements), False), dtype)

    def devices(self) -> set[Any]:
        """The devices that hold this array."""
        return self.base.devices()  # type: ignore[no-any-return]

    def block_until_ready(self) -> ExtendedArray:
        """Wait until the value has been computed; returns this array."""
        self.base.block_until_ready()
        return self

    def is_ready(self) -> bool:
        """Whether the value has been computed."""
        return self.base.is_ready()  # type: ignore[no-any-return]

    def copy_to_host_async(self) -> None:
        """Start copying the elements to the host."""
        self.base.copy_to_host_async()

    def platform(self) -> str:
        """The platform of the array's device, such as `cpu`."""
        return self.base.platform()  # type: ignore[no-any-return]

    def addressable_data(self, index: int) -> ExtendedArray:
        """The shard on a device, by its index among the devices of this process that hold the array."""
        return ExtendedArray(self.base.addressable_data(index), self.dtype)

    @property
    def addressable_shards(self) -> list[Any]:
        """The shards of the array on the devices of this process."""
        return [shard for shard in self.global_shards if shard.data is not None]

    @property
    def global_shards(self) -> list[Any]:
        """The shards of the array on all devices; shards on devices of other processes have no data."""
        shards = self.base.global_shards
        for shard in shards:
            shard.index = shard.index[: self.ndim]
            shard.data = None if shard.data is None else ExtendedArray(shard.data, self.dtype)
        return shards  # type: ignore[no-any-return]

    def on_device_size_in_bytes(self) -> int:
        """The bytes that the value occupies on its devices."""
        return self.base.on_device_size_in_bytes()  # type: ignore[no-any-return]

    def delete(self) -> None:
        """Delete the array; reading it then raises an error."""
        self.base.delete()

    def is_deleted(self) -> bool:
        """Whether the buffer was donated or deleted."""
        return self.base.is_deleted()  # type: ignore[no-any-return]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise TypeError(
            f"an array of dtype {self.dtype} has no value as a NumPy array; {self.dtype.how_to_read}{of_call()}"
        )

    def __bool__(self) -> bool:
        raise TypeError(f"an array of dtype {self.dtype} is neither true nor false{of_call()}")

    def __repr__(self) -> str:
        if self.is_deleted():
            return f"<deleted Array {self.aval.str_short()}>"
        return f"Array({self.shape}, dtype={self.dtype}) overlaying:\n{self.base}"

    def __copy__(self) -> ExtendedArray:
        return ExtendedArray(self.base.__copy__(), self.dtype)

    def __deepcopy__(self, memo: Any) -> ExtendedArray:
        return self.__copy__()

    def __reduce__(self) -> Any:
        elements = self.base._host().copy()
        return pickled("primax.extend.provisional.avals:ExtendedArray.of_elements", elements, self.dtype)


def physical(x: Any) -> Any:
    """The array that holds the elements of an array of an extended dtype; other values unchanged."""
    return x.base if type(x) is ExtendedArray else x


def logical(base: Any, aval: Any) -> Any:
    """The inverse of `physical` for a value of a given type."""
    return ExtendedArray(base, aval.dtype) if has_extended_dtype(aval) else base


register_aval(ExtendedArray, lambda x: x.aval)
array_classes.add(ExtendedArray)
for _registry in (tree.dispatch_registry, tree.result_registry):
    _registry.register_dataclass_node(ExtendedArray, ["base"], ["dtype"])
