"""The limits of floating dtypes, as Python numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.provisional.arguments import naming

__all__ = ["finfo", "iinfo"]

iinfo = dtypes.iinfo


class finfo:
    """The limits of a floating dtype; for a complex dtype, those of its parts.

    The attributes are those of `numpy.finfo`: `bits`, `dtype`, `eps`, `max`, `min`, `smallest_normal` and more. Numbers
    are Python ints and floats, so that they take the dtype of arrays in operations.

    Args:
      dtype: a dtype, its name, or an array of it.

    Raises:
      ValueError: `dtype` is neither floating nor complex.
      TypeError: `dtype` is not a dtype.

    >>> import primax as px
    >>> px.numpy.finfo(px.numpy.bfloat16).eps
    0.0078125
    >>> px.numpy.finfo("complex64")
    finfo(resolution=1e-06, min=-3.4028235e+38, max=3.4028235e+38, dtype=float32)
    """

    __slots__ = ("_limits",)

    _limits: Any

    def __new__(cls, dtype: Any) -> finfo:
        self = super().__new__(cls)
        with naming("finfo"):
            self._limits = dtypes.finfo(dtype)
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"finfo has no attribute {name!r}")
        value = getattr(self._limits, name)
        if isinstance(value, np.generic):
            return int(value) if isinstance(value, np.integer) else float(value)
        return value

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *[name for name in dir(self._limits) if not name.startswith("_")]]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash((finfo, self.dtype))

    def __repr__(self) -> str:
        return repr(self._limits)

    def __str__(self) -> str:
        return str(self._limits)

    def __reduce__(self) -> tuple[Any, Any]:
        return finfo, (self.dtype,)
