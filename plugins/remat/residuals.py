"""Lists of the residuals that the forward pass saves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from primax.extend import core, source_info_util
from primax.extend.api_util import debug_info
from primax.extend.core import tree
from primax.extend.interpreters import ad
from primax.extend.provisional.arguments import avals_of, check_function
from primax.plugins.calls import jit_p
from primax.plugins.remat.names import name_p
from primax.plugins.remat.splitting import checkpoint_p


def saved_residuals(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> list[tuple[Any, str]]:
    """The values that reverse mode keeps from the forward pass of a function for the backward pass.

    Args:
      fun: a function of pytrees of arrays.
      args: its arguments.
      kwargs: its keyword arguments.

    Returns:
      For each value its type and its origin.
    """
    check_function("saved_residuals", "fun", fun)
    leaves, in_tree = tree.flatten((args, kwargs), None, (args, kwargs))

    def flat(*xs: Any) -> list[Any]:
        positional, named = tree.unflatten(in_tree, xs)
        return tree.tree_leaves(fun(*positional, **named))

    def residuals(*xs: Any) -> list[Any]:
        _, tape = ad.linearize_flat(flat, xs)
        return [x for eqn in tape.eqns for x in eqn.args if not tape.trace.is_linear(x)]

    jaxpr = core.trace_to_jaxpr(
        residuals, avals_of(leaves, (args, kwargs), "saved_residuals", call=True), "saved_residuals"
    ).jaxpr
    names = debug_info("saved_residuals", fun, args, kwargs).arg_names or [""] * len(leaves)
    origins = dict.fromkeys(jaxpr.constvars, "from a constant")
    for i, (v, name) in enumerate(zip(jaxpr.invars, names, strict=True)):
        origins[v] = f"from the argument {name}" if name else f"from the argument at flattened index {i}"
    origins.update((v, origin) for eqn in jaxpr.eqns for v, origin in _origins(eqn))
    literals = [(x.aval, "from a literal") for x in jaxpr.outvars if isinstance(x, core.Literal)]
    return literals + [(v.aval, origin) for v, origin in origins.items() if v in jaxpr.outvars]


def _origins(eqn: core.JaxprEqn) -> Iterator[tuple[core.Var, str]]:
    """A description of each result of an equation."""
    place = source_info_util.summarize(eqn.source_info)
    if eqn.primitive is checkpoint_p:
        inner = dict(pair for inside in eqn.params["jaxpr"].eqns for pair in _origins(inside))
        for v, out in zip(eqn.outvars, eqn.params["jaxpr"].jaxpr.outvars, strict=True):
            yield v, inner.get(out, f"output of {eqn.primitive} from {place}")
        return
    if eqn.primitive is name_p:
        origin = f"named '{eqn.params['name']}'"
    elif eqn.primitive is jit_p:
        origin = f"output of jitted function '{eqn.params['name']}'"
    else:
        origin = f"output of {eqn.primitive}"
    for v in eqn.outvars:
        yield v, f"{origin} from {place}"


def print_saved_residuals(fun: Callable[..., Any], *args: object, **kwargs: object) -> None:
    """Print the values that reverse mode keeps for the backward pass of a function, one in each line; see `checkpoint`.

    >>> import primax as px
    >>> px.ad_checkpoint.print_saved_residuals(lambda x, y: x * y, 2.0, 3.0)
    f32[] from the argument x
    f32[] from the argument y
    """
    for aval, origin in saved_residuals(fun, *args, **kwargs):
        print(f"{aval.str_short()} {origin}")
