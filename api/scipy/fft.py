"""Cosine transforms along axes of arrays, under the names of scipy.fft."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import among, canonical_axes, canonical_axis, listed, read_size
from primax.extend.provisional.typing import ArrayLike, Axes, ShapeLike
from primax.numpy.conversion import asarray
from primax.numpy.joining import concatenate
from primax.numpy.promotion import aval_of, promote
from primax.numpy.rearranging import flip
from primax.numpy.shaping import moveaxis
from primax.numpy.ufuncs import multiply
from primax.plugins.arithmetic import add_p, complex_p, imag_p, mul_p, real_p
from primax.plugins.calls import jit
from primax.plugins.fft import FftType, fft_p
from primax.plugins.structural import broadcast_in_dim_p, iota_p, pad_p, slice_p, zero_of
from primax.plugins.trigonometry import cos_p, sin_p

__all__ = ["dct", "dctn", "idct", "idctn"]
__dir__ = __all__.copy

# The exponent e: the transform of type 2 of n points is divided by (2 n)**e, the transform of type 3 multiplied by it.
_POWERS = {None: 0.0, "backward": 0.0, "ortho": 0.5, "forward": 1.0}


def dct(x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The discrete cosine transform along an axis.

    Args:
      x: an array of numbers; complex ones are transformed part by part.
      type: 2 or 3; these are inverse to each other up to a factor.
      n: the length along the axis; `x` is cut, or padded with zeros.
      axis: the axis.
      norm: the divisor, for n points: "backward" divides inverses by 2 n; "ortho" divides all transforms by sqrt(2 n),
        and scales the first coefficient so that they are orthogonal; "forward" divides transforms, except inverses, by
        2 n.

    Raises:
      NotImplementedError: `type` is neither 2 nor 3.
      ValueError: `axis` is out of range, `n` is below 1, or `norm` is unknown.

    >>> import primax as px
    >>> px.scipy.fft.dct(px.numpy.array([1., 1.]))
    Array([4., 0.], dtype=float32)
    """
    return _along_one("dct", x, type, n, axis, norm, False)


