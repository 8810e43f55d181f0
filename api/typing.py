"""Types for annotations of arrays, array-like arguments and dtypes."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from primax.interpreters.runtime.array import Array

__all__ = ["ArrayLike", "DTypeLike"]
__dir__ = __all__.copy


@runtime_checkable
class SupportsDType(Protocol):
    """An object with a dtype, such as an array or a scalar type."""

    @property
    def dtype(self) -> np.dtype[Any]: ...


# Values that functions of arrays accept: arrays, NumPy arrays and scalars, Python numbers.
ArrayLike: TypeAlias = Array | np.ndarray | np.bool_ | np.number | bool | int | float | complex
# Values that are accepted as dtypes: a name, a scalar type such as `float` or `px.numpy.float32`, a dtype, an object
# with a dtype.
DTypeLike: TypeAlias = str | type[Any] | np.dtype | SupportsDType
