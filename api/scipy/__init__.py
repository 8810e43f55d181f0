"""SciPy's functions, on primax arrays."""

from __future__ import annotations

from primax.extend.lazy_names import lazy_names

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

__getattr__, __dir__ = lazy_names(__name__, __all__, __all__)
