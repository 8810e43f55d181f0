"""Polynomials: their roots, fits to points, and division with remainder."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import integer
from primax.extend.provisional.typing import ArrayLike
from primax.numpy.conversion import asarray
from primax.numpy.creation import ones
from primax.numpy.indexing import take_slice
from primax.numpy.linalg.equations import inv, lstsq
from primax.numpy.linalg.factorizations import eigvals
from primax.numpy.linear import matmul, outer
from primax.numpy.polynomials import vander
from primax.numpy.programs import one_program
from primax.numpy.promotion import aval_of, broadcast_to_shape, cast, promote
from primax.numpy.rows import below, concrete, take_rows
from primax.numpy.selection import choose, where
from primax.numpy.shaping import reshaped
from primax.plugins.arithmetic import mul_p, sub_p
from primax.plugins.calls import jit
from primax.plugins.sorting import sort_p
from primax.plugins.structural import concatenate_p, pad_p, slice_p

__all__ = ["poly", "polydiv", "polyfit", "roots"]


@one_program("", named="poly")
def poly(seq_of_zeros: ArrayLike) -> Array:
    """The coefficients of the monic polynomial with given roots, the highest power first.

    Args:
      seq_of_zeros: the roots, an array of rank 1; or a square matrix, whose eigenvalues are the roots.

    Returns:
      An array with one element more than there are roots.

    Raises:
      ValueError: the array is neither of rank 1 nor a square matrix.

    >>> import primax as px
    >>> px.numpy.poly(px.numpy.array([1., 2.]))
    Array([ 1., -3.,  2.], dtype=float32)
    """
    (zeros,) = promote("poly", seq_of_zeros, to=dtypes.to_inexact_dtype)
    shape = get_aval(zeros).shape
    if len(shape) == 2 and shape[0] == shape[1] and shape[0]:
        zeros = eigvals(zeros)
    elif len(shape) > 1:
        raise ValueError(f"poly: seq_of_zeros must be of rank 1 or a square matrix with elements, got shape {shape}")
    zeros = asarray(reshaped(zeros, (1,)) if not shape else zeros)
    if not zeros.shape[0]:
        return ones((), zeros.dtype)
    out = ones((1,), zeros.dtype)
    nothing = zeros.dtype.type(0)
    for i in range(zeros.shape[0]):
        # Multiply by x, and subtract the root times the coefficients.
        times_root = mul_p.bind(out, broadcast_to_shape(zeros[i], (i + 1,)))
        out = sub_p.bind(
            pad_p.bind(out, nothing, padding_config=((0, 1, 0),)),
            pad_p.bind(times_root, nothing, padding_config=((1, 0, 0),)),
        )
    return out


def roots(p: ArrayLike, *, strip_zeros: bool = True) -> Array:
    """The roots of a polynomial.

    Args:
      p: the coefficients, the highest power first.
      strip_zeros: whether to remove leading zeros; `p` must then not be traced. If False, each leading zero gives a
        root NaN at the end.

    Returns:
      An array of complex numbers, one for each coefficient after the first; stripped zeros do not count.

    Raises:
      ValueError: `p` is not of rank 1.
      ConcretizationTypeError: `p` is traced and `strip_zeros` is true.

    >>> import primax as px
    >>> abs(px.numpy.roots(px.numpy.array([1., 0., 1.])))
    Array([1., 1.], dtype=float32)
    """
    (p,) = promote("roots", p, to=dtypes.to_inexact_dtype)
    p = asarray(p)
    if p.ndim != 1:
        raise ValueError(f"roots: p must be of rank 1, got {get_aval(p).str_short()}")
    kind = dtypes.to_complex_dtype(p.dtype)
    size = p.shape[0]
    if size < 2:
        return asarray(np.zeros(0, kind))
    if not strip_zeros:
        return _roots_behind_zeros(p, kind)
    known = np.flatnonzero(concrete("roots", "p", p, "strip_zeros=False"))
    if not known.size:
        return asarray(np.zeros(0, kind))
    at_zero = asarray(np.zeros(size - 1 - known[-1], kind))
    nonzero_roots = _companion_roots(take_slice(p, int(known[0]), int(known[-1]) + 1, 0), kind)
    return concatenate_p.bind(nonzero_roots, at_zero, dimension=0)


def _roots_behind_zeros(p: Any, kind: Any) -> Array:
    size = p.shape[0]
    something = p != 0
    leading = something.argmax().astype(np.int32) if size else np.int32(0)
    leading = where(something.any(), leading, np.int32(size))
    turned = take_rows(p, (np.arange(size, dtype=np.int32) + leading) % np.int32(size))
    values = _companion_roots(where(leading == size, np.asarray(1, p.dtype)[()], turned), kind)
    _, values = sort_p.bind(values == 0, values, dimension=0, is_stable=True, num_keys=1)
    return choose(below(np.int32(size - 1) - leading, size - 1), values, kind.type(complex(np.nan, np.nan)))


def _companion_roots(p: Any, kind: Any) -> Array:
    """The eigenvalues of the companion matrix of a polynomial."""
    size = get_aval(p).shape[0]
    if size < 2:
        return asarray(np.zeros(0, kind))
    first = reshaped(-(p[1:] / p[0]), (1, size - 1))
    rest = np.eye(size - 2, size - 1, dtype=p.dtype)
    return cast(eigvals(concatenate_p.bind(first, rest, dimension=0)), kind)


def polydiv(u: ArrayLike, v: ArrayLike, *, trim_leading_zeros: bool = False) -> tuple[Any, Any]:
    """The quotient and the remainder of two polynomials.

    Args:
      u: the coefficients of the dividend, the highest power first.
      v: the coefficients of the divisor; the first one is not 0.
      trim_leading_zeros: whether to remove leading zeros of the remainder; the arguments must then not be traced.

    Returns:
      The coefficients of the quotient and of the remainder; untrimmed, the remainder has the length of `u`.

    Raises:
      ValueError: an array is not of rank 1, or is empty.

    >>> import primax as px
    >>> px.numpy.polydiv(px.numpy.array([1., 2., 3.]), px.numpy.array([1., 1.]))
    (Array([1., 1.], dtype=float32), Array([0., 0., 2.], dtype=float32))
    """
    u, v = promote("polydiv", u, v, to=dtypes.to_inexact_dtype)
    u, v = [x if x.ndim else reshaped(x, (1,)) for x in map(asarray, (u, v))]
    if u.ndim != 1 or v.ndim != 1 or not u.size or not v.size:
        raise ValueError(f"polydiv: u and v must be of rank 1 with elements, got shapes {u.shape} and {v.shape}")
    size, length = u.shape[0], v.shape[0]
    dtype = u.dtype
    zero = dtype.type(0)
    parts = []
    for k in range(size - length + 1):
        factor = slice_p.bind(u, start_indices=(k,), limit_indices=(k + 1,), strides=None) / v[0]
        parts.append(factor)
        term = mul_p.bind(broadcast_to_shape(factor, (length,)), v)
        u = sub_p.bind(u, pad_p.bind(term, zero, padding_config=((k, size - length - k, 0),)))
        # The leading coefficient becomes exactly 0, whatever the rounding error.
        u = pad_p.bind(take_slice(u, k + 1, size, 0), zero, padding_config=((k + 1, 0, 0),))
    quotient = concatenate_p.bind(*parts, dimension=0) if parts else asarray(np.zeros(1, dtype))
    if trim_leading_zeros:
        known = np.flatnonzero(concrete("polydiv", "u", u, "trim_leading_zeros=False"))
        u = take_slice(u, int(known[0]) if known.size else size - 1, size, 0)
    return quotient, u


def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: ArrayLike | None = None,
    cov: bool | str = False,
) -> tuple[Any, ...] | tuple[Any, Any] | Array:
    """Fit a polynomial to points by least squares.

    Args:
      x: the positions of the points, an array of rank 1.
      y: the values at the points, an array of rank 1; or of rank 2, with one column per polynomial.
      deg: the degree.
      rcond: singular values below `rcond` times the largest one are treated as zero.
      full: whether to return the diagnostics of `lstsq` too.
      w: weights of the points, which multiply the residuals.
      cov: whether to return the covariances of the coefficients too, scaled by the residuals; "unscaled" for weights
        that are 1 / standard deviation.

    Returns:
      The coefficients, the highest power first. If `full`, also the sums of squared residuals, the rank, the singular
      values and `rcond`; if `cov`, also the covariances.

    Raises:
      TypeError: a shape does not fit.
      ValueError: `deg` is negative, or there are too few points to scale the covariances.

    >>> import primax as px
    >>> px.numpy.polyfit(px.numpy.array([0., 1., 2.]), px.numpy.array([1., 3., 5.]), 1).round(3)
    Array([2., 1.], dtype=float32)
    """
    deg = integer("polyfit", "deg", deg)
    if deg < 0:
        raise ValueError(f"polyfit: deg must not be negative, got {deg}")
    shapes = [aval_of("polyfit", v, name).shape for v, name in ((x, "x"), (y, "y"))]
    count = shapes[0][0] if len(shapes[0]) == 1 else 0
    if not count:
        raise TypeError(f"polyfit: x must be of rank 1 with elements, got {get_aval(x).str_short()}")
    if len(shapes[1]) not in (1, 2) or shapes[1][0] != count:
        raise TypeError(f"polyfit: y must be of shape ({count},) or ({count}, k), got {shapes[1]}")
    if w is not None and aval_of("polyfit", w, "w").shape != (count,):
        raise TypeError(f"polyfit: w must be of shape ({count},), got {get_aval(w).shape}")
    if cov and cov != "unscaled" and count <= deg + 1:
        raise ValueError(f"polyfit: there must be more than {deg + 1} points to scale covariances, got {count}")
    coefficients, rest, base, scaled = _compiled_fit(x, y, rcond, w, deg, bool(cov))
    if full:
        return coefficients, *rest
    if not cov:
        return coefficients
    return coefficients, base if cov == "unscaled" else scaled


def _fit(x: Any, y: Any, rcond: Any, w: Any, deg: int, cov: bool) -> tuple[Any, Any, Any, Any]:
    """The coefficients, the diagnostics, and the covariances without and with scaling."""
    x, y = map(asarray, promote("polyfit", x, y, to=dtypes.to_inexact_dtype))
    count = x.shape[0]
    powers = vander(x, deg + 1)
    if w is not None:
        (w,) = promote("polyfit", w, to=dtypes.to_inexact_dtype)
        column = reshaped(w, (count, 1))
        powers, y = powers * column, y * (w if y.ndim == 1 else column)
    if rcond is None:
        rcond = count * float(dtypes.finfo(x.dtype).eps)
    scale = (powers * powers).sum(0) ** 0.5
    powers = powers / scale[None]
    coefficients, residuals, rank, s = lstsq(powers, y, rcond)
    coefficients = coefficients / (scale if y.ndim == 1 else reshaped(scale, (deg + 1, 1)))
    rest = residuals, rank, s, asarray(rcond)
    if not cov:
        return coefficients, rest, None, None
    base = inv(matmul(powers.T, powers)) / outer(scale, scale)
    base = base if y.ndim == 1 else reshaped(base, (*base.shape, 1))
    # With too few points the factor is meaningless; the caller then raises an error.
    factor = residuals / max(count - (deg + 1), 1)
    return coefficients, rest, base, base * reshaped(factor, (1,) * (base.ndim - 1) + factor.shape)


# One call in programs, and one program outside of them.
_compiled_fit = jit(_fit, static_argnums=(4, 5))
