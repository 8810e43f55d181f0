"""Signal processing under scipy.signal's names."""

from __future__ import annotations

from primax.plugins.scipy.signal.convolution import convolve, convolve2d, correlate, correlate2d, fftconvolve
from primax.plugins.scipy.signal.detrending import detrend
from primax.plugins.scipy.signal.spectra import csd, istft, stft, welch

__all__ = [
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "csd",
    "detrend",
    "fftconvolve",
    "istft",
    "stft",
    "welch",
]
