"""Shapes, ranks and dtypes of arrays, and predicates of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, Tracer, get_aval
from primax.extend.provisional.arguments import among, canonical_axes, integer, naming, numpy_dtype
from primax.extend.provisional.avals import unwrap
from primax.extend.provisional.typing import ArrayLike, Axes, DTypeLike

__all__ = [
    "can_cast",
    "iscomplexobj",
    "isdtype",
    "isrealobj",
    "isscalar",
    "issubdtype",
    "iterable",
    "ndim",
    "promote_types",
    "result_type",
    "shape",
    "size",
]

issubdtype = dtypes.issubdtype


def shape(a: ArrayLike | Sequence[Any]) -> tuple[int, ...]:
    """The shape of an array or an array-like object.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.shape(3.0), pnp.shape(pnp.ones((2, 3)))
      ((), (2, 3))
    """
    own = getattr(a, "shape", None)
    if isinstance(own, tuple) and hasattr(type(a), "__jax_array__"):  # which need not be called for it
        return tuple([integer("shape", "a.shape", size) for size in own])
    try:
        return tuple(get_aval(a).shape)
    except TypeError:
        with naming("shape"):
            return tuple([integer("shape", "a.shape", size) for size in np.shape(a)])


def ndim(a: ArrayLike | Sequence[Any]) -> int:
    """The number of axes of an array, or of a nested sequence.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.ndim(3.0), pnp.ndim(pnp.ones((2, 3)))
      (0, 2)
    """
    return len(shape(a))


def size(a: ArrayLike | Sequence[Any], axis: Axes | None = None) -> int:
    """The number of elements of an array, or its length along axes.

    Args:
      a: an array or a number.
      axis: an axis, a sequence of axes, or None for all.

    Raises:
      ValueError: an axis is out of range or repeated.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.size(pnp.ones((2, 3))), pnp.size(pnp.ones((2, 3)), axis=1)
      (6, 3)
    """
    sizes = shape(a)
    if axis is None:
        return math.prod(sizes)
    axes = axis if isinstance(axis, list | tuple) else (axis,)
    return math.prod([sizes[i] for i in canonical_axes(axes, len(sizes), "size", "axis")])


def result_type(*args: ArrayLike | DTypeLike) -> np.dtype[Any]:
    """The dtype to which arrays, numbers and dtypes promote.

    Raises:
      TypePromotionError: the arguments have no common dtype.

    >>> import primax as px
    >>> px.numpy.result_type(px.numpy.int8(1), 2.0)
    dtype('float32')
    """
    return dtypes.result_type(*args)


def promote_types(a: DTypeLike, b: DTypeLike) -> np.dtype[Any]:
    """The dtype to which two dtypes promote.

    Raises:
      TypePromotionError: the arguments have no common dtype.

    >>> import primax as px
    >>> px.numpy.promote_types("int8", "uint8")
    dtype('int16')
    """
    return dtypes.promote_types(a, b)


def can_cast(from_: DTypeLike | ArrayLike, to: DTypeLike | ArrayLike, casting: str = "safe") -> bool:
    """Whether NumPy's rules allow a cast from a dtype to another.

    Args:
      from_, to: dtypes.
      casting: "no", "equiv", "safe", "same_kind" or "unsafe".

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> pnp.can_cast(np.int32, np.float32), pnp.can_cast(np.int16, np.float32)
      (False, True)
      >>> pnp.can_cast(np.float32, np.int32, "unsafe")
      True
    """
    source, target = numpy_dtype("can_cast", "from_", from_), numpy_dtype("can_cast", "to", to)
    with naming("can_cast"):
        return bool(np.can_cast(source, target, casting=casting))  # type: ignore[arg-type]


def isscalar(element: object) -> bool:
    """Whether a value is an array of rank 0, or a scalar in NumPy's sense: a number, a str or bytes.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.isscalar(3.0), pnp.isscalar(pnp.array(3.0)), pnp.isscalar(pnp.ones(1))
      (True, True, False)
    """
    if hasattr(type(element), "__jax_array__"):
        element = unwrap(element)
    if isinstance(element, Array | Tracer):
        return element.ndim == 0
    return bool(np.isscalar(element)) or (isinstance(element, np.ndarray) and element.ndim == 0)


def iterable(y: object) -> bool:
    """Whether a value can be iterated over.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.iterable(pnp.ones(2)), pnp.iterable(pnp.array(1.0))
      (True, False)
    """
    return y.ndim > 0 if isinstance(y, Array | Tracer) else bool(np.iterable(y))


def iscomplexobj(x: object) -> bool:
    """Whether an array or a number has a complex dtype.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.iscomplexobj(pnp.array([1 + 0j])), pnp.iscomplexobj(pnp.array([1.0]))
      (True, False)
    """
    if x is None:
        return False
    if isinstance(x, list | tuple):
        with naming("iscomplexobj"):
            x = np.asarray(x)
    return dtypes.is_complex(dtypes.dtype(unwrap(x)))


def isrealobj(x: object) -> bool:
    """Whether an array or a number does not have a complex dtype.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.isrealobj(pnp.array([1 + 0j])), pnp.isrealobj(3)
      (False, True)
    """
    return not iscomplexobj(x)


_KINDS = {
    "bool": dtypes.is_bool,
    "signed integer": dtypes.is_signed_integer,
    "unsigned integer": dtypes.is_unsigned_integer,
    "integral": dtypes.is_integer,
    "real floating": dtypes.is_floating,
    "complex floating": dtypes.is_complex,
    "numeric": dtypes.is_numeric,
}


def isdtype(dtype: DTypeLike, kind: str | DTypeLike | tuple[str | DTypeLike, ...]) -> bool:
    """Whether a dtype is of a kind.

    Args:
      dtype: a dtype.
      kind: a dtype; one of "bool", "signed integer", "unsigned integer", "integral", "real floating",
        "complex floating" and "numeric"; or a tuple of these.

    Raises:
      ValueError: a string is not a kind.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> kinds = ("signed integer", ("bool", np.int8), "real floating")
      >>> [pnp.isdtype(np.int8, kind) for kind in kinds]
      [True, True, False]
    """
    own = numpy_dtype("isdtype", "dtype", dtype)
    for one in kind if isinstance(kind, tuple) else (kind,):
        if isinstance(one, str):
            if not among(one, _KINDS):
                raise ValueError(f"isdtype: kind must be a dtype or one of {', '.join(_KINDS)}, got {one!r}")
            if _KINDS[one](own):
                return True
        elif numpy_dtype("isdtype", "kind", one) == own:
            return True
    return False
