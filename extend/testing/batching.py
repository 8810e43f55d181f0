"""Checks of batch rules against a loop."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from primax.core.rules import rule_tables
from primax.extend.testing.case import Case, Setting, batched, is_array_type
from primax.extend.testing.evaluation import tolerance
from primax.extend.testing.programs import Parts
from primax.extend.testing.report import Failed, NotRun
from primax.extend.testing.values import difference

__all__ = ["check_batch", "check_batch_sizes"]

_MOST_DIMS = 3

Where = tuple[tuple[int, int], ...]


def _mappable(case: Case) -> list[int]:
    """The positions of arguments that can be mapped over.

    Raises:
      NotRun: there are none, or no batch rule.
    """
    found = [i for i, aval in enumerate(case.native.avals) if is_array_type(aval)]
    if not found:
        raise NotRun("it has no arrays as arguments")
    case.require("batch", "axis_batch")
    return found


def choices(ranks: dict[int, int], most: int = _MOST_DIMS) -> list[Where]:
    """Which arguments are mapped, along which axes: every choice of arguments with some choices of axes each.

    Args:
      ranks: the ranks of the arguments that can be mapped.
      most: how many choices of axes there are at most for each choice of arguments.
    """
    n = len(ranks)
    sizes = range(1, n + 1) if n <= 3 else (1, 2, n)
    found: list[Where] = []
    for chosen in (c for size in sizes for c in itertools.combinations(ranks, size)):
        counts = [ranks[i] + 1 for i in chosen]
        axes = [tuple(k * (j + 1) % count for j, count in enumerate(counts)) for k in range(most)]  # not all in step
        axes += itertools.islice(itertools.product(*[range(count)[::-1] for count in counts]), most)
        found += [tuple(zip(chosen, each, strict=True)) for each in list(dict.fromkeys(axes))[:most]]
    return found


def _run(case: Case, elements: Sequence[Sequence[Any]], wheres: Sequence[Where], size: int) -> tuple[Parts, Any]:
    """The primitive mapped over axes in several ways, in one program; and where each result has its axis."""
    setting = case.native
    inputs: list[Any] = list(setting.args)
    index: dict[tuple[int, int], int] = {}
    for where in wheres:
        for i, dim in where:
            if (i, dim) not in index:
                index[i, dim] = len(inputs)
                inputs.append(_stack([each[i] for each in elements], setting, i, dim, size))
    found_dims: dict[Where, list[Any]] = {}

    def mapped(where: Where) -> Any:
        def run(*values: Any) -> list[Any]:
            args = list(values[: len(setting.args)])
            dims: list[int | None] = [None] * len(args)
            for i, dim in where:
                args[i], dims[i] = values[index[i, dim]], dim
            outs, found_dims[where] = batched(setting.bind, size, args, dims)
            return outs

        return run

    parts = Parts({where: mapped(where) for where in wheres}, inputs, compiled=case.compiles, x64=setting.x64)
    return parts, found_dims


def _stack(values: Sequence[Any], setting: Setting, i: int, dim: int, size: int) -> Any:
    if values:
        return np.stack([np.asarray(x) for x in values], dim)
    aval = setting.avals[i].unmapped(size, dim)
    return np.zeros(aval.shape, aval.dtype)


def _said(case: Case, where: Where, size: int) -> str:
    dims: list[Any] = [None] * len(case.native.args)
    for i, dim in where:
        dims[i] = dim
    return f"mapped over an axis of size {size} with dims {dims}"


def _check(case: Case, wheres: Sequence[Where], size: int) -> None:
    setting = case.native
    elements = [case.other_args(setting, k) for k in range(size)]
    parts, found_dims = _run(case, elements, wheres, size)
    kind = "batch" if case.primitive in rule_tables["batch"] else "axis_batch"
    loops: dict[tuple[int, ...], list[list[Any]]] = {}
    for where in wheres:
        said = _said(case, where, size)
        try:
            outs = parts[where]
        except Exception as error:
            raise Failed(f"{said}: {type(error).__name__}: {error}", kind) from error
        chosen = tuple(i for i, _ in where)
        if chosen not in loops:
            loops[chosen] = [
                setting.base(*[each[i] if i in chosen else x for i, x in enumerate(setting.args)]) for each in elements
            ]
        for n, aval in enumerate(setting.out_avals):
            if not is_array_type(aval):
                continue
            out, dim = outs[n], found_dims[where][n]
            shape = (size, *aval.shape)
            got = out if dim is None else np.moveaxis(out, dim, 0)
            if dim is None and got.shape == aval.shape:
                got = np.broadcast_to(got, shape)
            want = np.stack([one[n] for one in loops[chosen]]) if size else np.zeros(shape, aval.dtype)
            off = difference(got, want, tolerance(case, want.dtype))
            if off:
                raise Failed(f"result {n}, {said}, is not what a loop gives: {off}", kind)


def check_batch(case: Case) -> None:
    """Mapped over any of its arguments, along any axes, the primitive gives what a loop gives."""
    ranks = {i: len(case.native.avals[i].shape) for i in _mappable(case)}
    _check(case, choices(ranks), 3)


def check_batch_sizes(case: Case) -> None:
    """The same holds for an axis of one element and for one of none."""
    ranks = {i: len(case.native.avals[i].shape) for i in _mappable(case)}
    every = tuple((i, rank) for i, rank in ranks.items())
    wheres: list[Where] = [every, *(((i, 0),) for i in ranks if len(ranks) > 1)]
    for size in (1, 0):
        _check(case, wheres[:3], size)
