"""Arrays of other libraries, through DLPack."""

from __future__ import annotations

from primax.core.arguments import numpy_dtype
from primax.extend import dtypes
from primax.extend.provisional.runtime import from_dlpack
from primax.extend.provisional.typing import DTypeLike

__all__ = ["from_dlpack", "is_supported_dtype"]
__dir__ = __all__.copy


def is_supported_dtype(dtype: DTypeLike) -> bool:
    """Return whether DLPack supports arrays of a dtype.

    Args:
      dtype: a dtype, or a value that NumPy converts to one.

    >>> from primax.dlpack import is_supported_dtype
    >>> is_supported_dtype("float32"), is_supported_dtype("int4")
    (True, False)
    """
    if isinstance(dtype, dtypes.ExtendedDType):
        return False
    checked = numpy_dtype("is_supported_dtype", "dtype", dtype)
    return checked == dtypes.bfloat16 or (checked.kind in "biufc" and checked.type.__module__ == "numpy")
