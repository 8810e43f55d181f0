"""Splitting and joining of lists by flags and by counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

_T = TypeVar("_T")


def partition(xs: Iterable[_T], flags: Iterable[Any]) -> tuple[list[_T], list[_T]]:
    """The elements whose flag is false, and those whose flag is true, in their order.

    Args:
      xs: the elements.
      flags: one flag for each element.

    Raises:
      ValueError: the numbers of elements and flags differ.

    >>> partition("abcd", [False, True, True, False])
    (['a', 'd'], ['b', 'c'])
    """
    parts: tuple[list[_T], list[_T]] = [], []
    for x, flag in zip(xs, flags, strict=True):
        parts[bool(flag)].append(x)
    return parts


def merge(flags: Iterable[Any], those_false: Iterable[Any], those_true: Iterable[Any]) -> list[Any]:
    """The inverse of `partition`: for each flag the next element of the corresponding sequence.

    Args:
      flags: one for each element.
      those_false: the elements whose flag is false; surplus elements are ignored.
      those_true: the elements whose flag is true; surplus elements are ignored.

    Raises:
      ValueError: there are fewer elements than flags.

    >>> merge([False, True, True, False], "ad", "bc")
    ['a', 'b', 'c', 'd']
    """
    one, other = iter(those_false), iter(those_true)
    try:
        return [next(other) if flag else next(one) for flag in flags]
    except StopIteration:
        raise ValueError("merge: there must be one element for each flag, got fewer") from None


def sections(xs: Sequence[_T], *counts: int) -> list[list[_T]]:
    """A sequence cut into sections of given lengths, and the rest.

    >>> sections("abcde", 2, 1)
    [['a', 'b'], ['c'], ['d', 'e']]
    """
    cut, start = [], 0
    for count in counts:
        cut.append(list(xs[start : start + count]))
        start += count
    return [*cut, list(xs[start:])]


def fixpoint(step: Callable[[list[bool]], tuple[_T, Sequence[bool]]], flags: Iterable[bool]) -> tuple[_T, list[bool]]:
    """Repeat a step until the flags do not change, for example to find the carries of a loop that have tangents.

    Args:
      step: takes flags; returns a result and flags, which are true wherever the input flags are.
      flags: the initial flags.

    Returns:
      The last result, and the final flags.

    >>> fixpoint(lambda flags: (sum(flags), [True, *flags[:-1]]), [False, False, False])
    (3, [True, True, True])
    """
    before = list(flags)
    while True:
        result, after = step(before)
        widened = [a or b for a, b in zip(before, after, strict=True)]
        if widened == before:
            return result, before
        before = widened
