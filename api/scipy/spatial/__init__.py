"""Rotations under scipy.spatial's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from primax.extend.lazy_names import lazy_names

if TYPE_CHECKING:
    from primax.scipy.spatial import transform as transform

__all__ = ["transform"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, __all__, __all__)
