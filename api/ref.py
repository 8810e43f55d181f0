"""Mutable references: arrays whose contents programs read and replace in place."""

from __future__ import annotations

from typing import Any

from primax.extend import dtypes
from primax.extend.core import Array
from primax.extend.lazy_names import explain_absent
from primax.extend.provisional.arguments import canonical_shape
from primax.extend.provisional.typing import ArrayLike
from primax.plugins.state import ref as _ref
from primax.plugins.state.ref import Ref, View
from primax.plugins.state.types import AbstractRef

__all__ = [
    "AbstractRef",
    "Ref",
    "View",
    "addupdate",
    "empty_ref",
    "free_ref",
    "freeze",
    "get",
    "new_ref",
    "set",
    "swap",
]
__dir__ = __all__.copy
explain_absent(__name__)


def new_ref(init_val: ArrayLike, *, memory_space: Any = None, kind: str | None = None) -> Ref:
    """A reference to a mutable array with the given contents.

    `ref[...]` reads the contents, `ref[i]` some of them, `ref[i] = x` and `ref[i] += x` change them, and `ref.at[i]` is
    a view. Indices are those of arrays, `ds(start, size)` included. Functions that are compiled, mapped or
    differentiated may take references, close over them, and create references, but not return them. Compiled programs
    change the contents in place.

    Args:
      init_val: the first contents, an array or a number; it is not changed.
      memory_space: the memory that holds the contents, for lowerings; recorded in the type. Outside of programs it is
        None or `Space.Device`.
      kind: a name for lowerings; recorded in the type.

    Raises:
      TypeError: `init_val` is neither an array nor a number; `memory_space` or `kind` is not hashable.
      UnsupportedError: another memory is requested outside of programs.

    >>> import primax as px
    >>> count = px.new_ref(px.numpy.zeros(3))
    >>> @px.jit
    ... def visit(i):
    ...     count[i] += 1.0
    >>> visit(0)
    >>> visit(2)
    >>> count
    Ref([1., 0., 1.], dtype=float32)
    """
    return _ref.new_ref(init_val, memory_space, kind)


def empty_ref(ty: Any, memory_space: Any = None) -> Ref:
    """A reference to a mutable array whose first contents do not matter.

    Args:
      ty: its shape and dtype: a `ShapeDtypeStruct`, or anything with these attributes.
      memory_space: the memory that holds the contents, for lowerings; recorded in the type. Outside of programs it is
        None or `Space.Device`.

    Raises:
      TypeError: `ty` lacks a shape or a dtype.

    >>> import primax as px
    >>> px.empty_ref(px.ShapeDtypeStruct((2, 3), "float32")).shape
    (2, 3)
    """
    if not (hasattr(ty, "shape") and hasattr(ty, "dtype")):
        raise TypeError(
            f"empty_ref: ty must have a shape and a dtype, as px.ShapeDtypeStruct((2,), 'float32'), got {ty!r}"
        )
    shape, dtype = canonical_shape(ty.shape, "empty_ref"), dtypes.check_user_dtype(ty.dtype, "dtype", "empty_ref")
    return _ref.empty_ref(shape, dtype, memory_space)


def freeze(ref: Ref) -> Array:
    """The contents of a reference, which must not be used any more.

    Args:
      ref: a reference that was made in the same program or outside of programs.

    Raises:
      TypeError: `ref` is not a reference.
      ValueError: `ref` was made outside of the current transformation, or was freed or frozen before.

    >>> import primax as px
    >>> total = px.new_ref(1.0)
    >>> total[...] += 2.0
    >>> px.freeze(total)
    Array(3., dtype=float32)
    """
    return _ref.freeze(ref)


def free_ref(ref: Ref) -> None:
    """Drop the contents of a reference, which must not be used any more.

    Args:
      ref: a reference that was made in the same program or outside of programs.

    Raises:
      TypeError, ValueError: as for `freeze`.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> ref = px.new_ref(pnp.zeros(3))
      >>> px.free_ref(ref)
      >>> ref[...]
      Traceback (most recent call last):
          ...
      ValueError: a reference of type Ref{f32[3]} must not be used any more: free_ref was called on it
    """
    _ref.free_ref(ref)


def get(ref: Ref | View, idx: Any = ...) -> Array:
    """`ref[idx]`: elements of a reference.

    Args:
      ref: a reference or a view of one.
      idx: an index, as for arrays; by default all elements.

    Raises:
      TypeError: `ref` is not a reference.
      IndexError: as for arrays.
      ValueError: `idx` has a traced mask, or the reference was freed.

    >>> import primax as px
    >>> float(px.ref.get(px.new_ref(px.numpy.arange(3.0)), 1))
    1.0
    """
    return _ref.get(ref, idx)


def set(ref: Ref | View, idx: Any, value: ArrayLike) -> None:
    """`ref[idx] = value`: replace elements of a reference.

    Args:
      ref: a reference or a view of one.
      idx: an index, as for arrays; None or `...` for all elements.
      value: broadcast to the shape of the elements. Its dtype must convert to that of the reference without loss.

    Raises:
      TypeError: `ref` is not a reference, or the dtype does not fit.
      ValueError: the shape does not fit, `value` is mapped or differentiated and the reference was created outside of
        the transformation, or the reference was freed.

    >>> import primax as px
    >>> ref = px.new_ref(px.numpy.zeros(3))
    >>> px.ref.set(ref, slice(1, None), 2.0)
    >>> ref
    Ref([0., 2., 2.], dtype=float32)
    """
    _ref.set(ref, ... if idx is None else idx, value)


def swap(ref: Ref | View, idx: Any, value: ArrayLike) -> Array:
    """Replace elements of a reference, and return the earlier ones.

    Args:
      ref, idx, value: as for `set`.

    Raises:
      TypeError, ValueError: as for `set`.

    >>> import primax as px
    >>> ref = px.new_ref(px.numpy.zeros(3))
    >>> float(px.ref.swap(ref, 0, 5.0)), float(ref[0])
    (0.0, 5.0)
    """
    return _ref.swap(ref, ... if idx is None else idx, value)


def addupdate(ref: Ref | View, idx: Any, x: ArrayLike) -> None:
    """`ref[idx] += x`, as one operation.

    Args:
      ref, idx: as for `set`.
      x: as the `value` of `set`.

    Raises:
      TypeError, ValueError: as for `set`.

    >>> import primax as px
    >>> ref = px.new_ref(px.numpy.ones(2))
    >>> px.ref.addupdate(ref, 0, 2.0)
    >>> ref
    Ref([3., 1.], dtype=float32)
    """
    _ref.addupdate(ref, ... if idx is None else idx, x)
