"""Solvers of linear systems of operators, under scipy.sparse's names; it has no sparse arrays."""

from __future__ import annotations

from primax.extend.lazy_names import lazy_names

__all__ = ["linalg"]

__getattr__, __dir__ = lazy_names(__name__, __all__, __all__)
