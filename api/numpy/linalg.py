"""Linear algebra under numpy.linalg's names."""

from __future__ import annotations

from primax.plugins.numpy.linalg import (
    SlogdetResult,
    cholesky,
    cross,
    det,
    diagonal,
    inv,
    matmul,
    matrix_power,
    matrix_transpose,
    multi_dot,
    outer,
    slogdet,
    solve,
    tensordot,
    tensorinv,
    tensorsolve,
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
