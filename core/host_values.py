"""Python numbers and NumPy arrays as arrays: they have avals, and a runtime converts them to its arrays.

Without a runtime they are converted to NumPy arrays with the dtype of their aval.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primax.core import dtypes
from primax.core.avals import ShapedArray, get_aval

# Types of host values that are accepted as arrays.
HOST_VALUES = (float, int, complex, np.ndarray, np.generic)


class _Maker:
    """How arrays are made; a runtime sets the attributes.

    Attributes:
      put: makes an array from a NumPy array and a bool, whether it is weakly typed.
      put_each: makes arrays of a type from the elements of a NumPy array along its first axis.
    """

    def __init__(self) -> None:
        self.put: Callable[[np.ndarray[Any, Any], bool], Any] = lambda x, weak_type: x
        self.put_each: Callable[[np.ndarray[Any, Any], ShapedArray], list[Any]] = lambda x, aval: list(x)


maker = _Maker()


def array_of(x: Any, aval: ShapedArray) -> Any:
    """A scalar or NumPy array as an array of the dtype and weak type of an aval, independent of `enable_x64`."""
    return maker.put(np.asarray(x, aval.dtype), aval.weak_type)


def arrays_of(x: np.ndarray[Any, Any], weak_type: bool) -> list[Any]:
    """The elements along the first axis of a NumPy array, each as an array, independent of `enable_x64`."""
    return maker.put_each(x, ShapedArray(x.shape[1:], x.dtype, weak_type))


def from_host(x: Any) -> Any:
    """A host value as an array of the type that programs give it; other values, including float0, unchanged."""
    if isinstance(x, HOST_VALUES):
        aval = get_aval(x)
        if aval.dtype != dtypes.float0:
            return array_of(x, aval)
    return x
