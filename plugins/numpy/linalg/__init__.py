"""Linear algebra under numpy.linalg's names."""

from __future__ import annotations

from primax.plugins.numpy.linalg.determinants import SlogdetResult, det, slogdet
from primax.plugins.numpy.linalg.equations import inv, solve, tensorinv, tensorsolve
from primax.plugins.numpy.linalg.factorizations import cholesky
from primax.plugins.numpy.linalg.products import (
    cross,
    diagonal,
    matmul,
    matrix_power,
    matrix_transpose,
    multi_dot,
    outer,
    tensordot,
    trace,
    vecdot,
)

__all__ = [
    "SlogdetResult",
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "inv",
    "matmul",
    "matrix_power",
    "matrix_transpose",
    "multi_dot",
    "outer",
    "slogdet",
    "solve",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vecdot",
]
