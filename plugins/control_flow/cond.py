"""`cond` and `switch`: one of several programs, chosen while the program runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any, TypeVar

import numpy as np

from primax.extend import core, dtypes
from primax.extend.core import ShapedArray, get_aval, tree
from primax.extend.held_programs import reordered
from primax.extend.provisional.arguments import aval_of, sequence
from primax.extend.provisional.sharding import vma_of
from primax.extend.provisional.typing import ArrayLike
from primax.plugins.arithmetic import clamp
from primax.plugins.comparison import ne
from primax.plugins.control_flow.cond_rules import cond_p
from primax.plugins.control_flow.staging import (
    Staged,
    as_result,
    converted_outputs,
    flatten_operands,
    require_function,
    require_same_types,
    stage_function,
)
from primax.plugins.control_flow.vma import joined_types, varying_with
from primax.plugins.structural import convert_element_type

_no_operand = object()

_R = TypeVar("_R")


def cond(
    pred: ArrayLike,
    true_fun: Callable[..., _R],
    false_fun: Callable[..., _R],
    *operands: object,
    operand: object = _no_operand,
) -> _R:
    """`true_fun(*operands)` if `pred` is true, else `false_fun(*operands)`; only one of them is computed.

    Both are traced. Under `vmap` with a batch of predicates, both are computed, and the results selected.

    Args:
      pred: a boolean of rank 0, or a number, which is true unless it is zero.
      true_fun: a function of the operands.
      false_fun: a function of the operands that returns the same structure, shapes and dtypes.
      operands: arrays in any containers.
      operand: a single operand, instead of `operands`.

    Returns:
      The result of the chosen function. Its type is weak where that of `false_fun` is, as in JAX.

    Raises:
      TypeError: `pred` does not have rank 0, a function is not callable, the results differ in type, or both `operand`
        and `operands` are given.

    >>> import primax as px
    >>> px.lax.cond(3 > 2, lambda x: x + 1.0, lambda x: x - 1.0, 10.0)
    Array(11., dtype=float32, weak_type=True)
    """
    if operand is _no_operand and _names_an_operand_each(true_fun, operands):
        return _with_operand_per_branch(pred, true_fun, false_fun, *operands)
    operands = _operands("cond", operands, operand)
    require_function("cond", "true_fun", true_fun)
    require_function("cond", "false_fun", false_fun)
    aval = _require_scalar("cond", "pred", pred)
    if dtypes.is_complex(aval.dtype) or not (dtypes.is_bool(aval.dtype) or dtypes.issubdtype(aval.dtype, np.number)):
        raise TypeError(f"cond: pred must be a boolean or a real number, got {aval.str_short()}")
    if core.config.disable_jit.value and not isinstance(pred, core.Tracer):
        return (true_fun if pred else false_fun)(*operands)
    if not dtypes.is_bool(aval.dtype):
        pred = ne(pred, np.zeros((), aval.dtype)[()]) if isinstance(pred, core.Tracer) else np.asarray(pred) != 0
    index = convert_element_type(pred, np.int32)
    return choose("cond", index, [false_fun, true_fun], ["false_fun", "true_fun"], operands)


def _operands(what: str, operands: tuple[Any, ...], operand: Any) -> tuple[Any, ...]:
    """The operands, which may be a single one by keyword."""
    if operand is _no_operand:
        return operands
    if operands:
        raise TypeError(f"{what}: operand must not be given together with positional operands, got both")
    return (operand,)


def _names_an_operand_each(first: Any, rest: tuple[Any, ...]) -> bool:
    """Whether the call is `cond(pred, true_operand, true_fun, false_operand, false_fun)`."""
    return len(rest) == 2 and callable(rest[1]) and not callable(first)


def _with_operand_per_branch(pred: Any, true_operand: Any, true_fun: Any, false_operand: Any, false_fun: Any) -> Any:
    """The old order of arguments: an operand before each function."""
    require_function("cond", "true_fun", true_fun)
    return cond(pred, lambda pair: true_fun(pair[0]), lambda pair: false_fun(pair[1]), (true_operand, false_operand))


def switch(
    index: ArrayLike, branches: Sequence[Callable[..., _R]], *operands: object, operand: object = _no_operand
) -> _R:
    """`branches[index](*operands)`; only this one is computed.

    Args:
      index: an integer of rank 0, clamped to the valid range.
      branches: one or more functions of the operands that return the same structure, shapes and dtypes.
      operands: arrays in any containers.
      operand: a single operand, instead of `operands`.

    Returns:
      The result of the chosen function. Its type is weak where that of the first branch is, as in JAX.

    Raises:
      TypeError: `index` is not an integer of rank 0, the results differ in type, or both `operand` and `operands`
        are given.
      ValueError: there are no branches.

    >>> import primax as px
    >>> px.lax.switch(2, [lambda x: x, lambda x: -x, lambda x: 2.0 * x], 10.0)
    Array(20., dtype=float32, weak_type=True)
    """
    operands = _operands("switch", operands, operand)
    branches = sequence("switch", "branches", branches)
    if not branches:
        raise ValueError("switch: branches must hold one function or more, got none")
    for i, branch in enumerate(branches):
        require_function("switch", f"branches[{i}]", branch)
    aval = _require_scalar("switch", "index", index)
    if not dtypes.issubdtype(aval.dtype, np.integer):
        raise TypeError(f"switch: index must be an integer, got {aval.str_short()}")
    last = len(branches) - 1
    if core.config.disable_jit.value and not isinstance(index, core.Tracer):
        return branches[min(max(int(np.asarray(index)), 0), last)](*operands)
    if last == 0:
        return branches[0](*operands)
    limit = aval.dtype.type(min(last, np.iinfo(aval.dtype).max))
    index = convert_element_type(clamp(aval.dtype.type(0), index, limit), np.int32)
    return choose("switch", index, branches, [f"branches[{i}]" for i in range(len(branches))], operands)


def _require_scalar(what: str, name: str, x: Any) -> ShapedArray:
    aval = aval_of(what, name, x, expected="a number of rank 0")
    if not isinstance(aval, ShapedArray) or aval.shape:
        raise TypeError(f"{what}: {name} must be of rank 0, got {aval.str_short()}")
    return aval


def choose(what: str, index: Any, functions: Sequence[Callable[..., Any]], names: Sequence[str], operands: Any) -> Any:
    """Bind the primitive with functions that have been checked."""
    leaves, in_tree, avals = flatten_operands(what, "operands", operands)
    staged = [stage_function(what, fun, in_tree, avals) for fun in functions]
    first = staged[0]
    branches = list(zip(names, staged, functions, strict=True))
    for branch in branches[1:]:
        one, two = (branch, branches[0]) if what == "cond" else (branches[0], branch)  # true_fun comes first
        require_same_types(
            (
                f"{what}: branch outputs must have the same pytree structure",
                f"{what}: branches must have equal output types",
            ),
            (one[0], two[0]),
            (one[1].out_tree, two[1].out_tree),
            (one[1].program.out_avals, two[1].program.out_avals),
            {one[0]: one[2], two[0]: two[2]},
        )
    leaves, staged = varying_with(index, leaves, staged)
    consts, (programs, passed) = _joined(staged, vma_of(index))
    operands = (*consts, *leaves)
    results = iter(cond_p.bind(index, *operands, branches=programs))
    outs = [next(results) if place is None else as_result(operands[place]) for place in passed]
    return tree.unflatten(first.out_tree, outs)


Programs = tuple[core.ClosedJaxpr, ...]


def _joined(
    staged: Sequence[Staged], axes: frozenset[Any]
) -> tuple[list[Any], tuple[Programs, tuple[int | None, ...]]]:
    """The distinct constants of all branches, and programs that take all of them and return the same types.

    The last value has, for each result, the position of the operand that it is in all branches, or None. The programs
    do not return the results that are operands.
    """
    numbered = [_numbered(one.consts) for one in staged]
    known = {key: x for keys in numbered for key, x in keys.items()}
    consts = list(known.values())
    places = {key: i for i, key in enumerate(known)}
    owned = tuple(tuple(places[key] for key in keys) for keys in numbered)
    programs = tuple(one.program for one in staged)

    def make() -> tuple[Programs | None, tuple[int | None, ...]]:
        types = zip(*(program.out_avals for program in programs), strict=True)
        out_avals = [joined_types(avals, axes) for avals in types]
        if not consts and all(program.out_avals == out_avals for program in programs):
            passed = _passed(programs)
            if passed.count(None) == len(passed):
                return None, passed  # not the programs themselves, which would keep themselves alive
        joined = []
        for program, own in zip(programs, owned, strict=True):
            invars = program.jaxpr.invars
            extra = [core.Var(get_aval(x)) for x in consts]
            for i, v in zip(own, invars, strict=False):
                extra[i] = v
            joined.append(converted_outputs(reordered(program, [*extra, *invars[len(own) :]]), out_avals))
        return _without_passed(joined)

    types = tuple(get_aval(x) for x in consts)
    joined, passed = core.cached(programs[0], ("joined", programs[1:], owned, types, axes), make)
    return consts, (programs if joined is None else joined, passed)


def _numbered(consts: Sequence[Any]) -> dict[tuple[int, int], Any]:
    """The constants of a program by identity, and by a number for several variables of one constant."""
    seen: Counter[int] = Counter()
    numbered = {}
    for x in consts:
        numbered[id(x), seen[id(x)]] = x
        seen[id(x)] += 1
    return numbered


def _passed(programs: Sequence[core.ClosedJaxpr]) -> tuple[int | None, ...]:
    """For each result the position of the operand that it is in all programs, or None."""
    operands = [{v: i for i, v in enumerate(program.jaxpr.invars)} for program in programs]
    outs = zip(*(program.jaxpr.outvars for program in programs), strict=True)
    places = [
        [known.get(v) if isinstance(v, core.Var) else None for known, v in zip(operands, vs, strict=True)]
        for vs in outs
    ]
    return tuple(indices[0] if len(set(indices)) == 1 else None for indices in places)


def _without_passed(programs: Sequence[core.ClosedJaxpr]) -> tuple[Programs, tuple[int | None, ...]]:
    """Programs without results that return the same operand in all programs, and the positions of these operands."""
    passed = _passed(programs)
    if passed.count(None) == len(passed):
        return tuple(programs), passed
    kept = [place is None for place in passed]
    return tuple(
        reordered(program, program.jaxpr.invars, compress(program.jaxpr.outvars, kept)) for program in programs
    ), passed
