"""`make_jaxpr`: the program of a function of pytrees, for inspection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from primax.core import tree
from primax.core.arguments import integer, sequence, wraps
from primax.core.avals import ShapeDtypeStruct
from primax.core.cache_keys import is_hashable
from primax.core.jaxpr import ClosedJaxpr
from primax.core.text.debug_info import program_info
from primax.core.trace_state import thread
from primax.interpreters.call_signature import StaticArguments, positions_and_names, read_call, shaped_abstractify
from primax.interpreters.staging import trace_to_jaxpr


def make_jaxpr(
    fun: Callable[..., Any], static_argnums: Any = (), axis_env: Any = None, return_shape: bool = False
) -> Callable[..., Any]:
    """A function that returns the jaxpr of `fun` for given arguments.

    Args:
      fun: a function of pytrees of arrays.
      static_argnums: positions of arguments whose values are part of the program.
      axis_env: pairs of names and sizes of axes, for operations such as `psum`; by default none.
      return_shape: whether to return the structure of the result, too, with `ShapeDtypeStruct`s for arrays.

    Returns:
      A function of the same arguments (or `ShapeDtypeStruct`s) that returns a `ClosedJaxpr`, or a pair of it and the
      shapes.

    >>> import primax as px
    >>> px.make_jaxpr(lambda x: 2.0 * x)(3.0)
    { lambda ; a:f32[]. let b:f32[] = mul 2.0:f32[] a in (b,) }
    """
    if not callable(fun):
        raise TypeError(f"make_jaxpr: fun must be callable, got {fun!r}")
    static = StaticArguments(*positions_and_names(fun, static_argnums, None, "static", "make_jaxpr"))
    axes = _axes(axis_env)

    @wraps(fun)
    def jaxpr_maker(*args: Any, **kwargs: Any) -> Any:
        signature, _ = read_call("make_jaxpr", static, args, kwargs, "make_jaxpr", None, shaped_abstractify, fun)
        in_tree, avals = signature.in_tree, signature.avals
        out_trees: list[Any] = []

        def flat(*xs: Any) -> Any:
            positional, named = tree.unflatten(in_tree, xs)
            xargs, xkwargs = StaticArguments.merge(positional, named, signature.statics)
            outs, out_tree = tree.flatten(fun(*xargs, **xkwargs))
            out_trees.append(out_tree)
            return outs

        info = program_info("make_jaxpr", fun, in_tree, out_trees, static.positions)
        outer = thread.axes
        thread.axes = {**outer, **axes}
        try:
            closed: ClosedJaxpr = trace_to_jaxpr(flat, avals, info, "make_jaxpr")
        finally:
            thread.axes = outer
        if not return_shape:
            return closed
        shapes = [ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type) for a in closed.out_avals]
        return closed, tree.unflatten(out_trees[0], shapes)

    return jaxpr_maker


def _axes(axis_env: Any) -> dict[Any, int]:
    """The names and sizes of axes in scope.

    Raises:
      TypeError: they are not pairs of a hashable name and an integer.
    """
    pairs = [] if axis_env is None else sequence("make_jaxpr", "axis_env", axis_env)
    axes: dict[Any, int] = {}
    for pair in pairs:
        if not (isinstance(pair, tuple | list) and len(pair) == 2 and is_hashable(pair[0])):
            raise TypeError(f"make_jaxpr: axis_env must be pairs of a name and a size, got {pair!r}")
        axes[pair[0]] = integer("make_jaxpr", f"axis_env, the size of {pair[0]!r},", pair[1])
    return axes
