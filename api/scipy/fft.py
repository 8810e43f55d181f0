"""Cosine transforms under scipy.fft's names."""

from __future__ import annotations

from primax.plugins.scipy.fft import dct, dctn, idct, idctn

__all__ = ["dct", "dctn", "idct", "idctn"]
