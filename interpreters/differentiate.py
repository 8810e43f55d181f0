"""Derivatives of functions of pytrees: jvp, linearize, vjp, grad and what is built on them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from primax.core import dtypes, tree
from primax.core.arguments import check_function, name_of, wraps
from primax.core.array import Array
from primax.core.array_protocol import protocol_of
from primax.core.avals import ALL_BUT_SHAPE_AND_DTYPE, get_aval, same_type
from primax.core.thread import thread
from primax.core.trace import Tracer
from primax.core.tree_registry import register_pytree_node_class
from primax.core.variance import vary_like
from primax.interpreters.backend import put_value
from primax.interpreters.jvp import jvp_flat
from primax.interpreters.linearize import Tape, linear_tape, linearize_flat
from primax.interpreters.signature import avals_of, check_outputs, shaped_abstractify
from primax.interpreters.tangents import Zero, instantiate_zeros

__all__ = [
    "grad",
    "jvp",
    "linear_transpose",
    "linearize",
    "value_and_grad",
    "vjp",
]


class FlatFunction:
    """A function of pytrees as one of flat lists; remembers the structure of its result."""

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
            if not (isinstance(out, tuple) and len(out) == 2):
                raise TypeError(
                    f"{self.what}: with has_aux=True, {name_of(self.fun)} must return a pair (result, aux), "
                    f"got {type(out).__name__}"
                )
            out, self.aux = out
        flat, self.out_tree = tree.flatten(out)
        check_outputs(flat, self.out_tree, name_of(self.fun))
        return flat


def without_tracers(aux: Any) -> Any:
    """Auxiliary output, without the tracers of the transformation that has ended."""

    def value(x: Any) -> Any:
        while isinstance(x, Tracer) and not x._trace.alive and hasattr(x, "primal"):
            x = x.primal
        return x

    return tree.tree_map(value, aux)


def _array(x: Any) -> Any:
    """A result of a derivative as an array, which a host constant is not yet."""
    if type(x) is Array or isinstance(x, Tracer) or getattr(x, "dtype", None) == dtypes.float0:
        return x
    return put_value(x, get_aval(x).weak_type)


def _check_tangents(what: str, primals: Any, tangents: Any) -> tuple[list[Any], list[Any], Any]:
    """Flatten primals and tangents that must agree in structure and type."""
    if not isinstance(primals, tuple | list) or not isinstance(tangents, tuple | list):
        raise TypeError(
            f"{what}: primals and tangents must be tuples or lists, one element per argument, "
            f"got {type(primals).__name__} and {type(tangents).__name__}"
        )
    flat, in_tree = tree.flatten(tuple(primals))
    flat_tangents, tangent_tree = tree.flatten(tuple(tangents))
    tree.require_same_structure(
        f"{what}: primals and tangents must have the same structure", in_tree, tangent_tree, "primals", "tangents"
    )
    avals = avals_of(flat, tuple(primals), f"{what} primals")
    tangent_avals = avals_of(flat_tangents, tuple(tangents), f"{what} tangents")
    for i, (aval, have) in enumerate(zip(avals, tangent_avals, strict=True)):
        want = aval.to_tangent_aval()
        if not same_type(have, want, ALL_BUT_SHAPE_AND_DTYPE):
            path = tree.keystr(tree.tree_leaves_with_path(tuple(primals))[i][0])
            raise TypeError(
                f"{what}: tangents{path} must be of type {want.str_short()}, the tangent type of "
                f"{aval.str_short()}, got {have.str_short()}"
            )
    return flat, flat_tangents, in_tree


def jvp(fun: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    """The value of a function and its directional derivative.

    Args:
      fun: a function of arrays in any containers.
      primals: a tuple of its arguments.
      tangents: a tuple of directions, of the structure and types of `primals` (float0 for integers).
      has_aux: whether `fun` returns a pair whose second element is passed through.

    Returns:
      `(primals_out, tangents_out)`, and `aux` if `has_aux`.

    Raises:
      TypeError: primals and tangents disagree in structure, shape or dtype.

    >>> import primax as px
    >>> y, dy = px.jvp(lambda x: x * x, (3.0,), (1.0,))
    >>> float(y), float(dy)
    (9.0, 6.0)
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
    tangents_out = [_array(instantiate_zeros(t)) if type(t) is Zero else t for t in out_tangents]
    if thread.trace.joins:
        tangents_out = [vary_like(t, get_aval(x)) for t, x in zip(tangents_out, outs, strict=True)]
    tangent = tree.unflatten(flat_fun.out_tree, tangents_out)
    return (out, tangent, without_tracers(flat_fun.aux)) if has_aux else (out, tangent)


