"""Solvers of linear systems of operators, under scipy.sparse's names; it has no sparse arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from primax.extend.lazy_names import lazy_names

if TYPE_CHECKING:
    from primax.scipy.sparse import linalg as linalg

__all__ = ["linalg"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, __all__, __all__)
