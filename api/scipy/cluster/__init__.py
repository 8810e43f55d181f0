"""Vector quantization under scipy.cluster's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from primax.extend.lazy_names import lazy_names

if TYPE_CHECKING:
    from primax.scipy.cluster import vq as vq

__all__ = ["vq"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, __all__, __all__)
