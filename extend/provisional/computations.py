"""User-defined functions of two elements, as programs on scalars and on arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primax.extend import core, dtypes, programs
from primax.extend.core import ShapedArray, get_aval
from primax.extend.interpreters import batching
from primax.extend.promotion import TypePromotionError
from primax.extend.provisional.arguments import check_function

__all__ = ["Interpreted", "elementwise", "read_operands", "require_pure", "stage"]


def read_operands(
    function: str, operands: Any, init_values: Any, extremum: bool = False
) -> tuple[list[Any], list[Any], Any]:
    """The leaves of trees of arrays and of their initial values, and the structure.

    Args:
      function: the public function, for messages.
      operands: the arrays.
      init_values: a scalar for each of them, whose dtype may differ if the dtype of the array holds its value.
      extremum: whether the computation is a maximum or minimum, for which an infinity stands for the limit of integers.

    Raises:
      TypeError: the trees, shapes or dtypes do not match.
      ValueError: there is no array.
    """
    leaves, tree = core.tree.tree_flatten(operands)
    inits, init_tree = core.tree.tree_flatten(init_values)
    if tree != init_tree:
        raise TypeError(f"{function}: init_values must be a tree like operands, {tree}, got {init_tree}")
    if not leaves:
        raise ValueError(f"{function}: operands must hold an array, got none")
    avals = [get_aval(x) for x in leaves]
    inits = [_like(x, aval, extremum) for x, aval in zip(inits, avals, strict=True)]
    for aval, init in zip(avals, map(get_aval, inits), strict=True):
        if aval.shape != avals[0].shape:
            raise TypeError(
                f"{function}: operands must have the same shape, got {avals[0].str_short()} and {aval.str_short()}"
            )
        if init.shape or init.dtype != aval.dtype:
            raise TypeError(
                f"{function}: init_values must be scalars of the dtypes of operands, got {init.str_short()} "
                f"for {aval.str_short()}"
            )
    return leaves, inits, tree


def _promotes(own: ShapedArray, aval: ShapedArray) -> bool:
    """Whether promotion of the two types gives that of the array."""
    try:
        return bool(dtypes.result_type(aval, own) == aval.dtype)
    except TypePromotionError:  # if the option numpy_dtype_promotion is strict
        return False


def _like(init: Any, aval: ShapedArray, extremum: bool) -> Any:
    """An initial value in the dtype of the operand; unchanged if that might change the value.

    A weakly typed value is converted if promotion would give it that dtype; a known value, if it stays equal.
    """
    own = get_aval(init)
    if own.dtype == aval.dtype:
        return init
    if own.weak_type and _promotes(own, aval):
        if isinstance(init, core.Tracer):
            return core.protocol_of(own).convert(init, own.update(dtype=aval.dtype, weak_type=False))
        return np.asarray(init).astype(aval.dtype)[()]
    if isinstance(init, core.Tracer) or own.shape or dtypes.is_extended(own.dtype) or dtypes.is_extended(aval.dtype):
        return init
    value = np.asarray(init)
    if dtypes.is_complex(own.dtype):
        if value.imag:
            return init
        value = value.real
    if extremum and dtypes.is_integer(aval.dtype) and np.isinf(value):
        limits = dtypes.iinfo(aval.dtype)
        return aval.dtype.type(limits.max if value > 0 else limits.min)
    with np.errstate(all="ignore"):
        converted = value.astype(aval.dtype)
        return converted[()] if converted == value else init


def stage(function: str, computation: Any, operands: Sequence[Any], inits: Sequence[Any], tree: Any) -> tuple[Any, Any]:
    """The program of a computation on scalars, and the structure of its result.

    There is one program for each function and type, so that it compiles once.

    Args:
      function: the public function, for messages.
      computation: `(x, y) -> z` on trees of scalars.
      operands: arrays.
      inits: a scalar for each of them.
      tree: the structure of both.

    Raises:
      TypeError: the computation returns something else, or closes over traced values.
    """
    scalars = tuple(
        [
            ShapedArray((), x.dtype, x.weak_type and init.weak_type)
            for x, init in zip(map(get_aval, operands), map(get_aval, inits), strict=True)
        ]
    )
    check_function(function, "computation", computation)
    element = core.tree.tree_unflatten(tree, range(len(scalars)))
    _, in_tree = core.tree.tree_flatten((element, element))
    program = programs.stage(computation, in_tree, [*scalars, *scalars], f"the computation of {function}", function)
    if program.out_tree.num_leaves != tree.num_leaves:
        raise TypeError(f"{function}: computation must return a value for each operand, {tree}, got {program.out_tree}")
    for aval, scalar in zip(program.closed.out_avals, scalars, strict=True):
        if aval.shape or aval.dtype != scalar.dtype:
            raise TypeError(
                f"{function}: computation must return scalars of the types it is given, got {aval.str_short()} "
                f"for {scalar.str_short()}"
            )
    require_pure(function, program.closed)
    if program.tracers:
        raise TypeError(f"{function}: computation must not close over traced values; pass them as operands")
    return program.closed, program.out_tree


def require_pure(function: str, program: core.ClosedJaxpr) -> None:
    """Refuse a computation with effects, since the number and order of its calls are unspecified.

    Raises:
      TypeError: it has effects.
    """
    if program.effects:
        effects = ", ".join(sorted(map(str, program.effects)))
        raise TypeError(f"{function}: computation must have no effects, got one with {effects}")


def elementwise(program: core.ClosedJaxpr) -> Callable[..., list[Any]]:
    """A program on `2 n` scalars as a function of two lists of `n` arrays of the same shape."""

    def run(*xs: Any) -> Any:
        return core.eval_jaxpr(program.jaxpr, program.consts, *xs)

    def combine(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
        function = run
        for size in reversed(get_aval(a[0]).shape):
            function = _mapped(function, size)
        return list(function(*a, *b))

    return combine


def _mapped(function: Callable[..., Any], size: int) -> Callable[..., Any]:
    axis = batching.AxisData(None, size)

    def run(*xs: Any) -> Any:
        outs, dims = batching.batch_flat(function, axis, xs, [0] * len(xs))
        return [batching.to_dim(out, size, dim, 0) for out, dim in zip(outs, dims, strict=True)]

    return run


class Interpreted:
    """The `interpret` rule of a primitive whose other rules keep the programs in its parameters as they are.

    Args:
      meaning: `(values, **params) -> results`, which computes the primitive by other primitives.
    """

    def __init__(self, meaning: Callable[..., Sequence[Any]]) -> None:
        self.func = meaning

    def __call__(self, interpreter: Any, eqn: core.JaxprEqn, *values: Any) -> Any:
        avals = [x.aval for x in eqn.invars]
        program = core.trace_to_jaxpr(lambda *xs: self.func(xs, **eqn.params), avals, eqn.primitive.name)
        outs = interpreter.interpret(program, *values)
        return outs if eqn.primitive.multiple_results else outs[0]
