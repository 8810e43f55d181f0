"""Signal processing under scipy.signal's names."""

from __future__ import annotations

from primax.scipy.signal import convolution, detrending, spectra
from primax.scipy.signal.convolution import *
from primax.scipy.signal.detrending import *
from primax.scipy.signal.spectra import *

__all__: list[str] = []
__dir__ = __all__.copy

for _module in (convolution, detrending, spectra):
    __all__ += _module.__all__