def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value of a function, and its derivative there as a linear function.

    What does not depend on the direction is computed once, here.

    Args:
      fun: a function of arrays in any containers.
      primals: its arguments.
      has_aux: whether `fun` returns a pair whose second element is passed through.

    Returns:
      `(primals_out, f_lin)`, and `aux` if `has_aux`; `f_lin` takes one tangent per primal. It is a pytree of what
      it remembers.

    >>> import primax as px
    >>> y, f_lin = px.linearize(lambda x: x * x, 3.0)
    >>> float(f_lin(1.0))
    6.0
    """
    return _differentiated("linearize", _Pushforward, fun, primals, has_aux)


def _differentiated(
    what: str, derivative: type[_Derivative], fun: Callable[..., Any], primals: tuple[Any, ...], has_aux: bool
) -> Any:
    """The value of a function, a derivative of it, and perhaps auxiliary output."""
    check_function(what, "fun", fun)
    flat, in_tree = tree.flatten(primals)
    avals = avals_of(flat, primals, what)
    flat_fun = FlatFunction(what, fun, in_tree, has_aux)
    outs, tape = linearize_flat(flat_fun, flat)
    function = derivative(tape, in_tree, avals, flat_fun.out_tree, [get_aval(x) for x in outs])
    out = tree.unflatten(flat_fun.out_tree, outs)
    return (out, function, without_tracers(flat_fun.aux)) if has_aux else (out, function)


_REST = (Tape, tree.PyTreeDef, tuple, tree.PyTreeDef, tuple)  # what but its residuals makes a derivative


class _Derivative:
    """A derivative at a point, as a function that is a pytree: its leaves are what it remembers of the point."""

    __slots__ = ("_parts", "_tape", "in_avals", "in_tree", "out_avals", "out_tree")

    def __init__(
        self, tape: Tape | None, in_tree: Any, in_avals: Sequence[Any], out_tree: Any, out_avals: Sequence[Any]
    ) -> None:
        self._tape = tape
        self._parts: tuple[Sequence[Any], Tape] | None = None  # residuals, and the tape with places for them
        self.in_tree = in_tree
        self.in_avals = in_avals
        self.out_tree = out_tree
        self.out_avals = out_avals

    @property
    def tape(self) -> Tape:
        """The derivative, recorded."""
        if self._tape is None:
            assert self._parts is not None
            residuals, empty = self._parts
            self._tape = empty.with_residuals(residuals)
        return self._tape

    def tree_flatten(self) -> tuple[Sequence[Any], tuple[Any, ...]]:
        """What it remembers, and the rest, which is the same each time."""
        if self._parts is None:
            self._parts = self.tape.residuals()
        residuals, empty = self._parts
        return residuals, (empty, self.in_tree, tuple(self.in_avals), self.out_tree, tuple(self.out_avals))

    @classmethod
    def tree_unflatten(cls, rest: tuple[Any, ...], residuals: Sequence[Any]) -> _Derivative:
        """The function that remembers other values."""
        if type(rest) is not tuple or tuple(map(type, rest)) != _REST:
            raise TypeError(f"tree_unflatten: rest must be what tree_flatten returned, got {rest!r}")
        if not isinstance(residuals, list | tuple):
            raise TypeError(f"tree_unflatten: residuals must be a sequence, got {residuals!r}")
        empty, in_tree, in_avals, out_tree, out_avals = rest
        function = cls(None, in_tree, in_avals, out_tree, out_avals)
        function._parts = residuals, empty
        return function


@register_pytree_node_class
class _Pushforward(_Derivative):
    """The function that `linearize` returns."""

    __slots__ = ()

    def __call__(self, *tangents: Any) -> Any:
        """Apply the derivative; takes one tangent per argument of the function."""
        leaves, tangent_tree = tree.flatten(tangents)
        tree.require_same_structure(
            "f_lin: tangents must have the structure of the primals", self.in_tree, tangent_tree, "primals", "tangents"
        )
        tangent_avals = [aval.to_tangent_aval() for aval in self.in_avals]
        for have, want in zip(avals_of(leaves, tangents, "f_lin"), tangent_avals, strict=True):
            if not same_type(have, want, ALL_BUT_SHAPE_AND_DTYPE):
                raise TypeError(f"f_lin: tangents must be of type {want.str_short()}, got {have.str_short()}")
        inexact = [x for x, want in zip(leaves, tangent_avals, strict=True) if want.dtype != dtypes.float0]
        outs = [_array(instantiate_zeros(t)) for t in self.tape.replay(*inexact)]
        return tree.unflatten(self.out_tree, list(map(vary_like, outs, self.out_avals)))


@register_pytree_node_class
class _Pullback(_Derivative):
    """The function that `vjp` returns."""

    __slots__ = ()

    def __call__(self, ct: Any) -> Any:
        leaves, ct_tree = tree.flatten(ct)
        tree.require_same_structure(
            "vjp: the cotangent must have the structure of the function's result",
            self.out_tree,
            ct_tree,
            "result",
            "cotangent",
        )
        cts: list[Any] = []
        ct_avals = avals_of(leaves, (ct,), "vjp")
        for x, have, aval in zip(leaves, ct_avals, self.out_avals, strict=True):
            want = aval.to_tangent_aval()
            if have.shape != want.shape or (
                want.dtype != dtypes.float0 and not same_type(have, want, ALL_BUT_SHAPE_AND_DTYPE)
            ):
                raise TypeError(
                    f"vjp: the cotangent of a result of type {aval.str_short()} must be of type {want.str_short()}, "
                    f"got {have.str_short()}"
                )
            cts.append(Zero(want) if want.dtype == dtypes.float0 else x)
        return tree.unflatten(self.in_tree, pull_back(self.tape, cts, self.in_avals))

    def __repr__(self) -> str:
        return f"<pullback to {self.in_tree}>"


def pull_back(tape: Tape, cts: Sequence[Any], in_avals: Sequence[Any]) -> list[Any]:
    """Cotangents of all inputs, zeros and float0 ones included, as values."""
    found = iter(tape.transpose(cts))
    results = []
    for aval in in_avals:
        tangent = aval.to_tangent_aval()
        ct = Zero(tangent) if tangent.dtype == dtypes.float0 else next(found)
        x = _array(instantiate_zeros(ct))
        if aval.weak_type and type(ct) is not Zero and not get_aval(x).weak_type:
            x = protocol_of(tangent).convert(x, tangent)
        results.append(vary_like(x, aval))
    return results


def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool = False, reduce_axes: Any = ()) -> Any:
    """The value of a function, and the function that pulls cotangents of it back to its arguments.

    Args:
      fun: a function of arrays in any containers.
      primals: its arguments.
      has_aux: whether `fun` returns a pair whose second element is passed through.
      reduce_axes: no longer used.

    Returns:
      `(primals_out, vjp_fun)`, and `aux` if `has_aux`; `vjp_fun` takes a cotangent of the structure of
      `primals_out` and returns a tuple with one cotangent per primal. It is a pytree of what it remembers.

    >>> import primax as px
    >>> y, pull = px.vjp(lambda x, y: x * y, 3.0, 4.0)
    >>> tuple(map(float, pull(1.0)))
    (4.0, 3.0)
    """
    _refuse_axes("vjp", reduce_axes)
    return _differentiated("vjp", _Pullback, fun, primals, has_aux)


def _refuse_axes(what: str, reduce_axes: Any) -> None:
    """Refuse what JAX does not do any more either.

    Raises:
      NotImplementedError: there are axes.
    """
    if reduce_axes is not None and not (isinstance(reduce_axes, tuple | list) and not reduce_axes):
        raise NotImplementedError(f"{what}: reduce_axes must be (): axes follow from the types; got {reduce_axes!r}")


def linear_transpose(fun: Callable[..., Any], *primals: Any, reduce_axes: Any = ()) -> Callable[..., Any]:
    """The transpose of a function that is linear.

    Args:
      fun: linear in all its arguments.
      primals: arguments, or `ShapeDtypeStruct`s: only their types matter.
      reduce_axes: no longer used.

    Returns:
      A function from a cotangent of the result to a tuple of cotangents of the arguments.

    Raises:
      MissingRuleError: `fun` is not linear.

    >>> import primax as px
    >>> (ct,) = px.linear_transpose(lambda x: 3.0 * x, 1.0)(2.0)
    >>> float(ct)
    6.0
    """
    check_function("linear_transpose", "fun", fun)
    _refuse_axes("linear_transpose", reduce_axes)
    flat, in_tree = tree.flatten(primals)
    avals = avals_of(flat, primals, "linear_transpose", type_of=shaped_abstractify)
    for aval in avals:
        if not dtypes.is_numeric(aval.dtype):
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
            if not same_type(have, want, ALL_BUT_SHAPE_AND_DTYPE):
                raise TypeError(
                    f"linear_transpose: the cotangent must be of type {want.str_short()}, got {have.str_short()}"
                )
        return tree.unflatten(in_tree, [_array(instantiate_zeros(x)) for x in tape.transpose(leaves)])

    return transposed


def value_and_grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Any = (),
) -> Callable[..., Any]:
    """A function that returns the value and the gradient of `fun`; see `grad`."""
    _refuse_axes("value_and_grad", reduce_axes)
    return _gradient("value_and_grad", fun, argnums, has_aux, holomorphic, allow_int)


def _gradient(
    what: str, fun: Callable[..., Any], argnums: Any, has_aux: bool, holomorphic: bool, allow_int: bool
) -> Callable[..., Any]:
    check_function(what, "fun", fun)
    positions = argument_positions(what, argnums)

    @wraps(fun)
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        chosen, call = split_arguments(what, fun, positions, args, kwargs)
        flat, in_tree = tree.flatten(tuple(chosen))
        avals = avals_of(flat, tuple(chosen), what)
        for aval in avals:
            check_input(what, aval, holomorphic, allow_int)
        flat_fun = FlatFunction(what, call, in_tree, has_aux)
        outs, tape = linearize_flat(flat_fun, flat)
        ct = _unit_cotangent(what, fun, flat_fun.out_tree, outs, holomorphic)
        grads = tree.unflatten(in_tree, pull_back(tape, [ct], avals))
        gradient = grads[0] if isinstance(argnums, int) else grads
        value = _array(outs[0])
        return ((value, without_tracers(flat_fun.aux)), gradient) if has_aux else (value, gradient)

    return value_and_gradient


def argument_positions(what: str, argnums: Any) -> tuple[int, ...]:
    try:
        return (operator.index(argnums),)
    except TypeError:
        pass
    try:
        return tuple(operator.index(i) for i in argnums)
    except TypeError:
        raise TypeError(f"{what}: argnums must be an int or a sequence of ints, got {argnums!r}") from None


def split_arguments(
    what: str,
    fun: Callable[..., Any],
    positions: Sequence[int],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[list[Any], Callable[..., Any]]:
    """The arguments at some positions, and `fun` as a function of them alone."""
    for i in positions:
        if not -len(args) <= i < len(args):
            raise ValueError(
                f"{what}: argnums must be positions of the arguments, got {i} for a call of "
                f"{name_of(fun)} with {len(args)} positional arguments"
            )
    places = [i % len(args) for i in positions]
    if places == [0] and len(args) == 1 and not kwargs:
        return [args[0]], fun

    def call(*chosen: Any) -> Any:
        mixed = list(args)
        for i, x in zip(places, chosen, strict=True):
            mixed[i] = x
        return fun(*mixed, **kwargs)

    call.__name__ = name_of(fun)
    return [args[i] for i in places], call


def check_input(what: str, aval: Any, holomorphic: bool, allow_int: bool) -> None:
    dtype = aval.dtype
    if holomorphic:
        if not dtypes.is_complex(dtype):
            raise TypeError(f"{what}: with holomorphic=True the inputs must be complex, got {aval.str_short()}")
    elif dtypes.is_complex(dtype):
        return
    elif not dtypes.is_floating(dtype) and not allow_int:
        raise TypeError(
            f"{what}: the inputs must be floating or complex, got {aval.str_short()}; "
            "convert it to a float, or pass allow_int=True for a gradient of type float0"
        )


def _unit_cotangent(what: str, fun: Any, out_tree: Any, outs: list[Any], holomorphic: bool) -> Any:
    if len(outs) != 1 or not tree.treedef_is_leaf(out_tree):
        raise TypeError(
            f"{what}: {name_of(fun)} must return a scalar, got a result of structure {out_tree}; "
            "use has_aux=True to return more, or vjp or jacrev for a function of several results"
        )
    aval = get_aval(outs[0])
    if aval.shape != ():
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
    if aval.weak_type and aval.dtype == dtypes.python_scalar_dtypes[float]:
        return 1.0
    return aval.dtype.type(1)


def grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Any = (),
) -> Callable[..., Any]:
    """A function that returns the gradient of `fun`.

    Args:
      fun: returns a real scalar, or a pair of one and anything else if `has_aux`.
      argnums: the position or positions of the arguments to differentiate.
      has_aux: whether `fun` returns such a pair.
      holomorphic: whether to differentiate a complex-valued holomorphic function.
      allow_int: whether integer arguments are accepted; their gradients have dtype float0.
      reduce_axes: no longer used.

    Returns:
      A function of the same arguments. Its result has the structure of the argument at `argnums`, or is a tuple of
      such for several positions; with `has_aux` a pair of it and the auxiliary value.

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
        value, found = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return gradient
