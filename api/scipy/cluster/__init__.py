"""Vector quantization under scipy.cluster's names."""

from __future__ import annotations

from primax.extend.lazy_names import lazy_names

__all__ = ["vq"]

__getattr__, __dir__ = lazy_names(__name__, __all__, __all__)
