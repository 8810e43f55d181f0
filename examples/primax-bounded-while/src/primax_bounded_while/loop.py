"""`bounded_while`: from Python functions to the inner programs of the primitive."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.core import tree
from primax.extend.held_programs import reordered
from primax.extend.programs import stage
from primax_bounded_while.primitive import bounded_while_p

__all__ = ["bounded_while"]


def bounded_while(cond_fun: Callable[..., Any], body_fun: Callable[..., Any], init: Any, max_steps: int) -> Any:
    """Apply `body_fun` to a value while `cond_fun` of it is True, but at most `max_steps` times.

    The loop is differentiable in every mode. The backward pass stores the values of about sqrt(max_steps) steps at a
    time, and recomputes the others.

    Args:
      cond_fun: a function from the value to a boolean of rank 0.
      body_fun: a function from the value to the next value, of the same structure, shapes and dtypes.
      init: the first value, a pytree of arrays.
      max_steps: an integer that is part of the program.

    Returns:
      The first value for which `cond_fun` is False, or the value after `max_steps` steps.

    Raises:
      TypeError: an argument has the wrong type, or `body_fun` changes the type of the value.
      ValueError: `max_steps` is negative, or has more than 31 bits.
      NotImplementedError: a function has an effect that is not allowed in loops.

    >>> import primax as px
    >>> def root(x):  # by Newton's method
    ...     return bounded_while(lambda y: abs(y * y - x) > 1e-5 * x, lambda y: (y + x / y) / 2, x, max_steps=50)
    >>> round(float(px.grad(root)(16.0)), 4)
    0.125
    """
    for name, fun in (("cond_fun", cond_fun), ("body_fun", body_fun)):
        if not callable(fun):
            raise TypeError(f"bounded_while: {name} must be a function, got {fun!r}")
    try:
        count = operator.index(max_steps)
    except TypeError:
        raise TypeError(f"bounded_while: max_steps must be an integer, got {max_steps!r}") from None
    if not 0 <= count < 2**31:
        raise ValueError(f"bounded_while: max_steps must be from 0 to 2**31 - 1, got {count}")
    if core.config.disable_jit.value and not core.current_trace().tracing:
        return _in_python(cond_fun, body_fun, init, count)
    leaves, in_tree = tree.flatten((init,))
    avals = [core.get_aval(x).strip_weak_type() for x in leaves]
    leaves = [_converted(x, aval) for x, aval in zip(leaves, avals, strict=True)]
    if count == 0:
        return tree.unflatten(in_tree, leaves)[0]
    (carry_tree,) = tree.treedef_children(in_tree)

    def successor(value: Any) -> Any:
        return tree.unflatten(carry_tree, _of_one_type(body_fun(value), carry_tree, avals))

    body = stage(body_fun, in_tree, avals, "body_fun", "bounded_while", call=successor)
    cond = stage(cond_fun, in_tree, avals, "cond_fun", "bounded_while")
    _require_boolean(cond)
    _refuse_effects(cond.closed, body.closed)
    own, others = cond.closed.consts, body.closed.consts
    outs = bounded_while_p.bind(
        *own,
        *others,
        *leaves,
        cond=_ignoring(cond.open, len(own), [core.get_aval(x) for x in others]),
        body=_ignoring(body.open, 0, [core.get_aval(x) for x in own]),
        num_consts=len(own) + len(others),
        max_steps=count,
    )
    return tree.unflatten(carry_tree, outs)


def _in_python(cond_fun: Callable[..., Any], body_fun: Callable[..., Any], value: Any, count: int) -> Any:
    """The same as a Python loop, for debugging with `disable_jit`."""
    for _ in range(count):
        if not cond_fun(value):
            break
        value = body_fun(value)
    return value


def _converted(x: Any, aval: Any) -> Any:
    return x if core.get_aval(x) == aval else core.protocol_of(aval).convert(x, aval)


def _of_one_type(value: Any, carry_tree: Any, avals: list[Any]) -> list[Any]:
    """The leaves of the body's result; an error unless they have the types of the carry."""
    leaves, out_tree = tree.flatten(value)
    if out_tree != carry_tree:
        raise TypeError(
            f"bounded_while: body_fun must keep the structure of init, {carry_tree}, but returns {out_tree}"
        )
    for (path, x), aval in zip(tree.tree_leaves_with_path(value), avals, strict=True):
        have = core.get_aval(x)
        if have.strip_weak_type() != aval:
            raise TypeError(
                f"bounded_while: body_fun must keep the type of init{tree.keystr(path)}, {aval.str_short()}, "
                f"but returns {have.str_short()}"
            )
    return [_converted(x, aval) for x, aval in zip(leaves, avals, strict=True)]


def _require_boolean(cond: Any) -> None:
    found = [aval.str_short() for aval in cond.closed.out_avals]
    if not tree.treedef_is_leaf(cond.out_tree) or found != [core.ShapedArray((), np.bool_).str_short()]:
        raise TypeError(f"bounded_while: cond_fun must return a boolean of rank 0, but returns {', '.join(found)}")


def _refuse_effects(*programs: core.ClosedJaxpr) -> None:
    for closed in programs:
        for effect in closed.effects:
            if not core.kind_of(effect).control_flow:
                raise NotImplementedError(f"bounded_while: the effect {effect!r} is not allowed inside loops")


def _ignoring(closed: core.ClosedJaxpr, position: int, avals: list[Any]) -> core.ClosedJaxpr:
    """A program with unused arguments inserted at a position; cached by program and types."""

    def make() -> core.ClosedJaxpr:
        invars = closed.jaxpr.invars
        return reordered(closed, [*invars[:position], *map(core.Var, avals), *invars[position:]])

    return core.cached(closed, ("ignoring", position, tuple(avals)), make) if avals else closed
