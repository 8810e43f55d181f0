"""Loops built on `scan` and `while_loop`: over integers, over elements, and along associative functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

import numpy as np

from primax.extend import core, dtypes
from primax.extend.core import Array, ShapedArray, Tracer, get_aval, tree
from primax.extend.dimensions import is_symbolic_dim, max_dim
from primax.extend.provisional.arguments import ArgumentError, aval_of, integer
from primax.extend.provisional.dimensions import as_array, as_size
from primax.extend.provisional.tracing import thread
from primax.extend.provisional.transformations import vmap
from primax.extend.provisional.typing import ArrayLike
from primax.plugins.arithmetic import add
from primax.plugins.comparison import lt
from primax.plugins.control_flow.scan import scan
from primax.plugins.control_flow.staging import MadeOf, flatten_operands, require_function
from primax.plugins.control_flow.while_loop import while_loop
from primax.plugins.reductions import scan_along
from primax.plugins.structural import concatenate, convert_element_type, reshape, slice_in_dim

_T = TypeVar("_T")
_R = TypeVar("_R")


@overload
def fori_loop(
    lower: ArrayLike,
    upper: ArrayLike,
    body_fun: Callable[[Any, Any], Any],
    init_val: complex,
    *,
    unroll: int | bool | None = None,
) -> Array: ...
@overload
def fori_loop(
    lower: ArrayLike,
    upper: ArrayLike,
    body_fun: Callable[[Any, _T], _T],
    init_val: _T,
    *,
    unroll: int | bool | None = None,
) -> _T: ...
def fori_loop(
    lower: ArrayLike,
    upper: ArrayLike,
    body_fun: Callable[[Any, Any], Any],
    init_val: object,
    *,
    unroll: int | bool | None = None,
) -> Any:
    """Apply `body_fun(i, value)` for i from `lower` to `upper - 1`.

    If both bounds are known, it is a `scan`, which also differentiates in reverse mode; with tracers it is a
    `while_loop`, which does not.

    Args:
      lower: a whole number of rank 0, of any real dtype.
      upper: a whole number of rank 0, of the dtype of `lower`, unless one of them is a Python integer and the other has
        an integer dtype; the loop is empty unless it is greater than `lower`.
      body_fun: `(i, value) -> value`, of the same structure, shapes and dtypes.
      init_val: arrays in any containers.
      unroll: the number of steps in one iteration of the loop, or True for all; for bounds with known values.

    Returns:
      The last value.

    Raises:
      TypeError: a bound is not a real number of rank 0, the bounds differ in dtype, or the value changes its type.
      ValueError: a bound is not whole, or a bound is traced and `unroll` asks for several steps.

    >>> import primax as px
    >>> px.lax.fori_loop(0, 5, lambda i, x: x + i, 0)
    Array(10, dtype=int32, weak_type=True)
    """
    require_function("fori_loop", "body_fun", body_fun)
    bounds = [_bound("lower", lower), _bound("upper", upper)]
    integral = all(dtypes.issubdtype(aval.dtype, np.integer) for aval in bounds)
    weak = [aval.weak_type for aval in bounds]
    if bounds[0].dtype != bounds[1].dtype and not (integral and any(weak)):
        raise TypeError(
            f"fori_loop: lower and upper must be of the same dtype, got {bounds[0].str_short()} and "
            f"{bounds[1].str_short()}"
        )
    if not isinstance(lower, Tracer) and not isinstance(upper, Tracer):
        first, last = _known_bound("lower", lower), _known_bound("upper", upper)
        return _counted(first, last, body_fun, init_val, 1 if unroll is None else unroll)
    if unroll is not None and unroll != 1 and unroll is not False:
        raise ValueError("fori_loop: unroll needs lower and upper whose values are known, but one of them is a tracer")
    start, end, one = lower, upper, 1 if integral else 1.0
    if not all(weak):
        dtype = dtypes.result_type(lower, upper)
        start, end, one = convert_element_type(lower, dtype), convert_element_type(upper, dtype), dtype.type(1)

    def step(state: Any) -> tuple[Any, Any]:
        i, value = state
        return add(i, one), body_fun(i, value)

    body = MadeOf(step, step, "fori_loop", body_fun)
    return while_loop(lambda state: lt(state[0], end), body, (start, init_val))[1]


def _bound(name: str, x: Any) -> ShapedArray:
    """The type of a bound."""
    aval = aval_of("fori_loop", name, x, expected="a number of rank 0")
    dtype: Any = getattr(aval, "dtype", None)
    if not isinstance(aval, ShapedArray) or aval.shape or not isinstance(dtype, np.dtype) or dtypes.is_complex(dtype):
        raise TypeError(f"fori_loop: {name} must be a real number of rank 0, got {aval.str_short()}")
    return aval


def _known_bound(name: str, x: Any) -> int:
    """A bound whose value is known."""
    try:
        return as_size(x)
    except TypeError:
        value = float(x)
    if not value.is_integer():
        raise ValueError(f"fori_loop: {name} must be a whole number, got {value}")
    return int(value)


def _counted(first: int, last: int, body_fun: Callable[..., Any], init_val: Any, unroll: Any) -> Any:
    """The loop as a scan that counts in its carry, in weakly typed integers."""
    if core.config.disable_jit.value and not thread.trace.tracing and last <= first:
        return init_val

    def step(state: Any, _: Any) -> tuple[Any, Any]:
        i, value = state
        return (add(i, 1), body_fun(i, value)), None

    start: Any = first
    (_, value), _ = scan(
        MadeOf(body_fun, step, "fori_loop"),
        (as_array(start) if is_symbolic_dim(start) else start, init_val),
        None,
        max_dim(last - first, 0),
        unroll=unroll,
    )
    return value


def map(f: Callable[[Any], _R], xs: object, *, batch_size: int | None = None) -> _R:
    """Apply a function to the elements of arrays one after the other, or batch by batch.

    Args:
      f: a function of one argument.
      xs: arrays in any containers, of the same length along axis 0.
      batch_size: the number of elements computed at a time, by `vmap`; None or 0 means one.

    Returns:
      The results, stacked along axis 0.

    Raises:
      TypeError: `batch_size` is not an integer.
      ValueError: lengths disagree, or `batch_size` is negative.

    >>> import primax as px
    >>> px.lax.map(lambda x: x * x, px.numpy.arange(4)).tolist()
    [0, 1, 4, 9]
    """
    require_function("map", "f", f)
    batch_size = 0 if batch_size is None else integer("map", "batch_size", batch_size)
    if batch_size < 0:
        raise ValueError(f"map: batch_size must not be negative, got {batch_size}")
    if batch_size == 0:
        return scan(_each(f, f), None, xs)[1]
    leaves, in_tree, avals = flatten_operands("map", "xs", xs)
    if not leaves or not avals[0].shape:
        raise ValueError("map: xs must hold arrays with an axis to map over")
    length = avals[0].shape[0]
    whole = length - length % batch_size

    at_once = vmap(f)
    parts = []
    if whole:
        blocks = tree.unflatten(in_tree, [_in_blocks(x, whole, batch_size) for x in leaves])
        ys = scan(_each(at_once, f), None, blocks)[1]
        parts.append(tree.tree_map(lambda y: reshape(y, (whole, *get_aval(y).shape[2:])), ys))
    if whole < length or not length:
        rest = tree.unflatten(in_tree, [slice_in_dim(x, whole, length) for x in leaves])
        parts.append(at_once(rest))
    if len(parts) == 1:
        return parts[0]
    return tree.tree_map(lambda a, b: concatenate([a, b], 0), *parts)


def _in_blocks(x: Any, whole: int, size: int) -> Array:
    return reshape(slice_in_dim(x, 0, whole), (whole // size, size, *get_aval(x).shape[1:]))


def _each(f: Callable[..., Any], shown: Callable[..., Any]) -> MadeOf:
    """The body of a scan that applies a function; a new one, so that the values it closes over are read again."""

    def step(_: Any, x: Any) -> tuple[None, Any]:
        return None, f(x)

    return MadeOf(step, step, "map", shown)


def associative_scan(fn: Callable[[Any, Any], Any], elems: _T, reverse: bool = False, axis: int = 0) -> _T:
    """The cumulative results of an associative function, in logarithmically many steps.

    Args:
      fn: `(a, b) -> c`, elementwise along the axis: it gets many pairs of elements at once.
      elems: arrays in any containers, of the same length along the axis.
      reverse: whether to begin with the last element.
      axis: the axis of the elements.

    Returns:
      The structure of `elems`, and its shapes.

    Raises:
      TypeError: `fn` returns another structure.
      ValueError: lengths disagree, or the axis is out of range.

    Source: G. E. Blelloch, "Prefix sums and their applications" (1990).

    >>> import primax as px
    >>> px.lax.associative_scan(px.lax.mul, px.numpy.arange(1, 6)).tolist()
    [1, 2, 6, 24, 120]
    """
    require_function("associative_scan", "fn", fn)
    axis = integer("associative_scan", "axis", axis)
    leaves, in_tree, avals = flatten_operands("associative_scan", "elems", elems)
    if not leaves:
        return elems
    sizes = []
    for (path, _), aval in zip(tree.tree_leaves_with_path(elems), avals, strict=True):
        rank = len(aval.shape)
        if not -rank <= axis < rank:
            raise ValueError(
                f"associative_scan: axis must be an axis of elems{tree.keystr(path)}, got {axis} for {aval.str_short()}"
            )
        sizes.append(aval.shape[axis])
    if len(set(sizes)) > 1:
        raise ValueError(f"associative_scan: elems must be of the same length along axis {axis}, got {sizes}")
    if is_symbolic_dim(sizes[0]):
        raise core.UnsupportedError(
            f"associative_scan: elems must have a known length along axis {axis}, since it determines the number of "
            f"operations; got {sizes[0]}"
        )
    if sizes[0] == 0:
        return elems
    places = [axis % len(aval.shape) for aval in avals]

    def combine(a: Any, b: Any) -> list[Any]:
        out, out_tree = tree.flatten(fn(tree.unflatten(in_tree, a), tree.unflatten(in_tree, b)))
        what = "associative_scan: fn must return the structure of elems"
        tree.require_same_structure(what, in_tree, out_tree, "elems", "the result of fn", ArgumentError)
        return out

    return tree.unflatten(in_tree, scan_along(combine, leaves, places, reverse))
