"""Random vectors and matrices: correlated normal numbers, and orthogonal matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import among
from primax.extend.provisional.typing import ArrayLike, DTypeLike, KeyLike, ShapeLike, ShardingLike
from primax.numpy.contractions import einsum
from primax.numpy.conversion import read_shape
from primax.numpy.promotion import cast
from primax.numpy.shaping import matrix_transpose
from primax.numpy.triangles import last_diagonal
from primax.plugins.arithmetic import sign_p
from primax.plugins.exponential import sqrt_p
from primax.plugins.linalg import cholesky, eigh, qr, svd
from primax.plugins.random.arguments import check_key
from primax.plugins.random.numbers import normal_numbers, sampler
from primax.plugins.resharding import divided_call
from primax.random.parameters import broadcast_to, float_dtype, inexact_dtype, parameter_shape

__all__ = ["multivariate_normal", "orthogonal"]

_METHODS = ("cholesky", "eigh", "svd")


def _root(cov: Any, method: str) -> Array:
    """A matrix whose product with its transpose is `cov`."""
    if method == "cholesky":
        return cholesky(cov)
    if method == "eigh":
        vectors, values = eigh(cov)
    else:
        vectors, values, _ = svd(cov)
    return vectors * sqrt_p.bind(values)[..., None, :]


@sampler
def _multivariate_normal(key: Any, mean: Any, cov: Any, shape: tuple[int, ...], dtype: Any, method: str) -> Array:
    wide = np.dtype(np.float32) if dtypes.itemsize_bits(dtype) < 32 else dtype  # for LAPACK
    root = _root(cast(cov, wide), method)
    numbers = normal_numbers(key, (*shape, root.shape[-1]), dtype)
    return cast(mean + einsum("...ij,...j->...i", root, cast(numbers, wide)), dtype)


def multivariate_normal(
    key: KeyLike,
    mean: ArrayLike,
    cov: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    method: str = "cholesky",
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draw normally distributed vectors with a given mean and covariance.

    Args:
      key: a random key.
      mean: an array with vectors along the last axis.
      cov: symmetric matrices along the last two axes: positive definite, or semi-definite for "eigh" and "svd".
      shape: the shape of the result without its last axis; if None, the shape to which the parameters, without their
        axes of vectors and matrices, broadcast.
      dtype: a float dtype; the common dtype of the parameters if None.
      method: the factorization of `cov`: "cholesky", which is the fastest, "eigh", or "svd".
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Raises:
      TypeError: `key` is not a key, `shape` is not a shape, or a parameter is not a real array.
      ValueError: `key` is an array of keys, `dtype` is not a float dtype, `cov` is not square or does not have the size
        of `mean`, the parameters do not broadcast to `shape`, or `method` is unknown.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> cov = pnp.array([[1.0, 0.9], [0.9, 1.0]])
      >>> x = px.random.multivariate_normal(px.random.key(0), pnp.zeros(2), cov, (1000,))
      >>> abs(pnp.corrcoef(x.T)[0, 1] - 0.9) < 0.05
      Array(True, dtype=bool)
    """
    if out_sharding is not None:
        return divided_call(multivariate_normal, (key, mean, cov, shape, dtype, method), {}, out_sharding)
    key = check_key(key, "multivariate_normal")
    if not among(method, _METHODS):
        raise ValueError(f"multivariate_normal: method must be one of {_METHODS}, got {method!r}")
    vectors = parameter_shape("multivariate_normal", mean, "mean")
    matrices = parameter_shape("multivariate_normal", cov, "cov")
    if not vectors:
        raise ValueError("multivariate_normal: mean must be of rank 1 or more, got a number")
    size = vectors[-1]
    if matrices[-2:] != (size, size):
        raise ValueError(
            f"multivariate_normal: cov must end with axes of the size of mean, {size}, got {get_aval(cov).str_short()}"
        )
    if dtype is None:
        dtype = dtypes.to_inexact_dtype(dtypes.result_type(mean, cov))
    dtype = float_dtype("multivariate_normal", dtype)
    shape = None if shape is None else read_shape(shape, "multivariate_normal")
    batches = {"mean without the last axis": vectors[:-1], "cov without the last two axes": matrices[:-2]}
    shape = broadcast_to("multivariate_normal", shape, batches)
    return _multivariate_normal(key, mean, cov, shape, dtype, method)


@sampler
def _orthogonal(key: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    """By F. Mezzadri, "How to generate random matrices from the classical compact groups", Notices AMS 54 (2007)."""
    *batch, n, m = shape
    q, r = qr(normal_numbers(key, (*batch, max(n, m), min(n, m)), dtype), full_matrices=False)
    q = q * sign_p.bind(last_diagonal(r, 0))[..., None, :]
    return matrix_transpose(q) if n < m else q


def orthogonal(
    key: KeyLike,
    n: int,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    m: int | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draw orthogonal matrices from the Haar measure; unitary ones if `dtype` is complex.

    Args:
      key: a random key.
      n: the number of rows.
      shape: the shape of the result without its last two axes.
      dtype: a float or complex dtype; the default float dtype if None.
      m: the number of columns; `n` if None. If m < n the columns are orthonormal, if m > n the rows are.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Raises:
      TypeError: `key` is not a key, `shape` is not a shape, or `n` or `m` is not a size.
      ValueError: `key` is an array of keys, or `dtype` is neither a float nor a complex dtype.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> q = px.random.orthogonal(px.random.key(0), 3)
      >>> abs(q @ q.T - pnp.eye(3)).max() < 1e-5
      Array(True, dtype=bool)
    """
    if out_sharding is not None:
        return divided_call(orthogonal, (key, n, shape, dtype, m), {}, out_sharding)
    key, dtype = check_key(key, "orthogonal"), inexact_dtype("orthogonal", dtype)
    sizes = read_shape((n, n if m is None else m), "orthogonal")
    return _orthogonal(key, (*read_shape(shape, "orthogonal"), *sizes), dtype)
