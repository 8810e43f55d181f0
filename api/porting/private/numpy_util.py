"""The names of `jax._src.numpy.util` that packages use: checks of array arguments, and their common dtype."""

from __future__ import annotations

from typing import Any

import primax.numpy as pnp
from primax.extend import dtypes
from primax.extend.core import Array
from primax.numpy.promotion import promote

__all__ = [
    "check_arraylike",
    "promote_args",
    "promote_args_inexact",
    "promote_dtypes",
    "promote_dtypes_complex",
    "promote_dtypes_inexact",
    "promote_dtypes_numeric",
]


def check_arraylike(fun_name: str, *args: Any, emit_warning: bool = False, stacklevel: int = 3) -> None:
    """Raise an error for an argument that is neither an array nor a number.

    Raises:
      TypeError: an argument is neither an array nor a number.
    """
    promote(fun_name, *args)


def _arrays(function: str, args: tuple[Any, ...], to: Any = None) -> list[Array]:
    return [pnp.asarray(x) for x in promote(function, *args, to=to)]


def promote_args(fun_name: str, *args: Any) -> list[Array]:
    """Convert arguments to arrays of their common dtype."""
    return _arrays(fun_name, args)


def promote_args_inexact(fun_name: str, *args: Any) -> list[Array]:
    """Convert arguments to arrays of their common dtype; integer dtypes and bool become a float dtype."""
    return _arrays(fun_name, args, dtypes.to_inexact_dtype)


def promote_dtypes(*args: Any) -> list[Array]:
    """Convert arguments to arrays of their common dtype."""
    return _arrays("promote_dtypes", args)


def promote_dtypes_inexact(*args: Any) -> list[Array]:
    """Convert arguments to arrays of their common dtype; integer dtypes and bool become a float dtype."""
    return _arrays("promote_dtypes_inexact", args, dtypes.to_inexact_dtype)


def promote_dtypes_numeric(*args: Any) -> list[Array]:
    """Convert arguments to arrays of their common dtype, which becomes an integer dtype if it is bool."""
    return _arrays("promote_dtypes_numeric", args, dtypes.to_numeric_dtype)


def promote_dtypes_complex(*args: Any) -> list[Array]:
    """Convert arguments to arrays of their common dtype, which becomes complex if it is not."""
    return _arrays("promote_dtypes_complex", args, _to_complex)


def _to_complex(dtype: Any) -> Any:
    return dtypes.result_type(dtypes.to_inexact_dtype(dtype), complex)
