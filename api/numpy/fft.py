"""Fourier transforms along axes of arrays, under the names of numpy.fft."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import (
    among,
    canonical_axes,
    canonical_axis,
    integers,
    read_size,
    rename,
    sequence,
)
from primax.extend.provisional.typing import ArrayLike, Axes, DeviceLike, DTypeLike, ShapeLike
from primax.numpy.conversion import asarray, place, read_dtype
from primax.numpy.creation import zeros
from primax.numpy.examples import EXAMPLES, examples
from primax.numpy.joining import concatenate
from primax.numpy.programs import one_program
from primax.numpy.promotion import aval_of, cast, convert
from primax.numpy.ranges import counted
from primax.numpy.rearranging import roll
from primax.numpy.reductions import read_axes
from primax.numpy.shaping import permuted
from primax.numpy.ufuncs import conjugate, divide, multiply
from primax.plugins.arithmetic import conj_p, mul_p
from primax.plugins.fft import FftType, fft_p
from primax.plugins.structural import pad_p, slice_p, zero_of

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]
__dir__ = __all__.copy

FFT, IFFT, RFFT, IRFFT = FftType

# XLA transforms at most this many axes at once.
_MOST_AXES = 3

# The exponent e: a transform of n points is divided by n**e, and its inverse by n**(1 - e).
_POWERS = {None: 0.0, "backward": 0.0, "ortho": 0.5, "forward": 1.0}
_OPPOSITES = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def _check_norm(function: str, norm: Any) -> None:
    if not isinstance(norm, str | None) or not among(norm, _POWERS):
        raise ValueError(f'{function}: norm must be "backward", "ortho" or "forward", got {norm!r}')


def _transform(
    function: str, kind: FftType, a: Any, axes: Sequence[int], lengths: Sequence[Any] | None, norm: Any
) -> Array:
    """Transform along axes, counted from the front, that are cut or padded with zeros to the given lengths.

    Without lengths, axes may be empty, except the last axis of a real transform.
    """
    aval = aval_of(function, a, "a")
    _check_norm(function, norm)
    if lengths is None:
        sizes = [aval.shape[axis] for axis in axes]
        if kind is IRFFT:
            sizes[-1] = max(0, 2 * (sizes[-1] - 1))
    else:
        sizes = list(lengths)
    pairs = list(zip(axes, sizes, strict=True))
    # The order of axes only matters for the last one.
    real = kind in (RFFT, IRFFT)
    pairs = [*sorted(pairs[:-1]), pairs[-1]] if real else sorted(pairs)
    axes, sizes = [axis for axis, _ in pairs], [size for _, size in pairs]
    empty = lengths is None and not all(aval.shape[axis] for axis in axes) and not (kind is RFFT and not sizes[-1])
    for axis, size in zip(axes, sizes, strict=True):
        if size < 1 and not empty:
            raise ValueError(
                f"{function}: the number of points must be positive, got {size} along axis {axis} of {aval.str_short()}"
            )
    if empty:
        return _nothing(function, kind, a, axes[-1], sizes[-1])
    return _transformed(a, function, kind, tuple(axes), tuple(sizes), norm)


def _nothing(function: str, kind: FftType, a: Any, last: int, size: int) -> Array:
    """The transform of an array with an empty axis."""
    shape = list(get_aval(a).shape)
    shape[last] = size // 2 + 1 if kind is RFFT else size
    dtype = get_aval(_converted(function, kind, a)).dtype
    return zeros(shape, {RFFT: dtypes.to_complex_dtype, IRFFT: dtypes.to_floating_dtype}.get(kind, lambda d: d)(dtype))


def _transformed(
    a: Any, function: str, kind: FftType, axes: tuple[int, ...], sizes: tuple[int, ...], norm: str | None
) -> Array:
    taken = [*sizes[:-1], sizes[-1] // 2 + 1] if kind is IRFFT else sizes
    x = _converted(function, kind, _resized(a, get_aval(a), axes, taken))
    for part, first, stop in _steps(kind, len(axes)):
        x = _along(part, x, axes[first:stop], sizes[first:stop])
    power = _POWERS[norm] if kind in (IFFT, IRFFT) else -_POWERS[norm]
    return mul_p.bind(x, get_aval(x).dtype.type(math.prod(sizes) ** power)) if power else x


def _resized(x: Any, aval: Any, axes: Sequence[int], sizes: Sequence[int]) -> Any:
    """An array with axes cut, or padded with zeros, to given sizes."""
    limits, missing = list(aval.shape), [(0, 0, 0)] * len(aval.shape)
    for axis, size in zip(axes, sizes, strict=True):
        limits[axis] = min(size, limits[axis])
        missing[axis] = (0, size - limits[axis], 0)
    if tuple(limits) != aval.shape:
        x = slice_p.bind(x, start_indices=(0,) * len(limits), limit_indices=tuple(limits), strides=None)
    return pad_p.bind(x, zero_of(aval.dtype), padding_config=tuple(missing)) if any(map(any, missing)) else x


def _converted(function: str, kind: FftType, x: Any) -> Any:
    """Convert numbers to a dtype for which XLA has this transform."""
    aval = get_aval(x)
    dtype = dtypes.to_inexact_dtype(aval.dtype)
    if kind is RFFT:
        if dtype.name not in ("float32", "float64"):
            raise TypeError(f"{function}: a must be real and of 32 or 64 bits, got {aval.str_short()}")
    elif dtypes.is_floating(dtype):
        dtype = dtypes.to_complex_dtype(dtype)
    return convert(x, aval, dtype)


def _steps(kind: FftType, count: int) -> list[tuple[FftType, int, int]]:
    """Transforms of up to three consecutive axes each; the real one is the first or the last."""
    starts = range(count - _MOST_AXES, -_MOST_AXES, -_MOST_AXES)
    outer = {RFFT: FFT, IRFFT: IFFT}.get(kind, kind)
    steps = [(outer, max(0, start), start + _MOST_AXES) for start in starts]
    steps[0] = (kind, *steps[0][1:])
    return steps[::-1] if kind is IRFFT else steps


def _along(kind: FftType, x: Any, axes: Sequence[int], lengths: tuple[int, ...]) -> Array:
    rank = len(get_aval(x).shape)
    order = (*[axis for axis in range(rank) if axis not in axes], *axes)
    out = fft_p.bind(permuted(x, order), fft_type=kind, fft_lengths=tuple(lengths))
    return permuted(out, tuple(sorted(range(rank), key=order.__getitem__)))


@one_program("function kind n axis norm")
def _transform_axis(function: str, kind: FftType, a: Any, n: Any, axis: Any, norm: Any) -> Array:
    axis = canonical_axis(axis, len(aval_of(function, a, "a").shape), function)
    return _transform(function, kind, a, (axis,), None if n is None else (read_size(function, "n", n),), norm)


@one_program("function kind s axes norm")
def _transform_axes(function: str, kind: FftType, a: Any, s: Any, axes: Any, norm: Any) -> Array:
    rank = len(aval_of(function, a, "a").shape)
    lengths = None if s is None else tuple([read_size(function, "s", n) for n in integers(s, function, "s")])
    if axes is None:
        if lengths is not None and len(lengths) > rank:
            raise ValueError(f"{function}: s must not be longer than the rank of a, got {lengths} for rank {rank}")
        axes = range(0 if lengths is None else rank - len(lengths), rank)
    axes = canonical_axes(axes, rank, function)
    if lengths is not None and len(lengths) != len(axes):
        raise ValueError(f"{function}: s and axes must be of the same length, got {lengths} and {axes}")
    if not axes:
        if kind in (RFFT, IRFFT):
            raise ValueError(f"{function}: there must be an axis to transform along, got none for rank {rank}")
        _check_norm(function, norm)
        out = _converted(function, kind, a)
        return asarray(out, get_aval(out).dtype)  # a number loses its weak type, as in every transform
    return _transform(function, kind, a, axes, lengths, norm)


def _transform_two_axes(function: str, kind: FftType, a: Any, s: Any, axes: Any, norm: Any) -> Array:
    axes = sequence(function, "axes", axes)
    if len(axes) != 2:
        raise ValueError(f"{function}: axes must be two axes, got {tuple(axes)}")
    return _transform_axes(function, kind, a, s, axes, norm)


Function = TypeVar("Function", bound=Callable[..., Any])

if TYPE_CHECKING:

    class AlongOne(Protocol):
        """A transform along an axis."""

        def __call__(self, a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array: ...

    class AlongMany(Protocol):
        """A transform along axes."""

        def __call__(
            self, a: ArrayLike, s: ShapeLike | None = None, axes: Axes | None = ..., norm: str | None = None
        ) -> Array: ...


_COMPLEX = "of any number dtype"
_REAL = "of a real dtype"
_OF_KIND = {FFT: _COMPLEX, IFFT: _COMPLEX, RFFT: _REAL, IRFFT: _COMPLEX}


def _document(function: Function, name: str, sentence: str, kind: FftType, arguments: str, errors: str) -> Function:
    rename(function, name)
    function.__doc__ = (
        f"{sentence}\n\n    Args:\n      a: an array {_OF_KIND[kind]}; numbers of 16 bits or less "
        f"{'are refused' if kind is RFFT else 'become complex64'}.\n{arguments}"
        '      norm: the divisor, for n points: "backward" divides inverses by n, "ortho" all transforms by sqrt(n),\n'
        '        "forward" all transforms except inverses by n.\n\n'
        f"    Raises:\n      ValueError: {errors}; a length is below 1; `norm` is unknown.\n"
        f"{examples(EXAMPLES[name])}"
    )
    return function


def _lengths(kind: FftType, one: str) -> str:
    if kind is IRFFT:
        return f"{one} of the result; by default, the last one is 2 (m - 1) for m points"
    return f"{one}; `a` is cut, or padded with zeros"


def _along_one(name: str, kind: FftType, sentence: str) -> AlongOne:
    def function(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
        return _transform_axis(name, kind, a, n, axis, norm)

    arguments = f"      n: the length {_lengths(kind, 'along the axis')}.\n      axis: the axis.\n"
    return _document(function, name, sentence, kind, arguments, "the axis is out of range")


def _along_two(name: str, kind: FftType, sentence: str) -> AlongMany:
    def function(
        a: ArrayLike, s: ShapeLike | None = None, axes: Axes | None = (-2, -1), norm: str | None = None
    ) -> Array:
        return _transform_two_axes(name, kind, a, s, axes, norm)

    arguments = f"      s: the lengths {_lengths(kind, 'along the axes')}.\n      axes: the two axes.\n"
    return _document(function, name, sentence, kind, arguments, "an axis is out of range, or there are not two axes")


def _along_many(name: str, kind: FftType, sentence: str) -> AlongMany:
    def function(a: ArrayLike, s: ShapeLike | None = None, axes: Axes | None = None, norm: str | None = None) -> Array:
        return _transform_axes(name, kind, a, s, axes, norm)

    arguments = (
        f"      s: the lengths {_lengths(kind, 'along the axes')}.\n"
        "      axes: the axes; if None, the last axes, one for each length, or all axes if there are no lengths.\n"
    )
    return _document(function, name, sentence, kind, arguments, "an axis is out of range or repeated")


fft = _along_one("fft", FFT, "The discrete Fourier transform along an axis.")
ifft = _along_one("ifft", IFFT, "The inverse discrete Fourier transform along an axis.")
rfft = _along_one("rfft", RFFT, "The discrete Fourier transform of real numbers: its first n // 2 + 1 points.")
irfft = _along_one("irfft", IRFFT, "The inverse of `rfft`.")
fft2 = _along_two("fft2", FFT, "The discrete Fourier transform along two axes.")
ifft2 = _along_two("ifft2", IFFT, "The inverse discrete Fourier transform along two axes.")
rfft2 = _along_two("rfft2", RFFT, "The discrete Fourier transform of real numbers along two axes.")
irfft2 = _along_two("irfft2", IRFFT, "The inverse of `rfft2`.")
fftn = _along_many("fftn", FFT, "The discrete Fourier transform along axes.")
ifftn = _along_many("ifftn", IFFT, "The inverse discrete Fourier transform along axes.")
rfftn = _along_many("rfftn", RFFT, "The discrete Fourier transform of real numbers along axes, halved along the last.")
irfftn = _along_many("irfftn", IRFFT, "The inverse of `rfftn`.")


def hfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The discrete Fourier transform of a Hermitian-symmetric signal, which is real.

    Args:
      a: the first half of the signal, an array of any numeric dtype.
      n: the length of the result; 2 (m - 1) for m points if None.
      axis: the axis.
      norm: see `fft`.

    Raises:
      ValueError: `axis` is out of range, `n` is below 1, or `norm` is unknown.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.fft.hfft(pnp.array([1.0, 0.0, 0.0]))
      Array([1., 1., 1., 1.], dtype=float32)
      >>> pnp.fft.hfft(pnp.ones(3), 5).shape
      (5,)
    """
    _check_norm("hfft", norm)
    return _transform_axis("hfft", IRFFT, conjugate(a), n, axis, _OPPOSITES[norm])


def ihfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The inverse of `hfft`: the first n // 2 + 1 points of a Hermitian-symmetric signal.

    Args:
      a: an array of a real dtype.
      n: the number of points to transform; all if None.
      axis: the axis.
      norm: see `fft`.

    Raises:
      TypeError: `a` is complex.
      ValueError: `axis` is out of range, `n` is below 1, or `norm` is unknown.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.fft.ihfft(pnp.array([4.0, 0.0, 0.0, 0.0])).real
      Array([1., 1., 1.], dtype=float32)
    """
    _check_norm("ihfft", norm)
    return conj_p.bind(_transform_axis("ihfft", RFFT, a, n, axis, _OPPOSITES[norm]))


def fftfreq(n: int, d: ArrayLike = 1.0, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Array:
    """The frequencies of the points of `fft`: first those from 0 up, then the negative ones.

    Args:
      n: the number of points.
      d: the distance between samples.
      dtype: the dtype of the result; the default floating one if None.
      device: the device or sharding of the result; if None, it is uncommitted on the default device.

    Raises:
      TypeError: n is not an integer.
      ValueError: n is negative.

    >>> import primax as px
    >>> px.numpy.fft.fftfreq(4)
    Array([ 0.  ,  0.25, -0.5 , -0.25], dtype=float32)
    """
    dtype = _frequency_dtype("fftfreq", dtype)
    count = _number("fftfreq", n)
    half, signed = count // 2, dtypes.to_inexact_dtype(dtype)  # unsigned integers cannot be negative
    steps = concatenate((counted(count - half, 0, 1, signed), counted(half, -half, 1, signed)))
    return _per_sample(steps, count, d, dtype, device)


def rfftfreq(n: int, d: ArrayLike = 1.0, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Array:
    """The frequencies of the points of `rfft`. Arguments and errors are those of `fftfreq`.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.fft.rfftfreq(4), pnp.fft.rfftfreq(5, d=0.1).shape
      (Array([0.  , 0.25, 0.5 ], dtype=float32), (3,))
    """
    dtype = _frequency_dtype("rfftfreq", dtype)
    count = _number("rfftfreq", n)
    return _per_sample(counted(count // 2 + 1, 0, 1, dtypes.to_inexact_dtype(dtype)), count, d, dtype, device)


def _frequency_dtype(function: str, dtype: Any) -> np.dtype[Any]:
    return dtypes.default_float_dtype() if dtype is None else read_dtype(dtype, function)


def _number(function: str, n: Any) -> int:
    return read_size(function, "n", n)


def _per_sample(steps: Any, count: int, d: Any, dtype: Any, device: Any) -> Array:
    return place(cast(divide(steps, multiply(count, d)), dtype), device)


def fftshift(x: ArrayLike, axes: Axes | None = None) -> Array:
    """Roll an array along axes so that the zero frequency is in the middle.

    Args:
      x: an array.
      axes: an axis, a sequence of axes, or None for all.

    Raises:
      ValueError: an axis is out of range or repeated.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.fft.fftshift(pnp.arange(5))
      Array([3, 4, 0, 1, 2], dtype=int32)
    """
    return _shifted("fftshift", x, axes, lambda size: size // 2)


def ifftshift(x: ArrayLike, axes: Axes | None = None) -> Array:
    """The inverse of `fftshift`, which takes the same arguments.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.fft.ifftshift(pnp.fft.fftshift(pnp.arange(5)))  # fftshift twice would differ for odd lengths
      Array([0, 1, 2, 3, 4], dtype=int32)
    """
    return _shifted("ifftshift", x, axes, lambda size: -(size // 2))


def _shifted(function: str, x: Any, axes: Any, places: Callable[[int], int]) -> Array:
    shape = aval_of(function, x, "x").shape
    chosen = read_axes(axes, len(shape), function)
    return roll(x, [places(shape[i]) for i in chosen], chosen)
