"""Factorizations of matrices and solvers of linear systems, under jax.lax.linalg's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from primax.plugins import linalg as _linalg
from primax.plugins.linalg import *
from primax.scipy.linalg.halley import qdwh as qdwh

if not TYPE_CHECKING:  # type checkers see what is imported with `*` or with `as`
    __all__ = ["qdwh"]
    __dir__ = __all__.copy
    __all__ += _linalg.__all__
