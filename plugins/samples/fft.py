"""Samples of Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.provisional.sampling import numbers
from primax.plugins.fft import FftType, fft_p


def _samples() -> list[core.Sample]:
    cases: list[tuple[FftType, Any, tuple[int, ...]]] = [
        (FftType.FFT, numbers((2, 3), np.complex64), (3,)),
        (FftType.IFFT, numbers((2, 3), np.complex64), (2, 3)),
        (FftType.RFFT, numbers((2, 5)), (5,)),
        (FftType.RFFT, numbers((2, 2, 4)), (2, 4)),
        (FftType.IRFFT, numbers((2, 3), np.complex64), (4,)),
        (FftType.IRFFT, numbers((2, 2, 2), np.complex64), (2, 2, 3)),
    ]
    return [
        core.Sample([x], {"fft_type": kind, "fft_lengths": lengths}, f"{kind.name} {lengths}", reference=_transformed)
        for kind, x, lengths in cases
    ]


_FUNCTIONS: dict[FftType, Callable[..., Any]] = {
    FftType.FFT: np.fft.fftn,
    FftType.IFFT: np.fft.ifftn,
    FftType.RFFT: np.fft.rfftn,
    FftType.IRFFT: np.fft.irfftn,
}


def _transformed(x: Any, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> Any:
    return _FUNCTIONS[fft_type](x, fft_lengths, range(-len(fft_lengths), 0))


SAMPLES = {
    fft_p: _samples,
}
