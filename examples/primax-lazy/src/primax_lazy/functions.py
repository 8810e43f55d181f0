"""Linear algebra with Kronecker products."""

from __future__ import annotations

from typing import Any

import primax.numpy as pnp
from primax_lazy.product import Kronecker

__all__ = ["solve"]


def solve(k: Kronecker, y: Any) -> Any:
    """The solution x of `k @ x = y`, by one small system for each factor.

    Args:
      k: a Kronecker product of square matrices of sizes m and p.
      y: an array of shape [m * p] or [m * p, n].

    Raises:
      ValueError: a factor is not square, or y has another size.

    >>> import primax_lazy
    >>> k = primax_lazy.kron(2 * pnp.eye(2), pnp.array([[1.0, 1.0], [0.0, 1.0]]))
    >>> solve(k, k @ pnp.arange(4.0))
    Array([0., 1., 2., 3.], dtype=float32)
    """
    a, b = k.factors
    y = pnp.asarray(y, k.dtype)
    (m, n), (p, q) = a.shape[-2:], b.shape[-2:]
    if m != n or p != q:
        raise ValueError(f"solve: the factors must be square, got {a.shape} and {b.shape}")
    if y.ndim == 1:
        return solve(k, y[:, None])[..., 0]
    if y.shape[-2] != m * p:
        raise ValueError(f"solve: y must have {m * p} rows, got shape {y.shape}")
    columns = y.shape[-1]
    x = pnp.linalg.solve(a, y.reshape(*y.shape[:-2], m, p * columns))
    x = pnp.swapaxes(x.reshape(*x.shape[:-1], p, columns), -3, -2)
    x = pnp.linalg.solve(b, x.reshape(*x.shape[:-2], m * columns))
    x = pnp.swapaxes(x.reshape(*x.shape[:-1], m, columns), -3, -2)
    return x.reshape(*x.shape[:-3], m * p, columns)
