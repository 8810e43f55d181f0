"""Checks of batch rules against a loop."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from primax.core.arguments import read_size, sequence
from primax.core.avals import ShapedArray
from primax.core.extended import ExtendedArray, physical
from primax.extend.testing.case import Case, batched
from primax.extend.testing.evaluation import tolerance
from primax.extend.testing.invariants import difference_alone, require_same
from primax.extend.testing.programs import Parts
from primax.extend.testing.report import Failed, NotRun
from primax.interpreters import backend

__all__ = ["Mapped", "check_batch", "check_batch_sizes", "choices", "said"]

_MOST_DIMS = 3

Where = tuple[tuple[int, int], ...]


def _mappable(case: Case) -> list[int]:
    """The positions of arguments that can be mapped.

    Raises:
      NotRun: there are none, or there is no batch rule.
    """
    found = [i for i, aval in enumerate(case.native.avals) if isinstance(aval, ShapedArray)]
    if not found:
        raise NotRun("no argument is an array")
    case.require("batch", "axis_batch")
    return found


def choices(
    ranks: Mapping[int, int], most: int = _MOST_DIMS, subsets: Iterable[Sequence[int]] | None = None
) -> list[Where]:
    """Choices of mapped arguments and their axes: every choice of arguments, each with some choices of axes.

    Args:
      ranks: the ranks of the arguments that can be mapped.
      most: the maximal number of choices of axes for one argument; for several arguments it is one less.
      subsets: the choices of arguments. By default all; with more than three arguments one, two or all.
    """
    n = len(ranks)
    sizes = range(1, n + 1) if n <= 3 else (1, 2, n)
    found: list[Where] = []
    for chosen in subsets or (c for size in sizes for c in itertools.combinations(ranks, size)):
        counts = [read_size("choices", "ranks", ranks[i]) + 1 for i in chosen]
        axes = [tuple(k * (j + 1) % count for j, count in enumerate(counts)) for k in range(most)]  # not all in step
        axes += itertools.islice(itertools.product(*[range(count)[::-1] for count in counts]), most)
        kept = list(dict.fromkeys(axes))[: most - (len(chosen) > 1)]  # there are many choices of several arguments
        found += [tuple(zip(chosen, each, strict=True)) for each in kept]
    return found


class Mapped:
    """A function mapped in several ways over an axis, in one program.

    Args:
      fun: takes flat arguments, returns a list.
      elements: the arguments for each element of the axis; arguments that are not mapped are those of the first.
      wheres: the choices of mapped arguments and axes.
      size: the length of the axis, which is the number of elements used.
      compiled: whether to compile.
      x64: the value of `enable_x64`.
    """

    def __init__(
        self,
        fun: Callable[..., Any],
        elements: Sequence[Sequence[Any]],
        wheres: Sequence[Where],
        size: int,
        *,
        compiled: bool = True,
        x64: bool = False,
    ) -> None:
        self.fun = fun
        self.size = size
        elements = sequence("Mapped", "elements", elements)
        self.count = len(elements[0])
        self.dims: dict[Where, list[Any]] = {}
        inputs: list[Any] = list(elements[0])
        self.index: dict[tuple[int, int], int] = {}
        for i, dim in (each for where in wheres for each in where):
            if (i, dim) not in self.index:
                self.index[i, dim] = len(inputs)
                stacked = np.stack([np.asarray(physical(element[i])) for element in elements], dim)
                inputs.append(_like(elements[0][i], np.take(stacked, range(size), dim)))
        self.parts = Parts({where: self._one(where) for where in wheres}, inputs, compiled=compiled, x64=x64)

    def _one(self, where: Where) -> Callable[..., list[Any]]:
        def run(*values: Any) -> list[Any]:
            args = list(values[: self.count])
            dims: list[int | None] = [None] * self.count
            for i, dim in where:
                args[i], dims[i] = values[self.index[i, dim]], dim
            outs, self.dims[where] = batched(self.fun, self.size, args, dims)
            return outs

        return run

    def __getitem__(self, where: Where) -> list[Any]:
        """The results for one choice, with the mapped axis in front; results without the axis are repeated along it.

        Raises:
          Exception: an error of the mapping or of the run.
        """
        outs = self.parts[where]
        return [
            np.broadcast_to(x, (self.size, *x.shape)) if dim is None else np.moveaxis(x, dim, 0)
            for x, dim in zip(outs, self.dims[where], strict=True)
        ]


def _like(x: Any, elements: Any) -> Any:
    """A stack of values such as `x`, which may be of an extended dtype."""
    return ExtendedArray(backend.put_value(elements), x.dtype) if type(x) is ExtendedArray else elements


def said(count: int, where: Where, size: int) -> str:
    """A choice of mapped arguments and axes, in words."""
    dims = dict(where)
    return f"mapped over an axis of size {size} with dims {[dims.get(i) for i in range(count)]}"


def _check(case: Case, wheres: Sequence[Where], size: int) -> None:
    setting = case.native
    elements = [case.other_args(setting, k) for k in range(max(size, 1))]
    results = Mapped(setting.bind, elements, wheres, size, compiled=case.compiles, x64=setting.x64)
    kind = "batch" if case.has("batch") else "axis_batch"
    loops: dict[tuple[int, ...], list[tuple[list[Any], list[Any]]]] = {}
    for where in wheres:
        how = said(len(setting.args), where, size)
        try:
            outs = results[where]
        except Exception as error:
            raise Failed(f"{how}: {type(error).__name__}: {error}", kind) from error
        chosen = tuple(i for i, _ in where)
        if chosen not in loops:
            rows = [[each[i] if i in chosen else x for i, x in enumerate(setting.args)] for each in elements]
            loops[chosen] = [(row, setting.base(*row)) for row in rows]
        for n, aval in enumerate(setting.out_avals):
            if isinstance(aval, ShapedArray):
                want = np.stack([one[n] for _, one in loops[chosen]])[:size]
                off = difference_alone(case, outs[n], want, tolerance(case, want.dtype))
                if off:
                    raise Failed(f"result {n}, {how}, differs from a loop over the elements: {off}", kind)
        if case.sample.invariants is not None:
            message = f"{{what}}, {how}, differs from a loop over the elements"
            for k, (row, wants) in enumerate(loops[chosen][:size]):
                require_same(case, [out[k] for out in outs], wants, row, partial(tolerance, case), message, kind)


def check_batch(case: Case) -> None:
    """For any mapped arguments and axes, the batch rule gives the same results as a loop over the elements."""
    ranks = {i: len(case.native.avals[i].shape) for i in _mappable(case)}
    _check(case, choices(ranks), 3)


def check_batch_sizes(case: Case) -> None:
    """The batch rule is also right for a mapped axis with one element or none."""
    ranks = {i: len(case.native.avals[i].shape) for i in _mappable(case)}
    every = tuple((i, rank) for i, rank in ranks.items())
    wheres: list[Where] = [every, *(((i, 0),) for i in ranks if len(ranks) > 1)]
    for size in (1, 0):
        _check(case, wheres[:2], size)
