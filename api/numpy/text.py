"""Conversion of arrays to text, and files of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array
from primax.extend.provisional.arguments import naming, numpy_dtype
from primax.extend.provisional.typing import ArrayLike, DTypeLike
from primax.numpy.conversion import asarray

__all__ = [
    "array_repr",
    "array_str",
    "fromfile",
    "fromstring",
    "get_printoptions",
    "load",
    "printoptions",
    "save",
    "savez",
    "set_printoptions",
]

get_printoptions = np.get_printoptions
printoptions = np.printoptions
set_printoptions = np.set_printoptions
save = np.save
savez = np.savez


def array_repr(
    arr: ArrayLike,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """The text of an array with its dtype. The arguments are those of `numpy.array_repr`.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> pnp.array_repr(pnp.array([1.0, 2.0], np.float16))
      'Array([1., 2.], dtype=float16)'
    """
    options: dict[str, Any] = {"linewidth": max_line_width, "precision": precision, "suppress": suppress_small}
    with naming("array_repr"), np.printoptions(**{name: x for name, x in options.items() if x is not None}):
        return repr(arr)


def array_str(
    a: ArrayLike, max_line_width: int | None = None, precision: int | None = None, suppress_small: bool | None = None
) -> str:
    """The text of the elements of an array. The arguments are those of `numpy.array_str`.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.array_str(pnp.array([1.0, 2.0])), pnp.array_str(pnp.array([0.123456]), precision=2)
      ('[1. 2.]', '[0.12]')
    """
    with naming("array_str"):
        return np.array_str(np.asarray(a), max_line_width, precision, suppress_small)


def load(file: Any, *args: Any, **kwargs: Any) -> Array | np.lib.npyio.NpzFile:
    """Load the array, or the arrays by name, that `save` or `savez` wrote. The arguments are those of `numpy.load`.

    NumPy's files do not record bfloat16: an array of a two-byte void dtype is read as bfloat16.

    Examples:
      >>> import primax.numpy as pnp
      >>> import io
      >>> file = io.BytesIO()
      >>> pnp.save(file, pnp.arange(3))
      >>> _ = file.seek(0)
      >>> pnp.load(file)
      Array([0, 1, 2], dtype=int32)
    """
    with naming("load"):
        loaded = np.load(file, *args, **kwargs)
    if isinstance(loaded, np.ndarray) and loaded.dtype == np.dtype("V2"):
        loaded = loaded.view(dtypes.bfloat16)
    return asarray(loaded) if isinstance(loaded, np.ndarray) else loaded


def fromfile(file: Any, *args: Any, **kwargs: Any) -> Array:
    """Read an array from the bytes of a file. The arguments are those of `numpy.fromfile`.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> import tempfile
      >>> with tempfile.TemporaryFile() as file:
      ...     _ = file.write(np.arange(3, dtype=np.float32).tobytes()), file.seek(0)
      ...     pnp.fromfile(file, dtype=np.float32)
      Array([0., 1., 2.], dtype=float32)
    """
    with naming("fromfile"):
        try:
            numbers = np.fromfile(file, *args, **kwargs)
        except AttributeError as error:
            raise TypeError(f"file must be a file or a path: {error}") from None
        return asarray(numbers)


def fromstring(string: str, dtype: DTypeLike = float, count: int = -1, *, sep: str) -> Array:
    """Read an array from the numbers in a text. The arguments are those of `numpy.fromstring`.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.fromstring("1 2 3", dtype=int, sep=" ")
      Array([1, 2, 3], dtype=int32)
    """
    with naming("fromstring"):
        return asarray(np.fromstring(string, numpy_dtype("fromstring", "dtype", dtype), count, sep=sep))
