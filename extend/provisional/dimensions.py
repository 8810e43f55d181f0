"""Arithmetic of sizes of axes that are known when a program runs, and of symbolic sizes."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

from primax.core.dimensions import as_size, dynamic_kind, is_dimension
from primax.core.dimensions import has_dynamic as has_symbolic
from primax.core.dimensions import is_dynamic as is_symbolic
from primax.core.errors import PluginError
from primax.core.lazy_tables import Table
from primax.extend.host.plugin_host import host

if TYPE_CHECKING:
    # Names that the plugin symbolic_shapes defines; see __getattr__.
    SymbolicDim: type[Any]
    SymbolicScope: type[Any]

    def symbolic_shape(shape_spec: str | None, **kwargs: Any) -> tuple[Any, ...]: ...
    def values_of(required: Any, given: Any) -> dict[Any, Any]: ...


__all__ = [
    "SymbolicDim",
    "SymbolicScope",
    "as_array",
    "as_size",
    "bounds",
    "has_symbolic",
    "is_symbolic",
    "sliced",
    "symbolic_shape",
    "values_of",
]
__dir__ = __all__.copy

definitions = Table("dimension", __name__)


def is_symbolic_dim(p: object) -> bool:
    """Whether the size of an axis is symbolic.

    >>> import primax as px
    >>> px.export.is_symbolic_dim(px.export.symbolic_shape("b")[0]), px.export.is_symbolic_dim(3)
    (True, False)
    """
    return is_dimension(p)


def as_array(dim: Any) -> Any:
    """The array of rank 0 with the value of a dimension."""
    kind = dynamic_kind((dim,))
    if kind is None:
        raise TypeError(f"as_array: dim must be a dimension of an active plugin, got {dim!r}")
    return kind.as_array(dim)


def bounds(dim: Any) -> tuple[float, float]:
    """The least and the largest value that a dimension may have."""
    kind = dynamic_kind((dim,))
    return (dim, dim) if kind is None else kind.bounds(dim)


def max_dim(a: Any, b: Any) -> Any:
    """The larger of two dimensions; a symbolic one if their order is not known.

    Examples:
      >>> from primax import export
      >>> from primax.extend.dimensions import max_dim
      >>> (n,) = export.symbolic_shape("n")
      >>> max_dim(n, 3), max_dim(n, n + 1), max_dim(2, 3)
      (max(n, 3), n + 1, 3)
    """
    return max(a, b) if type(a) is type(b) is int else _extreme("max", a, b)


def min_dim(a: Any, b: Any) -> Any:
    """The smaller of two dimensions; a symbolic one if their order is not known.

    Examples:
      >>> from primax import export
      >>> from primax.extend.dimensions import min_dim
      >>> (n,) = export.symbolic_shape("n")
      >>> min_dim(n, 3), min_dim(n, 1)
      (min(n, 3), 1)
    """
    return min(a, b) if type(a) is type(b) is int else _extreme("min", a, b)


def _extreme(name: str, a: Any, b: Any) -> Any:
    try:
        a, b = as_size(a), as_size(b)
    except TypeError:
        raise TypeError(f"{name}_dim: a and b must be integers or symbolic dimensions, got {a!r} and {b!r}") from None
    kind = dynamic_kind((a, b))
    if kind is None:
        return max(a, b) if name == "max" else min(a, b)
    return kind.extreme(name, a, b)


def sliced(entry: slice, size: Any) -> tuple[Any, Any, int]:
    """The start, the number of elements and the step of a slice of an axis, whose size is a dimension."""
    step = 1 if entry.step is None else index(entry.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    first, last = (0, size) if step > 0 else (-1, size - 1)

    def place(end: Any, otherwise: Any) -> Any:
        if end is None:
            return otherwise
        end = as_size(end)
        return min_dim(end, last) if end >= 0 else max_dim(end + size, first)

    start, stop = (place(entry.start, 0), place(entry.stop, size))
    if step < 0:
        start, stop = place(entry.start, size - 1), place(entry.stop, -1)
        return start, max_dim((start - stop - step - 1) // -step, 0), step
    return start, max_dim((stop - start + step - 1) // step, 0), step


def definition(name: str) -> Any:
    """A name that the plugin symbolic_shapes defines; loads the plugin.

    Raises:
      PluginError: the plugin is not active.
    """
    if name not in definitions:
        raise PluginError(f"{name} needs a plugin that is not active: {host.record('symbolic_shapes').reason}")
    return definitions[name]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """A name that the plugin defines."""
        if name in ("SymbolicDim", "SymbolicScope", "symbolic_shape", "values_of"):
            return definition(name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
