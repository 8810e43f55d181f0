"""Conversion of closed-over values to arguments, and gradients given together with values."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from primax.extend import core, dtypes
from primax.extend.core import tree
from primax.extend.held_programs import partition
from primax.extend.interpreters import ad
from primax.extend.provisional.arguments import check_function, name_of, wraps
from primax.extend.provisional.derivatives import LinearTrace, primals_only
from primax.extend.provisional.tracing import thread
from primax.plugins.custom_derivatives.custom_vjp import as_array, custom_vjp


def closure_convert(fun: Callable[..., Any], *example_args: Any) -> tuple[Callable[..., Any], list[Any]]:
    """A function that takes the differentiable values that `fun` closes over as arguments.

    Args:
      fun: a function of pytrees of arrays.
      example_args: arguments with the types of later calls.

    Returns:
      `(converted, consts)`, where `converted(*args, *consts)` is `fun(*args)`, and `consts` are the floating or complex
      values of enclosing transformations that `fun` closes over.

    Raises:
      TypeError: an example is not an array, or the arguments of `converted` have another structure.

    >>> import primax as px
    >>> def line(slope):
    ...     f, consts = px.closure_convert(lambda x: slope * x, 1.0)
    ...     return f(5.0, *consts), len(consts)
    >>> px.grad(line, has_aux=True)(2.0)
    (Array(5., dtype=float32, weak_type=True), 1)
    """
    return convert(fun, example_args, lambda aval: dtypes.issubdtype(aval.dtype, np.inexact))


def convert(
    fun: Callable[..., Any], example_args: tuple[Any, ...], hoisted: Callable[[Any], bool]
) -> tuple[Callable[..., Any], list[Any]]:
    """`closure_convert` for tracers whose types satisfy `hoisted`."""
    check_function("closure_convert", "fun", fun)
    leaves, in_tree = tree.flatten(example_args)
    out_trees: list[Any] = []

    def flat(*xs: Any) -> list[Any]:
        outs, out_tree = tree.flatten(fun(*tree.unflatten(in_tree, xs)))
        out_trees.append(out_tree)
        return outs

    name = name_of(fun)
    closed = core.trace_to_jaxpr(flat, [core.get_aval(x) for x in leaves], name, "closure_convert")
    moved = [isinstance(x, core.Tracer) and hoisted(x.aval) for x in closed.consts]
    kept, consts = partition(closed.consts, moved)
    count = len(example_args)

    @wraps(fun)
    def converted(*args: Any) -> Any:
        own, hoisted_args = args[:count], args[count:]
        xs, arg_tree = tree.flatten(tuple(own))
        if arg_tree != in_tree or len(hoisted_args) != len(consts):
            raise TypeError(
                f"closure_convert: the converted {name} must be called with arguments of structure {in_tree}, "
                f"then the {len(consts)} values that it closed over, got {arg_tree} and {len(hoisted_args)} values"
            )
        rest, hoists = iter(kept), iter(hoisted_args)
        values = [next(hoists) if m else next(rest) for m in moved]
        outs = core.eval_jaxpr(closed.jaxpr, values, *xs)
        return tree.unflatten(out_trees[0], map(as_array, outs))

    return converted, consts


def closed(fun: Callable[..., Any], *example_args: Any) -> tuple[Callable[..., Any], list[Any]]:
    """A function that is not differentiated, in a form that may be called later and inside any derivative.

    It may close over values of enclosing transformations, including differentiated ones. If it is staged or mapped,
    these become arguments, since the function may be called later. Otherwise it stays a Python function of values
    without tangents.

    Args:
      fun: a function of pytrees of arrays.
      example_args: arguments with the types of later calls.

    Returns:
      `(closed, consts)`, where `closed(*args, *consts)` is `fun(*args)`.
    """
    trace = thread.trace
    while isinstance(trace, ad.JVPTrace | LinearTrace):
        trace = trace.parent
    if trace.tracing:
        return convert(fun, example_args, lambda aval: True)
    return (lambda *args: _without_tangents(fun, args)), []


def _without_tangents(fun: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    out_trees: list[Any] = []

    def flat() -> list[Any]:
        outs, out_tree = tree.flatten(fun(*args))
        out_trees.append(out_tree)
        return outs

    outs = primals_only(flat)
    return tree.unflatten(out_trees[0], outs)


def custom_gradient(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A function that returns its value together with its reverse-mode derivative.

    Args:
      fun: returns `(value, vjp)`, where `vjp(ct)` is the tuple of cotangents of its arguments, or the cotangent of
        its only argument, or the same number of arrays in other containers.

    Returns:
      A function of the same arguments that returns the value.

    >>> import primax as px
    >>> @px.custom_gradient
    ... def f(x):
    ...     return x * x, lambda ct: (ct * 10.0,)
    >>> float(f(3.0)), float(px.grad(f)(3.0))
    (9.0, 10.0)
    """

    @custom_vjp
    @wraps(fun)
    def function(*args: Any, **kwargs: Any) -> Any:
        value, _ = _pair(fun, fun(*args, **kwargs))
        return value

    def forward(*args: Any) -> tuple[Any, Any]:
        value, vjp = _pair(fun, fun(*args))
        converted, consts = convert(vjp, (value,), lambda aval: True)
        return value, (tree.Partial(converted), consts, tree.Partial(partial(_arranged, tree.tree_structure(args))))

    def backward(residuals: Any, ct: Any) -> tuple[Any, ...]:
        vjp, consts, arranged = residuals
        return arranged(vjp(ct, *consts))

    function.defvjp(forward, backward)
    return function


def _arranged(structure: Any, cts: Any) -> tuple[Any, ...]:
    """Cotangents in the structure of the arguments; as in jax, other containers with as many leaves are accepted."""
    leaves, ct_tree = tree.flatten(cts)
    if ct_tree != structure and len(leaves) == structure.num_leaves:
        cts = tree.unflatten(structure, leaves)
    count = len(tree.treedef_children(structure))
    return cts if isinstance(cts, tuple) and (count != 1 or len(cts) == 1) else (cts,)


def _pair(fun: Callable[..., Any], returned: Any) -> tuple[Any, Any]:
    if not isinstance(returned, tuple) or len(returned) != 2 or not callable(returned[1]):
        name = name_of(fun)
        raise TypeError(f"custom_gradient: {name} must return a pair (value, vjp function), got {returned!r}")
    return returned
