"""Covariances and correlations of variables."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.typing import ArrayLike, DTypeLike
from primax.numpy.conversion import read_dtype
from primax.numpy.creation import zeros
from primax.numpy.joining import concatenate
from primax.numpy.linear import dot
from primax.numpy.programs import one_program
from primax.numpy.promotion import aval_of, cast, promote
from primax.numpy.reductions import FLOAT32, is_half, sum
from primax.numpy.rounding import clip
from primax.numpy.shaping import atleast_2d, expand_dims, permuted, squeeze
from primax.numpy.statistics import average
from primax.numpy.triangles import diagonal
from primax.numpy.ufuncs import conjugate, divide, imag, maximum, multiply, real, subtract, to_inexact
from primax.plugins import arithmetic, exponential

__all__ = ["corrcoef", "cov"]


@one_program("rowvar bias ddof dtype", named="cov")
def cov(
    m: ArrayLike,
    y: ArrayLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: float | None = None,
    fweights: ArrayLike | None = None,
    aweights: ArrayLike | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """The covariances of variables.

    Args:
      m: an array of rank 2 or less: one variable per row, one observation per column.
      y: further variables, in the form of `m`.
      rowvar: whether rows are variables; if False, columns are.
      bias: whether to divide by the number of observations n; if False, by n - 1.
      ddof: divide by n - ddof; overrides `bias`.
      fweights: how often each observation occurs, an array of integers of rank 1.
      aweights: the weight of each observation, an array of rank 1.
      dtype: the dtype of the result; at least the default float dtype if None.

    Raises:
      ValueError: an array is of rank 3 or more, or `dtype` is neither floating nor complex.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.cov(pnp.array([[1.0, 3.0], [2.0, 0.0]]))
      Array([[ 2., -2.],
             [-2.,  2.]], dtype=float32)
      >>> pnp.cov(pnp.array([1.0, 3.0]), bias=True)
      Array(1., dtype=float32)
    """
    parts = [_variables("cov", m, rowvar)]
    if y is not None:  # one row of y is a variable in any case, as in NumPy
        parts.append(_variables("cov", y, rowvar or np.shape(y)[:1] == (1,)))
    if not get_aval(parts[0]).shape[0]:  # as in NumPy, the result is an empty float array even if y has variables
        return zeros((0, 0))
    parts = promote("cov", *parts, to=to_inexact)
    if dtype is not None:
        dtype = read_dtype(dtype, "cov")
        if not dtypes.is_inexact(dtype):
            raise ValueError(f"cov: dtype must be floating or complex, got {dtype}")
        parts = [cast(x, dtype) for x in parts]
    x = parts[0] if len(parts) == 1 else concatenate(parts, 0)
    own_dtype = get_aval(x).dtype
    if is_half(own_dtype):
        wide = cov(cast(x, FLOAT32), None, True, bias, ddof, fweights, aweights)
        return cast(wide, own_dtype)
    observations = get_aval(x).shape[1]
    weights = None
    for factors in (fweights, aweights):
        if factors is not None:
            if aval_of("cov", factors, "weights").shape != (observations,):
                raise ValueError(f"cov: weights must be of shape {(observations,)}, got {np.shape(factors)}")
            weights = factors if weights is None else multiply(weights, factors)
    ddof = (0 if bias else 1) if ddof is None else ddof
    means, total = average(x, 1, weights, returned=True)
    total = total[0]
    if weights is None:
        divisor: Any = subtract(total, ddof)
    elif ddof == 0:
        divisor = total
    elif aweights is None:
        divisor = subtract(total, ddof)
    else:
        divisor = subtract(total, divide(multiply(sum(multiply(weights, aweights)), ddof), total))
    divisor = maximum(real(divisor), 0)  # with too few observations, the result is that of a division by zero
    centered = subtract(x, expand_dims(means, 1))
    weighted = centered if weights is None else multiply(centered, expand_dims(weights, 0))
    return squeeze(divide(dot(weighted, conjugate(permuted(centered, (1, 0)))), divisor))


def _variables(function: str, x: Any, rowvar: bool) -> Array:
    """The variables as rows."""
    shape = aval_of(function, x).shape
    if len(shape) > 2:
        raise ValueError(f"{function}: m and y must be of rank 2 or less, got shape {shape}")
    x = atleast_2d(x)
    return permuted(x, (1, 0)) if not rowvar and len(shape) == 2 else x


@one_program("rowvar dtype", named="corrcoef")
def corrcoef(x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, dtype: DTypeLike | None = None) -> Array:
    """The correlations of variables. The arguments are those of `cov`.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.corrcoef(pnp.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])).round(4)
      Array([[ 1., -1.],
             [-1.,  1.]], dtype=float32)
    """
    parts = promote("corrcoef", *([x] if y is None else [x, y]), to=to_inexact)
    out_dtype = get_aval(parts[0]).dtype if dtype is None else read_dtype(dtype, "corrcoef")
    if is_half(out_dtype):
        first, *second = [cast(part, FLOAT32) for part in parts]
        wide = corrcoef(first, second[0] if second else None, rowvar)
        return cast(wide, out_dtype) if wide.size else wide
    covariances = cov(x, y, rowvar, dtype=dtype)
    if not covariances.ndim:
        return divide(covariances, covariances)
    spread = exponential.sqrt_p.bind(real(diagonal(covariances)))
    out = divide(divide(covariances, expand_dims(spread, 1)), expand_dims(spread, 0))
    if dtypes.is_complex(out.dtype):
        return arithmetic.complex(clip(real(out), -1, 1), clip(imag(out), -1, 1))
    return clip(out, -1, 1)
