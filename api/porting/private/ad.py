"""`jax.interpreters.ad`: functions of JAX in terms of primax's flat ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from primax import tree
from primax.core.dtypes import float0
from primax.extend.core import get_aval, trace_to_jaxpr
from primax.extend.interpreters.ad import Zero, instantiate_zeros, jvp_flat, linearize_flat
from primax.extend.linear_util import WrappedFun, wrap_init
from primax.porting.private.flattree import FlatTree

__all__ = ["jvp", "linearize"]


def jvp(
    fun: Callable[..., Any],
    primals: Any = None,
    tangents: Any = None,
    has_aux: bool = False,
    instantiate: bool | Sequence[bool] = True,
    transform_stack: bool = True,
) -> Any:
    """The results of a function and their tangents.

    Args:
      fun: a function. Without `primals`, as before JAX 0.10, a wrapped function of flat arguments that returns a list.
      primals: the arguments: a `FlatTree`, as since JAX 0.10, or a list or tuple of arrays for a function that
        returns a list of arrays.
      tangents: the tangents in the same form; `Zero` for one that is zero.
      has_aux: whether `fun` returns a pair of results and other data.
      instantiate: for each result (or for all) whether its tangent is an array even if it is zero.
      transform_stack: not used.

    Returns:
      The results and their tangents in the form of the arguments, and the other data with `has_aux`. Without
      `primals`, a wrapped function that takes primals and tangents and returns these.
    """
    if primals is None:

        def run(in_primals: Any, in_tangents: Any) -> Any:
            return jvp(fun, in_primals, in_tangents, has_aux, instantiate)

        return wrap_init(run)
    as_trees = isinstance(primals, FlatTree)
    call = fun.call_wrapped if isinstance(fun, WrappedFun) else fun
    kept: list[Any] = []

    def flat(*xs: Any) -> list[Any]:
        out = call(*tree.unflatten(primals.tree, xs)) if as_trees else call(*xs)
        out, *aux = out if has_aux else (out,)
        leaves, out_tree = tree.flatten(out)
        kept[:] = [out_tree, *aux]
        return leaves

    given = [Zero(t.aval if type(t) is Zero else get_aval(t)) if _is_zero(t) else t for t in tangents]
    outs, out_tangents = jvp_flat(flat, list(primals), given)
    flags = [instantiate] * len(outs) if isinstance(instantiate, bool) else list(instantiate)
    out_tangents = [instantiate_zeros(t) if flag else t for t, flag in zip(out_tangents, flags, strict=True)]
    out_tree, *aux = kept
    if as_trees:
        return FlatTree(outs, out_tree), FlatTree(out_tangents, out_tree), *aux
    return outs, out_tangents, *aux


def _is_zero(t: Any) -> bool:
    return type(t) is Zero or get_aval(t).dtype == float0


def linearize(traceable: Callable[..., Any], primals_ft: Any, *more: Any, has_aux: bool = False, **_: Any) -> Any:
    """The results of a function and the program of its derivative.

    Args:
      traceable: the function.
      primals_ft: the arguments, a `FlatTree`, as since JAX 0.10; or the first of several arrays, for a wrapped function
        of flat arguments that returns a list.
      more: the other arrays.
      has_aux: whether `traceable` returns a pair of results and other data.

    Returns:
      The results; for each whether its tangent is zero in any case; the program from the tangents of the arguments,
      except those of integers, to the other tangents; its constants; and the other data with `has_aux`.
    """
    as_trees = isinstance(primals_ft, FlatTree)
    primals = list(primals_ft) if as_trees else [primals_ft, *more]
    call = traceable.call_wrapped if isinstance(traceable, WrappedFun) else traceable
    kept: list[Any] = []

    def flat(*xs: Any) -> list[Any]:
        out = call(*tree.unflatten(primals_ft.tree, xs)) if as_trees else call(*xs)
        out, *aux = out if has_aux else (out,)
        leaves, out_tree = tree.flatten(out)
        kept[:] = [out_tree, *aux]
        return leaves

    outs, tape = linearize_flat(flat, primals)
    zeros = [type(out) is Zero for out in tape.outs]

    def pushed(*tangents: Any) -> list[Any]:
        return [t for t, zero in zip(tape.replay(*tangents), zeros, strict=True) if not zero]

    closed = trace_to_jaxpr(pushed, tape.in_avals)
    out_tree, *aux = kept
    results = FlatTree(outs, out_tree) if as_trees else outs
    return results, zeros, closed.jaxpr, closed.consts, *aux
