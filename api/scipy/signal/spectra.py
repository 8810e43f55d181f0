"""Spectra of signals by Fourier transforms of their segments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, ConcretizationTypeError, get_aval
from primax.extend.provisional.arguments import among, canonical_axis, integer, naming, read_size
from primax.extend.provisional.typing import ArrayLike
from primax.numpy.creation import zeros
from primax.numpy.fft import fft, fftfreq, ifft, irfft, rfft, rfftfreq
from primax.numpy.indexing import getitem, take_slice
from primax.numpy.padding import pad
from primax.numpy.promotion import joint_shape, promote
from primax.numpy.quantiles import median
from primax.numpy.shaping import moveaxis
from primax.numpy.statistics import mean
from primax.numpy.ufuncs import add, conjugate, divide, imag, multiply, real, square
from primax.plugins.arithmetic import complex as complex_of
from primax.scipy.signal.detrending import detrend as without_trend
from primax.scipy.signal.tapers import named_window

__all__ = ["csd", "istft", "stft", "welch"]

_BOUNDARIES: dict[Any, dict[str, str]] = {
    None: {},
    "zeros": {"mode": "constant"},
    "constant": {"mode": "edge"},
    "even": {"mode": "reflect"},
    "odd": {"mode": "reflect", "reflect_type": "odd"},
}


def welch(
    x: ArrayLike,
    fs: ArrayLike = 1.0,
    window: str | ArrayLike | tuple[Any, ...] = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: str | bool | Callable[..., Any] = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Any, Any]:
    """The power spectrum of a signal, averaged over overlapping segments (Welch's method).

    Args:
      x: an array; an empty one gives empty results.
      fs: the sampling frequency.
      window: the factors of each segment: a NumPy array, the name of a window, or a tuple of a name and its parameters,
        such as `("kaiser", 4.0)`.
      nperseg: the length of a segment; if None, that of `window` if it is an array, and 256 otherwise. At most the
        length of the signal.
      noverlap: the number of samples that neighboring segments share; half a segment if None.
      nfft: the length to which segments are padded with zeros; no padding if None.
      detrend: the `type` of `detrend` for each segment; or a function of the segments along the last axis; False for
        none.
      return_onesided: whether to return only frequencies from 0 up for real signals.
      scaling: 'density' for power per frequency, 'spectrum' for power.
      axis: the axis.
      average: 'mean' or 'median'.

    Returns:
      The frequencies, and the power at each frequency along `axis`.

    Raises:
      ValueError: an argument is out of range, or a name is unknown.

    >>> import primax as px
    >>> frequencies, power = px.scipy.signal.welch(px.numpy.array([1.0, -1.0, 1.0, -1.0]), window="boxcar")
    >>> power
    Array([0., 0., 4.], dtype=float32)
    """
    options = (fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average)
    return _power("welch", x, None, *options)


def csd(
    x: ArrayLike,
    y: ArrayLike,
    fs: ArrayLike = 1.0,
    window: str | ArrayLike | tuple[Any, ...] = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: str | bool | Callable[..., Any] = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Any, Any]:
    """The cross power spectrum of two signals, as complex numbers; the arguments are those of `welch`.

    The shorter signal is padded with zeros. The other axes broadcast. If `y` is None, the result is the power spectrum
    of x, as real numbers.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> frequencies, power = px.scipy.signal.csd(pnp.ones(8), pnp.ones(8), nperseg=8)
      >>> frequencies, power.dtype
      (Array([0.   , 0.125, 0.25 , 0.375, 0.5  ], dtype=float32), dtype('complex64'))
    """
    options = (fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average)
    return _power("csd", x, y, *options)


def stft(
    x: ArrayLike,
    fs: ArrayLike = 1.0,
    window: str | ArrayLike | tuple[Any, ...] = "hann",
    nperseg: int = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: str | bool | Callable[..., Any] = False,
    return_onesided: bool = True,
    boundary: str | None = "zeros",
    padded: bool = True,
    axis: int = -1,
) -> tuple[Any, Any, Any]:
    """The spectra of consecutive segments of a signal.

    Args:
      x: an array; an empty one gives empty results.
      fs: see `welch`.
      window: see `welch`.
      nperseg: see `welch`.
      noverlap: see `welch`.
      nfft: see `welch`.
      detrend: see `welch`.
      return_onesided: see `welch`.
      boundary: the extension of the signal at both ends, so that segments can be centered there: 'zeros', 'even' or
        'odd' mirror images, 'constant' for the end values; None for no extension.
      padded: whether to append zeros so that the last segment is full.
      axis: see `welch`.

    Returns:
      The frequencies, the times, and an array with frequencies along `axis` and times along the last axis.

    Raises:
      ValueError: an argument is out of range, or a name is unknown.

    >>> import primax as px
    >>> _, times, spectra = px.scipy.signal.stft(px.numpy.ones(8), nperseg=4)
    >>> times, spectra.shape
    (Array([0., 2., 4., 6., 8.], dtype=float32), (3, 5))
    """
    if not among(boundary, _BOUNDARIES):
        raise ValueError(f"stft: boundary must be one of {', '.join(map(repr, _BOUNDARIES))}, got {boundary!r}")
    (x,), axis, empty = _prepared("stft", axis, x)
    if empty is not None:
        kind = get_aval(x).dtype
        nothing = zeros(empty, dtypes.to_floating_dtype(kind))
        return nothing, nothing, zeros(empty, dtypes.to_complex_dtype(kind))
    win, step, nfft = _windowing("stft", get_aval(x).shape[-1], window, nperseg, noverlap, nfft)
    length = len(win)
    if boundary is not None:
        x = _extended(x, length // 2, length // 2, **_BOUNDARIES[boundary])
    if padded:
        x = _extended(x, 0, -(get_aval(x).shape[-1] - length) % step % length)
    onesided = return_onesided and not dtypes.is_complex(get_aval(x).dtype)
    spectra = _spectra(x, win / abs(win.sum()), step, nfft, detrend, onesided)
    count = get_aval(spectra).shape[-2]
    times = np.arange(count) * step + (0 if boundary is not None else length / 2)
    return _frequencies("stft", nfft, fs, onesided), _in_time(times, fs), moveaxis(spectra, -1, axis)


def istft(
    Zxx: ArrayLike,
    fs: ArrayLike = 1.0,
    window: str | ArrayLike | tuple[Any, ...] = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
) -> tuple[Any, Any]:
    """The signal that has the given spectra, the inverse of `stft`.

    Args:
      Zxx: the spectra, an array of rank 2 or more.
      fs: see `welch`.
      window: see `welch`.
      nperseg: the length of a segment; if None, the number of points in a spectrum determines it.
      noverlap: see `welch`.
      nfft: the length of segments after padding with zeros; `nperseg` if None.
      input_onesided: whether the spectra have only frequencies from 0 up; the signal is then real.
      boundary: whether the signal was extended at both ends.
      time_axis: the axis of times.
      freq_axis: the axis of frequencies.

    Returns:
      The times, and the signal along `time_axis`.

    Raises:
      ValueError: the axes are equal, or an argument is out of range.

    >>> import primax as px
    >>> *_, spectra = px.scipy.signal.stft(px.numpy.array([1.0, 2.0, 3.0, 2.0]), nperseg=4)
    >>> px.numpy.round(px.scipy.signal.istft(spectra)[1], 4)
    Array([1., 2., 3., 2.], dtype=float32)
    """
    (Zxx,) = promote("istft", Zxx, to=_transformable)
    shape = get_aval(Zxx).shape
    if len(shape) < 2:
        raise ValueError(f"istft: Zxx must be of rank 2 or more, got {get_aval(Zxx).str_short()}")
    when = canonical_axis(time_axis, len(shape), "istft", "time_axis")
    where = canonical_axis(freq_axis, len(shape), "istft", "freq_axis")
    if when == where:
        raise ValueError(f"istft: time_axis and freq_axis must differ, got {time_axis} and {freq_axis}")
    count, points = shape[when], shape[where]
    natural = 2 * (points - 1) if input_onesided else points
    length = natural if nperseg is None else read_size("istft", "nperseg", nperseg)
    if nfft is None:
        nfft = length if input_onesided and length == natural + 1 else natural
    win, step, nfft = _windowing("istft", length, window, length, noverlap, nfft)
    parts = (irfft if input_onesided else ifft)(moveaxis(Zxx, (when, where), (-2, -1)), nfft)
    parts = multiply(take_slice(parts, 0, length, -1), _like(parts, win * win.sum()))
    with naming("istft"):
        places = step * np.arange(count)[:, None] + np.arange(length)
    size = step * (count - 1) + length if count else 0
    whole = zeros((*get_aval(parts).shape[:-2], size), get_aval(parts).dtype)
    whole = whole.at[..., places].add(parts)
    weight = np.bincount(places.ravel(), np.tile(win**2, count), size)
    whole = divide(whole, _like(whole, np.where(weight > 1e-10, weight, 1.0)))
    if boundary:
        whole = take_slice(whole, length // 2, max(size - length // 2, length // 2), -1)
    times = _in_time(np.arange(get_aval(whole).shape[-1]), fs)
    return times, moveaxis(whole, -1, when - (where < when))


def _power(
    function: str,
    x: Any,
    y: Any,
    fs: Any,
    window: Any,
    nperseg: Any,
    noverlap: Any,
    nfft: Any,
    detrend: Any,
    return_onesided: bool,
    scaling: str,
    axis: int,
    average: str,
) -> tuple[Any, Any]:
    """The power spectrum of x, or the cross spectrum of x and y."""
    if not among(scaling, ("density", "spectrum")):
        raise ValueError(f"{function}: scaling must be 'density' or 'spectrum', got {scaling!r}")
    if not among(average, ("mean", "median")):
        raise ValueError(f"{function}: average must be 'mean' or 'median', got {average!r}")
    signals, axis, empty = _prepared(function, axis, *[x] if y is None else [x, y])
    if empty is not None:
        kind = get_aval(signals[0]).dtype
        floating = dtypes.to_floating_dtype(kind)
        return zeros(empty, floating), zeros(empty, floating if y is None else dtypes.to_complex_dtype(kind))
    size = max(get_aval(one).shape[-1] for one in signals)
    signals = [_extended(one, 0, size - get_aval(one).shape[-1]) for one in signals]
    onesided = return_onesided and not dtypes.is_complex(get_aval(signals[0]).dtype)
    win, step, nfft = _windowing(function, size, window, nperseg, noverlap, nfft)
    parts = [_spectra(one, win, step, nfft, detrend, onesided) for one in signals]
    if y is None:
        power = add(square(real(parts[0])), square(imag(parts[0])))
    else:
        power = multiply(conjugate(parts[0]), parts[1])
    weights = np.full(get_aval(power).shape[-1], 1 / (np.sum(win**2) if scaling == "density" else np.sum(win) ** 2))
    if onesided:
        weights[1 : (nfft + 1) // 2] *= 2
    power = _average(power, average)
    power = multiply(power, _like(power, weights))
    if scaling == "density":
        power = divide(power, fs)
    return _frequencies(function, nfft, fs, onesided), moveaxis(power, -1, axis)


def _transformable(dtype: Any) -> Any:
    """The narrowest dtype of a transform."""
    dtype = dtypes.to_inexact_dtype(dtype)
    return np.dtype(np.float32) if dtypes.itemsize_bits(dtype) < 32 else dtype


def _prepared(function: str, axis: int, *signals: Any) -> tuple[list[Any], int, Any]:
    """Signals along the last axis, the axis they had, and the shape of the result if one of them is empty."""
    signals = tuple(promote(function, *signals, to=_transformable))
    position = canonical_axis(axis, len(get_aval(signals[0]).shape), function)
    signals = tuple(moveaxis(x, axis, -1) for x in signals)
    shapes = [get_aval(x).shape for x in signals]
    if all(map(all, shapes)):
        return list(signals), position, None
    leading = joint_shape([shape[:-1] for shape in shapes])
    if leading is None:
        raise ValueError(f"{function}: the other axes of x and y must broadcast, got {' and '.join(map(str, shapes))}")
    empty = [*leading]
    empty.insert(position, min(shape[-1] for shape in shapes))
    return list(signals), position, tuple(empty)


def _windowing(function: str, size: int, window: Any, nperseg: Any, noverlap: Any, nfft: Any) -> tuple[Any, int, int]:
    """The window, the step between segments, and the length of transforms."""
    nperseg = None if nperseg is None else read_size(function, "nperseg", nperseg)
    if nperseg is not None and nperseg < 1:
        raise ValueError(f"{function}: nperseg must be positive, got {nperseg}")
    if isinstance(window, str | tuple):
        length = min(256 if nperseg is None else nperseg, size)
        win = named_window(function, window, length)
    else:
        with naming(function):
            win = np.asarray(window).astype(np.float64)
        if win.ndim != 1 or not 1 <= len(win) <= size:
            raise ValueError(f"{function}: window must have from 1 to {size} elements, got shape {win.shape}")
        length = len(win)
        if nperseg is not None and nperseg != length:
            raise ValueError(f"{function}: nperseg must be the length of the window, got {nperseg} and {length}")
    overlap = length // 2 if noverlap is None else integer(function, "noverlap", noverlap)
    if overlap >= length:
        raise ValueError(f"{function}: noverlap must be less than nperseg, got {overlap} and {length}")
    points = length if nfft is None else read_size(function, "nfft", nfft)
    if points < length:
        raise ValueError(f"{function}: nfft must not be less than nperseg, got {points} and {length}")
    return win, length - overlap, points


def _extended(x: Any, before: int, after: int, mode: str = "constant", **options: str) -> Array:
    if not before and not after:
        return x
    rank = len(get_aval(x).shape)
    return pad(x, [(0, 0)] * (rank - 1) + [(before, after)], mode, **options)


def _spectra(x: Any, win: Any, step: int, nfft: int, detrend: Any, onesided: bool) -> Array:
    """The spectrum of each segment, with two new last axes: segments, then frequencies."""
    starts = np.arange(0, get_aval(x).shape[-1] - len(win) + 1, step)
    parts = getitem(x, (..., starts[:, None] + np.arange(len(win))))
    if isinstance(detrend, str):
        parts = without_trend(parts, -1, detrend)
    elif callable(detrend):
        parts = detrend(parts)
    return (rfft if onesided else fft)(multiply(parts, _like(parts, win)), nfft)


def _average(x: Any, kind: str) -> Array:
    if kind == "mean":
        return mean(x, -2)
    # The median of a chi-squared distribution is less than its mean by this factor.
    pairs = np.arange(2, get_aval(x).shape[-2], 2)
    bias = 1 + np.sum(1 / (pairs + 1) - 1 / pairs)
    if dtypes.is_complex(get_aval(x).dtype):
        return complex_of(_average(real(x), kind), _average(imag(x), kind))
    return divide(median(x, -2), float(bias))


def _like(x: Any, values: Any) -> Any:
    """Convert a NumPy array to the dtype of x, and to its rank by axes of size 1 in front."""
    aval = get_aval(x)
    return values.astype(aval.dtype).reshape((1,) * (len(aval.shape) - values.ndim) + values.shape)


def _frequencies(function: str, nfft: int, fs: Any, onesided: bool) -> Array:
    try:
        spacing = 1 / fs
    except (TypeError, ZeroDivisionError) as error:
        if isinstance(error, ConcretizationTypeError):
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{function}: fs must be a number other than 0, got {fs!r}") from None
    return (rfftfreq if onesided else fftfreq)(nfft, spacing)


def _in_time(places: Any, fs: Any) -> Array:
    return divide(places.astype(dtypes.default_float_dtype()), fs)
