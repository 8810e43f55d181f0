"""Checks of batch rules against a loop."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from primax.core.avals import ShapedArray
from primax.core.rules import rule_tables
from primax.extend.provisional.arguments import read_size, sequence
from primax.extend.testing.case import Case, batched
from primax.extend.testing.evaluation import tolerance
from primax.extend.testing.invariants import difference_alone, require_same
from primax.extend.testing.programs import Parts, rounding
from primax.extend.testing.report import Failed, NotRun
from primax.extend.testing.statements import raise_together
from primax.interpreters.runtime import device_put
from primax.interpreters.runtime.extended_array import ExtendedArray, physical

__all__ = ["Mapped", "check_batch", "check_batch_sizes", "choices", "said"]

_MOST_DIMS = 3

Where = tuple[tuple[int, int], ...]


def _mappable(case: Case) -> list[int]:
    """The positions of arguments that can be mapped.

    Raises:
      NotRun: there are none, or there is no batch rule.
    """
    positions = [i for i, aval in enumerate(case.native.avals) if isinstance(aval, ShapedArray)]
    if not positions:
        raise NotRun("no argument is an array")
    case.require("batch", "axis_batch")
    return positions


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
    wheres: list[Where] = []
    for chosen in subsets or (c for size in sizes for c in itertools.combinations(ranks, size)):
        counts = [read_size("choices", "ranks", ranks[i]) + 1 for i in chosen]
        axes = [tuple(k * (j + 1) % count for j, count in enumerate(counts)) for k in range(most)]  # not all in step
        axes += itertools.islice(itertools.product(*[range(count)[::-1] for count in counts]), most)
        kept = list(dict.fromkeys(axes))[: most - (len(chosen) > 1)]  # there are many choices of several arguments
        wheres += [tuple(zip(chosen, dims, strict=True)) for dims in kept]
    return wheres


class Mapped:
    """A function mapped in several ways over axes, in one program.

    Args:
      fun: takes flat arguments, returns a list.
      elements: the arguments for each element of an axis; arguments that are not mapped are those of the first.
      wheres: the choices of mapped arguments and axes, by the length of the axis; the length is also the number of
        elements used.
      compiled: whether to compile.
      x64: the value of `enable_x64`.
    """

    def __init__(
        self,
        fun: Callable[..., Any],
        elements: Sequence[Sequence[Any]],
        wheres: Mapping[int, Sequence[Where]],
        *,
        compiled: bool = True,
        x64: bool = False,
    ) -> None:
        self.fun = fun
        elements = sequence("Mapped", "elements", elements)
        self.count = len(elements[0])
        self.dims: dict[tuple[int, Where], list[Any]] = {}
        inputs: list[Any] = list(elements[0])
        self.index: dict[tuple[int, int, int], int] = {}
        calls = [(size, where) for size, chosen in wheres.items() for where in chosen]
        for size, i, dim in dict.fromkeys((size, i, dim) for size, where in calls for i, dim in where):
            self.index[size, i, dim] = len(inputs)
            stacked = np.stack([np.asarray(physical(element[i])) for element in elements], dim)
            inputs.append(_like(elements[0][i], np.take(stacked, range(size), dim)))
        self.parts = Parts({call: self._one(*call) for call in calls}, inputs, compiled=compiled, x64=x64)

    def _one(self, size: int, where: Where) -> Callable[..., list[Any]]:
        def run(*values: Any) -> list[Any]:
            args = list(values[: self.count])
            dims: list[int | None] = [None] * self.count
            for i, dim in where:
                args[i], dims[i] = values[self.index[size, i, dim]], dim
            outs, self.dims[size, where] = batched(self.fun, size, args, dims)
            return outs

        return run

    def __getitem__(self, call: tuple[int, Where]) -> list[Any]:
        """The results for a length of the axis and one choice, with the mapped axis in front.

        Results without the axis are repeated along it.

        Raises:
          Exception: an error of the mapping or of the run.
        """
        outs = self.parts[call]
        return [
            np.broadcast_to(x, (call[0], *x.shape)) if dim is None else np.moveaxis(x, dim, 0)
            for x, dim in zip(outs, self.dims[call], strict=True)
        ]


def _like(x: Any, elements: Any) -> Any:
    """A stack of values such as `x`, which may be of an extended dtype."""
    return ExtendedArray(device_put.put_value(elements), x.dtype) if type(x) is ExtendedArray else elements


def said(count: int, where: Where, size: int) -> str:
    """A choice of mapped arguments and axes, in words."""
    dims = dict(where)
    return f"mapped over an axis of size {size} with dims {[dims.get(i) for i in range(count)]}"


class _Batches:
    """The results that the checks of a case share: mapped ones for axes of several, 1 and 0 elements, and of loops."""

    def __init__(self, case: Case) -> None:
        setting = case.native
        ranks = {i: len(setting.avals[i].shape) for i in _mappable(case)}
        every = tuple((i, rank) for i, rank in ranks.items())
        few: list[Where] = [every, *(((i, 0),) for i in ranks if len(ranks) > 1)][:2]
        self.setting = setting
        lengths = {n for i in ranks for n in setting.avals[i].shape}
        self.size = next(n for n in (3, 4, 5, 6, 3) if n not in lengths or len(lengths & {3, 4, 5, 6}) == 4)
        several = list(dict.fromkeys([*choices(ranks), *few]))
        self.wheres: dict[int, Sequence[Where]] = {self.size: several, 1: few, 0: few}
        self.elements = [case.other_args(setting, k) for k in range(max(self.wheres))]
        self.results = Mapped(setting.bind, self.elements, self.wheres, compiled=case.compiles, x64=setting.x64)
        self.loops: dict[tuple[int, ...], list[tuple[list[Any], list[Any]]]] = {}
        self.noises: dict[tuple[int, ...], list[list[Any]]] = {}

    def loop(self, where: Where) -> list[tuple[list[Any], list[Any]]]:
        """For each element the arguments, and the results of the primitive."""
        chosen = tuple(i for i, _ in where)
        if chosen not in self.loops:
            rows = [[xs[i] if i in chosen else x for i, x in enumerate(self.setting.args)] for xs in self.elements]
            self.loops[chosen] = [(row, self.setting.base(*row)) for row in rows]
        return self.loops[chosen]

    def noise(self, where: Where, n: int, size: int) -> Any:
        """The errors by rounding in a result of the loop."""
        chosen = tuple(i for i, _ in where)
        if chosen not in self.noises:
            self.noises[chosen] = [rounding(self.setting.base, row) for row, _ in self.loop(where)]
        return np.stack([noises[n] for noises in self.noises[chosen]])[:size]


def _batches(case: Case) -> _Batches:
    if "batches" not in case.memo:
        case.memo["batches"] = _Batches(case)
    return case.memo["batches"]  # type: ignore[no-any-return]


def _compare(case: Case, batches: _Batches, size: int, where: Where) -> None:
    setting = case.native
    kind = "batch" if case.has("batch") else "axis_batch"
    how = said(len(setting.args), where, size)
    try:
        outs = batches.results[size, where]
    except Exception as error:
        raise Failed(f"{how}: {type(error).__name__}: {error}", kind) from error
    loop = batches.loop(where)
    for n, aval in enumerate(setting.out_avals):
        if isinstance(aval, ShapedArray):
            want = np.stack([results[n] for _, results in loop])[:size]
            noise = partial(batches.noise, where, n, size)
            off = difference_alone(case, outs[n], want, tolerance(case, want.dtype), noise)
            if off:
                remark = getattr(rule_tables[kind].functions.get(case.primitive), "remark", "")
                hint = f"\nits {kind} rule {remark}" if remark else ""
                raise Failed(f"result {n}, {how}, differs from a loop over the elements: {off}{hint}", kind)
    if case.sample.invariants is not None:
        message = f"{{what}}, {how}, differs from a loop over the elements"
        for k, (row, wants) in enumerate(loop[:size]):
            require_same(case, [out[k] for out in outs], wants, row, partial(tolerance, case), message, kind)


def check_batch(case: Case) -> None:
    """For any mapped arguments and axes, the batch rule gives the same results as a loop over the elements."""
    batches = _batches(case)
    faults = [_fault(case, batches, batches.size, where) for where in batches.wheres[batches.size]]
    raise_together([fault for fault in faults if fault is not None])


def check_batch_sizes(case: Case) -> None:
    """The batch rule is also right for a mapped axis with one element or none."""
    batches = _batches(case)
    faults = {where: _fault(case, batches, batches.size, where) for where in batches.wheres[1]}
    checked = False
    failures = []
    for size in (1, 0):
        for where, known in faults.items():
            failure = _fault(case, batches, size, where)
            if failure is None:
                checked = True
            elif known is None or _is_of_values(known) != _is_of_values(failure):
                failures.append(failure)
    raise_together(failures)
    if not checked:
        raise NotRun("with the same dims it is wrong for several elements, too; see the check 'batch'")


def _fault(case: Case, batches: _Batches, size: int, where: Where) -> Failed | None:
    """The failure of the batch rule for a length of the axis and one choice; None if the rule is right."""
    try:
        _compare(case, batches, size, where)
    except Failed as failure:
        return failure
    return None


def _is_of_values(failure: Failed) -> bool:
    return failure.__cause__ is None and "expected shape" not in failure.text
