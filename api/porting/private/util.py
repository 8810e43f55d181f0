"""The names of `jax._src.util` that packages use: helpers for lists, which check that lengths are equal."""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from primax.porting.private.core import safe_map, safe_zip

__all__ = [
    "canonicalize_axis",
    "concatenate",
    "curry",
    "foreach",
    "merge_lists",
    "partition_list",
    "prod",
    "safe_map",
    "safe_zip",
    "split_list",
    "subvals",
    "tuple_delete",
    "tuple_insert",
    "unzip2",
    "unzip3",
    "wraps",
]

prod = math.prod
wraps = functools.wraps


def canonicalize_axis(axis: Any, num_dims: int) -> int:
    """The position of an axis, counted from the first one.

    Raises:
      ValueError: the axis is out of range.
    """
    place = operator.index(axis)
    if not -num_dims <= place < num_dims:
        raise ValueError(f"canonicalize_axis: axis must be from {-num_dims} to {num_dims - 1}, got {place}")
    return place % num_dims


def concatenate(lists: Iterable[Iterable[Any]]) -> list[Any]:
    """Concatenate lists."""
    return list(itertools.chain.from_iterable(lists))


def curry(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that takes its first arguments, and returns a function of the others."""
    return functools.wraps(function)(functools.partial(functools.partial, function))


def foreach(function: Callable[..., Any], *args: Iterable[Any]) -> None:
    """Call a function with the elements of lists of equal length."""
    for elements in zip(*args, strict=True):
        function(*elements)


def partition_list(flags: Sequence[bool], values: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The values whose flags are false, and those whose flags are true."""
    pairs = list(zip(flags, values, strict=True))
    return [x for flag, x in pairs if not flag], [x for flag, x in pairs if flag]


def merge_lists(flags: Sequence[bool], off: Sequence[Any], on: Sequence[Any]) -> list[Any]:
    """The inverse of `partition_list`."""
    if len(flags) != len(off) + len(on) or sum(map(bool, flags)) != len(on):
        raise ValueError(f"merge_lists: flags must say where {len(off)} and {len(on)} values are, got {flags}")
    first, second = iter(off), iter(on)
    return [next(second if flag else first) for flag in flags]


def split_list(values: Sequence[Any], lengths: Sequence[int]) -> list[list[Any]]:
    """Split a list into lists of the given lengths, and one with the rest."""
    ends = list(itertools.accumulate(lengths, initial=0))
    if ends[-1] > len(values):
        raise ValueError(f"split_list: lengths must sum to {len(values)} at most, got {list(lengths)}")
    parts = [list(values[begin:end]) for begin, end in itertools.pairwise(ends)]
    return [*parts, list(values[ends[-1] :])]


def subvals(values: Sequence[Any], changes: Iterable[tuple[int, Any]]) -> tuple[Any, ...]:
    """The values, with changes at some positions."""
    changed = list(values)
    for i, x in changes:
        changed[i] = x
    return tuple(changed)


def tuple_insert(values: tuple[Any, ...], i: int, x: Any) -> tuple[Any, ...]:
    """A tuple with an element inserted at a position."""
    return (*values[:i], x, *values[i:])


def tuple_delete(values: tuple[Any, ...], i: int) -> tuple[Any, ...]:
    """A tuple without the element at a position."""
    return (*values[:i], *values[i + 1 :])


def unzip2(pairs: Iterable[tuple[Any, Any]]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The first elements and the second elements of pairs."""
    first, second = [], []
    for a, b in pairs:
        first.append(a)
        second.append(b)
    return tuple(first), tuple(second)


def unzip3(triples: Iterable[tuple[Any, Any, Any]]) -> tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]:
    """The first, the second and the third elements of triples."""
    first, second, third = [], [], []
    for a, b, c in triples:
        first.append(a)
        second.append(b)
        third.append(c)
    return tuple(first), tuple(second), tuple(third)
