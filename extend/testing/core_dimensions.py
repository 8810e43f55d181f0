"""The check of signatures: along leading axes, a primitive does the same for each position."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np

from primax.core.avals import ShapedArray
from primax.extend.provisional.core_dimensions import core_signature
from primax.extend.testing.case import Case, Setting
from primax.extend.testing.evaluation import tolerance
from primax.extend.testing.invariants import require_same
from primax.extend.testing.programs import Program
from primax.extend.testing.report import Failed, NotRun
from primax.extend.testing.sharding import check_sharding
from primax.interpreters.runtime.extended_array import has_extended_dtype

__all__ = ["check_core_dimensions"]

_KINDS = ("impl", "lowering", "abstract_eval")
_MIXED = ((2, 1), (3,), ())
_MOST = 8  # positions that are compared

Axes = tuple[int, ...]


def check_core_dimensions(case: Case) -> None:
    """With more leading axes, equal or broadcast ones, the results are those of a loop, as the signature says."""
    signature = core_signature(case.primitive)
    if signature is None:
        raise NotRun("it is defined without a signature, which is optional")
    native = case.native
    if case.sample.axes or not all(type(a) is ShapedArray and not has_extended_dtype(a) for a in native.avals):
        raise NotRun("the sample has named axes, or operands that are not arrays of numbers")
    count = len(native.args)
    ranks = [len(aval.shape) - len(core) for aval, core in zip(native.avals, signature.operands, strict=True)]
    patterns: list[tuple[Axes, ...]] = [((2,),) * count]
    if count > 1 and not signature.equal:
        patterns += [tuple([_MIXED[step * i % 3] for i in range(count)]) for step in (1, -1)]
    core = [x[(0,) * rank] for x, rank in zip(map(np.asarray, native.args), ranks, strict=True)]
    base = native.program(native.bind, *core)
    for axes in dict.fromkeys(patterns):
        stacks = [_stack(native, i, prefix, max(ranks) - ranks[i]) for i, prefix in enumerate(axes)]
        _compare(case, base, stacks, [len(core) for core in signature.operands])
    stacks = [_stack(native, i, (2,), max(ranks) - rank) for i, rank in enumerate(ranks)]
    divided = Case(case.primitive, replace(case.sample, args=stacks, vary=None), case.label)
    with suppress(NotRun):  # the check of sharding rules says why
        check_sharding(divided)


def _stack(setting: Setting, i: int, axes: Axes, missing: int) -> np.ndarray:
    """Different values of an operand along new leading axes; axes that only other operands have are of size 1."""
    rows = [np.asarray(setting.case.other_args(setting, k)[i]) for k in range(int(np.prod(axes, dtype=int)))]
    return np.stack(rows).reshape((*axes, *([1] * missing if axes else ()), *rows[0].shape))


def _compare(case: Case, base: Program, stacks: Sequence[np.ndarray], core_ranks: Sequence[int]) -> None:
    """Compare the results for operands with leading axes with those of a loop over some positions along these."""
    setting = case.native
    how = f"for operands of shapes {' and '.join(str(x.shape) for x in stacks)}"
    try:
        outs = setting.program(setting.bind, *stacks)(*stacks)
    except Exception as error:
        raise Failed(f"{how}: {type(error).__name__}: {error}", *_KINDS) from error
    leading = [x.shape[: x.ndim - rank] for x, rank in zip(stacks, core_ranks, strict=True)]
    joint = np.broadcast_shapes(*leading)
    places = list(itertools.product(*map(range, joint)))
    message = f"{{what}}, {how}, differs from a loop over the leading axes, so the signature is wrong"
    for place in places[:: -(-len(places) // _MOST)]:
        row = [
            x[tuple([k if size > 1 else 0 for k, size in zip(place[len(place) - len(shape) :], shape, strict=True)])]
            for x, shape in zip(stacks, leading, strict=True)
        ]
        require_same(case, [x[place] for x in outs], base(*row), row, partial(tolerance, case), message, *_KINDS)
