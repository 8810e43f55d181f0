"""The types for annotations of `jax._src.typing`, besides those of `primax.typing`."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from types import EllipsisType
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from primax.extend.core import Array
from primax.typing import ArrayLike, DTypeLike, SupportsDType

__all__ = [
    "AnyInt",
    "Array",
    "ArrayLike",
    "DLDeviceType",
    "DType",
    "DTypeLike",
    "DeprecatedArg",
    "DimSize",
    "DuckTypedArray",
    "ExtendedDType",
    "Index",
    "Shape",
    "StaticIndex",
    "StaticScalar",
    "SupportsDType",
    "SupportsNdim",
    "SupportsShape",
    "SupportsSize",
]

DType = np.dtype
ExtendedDType: TypeAlias = Any
DimSize: TypeAlias = int | Any
Shape: TypeAlias = Sequence[DimSize]
AnyInt: TypeAlias = int | np.integer
StaticIndex: TypeAlias = AnyInt | slice | EllipsisType
Index: TypeAlias = StaticIndex | Sequence[AnyInt] | Array | np.ndarray | None
StaticScalar: TypeAlias = np.bool_ | np.number | bool | int | float | complex


@runtime_checkable
class SupportsShape(Protocol):
    """An object with a shape."""

    @property
    def shape(self) -> tuple[int, ...]: ...


@runtime_checkable
class SupportsSize(Protocol):
    """An object with a number of elements."""

    @property
    def size(self) -> int: ...


@runtime_checkable
class SupportsNdim(Protocol):
    """An object with a number of axes."""

    @property
    def ndim(self) -> int: ...


@runtime_checkable
class DuckTypedArray(Protocol):
    """An object with a shape and a dtype, such as a `ShapeDtypeStruct`."""

    @property
    def dtype(self) -> Any: ...

    @property
    def shape(self) -> Any: ...


class DeprecatedArg:
    """The default of an argument that is no longer used."""

    def __repr__(self) -> str:
        return "Deprecated"


class DLDeviceType(enum.IntEnum):
    """The kinds of devices of DLPack."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLROCM = 10
