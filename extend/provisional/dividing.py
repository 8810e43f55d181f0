"""Sharding rules that several families share: the shardings of results, from those of operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from primax.core.arguments import sequence
from primax.core.avals import ShapedArray
from primax.core.dtypes import is_complex
from primax.extend.errors import ShardingTypeError
from primax.extend.provisional.aval_sharding import aval_sharding, axes_of_dims

__all__ = [
    "along_axis",
    "broadcast_axes",
    "common_axes",
    "cut_axes",
    "dropped_axes",
    "refuse_divided",
    "reshaped_axes",
    "whole_along",
]

Axes = tuple[tuple[Any, ...], ...]


def refuse_divided(what: str, avals: Sequence[ShapedArray]) -> None:
    """Refuse types that are divided.

    Raises:
      ShardingTypeError: a type is divided.
    """
    for aval in avals:
        if aval_sharding(aval) is not None:
            raise ShardingTypeError(
                f"{what} must not be divided, got {aval.str_short()}; replicate it with primax.reshard"
            )


def whole_along(x: ShapedArray, dims: Sequence[int], how: str = "primax.reshard") -> None:
    """Refuse an operand that is divided along given dimensions.

    Raises:
      ShardingTypeError: the operand is divided along one of them.
    """
    axes = axes_of_dims(x)
    for dim in dims:
        if axes[dim]:
            raise ShardingTypeError(
                f"the operand must not be divided along dimension {dim}, got {x.str_short()}; replicate it with {how}"
            )


def common_axes(avals: Sequence[ShapedArray]) -> Axes:
    """The mesh axes of operands that must all have the same sharding, or be whole.

    Raises:
      ShardingTypeError: two operands are divided differently.
      ValueError: there are no operands.
    """
    avals = sequence("common_axes", "avals", avals)
    if not avals:
        raise ValueError("common_axes: avals must hold a type, got none")
    first = next((aval for aval in avals if aval_sharding(aval) is not None), avals[0])
    for aval in avals:
        if aval_sharding(aval) is not None and axes_of_dims(aval) != axes_of_dims(first):
            raise ShardingTypeError(
                f"operands must be divided in the same way, got {first.str_short()} and {aval.str_short()}; change one "
                "with primax.reshard"
            )
    return axes_of_dims(first)


def along_axis(name: str, results: int | None = None) -> Callable[..., Any]:
    """The sharding rule of operations along one dimension, given by a parameter, on operands with the same sharding.

    Args:
      name: the name of the parameter.
      results: the number of results; None means the number of operands.
    """

    def rule(*avals: ShapedArray, **params: Any) -> Any:
        dim = params[name]
        for aval in avals:
            whole_along(aval, [dim])
        letters = " ".join(f"d{i}" + ("!" if i == dim else "") for i in range(len(avals[0].shape)))
        count = len(avals) if results is None else results
        return f"{', '.join([letters] * len(avals))} -> {', '.join([letters] * count)}"

    return rule


def dropped_axes(name: str, mark: str = "") -> Callable[..., Any]:
    """The sharding rule of operations that remove the dimensions in a parameter.

    Args:
      name: the name of the parameter.
      mark: the reduction over devices; empty if only XLA can compute it.
    """

    def rule(x: ShapedArray, /, **params: Any) -> Any:
        gone = params[name]
        if mark and (mark == "sum" or not is_complex(x.dtype)):  # devices compare only real numbers
            taken = " ".join(f"d{i}:{mark}" if i in gone else f"d{i}" for i in range(len(x.shape)))
            return f"{taken} -> {' '.join(f'd{i}' for i in range(len(x.shape)) if i not in gone)}"
        return [tuple([names for i, names in enumerate(axes_of_dims(x)) if i not in gone])]

    return rule


def broadcast_axes(x: ShapedArray, *, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...]) -> list[Axes]:
    """The sharding rule of operations that repeat an array along new dimensions, which are whole."""
    result: list[tuple[Any, ...]] = [()] * len(shape)
    for size, names, dim in zip(x.shape, axes_of_dims(x), broadcast_dimensions, strict=True):
        if size == shape[dim]:
            result[dim] = names
    return [tuple(result)]


def cut_axes(x: ShapedArray, shape: Sequence[int], sizes: Any = None) -> Axes:
    """The mesh axes of a part of an array: those of the array, where its dimensions can be divided.

    Raises:
      ShardingTypeError: a dimension cannot be divided.
    """
    axes = axes_of_dims(x)
    explicit = aval_sharding(x)
    if explicit is not None:
        lengths = explicit.mesh.shape
        for dim, (size, names) in enumerate(zip(shape, axes, strict=True)):
            parts = prod(lengths[name] for name in names)
            if size % parts:
                raise ShardingTypeError(
                    f"a part of {size} elements along dimension {dim} of {x.str_short()} cannot be divided in "
                    f"{parts} parts; replicate the operand along it with primax.reshard"
                )
    return axes


def reshaped_axes(x: ShapedArray, new: tuple[int, ...]) -> Axes:
    """The mesh axes of a reshaped array: among dimensions that are split or merged, only the first may be divided.

    Raises:
      ShardingTypeError: another dimension is divided, so that the sharding is not determined.
    """
    axes = axes_of_dims(x)
    explicit = aval_sharding(x)
    sizes = {} if explicit is None else explicit.mesh.shape
    result: list[tuple[Any, ...]] = []
    for old_dims, new_dims in _groups(x.shape, new):
        names = _merged([axes[i] for i in old_dims], [x.shape[i] for i in old_dims])
        if len(old_dims) > 1 and len(new_dims) > 1 and names:
            names = None
        split = None if names is None else _split(names, [new[i] for i in new_dims], sizes)
        if split is None:
            raise ShardingTypeError(
                f"the sharding of {x.str_short()} with the shape {new} is not determined; give out_sharding=, such "
                "as out_sharding=primax.P(), or replicate the operand with primax.reshard"
            )
        result += split
    return tuple(result)


def _groups(old: Sequence[int], new: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Groups of adjacent dimensions, before and after, with equal numbers of elements, each as short as possible."""
    if prod(old) == 0:
        return [(list(range(len(old))), list(range(len(new))))]
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(old) or j < len(new):
        if i < len(old) and old[i] == 1 and not (j < len(new) and new[j] == 1):
            groups.append(([i], []))
            i += 1
            continue
        if j < len(new) and new[j] == 1 and not (i < len(old) and old[i] == 1):
            groups.append(([], [j]))
            j += 1
            continue
        before, after = [i], [j]
        size, other = old[i], new[j]
        i, j = i + 1, j + 1
        while size != other:
            if size < other:
                size *= old[i]
                before.append(i)
                i += 1
            else:
                other *= new[j]
                after.append(j)
                j += 1
        groups.append((before, after))
    return groups


def _merged(axes: Sequence[tuple[Any, ...]], lengths: Sequence[int]) -> tuple[Any, ...] | None:
    """The axes that divide merged dimensions; None if a dimension is divided after one that is not."""
    merged: list[Any] = []
    ended = False
    for names, length in zip(axes, lengths, strict=True):
        if names and ended:
            return None
        merged += names
        ended = ended or (length > 1 and not names)
    return tuple(merged)


def _split(names: Sequence[Any], lengths: Sequence[int], sizes: Any) -> list[tuple[Any, ...]] | None:
    """For each part of a split dimension its axes: the first part takes as many as it can; None if some are left."""
    left = list(names)
    parts: list[tuple[Any, ...]] = []
    for length in lengths:
        taken: list[Any] = []
        while left and length % sizes[left[0]] == 0:
            length //= sizes[left[0]]
            taken.append(left.pop(0))
        parts.append(tuple(taken))
        if length > 1 and left:
            return None
    return None if left else parts
