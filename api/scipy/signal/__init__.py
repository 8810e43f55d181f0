"""Signal processing under scipy.signal's names."""

from __future__ import annotations

from primax.scipy.signal import convolution, detrending, spectra
from primax.scipy.signal.convolution import *
from primax.scipy.signal.detrending import *
from primax.scipy.signal.spectra import *

__all__: list[str] = []

for _module in (convolution, detrending, spectra):
    __all__ += _module.__all__


def __dir__() -> list[str]:
    return sorted(__all__)
