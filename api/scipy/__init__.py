"""SciPy's functions, on primax arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from primax.extend.lazy_names import lazy_names

if TYPE_CHECKING:
    from primax.scipy import cluster as cluster
    from primax.scipy import fft as fft
    from primax.scipy import integrate as integrate
    from primax.scipy import interpolate as interpolate
    from primax.scipy import linalg as linalg
    from primax.scipy import ndimage as ndimage
    from primax.scipy import optimize as optimize
    from primax.scipy import signal as signal
    from primax.scipy import sparse as sparse
    from primax.scipy import spatial as spatial
    from primax.scipy import special as special
    from primax.scipy import stats as stats

__all__ = [
    "cluster",
    "fft",
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "optimize",
    "signal",
    "sparse",
    "spatial",
    "special",
    "stats",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, __all__, __all__)
