"""Types for annotations: the values accepted as an array, a dtype, a shape, axes, a device or a sharding."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Protocol, SupportsIndex, TypeAlias, runtime_checkable

import numpy as np

from primax.core.dtypes import ExtendedDType
from primax.core.trace import Tracer
from primax.interpreters.runtime.array import Array
from primax.interpreters.runtime.sharding.mesh import PartitionSpec
from primax.interpreters.runtime.sharding.shardings import BaseSharding

__all__ = [
    "ArrayLike",
    "Arrays",
    "Axes",
    "AxisNames",
    "BaseSharding",
    "DTypeLike",
    "Device",
    "DeviceLike",
    "DotDimensionNumbers",
    "KeyLike",
    "Shape",
    "ShapeLike",
    "ShardingLike",
    "SupportsDType",
]


@runtime_checkable
class SupportsDType(Protocol):
    """An object with a dtype, such as an array or a scalar type."""

    @property
    def dtype(self) -> np.dtype[Any]: ...


class Device(Protocol):
    """A device, as `primax.devices()` lists them; the class is jaxlib's."""

    @property
    def id(self) -> int: ...
    @property
    def process_index(self) -> int: ...
    @property
    def platform(self) -> str: ...
    @property
    def device_kind(self) -> str: ...


# Values that functions of arrays accept: arrays, NumPy arrays and scalars, Python numbers.
ArrayLike: TypeAlias = Array | Tracer | np.ndarray | np.bool_ | np.number | bool | int | float | complex
# Values that are accepted as dtypes: a name, a scalar type such as `float` or `px.numpy.float32`, a dtype, an object
# with a dtype.
DTypeLike: TypeAlias = str | type[Any] | np.dtype | ExtendedDType | SupportsDType
# Random keys, and arrays of the words of one.
KeyLike: TypeAlias = Array | Tracer | np.ndarray
# Several arrays: a sequence of them, or the rows of one.
Arrays: TypeAlias = Array | Tracer | np.ndarray | Sequence[ArrayLike]
# The lengths of axes, which are integers or symbolic dimensions; a function that takes a `ShapeLike` takes one length,
# too.
Shape: TypeAlias = Sequence[SupportsIndex]
ShapeLike: TypeAlias = SupportsIndex | Shape
# Positions of axes.
Axes: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
# The name of a mapped axis or of a mesh axis, or several.
AxisNames: TypeAlias = Hashable | Sequence[Hashable]
# The contracted dimensions of both operands of a product, and the batch dimensions of both.
DotDimensionNumbers: TypeAlias = tuple[tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]]
ShardingLike: TypeAlias = BaseSharding | PartitionSpec
DeviceLike: TypeAlias = Device | BaseSharding