def idct(x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The inverse of `dct`, with its arguments.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.scipy.fft.idct(px.scipy.fft.dct(pnp.array([1.0, 2.0, 4.0]))).round()
      Array([1., 2., 4.], dtype=float32)
    """
    return _along_one("idct", x, type, n, axis, norm, True)


def dctn(
    x: ArrayLike, type: int = 2, s: ShapeLike | None = None, axes: Axes | None = None, norm: str | None = None
) -> Array:
    """The discrete cosine transform along several axes.

    Args:
      x: an array of numbers; complex ones are transformed part by part.
      type: 2 or 3; see `dct`.
      s: one length or a sequence of lengths along the axes; `x` is cut, or padded with zeros.
      axes: an axis or a sequence of axes; if None, the last axes, one for each length, or all axes if there are no
        lengths.
      norm: see `dct`.

    Raises:
      NotImplementedError: `type` is neither 2 nor 3.
      ValueError: an axis is out of range or repeated, the numbers of lengths and of axes differ, a length is below 1,
        or `norm` is unknown.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.scipy.fft.dctn(pnp.ones((2, 2))).round(), px.scipy.fft.dctn(pnp.ones((2, 2)), axes=1).round()
      (Array([[16.,  0.],
             [ 0.,  0.]], dtype=float32), Array([[4., 0.],
             [4., 0.]], dtype=float32))
    """
    return _along_many("dctn", x, type, s, axes, norm, False)


def idctn(
    x: ArrayLike, type: int = 2, s: ShapeLike | None = None, axes: Axes | None = None, norm: str | None = None
) -> Array:
    """The inverse of `dctn`, with its arguments.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.scipy.fft.idctn(pnp.array([[16.0, 0.0], [0.0, 0.0]])).round()
      Array([[1., 1.],
             [1., 1.]], dtype=float32)
    """
    return _along_many("idctn", x, type, s, axes, norm, True)


def _along_one(function: str, x: Any, kind: int, n: Any, axis: Any, norm: Any, inverse: bool) -> Array:
    aval = aval_of(function, x, "x")
    axis = canonical_axis(axis, len(aval.shape), function)
    return _transformed(
        function, x, kind, [aval.shape[axis] if n is None else read_size(function, "n", n)], [axis], norm, inverse
    )


def _along_many(function: str, x: Any, kind: int, s: Any, axes: Any, norm: Any, inverse: bool) -> Array:
    shape = aval_of(function, x, "x").shape
    sizes = None if s is None else tuple([read_size(function, "s", n) for n in listed(s)])
    if axes is None:
        axes = range(0 if sizes is None else len(shape) - len(sizes), len(shape))
    axes = canonical_axes(listed(axes), len(shape), function)
    if sizes is None:
        sizes = tuple([shape[axis] for axis in axes])
    if len(sizes) != len(axes):
        raise ValueError(f"{function}: s and axes must be of the same length, got {sizes} and {axes}")
    return _transformed(function, x, kind, sizes, axes, norm, inverse)


def _transformed(
    function: str, x: Any, kind: int, sizes: Sequence[int], axes: Sequence[int], norm: Any, inverse: bool
) -> Array:
    if not among(kind, (2, 3)):
        raise NotImplementedError(f"{function}: type must be 2 or 3, got {kind!r}")
    if not among(norm, _POWERS):
        raise ValueError(f'{function}: norm must be "backward", "ortho" or "forward", got {norm!r}')
    for axis, size in zip(axes, sizes, strict=True):
        if size < 1:
            raise ValueError(f"{function}: the number of points must be positive, got {size} along axis {axis}")
    original, (x,) = x, map(asarray, promote(function, x, to=_dtype))
    if not axes:
        return asarray(original)  # of its own dtype, as in SciPy
    power = 1 - _POWERS[norm] if kind == 3 else _POWERS[norm]
    for axis, size in zip(axes, sizes, strict=True):
        x = _compiled(x, size, axis, (kind == 2) is inverse, power)
    return x


def _dtype(dtype: Any) -> np.dtype[Any]:
    """The dtype of the computation, for which XLA has Fourier transforms."""
    wide = dtypes.to_complex_dtype(dtype)
    return wide if dtypes.is_complex(dtype) else dtypes.to_floating_dtype(wide)


def _cosine_transform(x: Any, n: int, axis: int, from_cosines: bool, power: float) -> Array:
    """The transform of type 2, or its inverse if `from_cosines`.

    J. Makhoul, A fast cosine transform in one and two dimensions, IEEE Trans. ASSP 28 (1980): the cosine transform
    follows from the Fourier transform of the elements at even positions, followed by those at odd positions in reverse.
    """
    if dtypes.is_complex(get_aval(x).dtype):
        parts = real_p.bind(x), imag_p.bind(x)
        return complex_p.bind(*[_cosine_transform(part, n, axis, from_cosines, power) for part in parts])
    x = _resized(moveaxis(x, axis, -1), n)
    scale = (2.0 * n) ** (power if from_cosines else -power)
    transform = _from_cosines if from_cosines else _to_cosines
    return moveaxis(transform(x, n, scale, power == 0.5), -1, axis)


_compiled = jit(_cosine_transform, static_argnums=(1, 2, 3, 4))


def _resized(x: Any, n: int) -> Array:
    *outer, size = get_aval(x).shape
    if size > n:
        return _part(x, 0, n)
    config = (*[(0, 0, 0)] * len(outer), (0, n - size, 0))
    return pad_p.bind(x, zero_of(get_aval(x).dtype), padding_config=config) if size < n else x


def _part(x: Any, start: int, stop: int, step: int = 1) -> Array:
    """A slice along the last axis."""
    *outer, _ = get_aval(x).shape
    rank = len(outer)
    return slice_p.bind(
        x, start_indices=(*[0] * rank, start), limit_indices=(*outer, stop), strides=(*[1] * rank, step)
    )


def _to_cosines(x: Any, n: int, scale: float, orthogonal: bool) -> Array:
    shape, half = get_aval(x).shape, n // 2 + 1
    order = x if n == 1 else concatenate([_part(x, 0, n, 2), flip(_part(x, 1, n, 2), -1)], -1)
    points = fft_p.bind(order, fft_type=FftType.RFFT, fft_lengths=(n,))
    cosine, sine = _turns(get_aval(x).dtype, (*shape[:-1], half), n)
    re, im = real_p.bind(points), imag_p.bind(points)
    first = add_p.bind(mul_p.bind(re, cosine), mul_p.bind(im, sine))
    # The other half is the imaginary part of the same product, backwards.
    rest = add_p.bind(mul_p.bind(re, sine), mul_p.bind(im, -cosine))
    out = concatenate([first, flip(_part(rest, 1, n - half + 1), -1)], -1) if n > 1 else first
    return multiply(_weighted(out, math.sqrt(0.5)) if orthogonal else out, 2 * scale)


def _from_cosines(y: Any, n: int, scale: float, orthogonal: bool) -> Array:
    shape, half = get_aval(y).shape, n // 2 + 1
    if orthogonal:
        y = _weighted(y, math.sqrt(2))
    dtype = get_aval(y).dtype
    cosine, sine = _turns(dtype, (*shape[:-1], half), n)
    first = _part(y, 0, half)
    outer = [(0, 0, 0)] * (len(shape) - 1)
    # y[n - k] for k = 0, 1, ..., where y[n] is 0.
    last = pad_p.bind(flip(_part(y, n - half + 1, n), -1), zero_of(dtype), padding_config=(*outer, (1, 0, 0)))
    points = complex_p.bind(
        add_p.bind(mul_p.bind(first, cosine), mul_p.bind(last, sine)),
        add_p.bind(mul_p.bind(first, sine), mul_p.bind(last, -cosine)),
    )
    order = fft_p.bind(points, fft_type=FftType.IRFFT, fft_lengths=(n,))
    evens, odds = _part(order, 0, (n + 1) // 2), flip(_part(order, (n + 1) // 2, n), -1)
    out = pad_p.bind(evens, zero_of(dtype), padding_config=(*outer, (0, 1 - n % 2, 1)))
    if n > 1:
        out = add_p.bind(out, pad_p.bind(odds, zero_of(dtype), padding_config=(*outer, (1, n % 2, 1))))
    return multiply(out, scale / 2)


def _turns(dtype: Any, shape: tuple[int, ...], n: int) -> tuple[Any, Any]:
    """cos(pi k / 2n) and sin(pi k / 2n), for k along the last axis."""
    steps = iota_p.bind(dtype=dtype, shape=shape, dimension=len(shape) - 1)
    angles = mul_p.bind(steps, dtype.type(math.pi / (2 * n)))
    return cos_p.bind(angles), sin_p.bind(angles)


def _weighted(x: Any, weight: float) -> Array:
    """Multiply the first element along the last axis."""
    aval = get_aval(x)
    *outer, size = aval.shape
    ones = broadcast_in_dim_p.bind(aval.dtype.type(1), shape=(*outer, size - 1), broadcast_dimensions=())
    config = (*[(0, 0, 0)] * len(outer), (1, 0, 0))
    return mul_p.bind(x, pad_p.bind(ones, aval.dtype.type(weight), padding_config=config))
