"""`while_loop`: a function repeated as long as a condition is true."""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import compress
from typing import Any, TypeVar, overload

import numpy as np

from primax.extend import core
from primax.extend.core import Array, ShapedArray, tree
from primax.extend.held_programs import reordered, trimmed
from primax.extend.provisional.arguments import name_of
from primax.extend.provisional.avals import ALL_BUT_SHAPE_AND_DTYPE, same_type
from primax.extend.provisional.sharding import vary
from primax.extend.provisional.tracing import thread
from primax.extend.provisional.typing import ArrayLike
from primax.plugins.control_flow.carry import stage_carrying
from primax.plugins.control_flow.staging import MadeOf, as_result, flatten_operands, require_function, stage_function
from primax.plugins.control_flow.vma import hoisted
from primax.plugins.control_flow.while_rules import while_p

_T = TypeVar("_T")


@overload
def while_loop(cond_fun: Callable[[Any], ArrayLike], body_fun: Callable[[Any], Any], init_val: complex) -> Array: ...
@overload
def while_loop(cond_fun: Callable[[_T], ArrayLike], body_fun: Callable[[_T], _T], init_val: _T) -> _T: ...
def while_loop(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: object) -> Any:
    """Apply `body_fun` to a value as long as `cond_fun` of it is true.

    It differentiates only in forward mode: reverse mode would have to keep values of every step, and the number of
    steps is not known in advance. Use `scan` or `fori_loop` for reverse mode. Parts of the value that `body_fun`
    returns unchanged, and that `cond_fun` does not read, also have derivatives in reverse mode.

    Args:
      cond_fun: from the value to a boolean of rank 0.
      body_fun: from the value to its successor, of the same structure, shapes and dtypes.
      init_val: arrays in any containers.

    Returns:
      The first value for which `cond_fun` is false.

    Raises:
      TypeError: `cond_fun` does not return a boolean of rank 0, or `body_fun` changes the value's type.

    >>> import primax as px
    >>> px.lax.while_loop(lambda x: x < 100, lambda x: 2 * x, 3)
    Array(192, dtype=int32, weak_type=True)
    """
    require_function("while_loop", "cond_fun", cond_fun)
    require_function("while_loop", "body_fun", body_fun)
    if core.config.disable_jit.value and not thread.trace.tracing:
        value = tree.tree_map(as_result, init_val)
        while cond_fun(value):
            value = tree.tree_map(as_result, body_fun(value))
        return value
    what = body_fun.kind if isinstance(body_fun, MadeOf) else "while_loop"
    leaves, in_tree, avals = flatten_operands(what, "init_val", init_val, single=True)
    body, leaves, avals = stage_carrying(what, body_fun, in_tree, leaves, avals, ("init_val", "the result of body_fun"))
    cond = stage_function("while_loop", cond_fun, in_tree, avals)
    name = name_of(cond_fun, "cond_fun")
    out_avals = cond.program.out_avals
    if not tree.treedef_is_leaf(cond.out_tree) or len(out_avals) != 1:
        raise TypeError(f"while_loop: cond_fun must return one boolean, but {name} returns {cond.out_tree}")
    if not same_type(out_avals[0], ShapedArray((), np.bool_), ALL_BUT_SHAPE_AND_DTYPE):
        raise TypeError(
            f"while_loop: cond_fun must return a boolean of rank 0, but {name} returns {out_avals[0].str_short()}"
        )
    axes = out_avals[0].vma
    if any(axes - getattr(aval, "vma", axes) for aval in avals):
        # Devices with different numbers of steps have different values.
        leaves = [vary(x, axes) for x in leaves]
        return while_loop(cond_fun, body_fun, tree.unflatten(in_tree.children()[0], leaves))
    body_program, consts, _ = hoisted(body.program, body.consts, len(leaves), [])
    body_program, cond_program, passed = _without_passed(body_program, len(consts), cond.program, len(cond.consts))
    consts = [*consts, *compress(leaves, passed)]
    results = iter(
        while_p.bind(
            *cond.consts,
            *consts,
            *compress(leaves, map(operator.not_, passed)),
            cond_nconsts=len(cond.consts),
            cond_jaxpr=cond_program,
            body_nconsts=len(consts),
            body_jaxpr=body_program,
        )
    )
    outs = [as_result(x) if same else next(results) for x, same in zip(leaves, passed, strict=True)]
    return tree.unflatten(body.out_tree, outs)


def _without_passed(
    body: core.ClosedJaxpr, body_nconsts: int, cond: core.ClosedJaxpr, cond_nconsts: int
) -> tuple[core.ClosedJaxpr, core.ClosedJaxpr, tuple[bool, ...]]:
    """A loop in which carries that every step returns unchanged, and that the condition does not read, are constants.

    They then have derivatives in reverse mode, if the steps do not otherwise depend on differentiated values.

    Args:
      body: takes constants and the carry.
      body_nconsts: the number of its constants.
      cond: takes constants and the carry.
      cond_nconsts: the number of its constants.

    Returns:
      The body, which takes these carries after its constants and does not return them; the condition without them; for
      each carry whether it is one of them.
    """
    carry = body.jaxpr.invars[body_nconsts:]
    passed = tuple(v is out for v, out in zip(carry, body.jaxpr.outvars, strict=True))
    if any(passed):
        passed = tuple(map(operator.gt, passed, trimmed(cond, [True])[1][cond_nconsts:]))
    if not any(passed):
        return body, cond, passed

    def make() -> tuple[core.ClosedJaxpr, core.ClosedJaxpr]:
        kept = [not same for same in passed]
        consts, others = body.jaxpr.invars[:body_nconsts], compress(carry, kept)
        return (
            reordered(body, [*consts, *compress(carry, passed), *others], compress(body.jaxpr.outvars, kept)),
            trimmed(cond, [True], [*[True] * cond_nconsts, *kept])[0],
        )

    return *core.cached(body, ("without passed", cond, body_nconsts, cond_nconsts), make), passed
