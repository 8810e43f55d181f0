"""Polynomials as arrays of coefficients, the highest power first."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import canonical_axis, integer, naming
from primax.extend.provisional.typing import ArrayLike
from primax.numpy.conversion import asarray
from primax.numpy.division import floor_divide, power, remainder
from primax.numpy.indexing import take_slice
from primax.numpy.joining import concatenate
from primax.numpy.programs import one_program
from primax.numpy.promotion import aval_of, broadcast_to_shape, joint_shape, promote, strong
from primax.numpy.ranges import counted
from primax.numpy.rows import concrete
from primax.numpy.scans import cumsum, diff
from primax.numpy.selection import where
from primax.numpy.shaping import reshaped
from primax.numpy.ufuncs import absolute, add, divide, multiply, negative, require_real, subtract, to_inexact
from primax.plugins import arithmetic
from primax.plugins.structural import pad_p, reduce_sum_p, rev_p

__all__ = ["polyadd", "polyder", "polyint", "polymul", "polysub", "polyval", "unwrap", "vander"]


def _coefficients(function: str, *arrays: Any) -> list[Any]:
    out = []
    for x in promote(function, *arrays):
        shape = get_aval(x).shape
        if len(shape) > 1:
            raise ValueError(f"{function}: coefficients must be of rank 1, got shape {shape}")
        out.append(x if shape else reshaped(x, (1,)))
    return out


@one_program("unroll")
def polyval(p: ArrayLike, x: ArrayLike, *, unroll: int = 16) -> Array:
    """The values of a polynomial, by Horner's rule.

    Args:
      p: the coefficients, an array of rank 1; a higher rank gives several polynomials along the other axes.
      x: the positions, an array or a number.
      unroll: ignored: the program has an equation for each coefficient.

    >>> import primax as px
    >>> px.numpy.polyval(px.numpy.array([1, 2, 3]), 2)
    Array(11, dtype=int32)
    """
    p, x = promote("polyval", p, x)
    if not get_aval(p).shape:
        raise ValueError("polyval: p must be of rank 1 or more, got a number")
    parts = list(asarray(p))
    out = strong(multiply(x, get_aval(x).dtype.type(0)))  # as NumPy begins, so infinities give NaN
    for i, coefficient in enumerate(parts):
        out = add(multiply(out, x), coefficient) if i else add(out, coefficient)
    return out


def _aligned(function: str, a1: Any, a2: Any) -> list[Any]:
    """Pad polynomials, along the first axis, to the same number of coefficients; the shorter one gets leading zeros."""
    a1, a2 = (x if get_aval(x).shape else reshaped(x, (1,)) for x in promote(function, a1, a2))
    shapes = [get_aval(x).shape for x in (a1, a2)]
    size = max(shape[0] for shape in shapes)
    if len(shapes[0]) == len(shapes[1]) == 1:
        return [_grown(x, size - shape[0], 0) for x, shape in zip((a1, a2), shapes, strict=True)]
    aligned = []
    for x, shape, other in zip((a1, a2), shapes, shapes[::-1], strict=True):
        if shape[0] < size:
            end = (shape[0], *other[1:])
            if joint_shape([shape, end]) != end:
                raise ValueError(
                    f"{function}: the shorter coefficients must broadcast to the last {shape[0]} of the longer, "
                    f"got shapes {shapes[0]} and {shapes[1]}"
                )
            x = _grown(broadcast_to_shape(x, end), size - shape[0], 0)
        aligned.append(x)
    return aligned


def _grown(x: Any, before: int, after: int) -> Array:
    if not before and not after:
        return x
    rest = ((0, 0, 0),) * (len(get_aval(x).shape) - 1)
    return pad_p.bind(x, get_aval(x).dtype.type(0), padding_config=((before, after, 0), *rest))


@one_program("")
def polyadd(a1: ArrayLike, a2: ArrayLike) -> Array:
    """The sum of two polynomials.

    Args:
      a1, a2: the coefficients, arrays of rank 1; for higher ranks, coefficients along the first axis. The shorter array
        broadcasts to the last rows of the longer one.

    Raises:
      ValueError: the shorter array does not broadcast.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.polyadd(pnp.array([1, 2, 3]), pnp.array([10]))
      Array([ 1,  2, 13], dtype=int32)
    """
    return add(*_aligned("polyadd", a1, a2))


@one_program("")
def polysub(a1: ArrayLike, a2: ArrayLike) -> Array:
    """The difference of two polynomials. The arguments are those of `polyadd`.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.polysub(pnp.array([1, 2]), pnp.array([1, 0]))  # leading zeros stay
      Array([0, 2], dtype=int32)
    """
    return subtract(*_aligned("polysub", a1, a2))


def _leading_zeros(function: str, p: Any) -> int:
    """The number of leading zeros, without the last coefficient."""
    values = concrete(function, "coefficients", p, "trim_leading_zeros=False")
    others = np.flatnonzero(values)
    return int(others[0]) if others.size else max(values.size - 1, 0)


@one_program("trim_leading_zeros")
def polymul(a1: ArrayLike, a2: ArrayLike, *, trim_leading_zeros: bool = False) -> Array:
    """The product of two polynomials.

    Args:
      a1, a2: the coefficients, arrays of rank 1.
      trim_leading_zeros: whether to remove leading zeros of both factors first, as NumPy does. The arguments must then
        not be traced, since the shape depends on their values.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.polymul(pnp.array([1, 1]), pnp.array([1, -1]))
      Array([ 1.,  0., -1.], dtype=float32)
    """
    a1, a2 = promote("polymul", *_coefficients("polymul", a1, a2), to=to_inexact)
    if trim_leading_zeros:
        a1, a2 = (take_slice(x, _leading_zeros("polymul", x), get_aval(x).shape[0], 0) for x in (a1, a2))
    a1, a2 = (x if get_aval(x).size else np.zeros(1, get_aval(x).dtype) for x in (a1, a2))  # no coefficients mean 0
    m, n = get_aval(a1).shape[0], get_aval(a2).shape[0]
    table = multiply(reshaped(a1, (m, 1)), reshaped(a2, (1, n)))
    # Rows with m zeros appended, read as rows shorter by one element, are shifted by one each.
    table = pad_p.bind(table, get_aval(table).dtype.type(0), padding_config=((0, 0, 0), (0, m, 0)))
    flat = take_slice(reshaped(table, (m * (m + n),)), 0, m * (m + n - 1), 0)
    return reduce_sum_p.bind(reshaped(flat, (m, m + n - 1)), axes=(0,))


@one_program("m")
def polyder(p: ArrayLike, m: int = 1) -> Array:
    """The derivative of a polynomial.

    Args:
      p: the coefficients, an array of rank 1.
      m: the order of the derivative.

    Raises:
      ValueError: `m` is negative.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.polyder(pnp.array([1, 2, 3])), pnp.polyder(pnp.array([1, 2, 3]), m=2)
      (Array([2., 2.], dtype=float32), Array([2.], dtype=float32))
    """
    m = integer("polyder", "m", m)
    if m < 0:
        raise ValueError(f"polyder: m must not be negative, got {m}")
    number = not aval_of("polyder", p, "p").shape
    (p,) = promote("polyder", *_coefficients("polyder", p), to=to_inexact)
    if m == 0:
        return reshaped(p, ()) if number else asarray(p)
    count = get_aval(p).shape[0]
    factors = [math.perm(power_, m) for power_ in range(count - 1, m - 1, -1)]
    kept = take_slice(p, 0, max(count - m, 0), 0)
    return arithmetic.mul_p.bind(kept, np.asarray(factors, get_aval(p).dtype))


@one_program("m")
def polyint(p: ArrayLike, m: int = 1, k: ArrayLike | None = None) -> Array:
    """The integral of a polynomial.

    Args:
      p: the coefficients, an array of rank 1.
      m: the number of integrations.
      k: the constants of integration, one for each integration; zeros if None.

    Raises:
      ValueError: `m` is negative, or `k` does not have m elements.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.polyint(pnp.array([6, 2])), pnp.polyint(pnp.array([6, 2]), k=7)
      (Array([3., 2., 0.], dtype=float32), Array([3., 2., 7.], dtype=float32))
    """
    m = integer("polyint", "m", m)
    if m < 0:
        raise ValueError(f"polyint: m must not be negative, got {m}")
    number = not aval_of("polyint", p, "p").shape
    p, k = promote("polyint", *_coefficients("polyint", p, 0 if k is None else k), to=to_inexact)
    if m == 0 and number:
        return reshaped(p, ())
    if get_aval(k).shape[0] not in (1, m):
        raise ValueError(f"polyint: k must have {m} elements, got {get_aval(k).shape[0]}")
    with naming("polyint"):
        constants = list(asarray(k)) * (m if get_aval(k).shape[0] == 1 else 1)
    dtype = get_aval(p).dtype
    for constant_ in constants[:m]:
        count = get_aval(p).shape[0]
        divided = arithmetic.div_p.bind(p, np.arange(count, 0, -1).astype(dtype))
        p = concatenate([divided, reshaped(constant_, (1,))])
    return asarray(p)


@one_program("N increasing")
def vander(x: ArrayLike, N: int | None = None, increasing: bool = False) -> Array:
    """The Vandermonde matrix: the powers of each element of a vector, one row per element.

    Args:
      x: an array of rank 1.
      N: the number of powers; the number of elements if None.
      increasing: whether powers ascend along a row.

    Raises:
      ValueError: `x` is not of rank 1, or `N` is negative.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.vander(pnp.array([2, 3]), 3), pnp.vander(pnp.array([2, 3]), 3, increasing=True)
      (Array([[4, 2, 1],
             [9, 3, 1]], dtype=int32), Array([[1, 2, 4],
             [1, 3, 9]], dtype=int32))
    """
    aval = aval_of("vander", x)
    if len(aval.shape) != 1:
        raise ValueError(f"vander: x must be of rank 1, got {aval.str_short()}")
    count = aval.shape[0] if N is None else integer("vander", "N", N)
    if count < 0:
        raise ValueError(f"vander: N must not be negative, got {count}")
    if not dtypes.is_numeric(aval.dtype):
        x = multiply(x, 1)  # converts booleans, which have no cumulative product
        aval = get_aval(x)
    powers = counted(count, 0, 1, aval.dtype)
    if not increasing:
        powers = rev_p.bind(powers, dimensions=(0,))
    return power(reshaped(x, (aval.shape[0], 1)), reshaped(powers, (1, count)))


def _fit_to(function: str, shape: tuple[int, ...], **arguments: Any) -> None:
    for name, value in arguments.items():
        of = aval_of(function, value, name).shape
        fits = len(of) <= len(shape) and all(
            size in (1, whole) for size, whole in zip(of, shape[len(shape) - len(of) :], strict=True)
        )
        if not fits:
            raise ValueError(
                f"{function}: {name} must broadcast to the differences of neighbours, of shape {shape}, got shape {of}"
            )


@one_program("discont axis period", named="unwrap")
def unwrap(p: ArrayLike, discont: ArrayLike | None = None, axis: int = -1, period: ArrayLike = 2 * math.pi) -> Array:
    """Shift angles by multiples of the period, to remove jumps.

    Args:
      p: an array of rank 1 or more.
      discont: the smallest difference of neighbors that is a jump; half a period if None.
      axis: the axis.
      period: the period.

    Raises:
      TypeError: `p` is complex.
      ValueError: `axis` is out of range, or `discont` or `period` does not broadcast to the differences.

    Integers stay integers if `discont` and `period` are integers.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.unwrap(pnp.array([0, 350, 10]), period=360)
      Array([  0, -10,  10], dtype=int32)
    """
    p, period = promote("unwrap", p, period)
    require_real("unwrap", p)
    shape, dtype = get_aval(p).shape, get_aval(p).dtype
    axis = canonical_axis(axis, len(shape), "unwrap")
    steps = diff(p, axis=axis)
    _fit_to("unwrap", get_aval(steps).shape, period=period, discont=0 if discont is None else discont)
    half = floor_divide(period, 2) if dtypes.is_integer(dtype) else divide(period, 2)
    wrapped = subtract(remainder(add(steps, half), period), half)
    edge = where((wrapped == negative(half)) & (steps > 0), half, wrapped)
    correction = subtract(edge, steps)
    correction = where(absolute(steps) < (divide(period, 2) if discont is None else discont), 0, correction)
    config = tuple([(int(i == axis), 0, 0) for i in range(len(shape))])
    turns = pad_p.bind(cumsum(correction, axis), get_aval(correction).dtype.type(0), padding_config=config)
    return add(p, turns)
