"""Padding of arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, Tracer, get_aval, tree
from primax.extend.provisional.arguments import among, canonical_axis, naming, nearest
from primax.extend.provisional.typing import ArrayLike
from primax.numpy.conversion import asarray
from primax.numpy.division import floor_divide
from primax.numpy.indexing import take_slice
from primax.numpy.mapping import apply_along_axis
from primax.numpy.programs import one_program
from primax.numpy.promotion import aval_of, broadcast_to_shape, cast, convert
from primax.numpy.quantiles import median
from primax.numpy.ranges import linspace
from primax.numpy.reductions import max as max_
from primax.numpy.reductions import min as min_
from primax.numpy.rounding import rint
from primax.numpy.shaping import broadcast_to, reshaped
from primax.numpy.statistics import mean
from primax.numpy.ufuncs import add, multiply, subtract
from primax.plugins.structural import concatenate_p, convert_element_type_p, pad_p, rev_p

__all__ = ["pad"]


class ModeError(ValueError, NotImplementedError):
    """The mode of `pad` is unknown; JAX raises a NotImplementedError."""


@one_program("pad_width mode")
def pad(
    array: ArrayLike,
    pad_width: ArrayLike | Sequence[Any] | Mapping[int, Any],
    mode: str | Callable[..., Any] = "constant",
    **kwargs: ArrayLike | Sequence[Any],
) -> Array:
    """An array with elements added before and after it along axes.

    Args:
      array: an array.
      pad_width: the numbers of elements to add: one number, a pair (before, after) for all axes, a sequence of one pair
        for each axis, or a dict from axes to numbers or pairs.
      mode: the values of the padding:
        "constant": `constant_values`, in the form of `pad_width`; 0 by default;
        "edge": the element at the edge;
        "reflect": the elements mirrored at the edge, without the element at the edge; "symmetric": with it. The option
          `reflect_type` is "even" or "odd";
        "wrap": the elements from the other end;
        "linear_ramp": evenly spaced numbers from the edge to `end_values`, in the form of `pad_width`; 0 by default;
        "maximum", "minimum", "mean", "median": of the `stat_length` elements at the edge; of all by default;
        "empty": unspecified values;
        or a function `(vector, (before, after), axis, kwargs) -> vector`, called for each vector along each axis; the
          vector is padded with zeros, and the function returns it with other padding.
      kwargs: the options of the mode, or of the function.

    Raises:
      ValueError: `pad_width` is negative or has another form, or `mode` is unknown or lacks an option.

    >>> import primax as px
    >>> px.numpy.pad(px.numpy.array([1, 2]), 1, mode="edge")
    Array([1, 1, 2, 2], dtype=int32)
    """
    aval = aval_of("pad", array, "array")
    widths = _pairs("pad_width", pad_width, len(aval.shape))
    if any(width < 0 for pair in widths for width in pair):
        raise ValueError(f"pad: pad_width must not be negative, got {pad_width}")
    if callable(mode):
        return _by_function(array, widths, mode, kwargs)
    if not isinstance(mode, str) or not among(mode, _OPTIONS):
        similar = nearest(mode, _OPTIONS) if isinstance(mode, str) else ""
        raise ModeError(f"pad: mode must be one of {', '.join(_OPTIONS)}, got {mode!r}{similar}")
    unknown = sorted(kwargs.keys() - _OPTIONS[mode])
    if unknown:
        raise ValueError(f"pad: mode {mode!r} has no option {unknown[0]!r}")
    if mode in ("constant", "empty"):
        return _constant(array, widths, kwargs.get("constant_values", 0))
    out = asarray(array)
    for axis, (before, after) in enumerate(widths):
        if before or after:
            if not out.shape[axis]:
                raise ValueError(f"pad: axis {axis} must not be empty for mode {mode!r}, got shape {aval.shape}")
            out = _EXTEND[mode](out, axis, before, after, **kwargs)
    return out


def _pairs(name: str, value: Any, rank: int) -> list[tuple[int, int]]:
    """Convert to one pair of integers per axis."""
    if isinstance(value, Mapping):
        pairs = {canonical_axis(axis, rank, "pad", name): pair for axis, pair in value.items()}
        return [tuple(np.broadcast_to(pairs.get(axis, 0), (2,)).tolist()) for axis in range(rank)]
    widths = np.asarray(value)
    if widths.dtype.kind not in "iu":
        raise TypeError(f"pad: {name} must consist of integers, got {value!r}")
    try:
        return [tuple(pair) for pair in np.broadcast_to(widths, (rank, 2)).tolist()]
    except ValueError:
        raise ValueError(
            f"pad: {name} must be a number, a pair, or {rank} pairs, got {value!r} for rank {rank}"
        ) from None


def _constant(array: Any, widths: list[tuple[int, int]], values: Any) -> Array:
    aval = get_aval(array)
    rank = len(aval.shape)
    if not any(before or after for before, after in widths):
        return asarray(array)
    if not isinstance(values, tuple | list) and not get_aval(values).shape:
        value = convert(values, get_aval(values), aval.dtype, aval.weak_type)
        return pad_p.bind(array, value, padding_config=tuple([(*pair, 0) for pair in widths]))
    out = array
    values = _each_side(values, rank)
    for axis in range(rank):
        for side in range(2):
            config = [(0, 0, 0)] * rank
            width = widths[axis][side]
            config[axis] = (width, 0, 0) if side == 0 else (0, width, 0)
            if width:
                out = pad_p.bind(out, _as(array, values[axis, side]), padding_config=tuple(config))
    return out


def _each_side(values: Any, rank: int) -> np.ndarray | Array:
    """Convert values in the form of `pad_width` to an array of shape (rank, 2)."""
    if any(isinstance(x, Tracer) for x in tree.tree_leaves(values)):
        return broadcast_to(asarray(values), (rank, 2))
    with naming("pad"):
        return np.broadcast_to(np.asarray(values), (rank, 2))


def _by_function(array: Any, widths: list[tuple[int, int]], function: Callable[..., Any], kwargs: Any) -> Array:
    out = _constant(array, widths, 0)
    for axis, pair in enumerate(widths):
        out = apply_along_axis(function, axis, out, pair, axis, kwargs)
    return out


def _as(x: Any, value: Any) -> Any:
    """A value in the dtype of an array, of weak type if the array is."""
    aval, value = get_aval(x), cast(value, get_aval(x).dtype)
    return convert_element_type_p.bind(value, new_dtype=aval.dtype, weak_type=True) if aval.weak_type else value


def _joined(parts: list[Any], axis: int) -> Array:
    return concatenate_p.bind(*parts, dimension=axis)


def _repeated(x: Any, axis: int, count: int) -> list[Any]:
    """A slice of length 1, repeated; an empty array for no repetition."""
    shape = get_aval(x).shape
    return [broadcast_to_shape(x, (*shape[:axis], count, *shape[axis + 1 :]))] if count else []


def _edge(x: Any, axis: int, before: int, after: int) -> Array:
    size = x.shape[axis]
    first = _repeated(take_slice(x, 0, 1, axis), axis, before)
    last = _repeated(take_slice(x, size - 1, size, axis), axis, after)
    return _joined([*first, x, *last], axis)


def _reflect(x: Any, axis: int, before: int, after: int, reflect_type: str = "even") -> Array:
    return _mirrored(x, axis, before, after, reflect_type, 1)


def _symmetric(x: Any, axis: int, before: int, after: int, reflect_type: str = "even") -> Array:
    return _mirrored(x, axis, before, after, reflect_type, 0)


def _mirrored(x: Any, axis: int, before: int, after: int, kind: str, skip: int) -> Array:
    """Continue an array by its mirror images, without the `skip` elements at the edge."""
    if not among(kind, ("even", "odd")):
        raise ValueError(f"pad: reflect_type must be 'even' or 'odd', got {kind!r}")
    if x.shape[axis] == 1 and skip:
        return _edge(x, axis, before, after)
    while before or after:
        size = get_aval(x).shape[axis]
        most = size - skip
        low, high = min(before, most), min(after, most)
        parts = [x]
        if low:
            image = rev_p.bind(take_slice(x, skip, skip + low, axis), dimensions=(axis,))
            parts.insert(0, _odd(take_slice(x, 0, 1, axis), image) if kind == "odd" else image)
        if high:
            image = rev_p.bind(take_slice(x, size - skip - high, size - skip, axis), dimensions=(axis,))
            parts.append(_odd(take_slice(x, size - 1, size, axis), image) if kind == "odd" else image)
        x = _joined(parts, axis)
        before, after = before - low, after - high
    return x


def _odd(edge: Any, image: Any) -> Array:
    return subtract(multiply(edge, 2), image)


def _wrap(x: Any, axis: int, before: int, after: int) -> Array:
    size = x.shape[axis]
    copies, rest = divmod(before, size)
    first = [take_slice(x, size - rest, size, axis)] if rest else []
    more, tail = divmod(after, size)
    last = [take_slice(x, 0, tail, axis)] if tail else []
    return _joined([*first, *[x] * (copies + 1 + more), *last], axis)


def _linear_ramp(x: Any, axis: int, before: int, after: int, end_values: Any = 0) -> Array:
    ends = _each_side(end_values, x.ndim)[axis]
    size = x.shape[axis]
    parts = [x]
    if before:
        edge = take_slice(x, 0, 1, axis)
        parts.insert(0, _as(x, _ramp(cast(ends[0], x.dtype), edge, before, axis)))
    if after:
        edge = take_slice(x, size - 1, size, axis)
        ramp = _as(x, _ramp(cast(ends[1], x.dtype), edge, after, axis))
        parts.append(rev_p.bind(ramp, dimensions=(axis,)))
    return _joined(parts, axis)


def _ramp(end: Any, edge: Any, count: int, axis: int) -> tuple[Array, Array] | Array:
    """Evenly spaced numbers from the end value to the edge, an array with length 1 along the axis."""
    aval = get_aval(edge)
    if dtypes.is_integer(aval.dtype):
        # Without fractions, so that nothing is rounded before it is cut off; in a dtype that holds differences.
        wide = dtypes.canonicalize_dtype(np.promote_types(aval.dtype, np.int32))
        steps = reshaped(np.arange(count, dtype=wide), (*[1] * axis, count, *[1] * (aval.ndim - axis - 1)))
        rise = subtract(cast(edge, wide), cast(end, wide))
        return cast(add(cast(end, wide), floor_divide(multiply(rise, steps), count)), aval.dtype)
    along = reshaped(edge, (*aval.shape[:axis], *aval.shape[axis + 1 :]))
    return linspace(end, along, count, endpoint=False, dtype=aval.dtype, axis=axis)


def _statistic(reduce: Callable[..., Any]) -> Callable[..., Any]:
    def extend(x: Any, axis: int, before: int, after: int, stat_length: Any = None) -> Array:
        size = x.shape[axis]
        if stat_length is None:
            lengths = (size, size)
        else:
            lengths = tuple(min(n, size) for n in _pairs("stat_length", stat_length, x.ndim)[axis])
            if min(lengths) < 1:
                raise ValueError(f"pad: stat_length must be positive, got {stat_length}")
        sides = [take_slice(x, 0, lengths[0], axis), take_slice(x, size - lengths[1], size, axis)]
        values = []
        for side in sides:
            value = reduce(side, axis, keepdims=True)
            if dtypes.is_integer(x.dtype) and not dtypes.is_integer(value.dtype):
                value = rint(value)
            values.append(_as(x, value))
        return _joined([*_repeated(values[0], axis, before), x, *_repeated(values[1], axis, after)], axis)

    return extend


_EXTEND: dict[str, Callable[..., Any]] = {
    "edge": _edge,
    "reflect": _reflect,
    "symmetric": _symmetric,
    "wrap": _wrap,
    "maximum": _statistic(max_),
    "minimum": _statistic(min_),
    "mean": _statistic(mean),
    "median": _statistic(lambda x, axis, keepdims: median(x, axis, keepdims=keepdims)),
    "linear_ramp": _linear_ramp,
}

_OPTIONS: dict[str, set[str]] = {
    "constant": {"constant_values"},
    "empty": set(),
    "edge": set(),
    "wrap": set(),
    "reflect": {"reflect_type"},
    "symmetric": {"reflect_type"},
    "maximum": {"stat_length"},
    "minimum": {"stat_length"},
    "mean": {"stat_length"},
    "median": {"stat_length"},
    "linear_ramp": {"end_values"},
}
