"""Variance in control flow: the mesh axes along which carries and branches vary, and hoisting out of loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from primax.extend import core
from primax.extend.core import ShapedArray, tree
from primax.extend.provisional.sharding import manual_axes, required_placement_rules, vary, vma_of
from primax.plugins.control_flow.staging import Staged


def require_steady_variance(rule: str, names: tuple[str, str], structure: Any, ins: Sequence[Any], outs: Any) -> None:
    """Raise an error for a carry that varies along more axes after a step than before.

    Raises:
      TypeError: there is one; the message names the axes and a remedy.
    """
    for i, (one, other) in enumerate(zip(ins, outs, strict=False)):
        more = axes_of_type(other) - axes_of_type(one)
        if more:
            marked = tree.unflatten(structure, range(structure.num_leaves))
            path = next(tree.keystr(p) for p, j in tree.tree_leaves_with_path(marked) if j == i)
            axes = tuple(name for name in manual_axes() if name in more)
            raise TypeError(
                f"{rule}; {f'at {path} ' if path else ''}{names[0]} is {one.str_short()}, and {names[1]} is "
                f"{other.str_short()}, which varies along {', '.join(map(repr, axes))} too. Begin with "
                f"lax.pcast(x, {axes!r}, to='varying')"
            )


def joined_types(types: Sequence[Any], axes: frozenset[Any]) -> ShapedArray:
    """The type of a result of several branches; it varies along the axes of each branch and of the index.

    It is weak if that of the first branch is, as in JAX, so it does not depend on the index.
    """
    first = types[0]
    joined = axes.union(*map(axes_of_type, types))
    return first.update(vma=joined) if joined and joined != first.vma else first


def varying_with(chooser: Any, leaves: Sequence[Any], staged: Sequence[Staged]) -> tuple[list[Any], list[Staged]]:
    """Operands and programs of branches, converted to vary along the axes along which the index varies.

    Then no derivative communicates inside a branch, which some devices do not execute.
    """
    axes = vma_of(chooser)
    if not axes:
        return list(leaves), list(staged)
    return [vary(x, axes) for x in leaves], [_varying(one, axes) for one in staged]


def _varying(one: Staged, axes: frozenset[Any]) -> Staged:
    program = _widened(one.program, None, axes)
    return Staged(program, [vary(x, axes) for x in one.consts], one.out_tree)


def _widened(closed: core.ClosedJaxpr, which: Sequence[bool] | None, axes: frozenset[Any]) -> core.ClosedJaxpr:
    """A program whose constants and some inputs vary along more axes, or all inputs and outputs if `which` is None."""
    jaxpr = closed.jaxpr
    mask = [True] * len(jaxpr.invars) if which is None else list(which)
    in_avals = [_wide_type(aval, axes) if wide else aval for aval, wide in zip(closed.in_avals, mask, strict=True)]

    def make() -> core.ClosedJaxpr:
        wide = {v for v, flag in zip(jaxpr.invars, mask, strict=True) if flag}
        steps = _without_repeated_pvary(jaxpr, wide.union(jaxpr.constvars), axes)
        consts = [vary(x, axes) for x in closed.consts]

        def run(*args: Any) -> list[Any]:
            outs = core.eval_jaxpr(steps, consts, *args)
            return [vary(x, axes) for x in outs] if which is None else outs

        return core.trace_to_jaxpr(run, in_avals, jaxpr.debug_info)

    return core.cached(closed, ("widened", None if which is None else tuple(mask), axes), make)


def _wide_type(aval: Any, axes: frozenset[Any]) -> Any:
    return aval.update(vma=aval.vma | axes) if isinstance(aval, core.ShapedArray) else aval


def _without_repeated_pvary(jaxpr: core.Jaxpr, wide: set[core.Var], axes: frozenset[Any]) -> core.Jaxpr:
    """A program without conversions to varying values of variables that vary already, because `wide` now vary."""
    same: dict[Any, Any] = {}
    eqns = []
    for eqn in jaxpr.eqns:
        if wide.isdisjoint(v for v in eqn.invars if type(v) is core.Var):
            eqns.append(eqn)
            continue
        wide.update(eqn.outvars)
        params = eqn.params
        if eqn.primitive is required_placement_rules().pvary_p:
            rest = tuple(name for name in params["axes"] if name not in axes)
            if not rest:
                same[eqn.outvars[0]] = same.get(eqn.invars[0], eqn.invars[0])
                continue
            params = {"axes": rest}
        elif eqn.primitive.plugin == "control_flow" and any(core.jaxprs_in_params(params)):
            added, eqn = _widened_loop(eqn, wide, axes)
            eqns += added
            params = eqn.params
        else:
            which = [type(v) is core.Var and v in wide for v in eqn.invars]
            params = {name: _widened_call(value, eqn, which, axes) for name, value in params.items()}
        invars = [same.get(v, v) if type(v) is core.Var else v for v in eqn.invars]
        eqns.append(eqn.replace(invars=invars, params=params))
    outvars = [same.get(v, v) if type(v) is core.Var else v for v in jaxpr.outvars]
    return jaxpr.replace(eqns=eqns, outvars=outvars)


def _widened_loop(eqn: core.JaxprEqn, wide: set[core.Var], axes: frozenset[Any]) -> tuple[list[Any], core.JaxprEqn]:
    """A loop or branches whose operands, apart from the index, all vary along more axes, and the equations for that."""
    added, invars = [], []
    for i, v in enumerate(eqn.invars):
        chooses = i == 0 and "branches" in eqn.params
        if (type(v) is core.Var and v in wide) or chooses or not isinstance(v.aval, core.ShapedArray):
            invars.append(v)
            continue
        var = core.Var(_wide_type(v.aval, axes))
        missing = tuple(name for name in manual_axes() if name in axes - v.aval.vma)
        added.append(core.new_jaxpr_eqn([v], [var], required_placement_rules().pvary_p, {"axes": missing}))
        invars.append(var)

    def widened(value: Any) -> Any:
        if type(value) is core.ClosedJaxpr:
            return _widened(value, None, axes)
        return tuple(map(widened, value)) if type(value) is tuple else value

    return added, eqn.replace(invars=invars, params={name: widened(value) for name, value in eqn.params.items()})


def _widened_call(value: Any, eqn: core.JaxprEqn, which: Sequence[bool], axes: frozenset[Any]) -> Any:
    """A parameter of a call: its program with inputs that vary along more axes."""
    if type(value) is not core.ClosedJaxpr or value.in_avals != [v.aval for v in eqn.invars]:
        return value
    return _widened(value, which, axes)


def hoisted(
    program: core.ClosedJaxpr, consts: Sequence[Any], carry: int, xs: Sequence[Any]
) -> tuple[core.ClosedJaxpr, list[Any], list[Any]]:
    """The body of a loop, with the conversion of constants and elements to varying values moved out if possible.

    The transpose then sums over devices once, after the loop, and not in each step.

    Args:
      program: takes constants, the carry, and elements.
      consts: the constants.
      carry: the number of values in the carry.
      xs: the arrays of elements.

    Returns:
      The program, its constants and its elements.
    """
    unchanged = list(consts), list(xs)
    if not manual_axes():
        return program, *unchanged
    jaxpr = program.jaxpr
    first = len(consts) + carry
    fixed = [v for i, v in enumerate(jaxpr.invars) if i < len(consts) or i >= first]
    reaches = {v: used for v in fixed if (used := _pvary_uses(jaxpr, v)) is not None}
    if not reaches:
        return program, *unchanged
    derived = {v for _, reached in reaches.values() for v in reached}
    same: dict[Any, Any] = {}
    eqns = []
    for eqn in jaxpr.eqns:
        if eqn.primitive is required_placement_rules().pvary_p and eqn.invars[0] in derived:
            same[eqn.outvars[0]] = same.get(eqn.invars[0], eqn.invars[0])
        else:
            eqns.append(eqn.replace(invars=[same.get(v, v) if type(v) is core.Var else v for v in eqn.invars]))
    outvars = [same.get(v, v) if type(v) is core.Var else v for v in jaxpr.outvars]
    body = jaxpr.replace(eqns=eqns, outvars=outvars)
    avals = [v.aval.update(vma=reaches[v][0]) if v in reaches else v.aval for v in jaxpr.invars]
    closed = core.trace_to_jaxpr(lambda *args: core.eval_jaxpr(body, program.consts, *args), avals, jaxpr.debug_info)
    varied = [vary(x, reaches[v][0]) if v in reaches else x for v, x in zip(fixed, [*consts, *xs], strict=True)]
    return closed, varied[: len(consts)], varied[len(consts) :]


def _pvary_uses(jaxpr: core.Jaxpr, v: core.Var) -> tuple[frozenset[Any], set[core.Var]] | None:
    """The axes along which all uses of an input are converted to vary, and the variables before the conversions.

    None if there is no conversion, or if some use stays invarying or is converted along other axes.
    """
    if getattr(v.aval, "vma", None) != frozenset():
        return None
    reached = {v}
    axes: set[frozenset[Any]] = set()
    for eqn in jaxpr.eqns:
        if reached.isdisjoint(x for x in eqn.invars if type(x) is core.Var):
            continue
        if eqn.primitive is required_placement_rules().pvary_p:
            axes.add(frozenset(eqn.params["axes"]))
        elif eqn.effects or any(core.jaxprs_in_params(eqn.params)) or any(axes_of_type(x.aval) for x in eqn.outvars):
            return None
        else:
            reached.update(eqn.outvars)
    if len(axes) != 1 or not reached.isdisjoint(x for x in jaxpr.outvars if type(x) is core.Var):
        return None
    return axes.pop(), reached


def axes_of_type(aval: Any) -> frozenset[Any]:
    """The axes along which values of a type may vary."""
    return getattr(aval, "vma", frozenset())
