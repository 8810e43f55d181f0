"""Distributions of vectors."""

from __future__ import annotations

from math import log as _log
from math import pi
from typing import Any

import numpy as np

from primax.extend.core import Array, get_aval
from primax.numpy.joining import concatenate
from primax.numpy.promotion import promote
from primax.numpy.reductions import all as all_
from primax.numpy.reductions import any as any_
from primax.numpy.reductions import sum as sum_
from primax.numpy.selection import where
from primax.numpy.shaping import atleast_1d
from primax.numpy.triangles import eye
from primax.numpy.ufuncs import absolute, exp, log, to_inexact
from primax.plugins.linalg.matrices import diagonal
from primax.plugins.linalg.positive import cholesky
from primax.scipy.linalg.equations import solve_triangular
from primax.scipy.special.entropies import xlogy
from primax.scipy.special.gammas import gammaln
from primax.scipy.special.operands import epsilon

__all__ = ["dirichlet", "multivariate_normal"]


class multivariate_normal:
    """The normal distribution of vectors.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> pdf = px.scipy.stats.multivariate_normal.pdf
      >>> pdf(pnp.zeros((3, 2)), pnp.zeros(2), pnp.eye(2)).shape, pdf(0.0, 0.0, 1.0).shape
      ((3,), ())
    """

    @staticmethod
    def logpdf(x: Any, mean: Any = None, cov: Any = 1.0, allow_singular: None = None) -> Array:
        """The logarithm of the density.

        Args:
          x: vectors along the last axis, of shape (..., n).
          mean: vectors along the last axis; or a number. With a number, as in JAX, each element of `x` is a sample of a
            normal distribution with this mean and variance `cov`, which broadcasts with `x`. None, as in SciPy, is a
            vector of zeros if `cov` has matrices, else 0.
          cov: a variance, variances of independent elements, or positive definite matrices of shape (..., n, n). The
            result for a matrix that is not positive definite is NaN.
          allow_singular: None.

        Raises:
          NotImplementedError: `allow_singular` is not None.
          ValueError: `cov` has another shape, or is a covariance matrix of `x` while `mean` is a number.
        """
        if allow_singular is not None:
            raise NotImplementedError("multivariate_normal.logpdf: allow_singular must be None")
        x, cov, *means = promote("multivariate_normal.logpdf", x, cov, *([] if mean is None else [mean]), to=to_inexact)
        shape = get_aval(cov).shape
        away = x - means[0] if means else x
        if not (get_aval(means[0]).shape if means else shape[1:]):
            *outer, n = get_aval(x).shape or (1,)
            if n > 1 and shape[-2:] == (n, n) and outer[-1:] != [n]:
                raise ValueError(
                    "multivariate_normal.logpdf: mean must be None or a vector if cov is a matrix, got a number"
                )
            cov = where(cov > 0, cov, np.nan)
            return -0.5 * away**2 / cov - 0.5 * (_log(2 * pi) + log(cov))
        away = atleast_1d(away)
        n = get_aval(away).shape[-1]
        if shape not in ((), (1,)) and shape[-2:] not in ((n,), (n, n)):
            raise ValueError(f"multivariate_normal.logpdf: cov must have the shape (..., {n}, {n}), got {shape}")
        if len(shape) < 2:
            cov = eye(n, dtype=get_aval(away).dtype) * cov
        factor = cholesky(cov)
        scaled = solve_triangular(factor, away[..., None], lower=True)[..., 0]
        return -0.5 * sum_(scaled * scaled, axis=-1) - 0.5 * n * _log(2 * pi) - sum_(log(diagonal(factor)), axis=-1)

    @staticmethod
    def pdf(x: Any, mean: Any = None, cov: Any = 1.0) -> Array:
        """The density; arguments are those of `logpdf`."""
        return exp(multivariate_normal.logpdf(x, mean, cov))


class dirichlet:
    """The Dirichlet distribution, of vectors of nonnegative numbers with sum 1.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.scipy.stats.dirichlet.pdf(pnp.array([0.5, 0.6]), pnp.array([1.0, 1.0]))  # outside, since the sum is not 1
      Array(0., dtype=float32)
    """

    @staticmethod
    def logpdf(x: Any, alpha: Any) -> Array:
        """The logarithm of the density.

        Args:
          x: vectors along the first axis, of shape (n, ...), or without their last elements, of shape (n - 1, ...). The
            density of other vectors, with a negative number or another sum, is 0.
          alpha: the parameters, positive, of shape (n,); the result is NaN if one is not positive.

        Raises:
          ValueError: `alpha` is not a vector, or has another length.
        """
        x, alpha = promote("dirichlet.logpdf", x, alpha, to=to_inexact)
        shape, count = get_aval(x).shape, get_aval(alpha).shape
        if len(count) != 1 or not shape or count[0] not in (shape[0], shape[0] + 1):
            raise ValueError(f"dirichlet.logpdf: alpha must be a vector of the length of x, got {count} and {shape}")
        if count[0] == shape[0] + 1:
            x = concatenate([x, 1 - sum_(x, axis=0, keepdims=True)], axis=0)
        alpha = where(all_(alpha > 0), alpha, np.nan)
        powers = alpha.reshape((-1,) + (1,) * (len(shape) - 1)) - 1
        scale = sum_(gammaln(alpha)) - gammaln(sum_(alpha))
        tolerance = max(1e-6, 2 * epsilon(x))
        outside = any_(x < 0, axis=0) | (absolute(sum_(x, axis=0) - 1) >= tolerance)
        out = sum_(xlogy(powers, where(outside, 1, x)), axis=0) - scale
        return where(outside & (scale == scale), -np.inf, out)

    @staticmethod
    def pdf(x: Any, alpha: Any) -> Array:
        """The density; arguments are those of `logpdf`."""
        return exp(dirichlet.logpdf(x, alpha))
