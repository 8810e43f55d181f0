"""Derivatives of functions of pytrees: jvp, linearize, vjp, grad and related functions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from primax.core import dtypes, tree
from primax.core.arguments import check_function, name_of, wraps
from primax.core.avals import ALL_BUT_SHAPE_AND_DTYPE, NO_VALUE, get_aval, is_void, same_type
from primax.core.errors import TangentTypeError
from primax.core.host_values import from_host
from primax.core.placement import placed_like
from primax.core.text.debug_info import places
from primax.core.trace import Tracer
from primax.core.trace_state import thread
from primax.core.tree.partial import Partial
from primax.interpreters.call_signature import (
    argument_positions,
    avals_of,
    check_outputs,
    shaped_abstractify,
    split_arguments,
)
from primax.interpreters.jvp import jvp_flat
from primax.interpreters.linearize import drop_unused, linear_tape, linearize_flat
from primax.interpreters.pullback import Derivative, Pullback, Pushforward, pull_back
from primax.interpreters.tangents import Zero, instantiate_zeros

_LEAF = tree.flatten(0)[1]


class FlatFunction:
    """A function of pytrees as a function of flat lists; stores the structure of its result."""

    __slots__ = ("aux", "fun", "has_aux", "in_tree", "out_tree", "what")

    def __init__(self, what: str, fun: Callable[..., Any], in_tree: Any, has_aux: bool = False) -> None:
        self.what = what
        self.fun = fun
        self.in_tree = in_tree
        self.has_aux = has_aux
        self.out_tree: Any = None
        self.aux: Any = None

    def __call__(self, *leaves: Any) -> list[Any]:
        out = self.fun(*tree.unflatten(self.in_tree, leaves))
        if self.has_aux:
            if not (isinstance(out, tuple | list) and len(out) == 2):
                raise TypeError(
                    f"{self.what}: with has_aux=True, {name_of(self.fun)} must return a pair (result, aux), "
                    f"got {type(out).__name__}"
                )
            out, self.aux = out
        flat, self.out_tree = tree.flatten(out)
        check_outputs(flat, self.out_tree, self.fun)
        return flat


def flat_call(
    what: str, fun: Callable[..., Any], positions: Sequence[int], args: Any, kwargs: Any, has_aux: bool
) -> tuple[FlatFunction, list[Any], list[Any]]:
    """A call as a function of the leaves of the arguments at some positions, these leaves, and their types."""
    chosen, call = split_arguments(what, fun, positions, args, kwargs)
    flat, in_tree = tree.flatten(tuple(chosen), None, (args, kwargs))
    try:
        avals = list(map(get_aval, flat))
    except NO_VALUE:
        for i, x in zip(positions, chosen, strict=True):
            avals_of(tree.flatten(x)[0], {i % len(args): x}, what)  # raises an error that names the argument
        raise
    return FlatFunction(what, call, in_tree, has_aux), flat, avals


def without_tracers(aux: Any) -> Any:
    """Auxiliary output, without the tracers of the transformation that has ended."""

    def value(x: Any) -> Any:
        while isinstance(x, Tracer) and not x._trace.alive and hasattr(x, "primal"):
            x = x.primal
        return x

    return tree.tree_map(value, aux)


def _check_tangents(what: str, primals: Any, tangents: Any) -> tuple[list[Any], list[Any], Any]:
    """Flatten primals and tangents after a check that they agree in structure and type."""
    if not isinstance(primals, tuple | list) or not isinstance(tangents, tuple | list):
        raise TypeError(
            f"{what}: primals and tangents must be tuples or lists, one element per argument, "
            f"got {type(primals).__name__} and {type(tangents).__name__}"
        )
    flat, in_tree = tree.flatten(tuple(primals), None, (primals, {}))
    flat_tangents, tangent_tree = tree.flatten(tuple(tangents), None, (tangents, {}))
    tree.require_same_structure(
        f"{what}: primals and tangents must have the same structure", in_tree, tangent_tree, "primals", "tangents"
    )
    avals = avals_of(flat, tuple(primals), f"{what} primals")
    tangent_avals = avals_of(flat_tangents, tuple(tangents), f"{what} tangents")
    for i, (aval, have) in enumerate(zip(avals, tangent_avals, strict=True)):
        want = aval.to_tangent_aval()
        if not same_type(have, want, ALL_BUT_SHAPE_AND_DTYPE):
            path = tree.keystr(tree.tree_leaves_with_path(tuple(primals))[i][0])
            raise TangentTypeError(
                f"{what}: tangents{path} must be of type {want.str_short()}, the tangent type of "
                f"{aval.str_short()}, got {have.str_short()}"
            )
    return flat, flat_tangents, in_tree


def jvp(
    fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False
) -> tuple[Any, ...]:
    """The value of a function and its directional derivative.

    Args:
      fun: a function of pytrees of arrays.
      primals: a tuple of its arguments.
      tangents: a tuple of tangents with the structure and types of `primals` (float0 for integers).
      has_aux: whether `fun` returns a pair (result, aux).

    Returns:
      `(primals_out, tangents_out)`, and `aux` if `has_aux`.

    Raises:
      TypeError: primals and tangents disagree in structure, shape or dtype.

    >>> import primax as px
    >>> px.jvp(lambda x: x * x, (3.0,), (1.0,))
    (Array(9., dtype=float32, weak_type=True), Array(6., dtype=float32, weak_type=True))
    """
    check_function("jvp", "fun", fun)
    flat, flat_tangents, in_tree = _check_tangents("jvp", primals, tangents)
    flat_fun = FlatFunction("jvp", fun, in_tree, has_aux)
    directions = [
        Zero(get_aval(p).to_tangent_aval()) if getattr(t, "dtype", None) == dtypes.float0 else t
        for p, t in zip(flat, flat_tangents, strict=True)
    ]
    outs, out_tangents = jvp_flat(flat_fun, flat, directions)
    out = tree.unflatten(flat_fun.out_tree, outs)
    pairs = zip(outs, out_tangents, strict=True)
    tangents_out = [t if type(t) is type(x) else from_host(instantiate_zeros(t)) for x, t in pairs]
    if thread.trace.converts_operands:
        tangents_out = [placed_like(t, get_aval(x)) for t, x in zip(tangents_out, outs, strict=True)]
    tangent = tree.unflatten(flat_fun.out_tree, tangents_out)
    return (out, tangent, without_tracers(flat_fun.aux)) if has_aux else (out, tangent)


def linearize(fun: Callable[..., Any], *primals: object, has_aux: bool = False) -> tuple[Any, ...]:
    """The value of a function, and its derivative at that point as a linear function.

    Operations that do not depend on the direction are computed once, by this call.

    Args:
      fun: a function of pytrees of arrays.
      primals: its arguments.
      has_aux: whether `fun` returns a pair (result, aux).

    Returns:
      `(primals_out, f_lin)`, and `aux` if `has_aux`; `f_lin` takes one tangent per primal. It is a pytree of its
      residuals.

    >>> import primax as px
    >>> y, f_lin = px.linearize(lambda x: x * x, 3.0)
    >>> float(f_lin(1.0))
    6.0
    """
    return _differentiated("linearize", Pushforward, fun, primals, has_aux)


def _differentiated(
    what: str, derivative: type[Derivative], fun: Callable[..., Any], primals: tuple[Any, ...], has_aux: bool
) -> tuple[Any, ...]:
    """The value of a function, a derivative of it, and perhaps auxiliary output."""
    check_function(what, "fun", fun)
    flat, in_tree = tree.flatten(primals, None, (primals, {}))
    avals = avals_of(flat, primals, what)
    for i, aval in enumerate(avals):
        if aval.mutable:
            where, text = places((primals, {}), fun)[i], aval.str_short()
            raise TypeError(f"{what}: {where} must be an array, got a reference of type {text}; close over it")
    if not thread.trace.tracing:
        flat = [from_host(x) for x in flat]
    flat_fun = FlatFunction(what, fun, in_tree, has_aux)
    outs, tape = linearize_flat(flat_fun, flat)
    if derivative is Pushforward:
        drop_unused(tape)
    function = derivative(tape, in_tree, avals, flat_fun.out_tree, [get_aval(x) for x in outs])
    function.inputs = tuple(map(id, flat))
    out = tree.unflatten(flat_fun.out_tree, outs)
    return (out, function, without_tracers(flat_fun.aux)) if has_aux else (out, function)


def vjp(
    fun: Callable[..., Any],
    *primals: object,
    has_aux: bool = False,
    reduce_axes: Sequence[Hashable] = (),
    saveable_args: bool | tuple[Any, ...] = True,
) -> tuple[Any, ...]:
    """The value of a function, and its VJP, which maps cotangents of the result to cotangents of the arguments.

    Args:
      fun: a function of pytrees of arrays.
      primals: its arguments.
      has_aux: whether `fun` returns a pair (result, aux).
      reduce_axes: must be empty; JAX has removed this option, too.
      saveable_args: whether `vjp_fun` keeps the arguments that it needs: a bool, or a tuple with an entry for each
        argument, in which containers have such tuples. Arguments that it does not keep must be restored before a call,
        by assignment to `vjp_fun.args_res`.

    Returns:
      `(primals_out, vjp_fun)`, and `aux` if `has_aux`. `vjp_fun` takes a cotangent with the structure of `primals_out`
      and returns a tuple with one cotangent per primal. It is a pytree of its residuals: `vjp_fun.args_res` are the
      arguments among them, with `NotNeeded()` for other arguments and `NotSaveable()` for arguments that are not kept;
      `vjp_fun.opaque_residuals` are the other residuals.

    Raises:
      TypeError: `saveable_args` contains other values than bools and containers.
      ValueError: a container in `saveable_args` and the argument in its place have different numbers of entries.

    >>> import primax as px
    >>> y, pull = px.vjp(lambda x, y: x * y, 3.0, 4.0)
    >>> tuple(map(float, pull(1.0)))
    (4.0, 3.0)
    """
    _refuse_axes("vjp", reduce_axes)
    results = _differentiated("vjp", Pullback, fun, primals, has_aux)
    if saveable_args is not True:
        results[1].leave_out(saveable_args)
    return results


def _refuse_axes(what: str, reduce_axes: Any) -> None:
    """Raise an error for the option `reduce_axes`, which JAX has removed, too.

    Raises:
      NotImplementedError: `reduce_axes` is not empty.
    """
    if reduce_axes is not None and not (isinstance(reduce_axes, tuple | list) and not reduce_axes):
        raise NotImplementedError(f"{what}: reduce_axes must be (): axes follow from the types; got {reduce_axes!r}")


def linear_transpose(
    fun: Callable[..., Any], *primals: object, reduce_axes: Sequence[Hashable] = ()
) -> Callable[..., Any]:
    """The transpose of a linear function.

    Args:
      fun: a function that is linear in all its arguments.
      primals: arguments, or `ShapeDtypeStruct`s; only their types matter.
      reduce_axes: must be empty; JAX has removed this option, too.

    Returns:
      A function from a cotangent of the result to a tuple of cotangents of the arguments.

    Raises:
      MissingRuleError: `fun` is not linear.

    >>> import primax as px
    >>> px.linear_transpose(lambda x: 3.0 * x, 1.0)(2.0)
    (Array(6., dtype=float32, weak_type=True),)
    """
    check_function("linear_transpose", "fun", fun)
    _refuse_axes("linear_transpose", reduce_axes)
    flat, in_tree = tree.flatten(primals, None, (primals, {}))
    avals = avals_of(flat, primals, "linear_transpose", type_of=shaped_abstractify)
    for aval in avals:
        if not aval.composite and not dtypes.is_numeric(aval.dtype) and dtypes.tangent_dtype(aval.dtype) != aval.dtype:
            raise TypeError(f"linear_transpose: primals must be numbers, got {aval.str_short()}")

    def transposed(ct: Any) -> Any:
        """Pull a cotangent of the result back to the arguments."""
        flat_fun = FlatFunction("linear_transpose", fun, in_tree)
        tape = linear_tape(flat_fun, avals)
        leaves, ct_tree = tree.flatten(ct)
        tree.require_same_structure(
            "linear_transpose: the cotangent must have the structure of the function's result",
            flat_fun.out_tree,
            ct_tree,
            "result",
            "cotangent",
        )
        for out, have in zip(tape.outs, avals_of(leaves, (ct,), "linear_transpose"), strict=True):
            want = get_aval(out)
            if avals and len({is_void(aval.to_tangent_aval()) for aval in (want, avals[0])}) > 1:
                raise TypeError(
                    "linear_transpose: fun must return integers for integer arguments, and real or complex numbers "
                    f"otherwise, got {want.str_short()} for {avals[0].str_short()}"
                )
            if not same_type(have, want, ALL_BUT_SHAPE_AND_DTYPE):
                raise TypeError(
                    f"linear_transpose: the cotangent must be of type {want.str_short()}, got {have.str_short()}"
                )
        return tree.unflatten(in_tree, [from_host(instantiate_zeros(x)) for x in tape.transpose(leaves)])

    return Partial(transposed)


def value_and_grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Hashable] = (),
) -> Callable[..., Any]:
    """A function that returns the value and the gradient of `fun`; see `grad`.

    Examples:
      >>> import primax as px
      >>> px.value_and_grad(lambda x: (x * x, "note"), has_aux=True)(3.0)
      ((Array(9., dtype=float32, weak_type=True), 'note'), Array(6., dtype=float32, weak_type=True))
    """
    _refuse_axes("value_and_grad", reduce_axes)
    return _gradient("value_and_grad", fun, argnums, has_aux, holomorphic, allow_int)


def _gradient(
    what: str, fun: Callable[..., Any], argnums: Any, has_aux: bool, holomorphic: bool, allow_int: bool
) -> Callable[..., Any]:
    check_function(what, "fun", fun)
    positions = argument_positions(what, argnums)

    @wraps(fun)
    def value_and_grad(*args: Any, **kwargs: Any) -> Any:
        flat_fun, flat, avals = flat_call(what, fun, positions, args, kwargs, has_aux)
        for aval in avals:
            check_input(what, aval, holomorphic, allow_int)
        outs, tape = linearize_flat(flat_fun, flat)
        ct = _unit_cotangent(what, fun, flat_fun.out_tree, outs, holomorphic)
        grads = tree.unflatten(flat_fun.in_tree, pull_back(tape, [ct], avals))
        gradient = grads[0] if isinstance(argnums, int | np.integer) else grads
        value = from_host(outs[0])
        return ((value, without_tracers(flat_fun.aux)), gradient) if has_aux else (value, gradient)

    return value_and_grad


def check_input(what: str, aval: Any, holomorphic: bool, allow_int: bool) -> None:
    if aval.composite:
        aval.to_tangent_aval()
        return
    dtype = aval.dtype
    if holomorphic:
        if not dtypes.is_complex(dtype):
            raise TypeError(f"{what}: with holomorphic=True the inputs must be complex, got {aval.str_short()}")
    elif dtypes.is_complex(dtype):
        return
    elif dtypes.tangent_dtype(dtype) == dtypes.float0 and not allow_int:
        raise TypeError(
            f"{what}: the inputs must be floating or complex, got {aval.str_short()}; "
            "convert it to a float, or pass allow_int=True for a gradient of type float0"
        )


def _unit_cotangent(what: str, fun: Any, out_tree: Any, outs: list[Any], holomorphic: bool) -> Any:
    if out_tree != _LEAF:
        raise TypeError(
            f"{what}: {name_of(fun)} must return a scalar, got a result of structure {out_tree}; "
            "use has_aux=True to return more, or vjp or jacrev for a function of several results"
        )
    aval = get_aval(outs[0])
    if aval.composite or aval.shape != ():
        raise TypeError(
            f"{what}: {name_of(fun)} must return a scalar, got {aval.str_short()}; use jacrev, or vjp with a cotangent"
        )
    if holomorphic:
        if not dtypes.is_complex(aval.dtype):
            raise TypeError(f"{what}: with holomorphic=True the result must be complex, got {aval.str_short()}")
    elif dtypes.is_complex(aval.dtype):
        raise TypeError(
            f"{what}: {name_of(fun)} must return a real number, got {aval.str_short()}; use holomorphic=True if it is "
            "holomorphic, or jvp and vjp"
        )
    elif not dtypes.is_floating(aval.dtype):
        raise TypeError(f"{what}: {name_of(fun)} must return a floating number, got {aval.str_short()}; use vjp")
    if aval.weak_type and aval.dtype == dtypes.scalar_dtype(0.0):
        return 1.0
    return aval.dtype.type(1)


def grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Hashable] = (),
) -> Callable[..., Any]:
    """A function that returns the gradient of `fun`.

    Args:
      fun: returns a real scalar, or a pair (scalar, aux) if `has_aux`.
      argnums: the position or positions of the arguments to differentiate.
      has_aux: whether `fun` returns a pair (result, aux).
      holomorphic: whether to differentiate a complex-valued holomorphic function.
      allow_int: whether integer arguments are accepted; their gradients have dtype float0.
      reduce_axes: must be empty; JAX has removed this option, too.

    Returns:
      A function of the same arguments. Its result has the structure of the argument at `argnums`, or is a tuple of
      results for several positions; with `has_aux` it is a pair with the auxiliary value.

    Raises:
      TypeError: when called, if arguments are not floating or the result is not a real scalar.

    >>> import primax as px
    >>> float(px.grad(lambda x: x * x)(3.0))
    6.0
    """
    _refuse_axes("grad", reduce_axes)
    both = _gradient("grad", fun, argnums, has_aux, holomorphic, allow_int)

    @wraps(fun)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, grads = both(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    return gradient
