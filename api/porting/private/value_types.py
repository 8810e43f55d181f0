"""The tables in which packages written for JAX register their types of values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from primax.core.avals import aval_handlers
from primax.extend import dtypes
from primax.extend.core import register_aval
from primax.porting.private import mapped_values
from primax.porting.private.mapped_values import is_vmappable

__all__ = [
    "Shape",
    "canonicalize_dtype_handlers",
    "is_vmappable",
    "make_iota",
    "pytype_aval_mappings",
    "register_vmappable",
    "unregister_vmappable",
]

Shape = Sequence[int]


class _Table(MutableMapping[type, Callable[[Any], Any]]):
    """A table of registered types; for a type that primax knows, `known` returns the entry."""

    def __init__(self, known: Callable[[type], Callable[[Any], Any]], enter: Callable[[type, Any], None]) -> None:
        self._entries: dict[type, Callable[[Any], Any]] = {}
        self._known, self._enter = known, enter

    def __getitem__(self, kind: type) -> Callable[[Any], Any]:
        if kind in self._entries:
            return self._entries[kind]
        if kind not in aval_handlers:
            raise KeyError(kind)
        return self._known(kind)

    def __setitem__(self, kind: type, handler: Callable[[Any], Any]) -> None:
        self._enter(kind, handler)
        self._entries[kind] = handler

    def __delitem__(self, kind: type) -> None:
        raise TypeError(f"a registered type of values cannot be removed from the table, got {kind.__name__}")

    def __iter__(self) -> Iterator[type]:
        return iter({**aval_handlers, **self._entries})

    def __len__(self) -> int:
        return len({**aval_handlers, **self._entries})


def _canonical(x: Any) -> np.ndarray:
    """Convert a value to a NumPy array of the dtype that it has in programs."""
    array = np.asarray(x)
    return array.astype(dtypes.canonicalize_dtype(array.dtype), copy=False)


def _convert_by(kind: type, handler: Callable[[Any], Any]) -> None:
    """Treat values of a type as the arrays that the handler converts them to."""
    kind.__jax_array__ = lambda self: handler(self)  # type: ignore[attr-defined]


def _set_type_handler(kind: type, handler: Callable[[Any], Any]) -> None:
    """Let the handler return the types of values, unless values are converted to arrays, which have types."""
    if not hasattr(kind, "__jax_array__"):
        register_aval(kind, handler)


canonicalize_dtype_handlers = _Table(lambda kind: _canonical, _convert_by)
pytype_aval_mappings = _Table(lambda kind: aval_handlers[kind], _set_type_handler)


def make_iota(axis_size: int) -> Any:
    """The positions of the elements along a mapped axis."""
    return import_module("primax.lax").iota(np.int32, axis_size)


def register_vmappable(
    data_type: type, spec_type: type, axis_size_type: type, to_elt: Any, from_elt: Any, make_iota: Any
) -> None:
    """Let `vmap` map values of a type, as JAX does.

    Args:
      data_type: the type.
      spec_type: the type of their entries in `in_axes` and `out_axes`.
      axis_size_type: not used; the size of the axis is an int.
      to_elt: `(cont, get_idx, x, spec)` returns an element; `cont(array, axis)` is an element of an array.
      from_elt: `(cont, size, x, spec)` returns a value of all elements; `cont(size, array, axis)` stacks its `array`s.
      make_iota: not used.
    """
    mapped_values.register(data_type, mapped_values.Registered(spec_type, to_elt, from_elt))


def unregister_vmappable(data_type: type) -> None:
    """Remove the registration of a type that `register_vmappable` made."""
    mapped_values.unregister(data_type)
