"""Variance in control flow: along which axes of a mesh carries and branches vary, and what is hoisted out of loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from primax.extend import core
from primax.extend.core import tree
from primax.extend.sharding import axes_of, hooks, manual_axes, vary
from primax.plugins.control_flow.staging import Staged

__all__ = ["hoisted", "joined_types", "require_steady_variance", "varying_with"]


def require_steady_variance(rule: str, names: tuple[str, str], structure: Any, have: Sequence[Any], made: Any) -> None:
    """Refuse a carry that varies along more axes after a step than before.

    Raises:
      TypeError: it does; the message names the axes and how to begin.
    """
    for i, (one, other) in enumerate(zip(have, made, strict=False)):
        more = getattr(other, "vma", frozenset()) - getattr(one, "vma", frozenset())
        if more:
            marked = tree.unflatten(structure, range(structure.num_leaves))
            path = next(tree.keystr(p) for p, j in tree.tree_leaves_with_path(marked) if j == i)
            axes = tuple(name for name in manual_axes() if name in more)
            raise TypeError(
                f"{rule}; {f'at {path} ' if path else ''}{names[0]} is {one.str_short()}, and {names[1]} is "
                f"{other.str_short()}, which varies along {', '.join(map(repr, axes))} too. Begin with "
                f"lax.pcast(x, {axes!r}, to='varying')"
            )


def joined_types(types: Sequence[Any], axes: frozenset[Any]) -> Any:
    """The type of a result of several branches, which varies along the axes of each, and of what chooses."""
    first = types[0] if all(aval == types[0] for aval in types) else types[0].strip_weak_type()
    joined = axes.union(*(getattr(aval, "vma", frozenset()) for aval in types))
    return first.update(vma=joined) if joined and joined != first.vma else first


def varying_with(chooser: Any, leaves: Sequence[Any], staged: Sequence[Staged]) -> tuple[list[Any], list[Staged]]:
    """Operands and programs of branches that vary along the axes along which the choice does.

    So no derivative communicates inside of a branch, which some devices do not take.
    """
    axes = axes_of(chooser)
    if not axes:
        return list(leaves), list(staged)
    return [vary(x, axes) for x in leaves], [_varying(one, axes) for one in staged]


def _varying(one: Staged, axes: frozenset[Any]) -> Staged:
    closed = one.program
    wanted = [
        aval.update(vma=aval.vma | axes) if isinstance(aval, core.ShapedArray) else aval for aval in closed.in_avals
    ]

    def run(*args: Any) -> list[Any]:
        return core.eval_jaxpr(closed.jaxpr, closed.consts, *args)

    def make() -> core.ClosedJaxpr:
        return core.trace_to_jaxpr(run, wanted, closed.jaxpr.debug_info)

    program = core.cached(closed, ("varying", axes), make)
    return Staged(program, [vary(x, axes) for x in one.consts], one.out_tree)


def hoisted(
    program: core.ClosedJaxpr, consts: Sequence[Any], carry: int, xs: Sequence[Any]
) -> tuple[core.ClosedJaxpr, list[Any], list[Any]]:
    """The body of a loop whose constants and elements are made to vary outside of it.

    So the transpose sums once over devices, after the loop, and not in each step.

    Args:
      program: takes constants, the carry, and elements.
      consts: the constants.
      carry: how many values the carry has.
      xs: the arrays of elements.

    Returns:
      The program with more constants and elements, and all of either.
    """
    if not manual_axes():
        return program, list(consts), list(xs)
    invars = program.jaxpr.invars
    first = len(consts) + carry
    fixed = {v: i for i, v in enumerate(invars) if i < len(consts) or i >= first}
    found = [eqn for eqn in program.jaxpr.eqns if eqn.primitive is hooks.pvary_p and eqn.invars[0] in fixed]
    if not found:
        return program, list(consts), list(xs)
    new_consts, new_xs = [], []
    more_consts, more_xs = [], []
    for eqn in found:
        place = fixed[eqn.invars[0]]
        axes = frozenset(eqn.params["axes"])
        if place < len(consts):
            new_consts.append(eqn.outvars[0])
            more_consts.append(vary(consts[place], axes))
        else:
            new_xs.append(eqn.outvars[0])
            more_xs.append(vary(xs[place - first], axes))
    kept = [eqn for eqn in program.jaxpr.eqns if eqn not in found]
    order = [*invars[: len(consts)], *new_consts, *invars[len(consts) :], *new_xs]
    made = core.ClosedJaxpr(program.jaxpr.replace(invars=order, eqns=kept), program.consts)
    used = {v for eqn in kept for v in eqn.invars if type(v) is core.Var} | set(made.jaxpr.outvars)
    keep = [
        v in used or len(consts) + len(new_consts) <= i < len(consts) + len(new_consts) + carry
        for i, v in enumerate(order)
    ]
    trimmed = core.ClosedJaxpr(
        made.jaxpr.replace(invars=[v for v, k in zip(order, keep, strict=True) if k]), program.consts
    )
    every_const = [*consts, *more_consts]
    every_x = [*xs, *more_xs]
    flags = iter(keep)
    left_consts = [x for x in every_const if next(flags)]
    for _ in range(carry):
        next(flags)
    return trimmed, left_consts, [x for x in every_x if next(flags)]
