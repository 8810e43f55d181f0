"""Solvers of linear systems, under scipy.sparse's names; sparse arrays are in `primax.experimental.sparse`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from primax.extend.lazy_names import lazy_names

if TYPE_CHECKING:
    from primax.scipy.sparse import linalg as linalg

__all__ = ["linalg"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, __all__, __all__)
