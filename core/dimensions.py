"""Sizes of axes that are not integers: plugins register their classes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import index
from typing import Any, NamedTuple

from primax.core import undo_log


class DimensionKind(NamedTuple):
    """The functions that a plugin supplies for its class of dimensions; see `register_dimension`."""

    as_array: Callable[[Any], Any]
    bounds: Callable[[Any], tuple[float, float]]
    extreme: Callable[[str, Any, Any], Any]
    lowering: Any


# By class. While the dict is empty, all sizes are integers, and callers need not ask.
dimension_kinds: dict[type, DimensionKind] = {}


def register_dimension(
    kind: type,
    *,
    as_array: Callable[[Any], Any],
    bounds: Callable[[Any], tuple[float, float]],
    extreme: Callable[[str, Any, Any], Any],
    lowering: Any,
) -> None:
    """Allow sizes of a class in the shapes of types; such a size is dynamic: known when a program runs.

    Its operators and comparisons must work with integers. A plugin calls this in its hook `primax_register`.

    Args:
      kind: the class; hashable, and subclasses do not count.
      as_array: `(dim) -> value`, an array of rank 0 with the value of a dimension.
      bounds: `(dim) -> (least, most)`, the bounds of its values.
      extreme: `("max" or "min", a, b) -> size`, the larger or smaller of two sizes, one or both such dimensions.
      lowering: a module or an object with the functions of `extend.stablehlo.shape_ops`, for dynamic sizes.

    Raises:
      TypeError: `kind` is not a class.
    """
    if not isinstance(kind, type):
        raise TypeError(f"register_dimension: kind must be a class, got {kind!r}")
    undo_log.put(dimension_kinds, kind, DimensionKind(as_array, bounds, extreme, lowering))


def is_dimension(value: Any) -> bool:
    """Whether a value is the size of an axis and not an integer."""
    return type(value) in dimension_kinds


def dynamic_kind(sizes: Iterable[Any]) -> DimensionKind | None:
    """The kind of the first size that is not an integer; None if all are integers."""
    for size in sizes:
        if type(size) is not int and (kind := dimension_kinds.get(type(size))) is not None:
            return kind
    return None


def is_dynamic(sizes: Iterable[Any]) -> bool:
    """Whether a size is not an integer."""
    return dynamic_kind(sizes) is not None


def has_dynamic(avals: Iterable[Any]) -> bool:
    """Whether a type has an axis whose size is not an integer."""
    return any(is_dynamic(getattr(aval, "shape", ())) for aval in avals)


def as_size(value: Any) -> Any:
    """An integer as a Python int; another dimension as it is.

    Raises:
      TypeError: `value` is neither.
    """
    return value if type(value) in dimension_kinds else index(value)
