"""Determinants."""

from __future__ import annotations

from typing import Any, NamedTuple

from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import among
from primax.extend.provisional.typing import ArrayLike
from primax.numpy.linalg.operands import square
from primax.numpy.programs import one_program
from primax.plugins.arithmetic import add_p, mul_p, sub_p
from primax.plugins.linalg.determinants import det_p, slogdet_p
from primax.plugins.structural import slice_p, squeeze_p

__all__ = ["SlogdetResult", "det", "slogdet"]


class SlogdetResult(NamedTuple):
    """Signs, and logarithms of absolute values, of determinants.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.linalg.slogdet(pnp.eye(2)).logabsdet
      Array(0., dtype=float32)
    """

    sign: Any
    logabsdet: Any


def det(a: ArrayLike) -> Array:
    """The determinants of square matrices.

    Args:
      a: matrices of shape (..., n, n).

    Raises:
      ValueError: the matrices are not square.

    >>> import primax as px
    >>> px.numpy.linalg.det(px.numpy.array([[1.0, 2.0], [3.0, 4.0]]))
    Array(-2., dtype=float32)
    """
    return _det(a)


@one_program(static=1, named="det")
def _det(a: Any) -> Array:
    a = square("det", a)
    n = get_aval(a).shape[-1]
    if n not in (1, 2, 3):
        return det_p.bind(a)
    m = [[_element(a, i, j) for j in range(n)] for i in range(n)]
    if n == 1:
        return m[0][0]
    if n == 2:
        return _minor(m, (0, 1), (0, 1))
    (x, y, z), *_ = m
    total = sub_p.bind(mul_p.bind(x, _minor(m, (1, 2), (1, 2))), mul_p.bind(y, _minor(m, (1, 2), (0, 2))))
    return add_p.bind(total, mul_p.bind(z, _minor(m, (1, 2), (0, 1))))


def _element(a: Any, i: int, j: int) -> Array:
    *batch, _, _ = get_aval(a).shape
    rank = len(batch)
    one = slice_p.bind(a, start_indices=(*[0] * rank, i, j), limit_indices=(*batch, i + 1, j + 1), strides=None)
    return squeeze_p.bind(one, dimensions=(rank, rank + 1))


def _minor(m: Any, rows: tuple[int, int], columns: tuple[int, int]) -> Array:
    (i, k), (j, l) = rows, columns
    return sub_p.bind(mul_p.bind(m[i][j], m[k][l]), mul_p.bind(m[i][l], m[k][j]))


def slogdet(a: ArrayLike, *, method: str | None = None) -> SlogdetResult:
    """The signs of the determinants of square matrices, and the logarithms of their absolute values.

    Args:
      a: matrices of shape (..., n, n).
      method: the factorization: "lu" or "qr"; None is "lu".

    Returns:
      A pair `(sign, logabsdet)`: the determinant is `sign * exp(logabsdet)`. A complex sign has absolute value 1. For a
      singular matrix the sign is 0 and the logarithm is -inf.

    Raises:
      ValueError: the matrices are not square, or `method` is unknown.

    Examples:
      >>> import primax.numpy as pnp
      >>> sign, logarithm = pnp.linalg.slogdet(pnp.diag(pnp.array([-1e30, 1e30])))  # the determinant would overflow
      >>> sign, logarithm.round(2)
      (Array(-1., dtype=float32), Array(138.16, dtype=float32))
    """
    if not among(method, (None, "lu", "qr")):
        raise ValueError(f"slogdet: method must be 'lu', 'qr' or None, got {method!r}")
    return SlogdetResult(*_slogdet(a, method or "lu"))


@one_program(static=1, named="slogdet")
def _slogdet(a: Any, method: str) -> Any:
    return slogdet_p.bind(square("slogdet", a), method=method)
