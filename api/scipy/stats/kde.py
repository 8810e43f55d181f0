"""Densities estimated from samples, as means of normal distributions around them."""

from __future__ import annotations

from math import log, pi, sqrt
from typing import Any

from primax import lax, random, tree_util
from primax import numpy as pnp
from primax.extend import dtypes
from primax.extend.core import Array
from primax.nn.exponentials import logsumexp
from primax.numpy.promotion import promote
from primax.scipy.special.errors import ndtr

__all__ = ["gaussian_kde"]

_FIELDS = ("neff", "dataset", "weights", "covariance", "inv_cov")


@tree_util.register_pytree_node_class
class gaussian_kde:
    """A density estimate: the mean of normal distributions around samples; a pytree.

    Args:
      dataset: samples of shape (n,), or (d, n) in d > 0 dimensions; n > 1.
      bw_method: the bandwidth relative to the covariance of the samples: "scott" or None for neff ** (-1 / (d + 4)),
        "silverman" for (neff (d + 2) / 4) ** (-1 / (d + 4)), a number, or a function of the estimate.
      weights: one weight for each sample, with any sum; equal weights if None.

    Attributes:
      dataset: the samples, of shape (d, n).
      weights: the weights, of shape (n,), with sum 1.
      neff: the effective number of samples, 1 / sum(weights**2).
      covariance: the covariance of each normal distribution, of shape (d, d).
      inv_cov: the inverse of `covariance`.

    Raises:
      TypeError: `dataset` is complex or not an array.
      ValueError: `dataset` or `weights` has another shape, or `bw_method` is unknown.

    Source: D. W. Scott, "Multivariate density estimation" (1992); B. W. Silverman, "Density estimation" (1986).

    >>> import primax as px
    >>> kde = px.scipy.stats.gaussian_kde(px.numpy.array([-1.0, 0.0, 1.0]))
    >>> bool(abs(kde.integrate_box_1d(-20.0, 20.0) - 1) < 1e-5)
    True
    """

    neff: Any
    dataset: Any
    weights: Any
    covariance: Any
    inv_cov: Any

    def __init__(self, dataset: Any, bw_method: Any = None, weights: Any = None) -> None:
        (data,) = promote("gaussian_kde", dataset, to=dtypes.to_inexact_dtype)
        data = pnp.atleast_2d(data)
        if dtypes.is_complex(data.dtype):
            raise TypeError(f"gaussian_kde: dataset must be real, got {data.dtype}")
        d, n = data.shape[0], data.shape[-1]
        if data.ndim != 2 or n < 2 or d < 1:
            raise ValueError(f"gaussian_kde: dataset must have the shape (d, n) with d > 0 and n > 1, got {data.shape}")
        if weights is None:
            weights = pnp.full(n, 1 / n, data.dtype)
        else:
            weights = pnp.asarray(promote("gaussian_kde", weights)[0]).astype(data.dtype)
            if weights.shape != (n,):
                raise ValueError(f"gaussian_kde: weights must have the shape ({n},), got {weights.shape}")
            weights = weights / pnp.sum(weights)
        self.dataset, self.weights = data, weights
        self.neff = 1 / pnp.sum(weights**2)
        factor = self._factor(bw_method, d)
        covariance = pnp.atleast_2d(pnp.cov(data, rowvar=True, bias=False, aweights=weights)).astype(data.dtype)
        self.covariance = covariance * factor**2
        self.inv_cov = pnp.linalg.inv(covariance) / factor**2

    def _factor(self, bw_method: Any, d: int) -> Array:
        if bw_method is None or (isinstance(bw_method, str) and bw_method == "scott"):
            return self.neff ** (-1 / (d + 4))
        if isinstance(bw_method, str) and bw_method == "silverman":
            return (self.neff * (d + 2) / 4) ** (-1 / (d + 4))
        if isinstance(bw_method, str) or (not callable(bw_method) and pnp.ndim(bw_method)):
            raise ValueError(
                f'gaussian_kde: bw_method must be "scott", "silverman", a number or a function, got {bw_method!r}'
            )
        factor = bw_method(self) if callable(bw_method) else bw_method
        try:
            return pnp.asarray(factor)
        except TypeError:
            raise TypeError(f"gaussian_kde: bw_method must be or return a number, got {factor!r}") from None

    @property
    def d(self) -> int:
        """The number of dimensions."""
        return int(self.dataset.shape[0])

    @property
    def n(self) -> int:
        """The number of samples."""
        return int(self.dataset.shape[1])

    def tree_flatten(self) -> tuple[Any, Any]:
        """The arrays as leaves; there is no static data."""
        return tuple(getattr(self, name) for name in _FIELDS), None

    @classmethod
    def tree_unflatten(cls, aux: Any, children: Any) -> gaussian_kde:
        """Rebuild the estimate from its arrays."""
        self = object.__new__(cls)
        for name, value in zip(_FIELDS, children, strict=True):
            setattr(self, name, value)
        return self

    def _points(self, function: str, points: Any) -> Array:
        (points,) = promote(f"gaussian_kde.{function}", points)
        points = pnp.atleast_2d(points)
        if points.shape[0] != self.d and points.shape[0] == 1 and points.shape[-1] == self.d:
            points = points.reshape(self.d, 1)
        if points.ndim != 2 or points.shape[0] != self.d:
            raise ValueError(f"gaussian_kde.{function}: points must have the shape ({self.d}, m), got {points.shape}")
        return points.astype(self.dataset.dtype)

    def _log_terms(self, points: Any) -> Array:
        """The logarithm of the density of each normal distribution at each point, of shape (n, m)."""
        factor = pnp.linalg.cholesky(self.covariance)
        own, others = (
            lax.linalg.triangular_solve(factor, x, left_side=True, lower=True) for x in (self.dataset, points)
        )
        energy = 0.5 * pnp.sum(pnp.square(own[:, :, None] - others[:, None, :]), axis=0)
        return -energy - 0.5 * self.d * log(2 * pi) - pnp.sum(pnp.log(pnp.diagonal(factor)))

    def evaluate(self, points: Any) -> Array:
        """The density at points.

        Args:
          points: of shape (d, m), (m,) for one dimension, or (d,) for one point.

        Returns:
          An array of shape (m,).
        """
        return self.weights @ pnp.exp(self._log_terms(self._points("evaluate", points)))

    def __call__(self, points: Any) -> Array:
        """The same as `evaluate`."""
        return self.evaluate(points)

    def pdf(self, x: Any) -> Array:
        """The same as `evaluate`.

        Args:
          x: points.
        """
        return self.evaluate(x)

    def logpdf(self, x: Any) -> Array:
        """The logarithm of the density at points, even where the density underflows.

        Args:
          x: points, as for `evaluate`.
        """
        return logsumexp(self._log_terms(self._points("logpdf", x)), axis=0, b=self.weights[:, None])

    def integrate_gaussian(self, mean: Any, cov: Any) -> Array:
        """The integral of the density times the density of a normal distribution.

        Args:
          mean: of shape (d,).
          cov: of shape (d, d).

        Raises:
          ValueError: `mean` or `cov` has another shape.
        """
        mean, cov = promote("gaussian_kde.integrate_gaussian", mean, cov)
        mean, cov = pnp.atleast_1d(mean), pnp.atleast_2d(cov)
        if mean.shape != (self.d,):
            raise ValueError(f"gaussian_kde.integrate_gaussian: mean must have the shape ({self.d},), got {mean.shape}")
        if cov.shape != (self.d, self.d):
            raise ValueError(
                f"gaussian_kde.integrate_gaussian: cov must have the shape ({self.d}, {self.d}), got {cov.shape}"
            )
        return self.weights @ _normal_density(self.dataset - mean[:, None], self.covariance + cov)

    def integrate_box_1d(self, low: Any, high: Any) -> Array:
        """The probability of an interval, in one dimension.

        Args:
          low, high: the ends of the interval, numbers.

        Raises:
          ValueError: the estimate has more than one dimension.
        """
        if self.d != 1:
            raise ValueError(f"gaussian_kde.integrate_box_1d: the estimate must have 1 dimension, got {self.d}")
        scale = pnp.sqrt(self.covariance[0, 0])
        return self.weights @ (ndtr((high - self.dataset[0]) / scale) - ndtr((low - self.dataset[0]) / scale))

    def integrate_box(self, low_bounds: Any, high_bounds: Any, maxpts: Any = None) -> Array:
        """Not supported; use `integrate_box_1d` for one dimension.

        Args:
          low_bounds, high_bounds, maxpts: SciPy's arguments.

        Raises:
          NotImplementedError: always.
        """
        raise NotImplementedError("gaussian_kde.integrate_box: boxes must have 1 dimension; use integrate_box_1d")

    def integrate_kde(self, other: gaussian_kde) -> Array:
        """The integral of the product of two densities.

        Args:
          other: an estimate with the same number of dimensions.

        Raises:
          ValueError: `other` has another number of dimensions.
        """
        if not isinstance(other, gaussian_kde) or other.d != self.d:
            raise ValueError(
                f"gaussian_kde.integrate_kde: other must be an estimate of {self.d} dimensions, got {other!r}"
            )
        away = self.dataset[:, :, None] - other.dataset[:, None, :]
        density = _normal_density(away.reshape(self.d, -1), self.covariance + other.covariance)
        return self.weights @ density.reshape(self.n, other.n) @ other.weights

    def resample(self, key: Any, shape: tuple[int, ...] = ()) -> Array:
        """Samples of the estimated density.

        Args:
          key: a random key.
          shape: the shape of the samples.

        Returns:
          An array of shape (d, *shape).
        """
        which_key, noise_key = random.split(key)
        which = random.choice(which_key, self.n, shape=shape, p=self.weights)
        zero = pnp.zeros(self.d, self.dataset.dtype)
        noise = random.multivariate_normal(noise_key, zero, self.covariance, shape=shape, dtype=self.dataset.dtype)
        return self.dataset[:, which] + pnp.moveaxis(noise, -1, 0)

    def set_bandwidth(self, bw_method: Any = None) -> None:
        """Not supported; create another estimate.

        Args:
          bw_method: SciPy's argument.

        Raises:
          NotImplementedError: always.
        """
        raise NotImplementedError("gaussian_kde.set_bandwidth: an estimate must keep its bandwidth; make another one")


def _normal_density(away: Any, covariance: Any) -> Array:
    """The density of a normal distribution at the columns of a matrix."""
    factor = pnp.linalg.cholesky(covariance)
    scaled = lax.linalg.triangular_solve(factor, away, left_side=True, lower=True)
    scale = pnp.prod(pnp.diagonal(factor)) * sqrt(2 * pi) ** away.shape[0]
    return pnp.exp(-0.5 * pnp.sum(scaled * scaled, axis=0)) / scale
