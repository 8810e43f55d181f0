"""Convolutions and correlations of signals of any rank, directly or by Fourier transforms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import among, canonical_axes, listed
from primax.extend.provisional.precision import PrecisionLike, canonicalize_precision
from primax.extend.provisional.typing import ArrayLike, Axes
from primax.numpy.conversion import asarray
from primax.numpy.creation import zeros
from primax.numpy.fft import fftn, ifftn, irfftn, rfftn
from primax.numpy.padding import pad
from primax.numpy.promotion import aval_of, cast, promote
from primax.numpy.ufuncs import conjugate, multiply
from primax.plugins.convolution.sliding import MODES, mode_padding, slide
from primax.plugins.structural import rev_p, slice_p

__all__ = ["convolve", "convolve2d", "correlate", "correlate2d", "fftconvolve"]

# A transform of N elements has N log N steps, and three transforms are needed; a step takes twice as long as a product
# of the direct convolution, which is also more precise.
_PRODUCTS_PER_STEP = 8

_BOUNDARIES = {"fill": "constant", "wrap": "wrap", "circular": "wrap", "symm": "symmetric", "symmetric": "symmetric"}


def convolve(
    in1: ArrayLike, in2: ArrayLike, mode: str = "full", method: str = "auto", precision: PrecisionLike = None
) -> Array:
    """The convolution of two arrays of the same rank.

    Args:
      in1: an array, not empty.
      in2: an array of the same rank, not empty.
      mode: 'full' for all positions where the arrays overlap; 'same' for the middle positions, of the shape of `in1`;
        'valid' for positions where one array lies within the other.
      method: 'direct' for sums of products, 'fft' for Fourier transforms, 'auto' for transforms if they save much.
      precision: the precision of sums of products; see `lax.conv_general_dilated`.

    Returns:
      An array of a floating or complex dtype.

    Raises:
      ValueError: the ranks differ, an array is empty, neither array lies within the other in mode 'valid', or `mode` or
        `method` is unknown.

    >>> import primax as px
    >>> px.scipy.signal.convolve(px.numpy.array([1.0, 2.0, 3.0]), px.numpy.array([0.0, 1.0]), "same")
    Array([0., 1., 2.], dtype=float32)
    """
    in1, in2 = _signals("convolve", in1, in2, mode)
    return _convolved("convolve", in1, in2, mode, method, precision)


def correlate(
    in1: ArrayLike, in2: ArrayLike, mode: str = "full", method: str = "auto", precision: PrecisionLike = None
) -> Array:
    """The correlation of two arrays of the same rank: the convolution with the reversed conjugate of `in2`.

    Args:
      in1: an array, not empty.
      in2: an array of the same rank, not empty.
      mode: see `convolve`.
      method: see `convolve`.
      precision: see `convolve`.

    Returns:
      An array of a floating or complex dtype.

    Raises:
      ValueError: as for `convolve`.

    >>> import primax as px
    >>> px.scipy.signal.correlate(px.numpy.array([1.0, 2.0, 3.0]), px.numpy.array([0.0, 1.0]), "valid")
    Array([2., 3.], dtype=float32)
    """
    in1, in2 = _signals("correlate", in1, in2, mode)
    return _convolved("correlate", in1, _reversed(conjugate(in2)), mode, method, precision)


def convolve2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: ArrayLike = 0,
    precision: PrecisionLike = None,
) -> Array:
    """The convolution of two arrays of rank 2.

    Args:
      in1: an array, not empty.
      in2: an array of rank 2, not empty.
      mode: see `convolve`.
      boundary: the values around `in1`: 'fill' for `fillvalue`, 'wrap' for a periodic array, 'symm' for mirror images.
      fillvalue: a number.
      precision: see `convolve`.

    Raises:
      ValueError: an array is not of rank 2, `boundary` is unknown, or as for `convolve`.

    >>> import primax as px
    >>> image = px.numpy.array([[1.0, 2.0], [3.0, 4.0]])
    >>> px.scipy.signal.convolve2d(image, px.numpy.ones((1, 2)), "same", "wrap")
    Array([[3., 3.],
           [7., 7.]], dtype=float32)
    """
    in1, in2 = _images("convolve2d", in1, in2, mode)
    return _bounded("convolve2d", in1, in2, mode, boundary, fillvalue, precision)


def correlate2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: ArrayLike = 0,
    precision: PrecisionLike = None,
) -> Array:
    """The correlation of two arrays of rank 2; see `convolve2d`.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.scipy.signal.correlate2d(pnp.array([[1.0, 2.0], [3.0, 4.0]]), pnp.array([[1.0, 10.0]]), mode="valid")
      Array([[21.],
             [43.]], dtype=float32)
    """
    in1, in2 = _images("correlate2d", in1, in2, mode)
    return _bounded("correlate2d", in1, _reversed(conjugate(in2)), mode, boundary, fillvalue, precision)


def fftconvolve(in1: ArrayLike, in2: ArrayLike, mode: str = "full", axes: Axes | None = None) -> Array:
    """The convolution of two arrays of the same rank by Fourier transforms.

    Args:
      in1: an array, not empty.
      in2: an array of the same rank, not empty.
      mode: see `convolve`.
      axes: the axes of the convolution; the other axes broadcast. All if None.

    Returns:
      An array of a floating or complex dtype.

    Raises:
      ValueError: an array is empty, the ranks differ, an axis is repeated or out of range, the other axes do not
        broadcast, neither array lies within the other in mode 'valid', or `mode` is unknown.

    >>> import primax as px
    >>> px.numpy.round(px.scipy.signal.fftconvolve(px.numpy.array([1.0, 2.0]), px.numpy.array([1.0, 3.0])))
    Array([1., 5., 6.], dtype=float32)
    """
    in1, in2 = _signals("fftconvolve", in1, in2, mode, may_be_empty=True)
    if not all(get_aval(in1).shape) or not all(get_aval(in2).shape):
        return zeros(0, get_aval(in1).dtype)
    shape, window = get_aval(in1).shape, get_aval(in2).shape
    rank = len(shape)
    if axes is None:
        where = tuple(range(rank))
    else:
        where = canonical_axes(listed(axes), rank, "fftconvolve", "axes")
        if rank and not where:
            raise ValueError("fftconvolve: axes must not be empty, got ()")
    for axis, (one, other) in enumerate(zip(shape, window, strict=True)):
        if axis not in where and one != other and 1 not in (one, other):
            raise ValueError(
                f"fftconvolve: axes other than {where} must have the same length, or 1, got {one} and {other} in axis "
                f"{axis} of {get_aval(in1).str_short()} and {get_aval(in2).str_short()}"
            )
    return _by_transforms("fftconvolve", in1, in2, mode, where)


def _signals(function: str, in1: Any, in2: Any, mode: str, may_be_empty: bool = False) -> list[Any]:
    if not among(mode, MODES):
        raise ValueError(f"{function}: mode must be one of {', '.join(map(repr, MODES))}, got {mode!r}")
    in1, in2 = promote(function, in1, in2, to=dtypes.to_inexact_dtype)
    one, other = get_aval(in1), get_aval(in2)
    if len(one.shape) != len(other.shape):
        raise ValueError(
            f"{function}: in1 and in2 must have the same rank, got {one.str_short()} and {other.str_short()}"
        )
    for name, aval in (("in1", one), ("in2", other)):
        if 0 in aval.shape and not may_be_empty:
            raise ValueError(f"{function}: {name} must not be empty, got {aval.str_short()}")
    return [in1, in2]


def _images(function: str, in1: Any, in2: Any, mode: str) -> list[Any]:
    images = _signals(function, in1, in2, mode)
    if len(get_aval(images[0]).shape) != 2:
        raise ValueError(f"{function}: in1 and in2 must be of rank 2, got {get_aval(images[0]).str_short()}")
    return images


def _convolved(function: str, x: Any, y: Any, mode: str, method: str, precision: Any) -> Array:
    if not among(method, ("auto", "direct", "fft")):
        raise ValueError(f"{function}: method must be 'auto', 'direct' or 'fft', got {method!r}")
    shape, window = get_aval(x).shape, get_aval(y).shape
    if method == "auto":
        method = _cheaper(shape, window, mode)
    if method == "fft":
        return _by_transforms(function, x, y, mode, tuple(range(len(shape))))
    # The smaller array is the better kernel. Swapping does not change the result, except for 'same'.
    if _fit(function, shape, window) if mode == "valid" else mode == "full" and math.prod(window) >= math.prod(shape):
        x, y, window = y, x, shape
    padding = [mode_padding(mode, size) for size in window]
    return slide(x, _reversed(y), padding, canonicalize_precision(precision, function), None)


def _cheaper(shape: tuple[int, ...], window: tuple[int, ...], mode: str) -> str:
    full = math.prod(m + n - 1 for m, n in zip(shape, window, strict=True))
    small, large = sorted((math.prod(shape), math.prod(window)))
    places = {"full": full, "same": math.prod(shape), "valid": large}[mode]
    kernel = math.prod(window) if mode == "same" else small
    return "fft" if places * kernel > _PRODUCTS_PER_STEP * full * math.log2(full + 1) else "direct"


def _fit(function: str, shape: Sequence[int], window: Sequence[int]) -> bool:
    """Whether the first of two shapes fits into the second; False if the second fits into the first.

    Raises:
      ValueError: neither array lies within the other.
    """
    pairs = list(zip(shape, window, strict=True))
    if all(n <= m for m, n in pairs):
        return False
    if all(m <= n for m, n in pairs):
        return True
    raise ValueError(
        f"{function}: in mode 'valid' one array must be at least as long as the other in every dimension, "
        f"got shapes {tuple(shape)} and {tuple(window)}"
    )


def _reversed(x: Any) -> Array:
    axes = tuple(range(len(get_aval(x).shape)))
    return rev_p.bind(x, dimensions=axes) if axes else x


def _by_transforms(function: str, x: Any, y: Any, mode: str, axes: tuple[int, ...]) -> Array:
    dtype = get_aval(x).dtype
    shape, window = get_aval(x).shape, get_aval(y).shape
    if mode == "valid":
        along = [shape[axis] for axis in axes], [window[axis] for axis in axes]
        if _fit(function, *along):
            x, y, shape, window = y, x, window, shape
    full = list(map(max, shape, window))
    for axis in axes:
        full[axis] = shape[axis] + window[axis] - 1
    # Along an axis of length 1 a convolution is a product.
    moving = [axis for axis in axes if 1 not in (shape[axis], window[axis])]
    if moving:
        out = cast(_transformed(x, y, moving, [full[axis] for axis in moving], dtype), dtype)
    else:
        out = multiply(x, y)
    sizes = list(full)
    if mode == "same":
        sizes = [min(size, most) for size, most in zip(shape, full, strict=True)]
    elif mode == "valid":
        for axis in axes:
            sizes[axis] = shape[axis] - window[axis] + 1
    return _middle(out, sizes)


def _transformed(x: Any, y: Any, axes: list[int], sizes: list[int], dtype: Any) -> Array:
    if dtypes.is_floating(dtype) and dtypes.itemsize_bits(dtype) < 32:
        x, y = cast(x, "float32"), cast(y, "float32")
    lengths = [_smooth(size) for size in sizes]
    forward, backward = (fftn, ifftn) if dtypes.is_complex(dtype) else (rfftn, irfftn)
    out = backward(multiply(forward(x, lengths, axes), forward(y, lengths, axes)), lengths, axes)
    limits = list(get_aval(out).shape)
    for axis, size in zip(axes, sizes, strict=True):
        limits[axis] = size
    return _cut(out, [0] * len(limits), limits)


def _smooth(size: int) -> int:
    """The smallest number from `size` on without a prime factor above 5, as transforms of such lengths are fast."""
    while True:
        rest = size
        for prime in (2, 3, 5):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return size
        size += 1


def _middle(x: Any, sizes: Sequence[int]) -> Array:
    starts = [(have - size) // 2 for have, size in zip(get_aval(x).shape, sizes, strict=True)]
    return _cut(x, starts, [start + size for start, size in zip(starts, sizes, strict=True)])


def _cut(x: Any, starts: Sequence[int], limits: Sequence[int]) -> Array:
    if tuple(limits) == get_aval(x).shape:
        return asarray(x)
    return slice_p.bind(x, start_indices=tuple(starts), limit_indices=tuple(limits), strides=None)


def _bounded(function: str, x: Any, y: Any, mode: str, boundary: str, fillvalue: Any, precision: Any) -> Array:
    if not among(boundary, _BOUNDARIES):
        raise ValueError(f"{function}: boundary must be one of {', '.join(map(repr, _BOUNDARIES))}, got {boundary!r}")
    kind = _BOUNDARIES[boundary]
    if aval_of(function, fillvalue, "fillvalue").shape:
        raise ValueError(f"{function}: fillvalue must be a number, got shape {get_aval(fillvalue).shape}")
    zeros = kind == "constant" and isinstance(fillvalue, int | float | complex) and fillvalue == 0
    if mode == "valid" or (mode == "full" and zeros):
        return _convolved(function, x, y, mode, "direct", precision)
    padding = [mode_padding(mode, size) for size in get_aval(y).shape]
    if function == "correlate2d":
        # If the number of positions is even, SciPy takes the other one of two middles here.
        padding = [(high, low) for low, high in padding]
    if not zeros:
        options = {"constant_values": fillvalue} if kind == "constant" else {}
        x, padding = pad(x, padding, kind, **options), [(0, 0)] * 2
    return slide(x, _reversed(y), padding, canonicalize_precision(precision, function), None)
