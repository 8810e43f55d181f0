"""The polar decomposition by Halley's iteration."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import read_size, real_number
from primax.extend.provisional.typing import ArrayLike
from primax.numpy.conversion import asarray
from primax.numpy.joining import concatenate
from primax.numpy.reductions import max as max_
from primax.numpy.reductions import sum as sum_
from primax.numpy.ufuncs import absolute, cbrt, sqrt
from primax.plugins.control_flow import while_loop
from primax.plugins.linalg.matrices import adjoint, real_dtype, require_matrix
from primax.plugins.linalg.orthogonal import qr_p


def qdwh(
    x: ArrayLike,
    *,
    is_hermitian: bool = False,
    max_iterations: int | None = None,
    eps: float | None = None,
    dynamic_shape: tuple[int, int] | None = None,
) -> tuple[Any, Any, Any, Any]:
    """The polar decomposition of a matrix, x = U H, by QR-based dynamically weighted Halley iterations.

    Y. Nakatsukasa, Z. Bai and F. Gygi, Optimizing Halley's iteration for computing the matrix polar decomposition, SIAM
    J. Matrix Anal. Appl. 31 (2010).

    Args:
      x: a matrix of shape (m, n), m >= n, of full rank.
      is_hermitian: ignored.
      max_iterations: the maximal number of iterations; 10 if None.
      eps: the tolerance; the precision of the dtype if None.
      dynamic_shape: None.

    Returns:
      U with orthonormal columns, Hermitian H, the number of iterations, and whether they converged.

    Raises:
      NotImplementedError: `dynamic_shape` is not None.
      TypeError: `x` is not a matrix, or has a dtype that LAPACK does not support.
      ValueError: there are more columns than rows.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> u, h, iterations, converged = lax.linalg.qdwh(-2 * np.eye(2, dtype=np.float32))
      >>> u.round(4), h.round(4), converged
      (Array([[-1.,  0.],
             [ 0., -1.]], dtype=float32), Array([[2., 0.],
             [0., 2.]], dtype=float32), Array(True, dtype=bool))
    """
    aval = get_aval(x)
    require_matrix("qdwh", aval, "x")
    if aval.ndim != 2:
        raise TypeError(f"qdwh: x must be one matrix, got {aval.str_short()}")
    m, n = aval.shape
    if m < n:
        raise ValueError(f"qdwh: x must have as many rows as columns or more, got {m} and {n}")
    if dynamic_shape is not None:
        raise NotImplementedError(f"qdwh: dynamic_shape must be None, got {dynamic_shape}")
    real = real_dtype(aval.dtype)
    precision = real.type(dtypes.finfo(real).eps if eps is None else real_number("qdwh", "eps", eps))
    most = np.int32(10 if max_iterations is None else read_size("qdwh", "max_iterations", max_iterations, 2**31 - 1))
    x = asarray(x)
    sizes = absolute(x)
    bound = sqrt(max_(sum_(sizes, axis=0), initial=0) * max_(sum_(sizes, axis=1), initial=0))
    ones = np.eye(n, dtype=aval.dtype)

    def unfinished(state: Any) -> Array:
        _, least, change, count = state
        return ((change > cbrt(4 * precision)) | (absolute(1 - least) > 10 * precision)) & (count < most)

    def improve(state: Any) -> tuple[Any, Any, Any, Any]:
        u, least, _, count = state
        square = least * least
        d = cbrt(4 * (1 - square) / (square * square))
        root = sqrt(1 + d)
        a = root + 0.5 * sqrt(8 - 4 * d + 8 * (2 - square) / (square * root))
        b = (a - 1) ** 2 / 4
        c = a + b - 1
        both = concatenate([(sqrt(c) * u).astype(aval.dtype), ones], axis=0)
        q, _ = qr_p.bind(both, pivoting=False, full_matrices=False, use_magma=None)
        better = (b / c * u + (a - b / c) / sqrt(c) * (q[:m] @ adjoint(q[m:]))).astype(aval.dtype)
        change = sqrt(sum_(absolute(better - u) ** 2))
        return better, least * (a + b * square) / (1 + c * square), change, count + np.int32(1)

    start = (x / bound).astype(aval.dtype), asarray(precision), asarray(real.type(np.inf)), asarray(np.int32(0))
    u, least, change, count = while_loop(unfinished, improve, start)
    h = adjoint(u) @ x
    converged = (change <= cbrt(4 * precision)) & (absolute(1 - least) <= 10 * precision)
    return u, (h + adjoint(h)) / 2, count, converged
