"""Names of axes as arguments of functions: their meaning, and whether they are in scope."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

from primax.extend.provisional.arguments import check_hashable, integers
from primax.extend.provisional.tracing import thread
from primax.plugins.reductions import ADD

Groups = tuple[tuple[int, ...], ...] | None


def names_of(axis_name: Any) -> tuple[Any, ...]:
    """The names in an argument `axis_name`: those in a tuple or list, or the argument itself."""
    return tuple(axis_name) if isinstance(axis_name, tuple | list) else (axis_name,)


def names_in_scope(axis_name: Any, function: str) -> tuple[Any, ...]:
    """The names in an argument `axis_name`, each of an axis that is being mapped over.

    Raises:
      NameError: a name is not in scope.
      ValueError: a name occurs twice.
    """
    names = names_of(axis_name)
    for name in names:
        check_hashable(function, "axis_name", name)
    axes = thread.axes
    for name in names:
        if name not in axes:
            shown = ", ".join(f"{known!r} of size {size}" for known, size in axes.items())
            scope = f"in scope: {shown}" if axes else "no axis with a name is in scope"
            raise NameError(
                f"{function}: axis_name must name an axis that is being mapped over, got {name!r}; {scope}. "
                f"vmap(f, axis_name={name!r}) brings one into scope"
            )
    if len(set(names)) < len(names):
        raise ValueError(f"{function}: axis_name must name each axis once, got {names!r}")
    return names


def axis_sizes(names: Sequence[Any]) -> list[int]:
    """The sizes of axes in scope."""
    return [thread.axes[name] for name in names]


def canonical_groups(groups: Any, names: Sequence[Any], function: str, alike: bool = True) -> Groups:
    """Groups of indices along axes, as tuples.

    Args:
      groups: sequences of indices; None for one group of all.
      names: the axes.
      function: the name of the calling function, for messages.
      alike: whether all groups must have the same size.

    Raises:
      TypeError: `groups` are not sequences of integers.
      ValueError: an index along the axes is in no group, or in two, or the sizes of groups differ.
    """
    if groups is None:
        return None
    if not isinstance(groups, Iterable):
        raise TypeError(f"{function}: axis_index_groups must be a sequence of groups, got {groups!r}")
    canonical = tuple(integers(group, function, "each group of axis_index_groups") for group in groups)
    size = prod(axis_sizes(names))
    if sorted(i for group in canonical for i in group) != list(range(size)):
        raise ValueError(
            f"{function}: axis_index_groups must hold each index along {names}, of size {size}, once, got {groups}"
        )
    if alike and len(set(map(len, canonical))) > 1:
        raise ValueError(f"{function}: axis_index_groups must be of the same size, got {groups}")
    return canonical


def group_size(names: Sequence[Any], groups: Groups) -> int:
    """The number of elements in a group, for axes in scope and groups of the same size."""
    return prod(axis_sizes(names)) if groups is None else len(groups[0])


def require_numbers(function: str, x: Any) -> None:
    """Raise an error unless an argument is an array of numbers.

    Raises:
      TypeError: `x`, the type of the argument, is another type.
    """
    if x.dtype not in ADD.accepts:
        hint = ADD.accepts.instead(x.dtype)
        raise TypeError(f"{function}: x must be {ADD.accepts.name}, got {x.str_short()}{hint}")
