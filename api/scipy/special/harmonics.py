"""Bessel functions of the first kind, and spherical harmonics."""

from __future__ import annotations

from functools import partial
from math import pi, sqrt
from typing import Any

import numpy as np

from primax import lax
from primax import numpy as pnp
from primax.extend import dtypes
from primax.extend.core import Array, Tracer, get_aval
from primax.extend.provisional.arguments import integer
from primax.extend.provisional.typing import ArrayLike
from primax.numpy.promotion import broadcast, host_values, strong
from primax.plugins.calls import jit
from primax.plugins.custom_derivatives import custom_jvp
from primax.scipy.special.operands import real

__all__ = ["bessel_jn", "sph_harm_y"]

_LARGE = 2.0**40


@partial(custom_jvp, nondiff_argnums=(0, 1))
def _bessel(v: int, n_iter: int, z: Any) -> Array:
    """Miller's algorithm: the recurrence from above, scaled by the sum J0 + 2 J2 + 2 J4 + ... = 1.

    Large numbers are divided by a power of 2; the number of divisions is recorded for each order.
    """
    first = max(n_iter, v + 1)
    zero = z == 0
    safe = pnp.where(zero, 1.0, z)

    def step(carry: Any, k: Any) -> tuple[Any, Any]:
        above, now, total, scalings = carry
        below = 2 * (k + 1) / safe * now - above
        total = total + pnp.where(k % 2 == 0, pnp.where(k == 0, 1.0, 2.0), 0.0) * below
        large = pnp.abs(below) > _LARGE
        scale = pnp.where(large, 1 / _LARGE, 1.0)
        carry = now * scale, below * scale, total * scale, scalings + large.astype(np.int32)
        return carry, (carry[1], carry[3])

    start = pnp.zeros_like(z), pnp.full_like(z, 1e-16), pnp.zeros_like(z), pnp.zeros(z.shape, np.int32)
    orders = pnp.arange(first - 1, -1, -1).astype(z.dtype)
    (_, _, total, scalings), (values, counts) = lax.scan(step, start, orders)
    values, counts = values[::-1][: v + 1], counts[::-1][: v + 1]
    missing = (scalings[None] - counts).astype(z.dtype)
    out = values * pnp.exp2(-40 * missing) / total[None]
    at_zero = pnp.where(pnp.arange(v + 1).reshape(-1, *(1,) * z.ndim) == 0, 1.0, 0.0)
    return pnp.where(zero[None], at_zero, out).astype(z.dtype)


@_bessel.defjvp
def _(v: int, n_iter: int, primals: Any, tangents: Any) -> tuple[Any, Any]:
    (z,), (t,) = primals, tangents
    out = _bessel(v + 1, n_iter, z)
    before = pnp.concatenate([-out[1:2], out[:-2]])
    return out[:-1], t[None] * (before - out[1:]) / 2


_bessel_program = jit(_bessel, static_argnums=(0, 1))


def bessel_jn(z: ArrayLike, *, v: int, n_iter: int = 50) -> Array:
    """Bessel functions of the first kind, of orders 0 to v.

    Args:
      z: real arrays or numbers of a floating dtype.
      v: the highest order, from 0 on.
      n_iter: the order at which the recurrence begins; it must be well above abs(z).

    Returns:
      An array of shape (v + 1, *z.shape).

    Raises:
      TypeError: `z` is not floating, or `v` or `n_iter` is not an integer.
      ValueError: `v` is negative, or `n_iter` not positive.

    Source: J. C. P. Miller's algorithm, NIST DLMF 3.6(v).

    >>> import primax as px
    >>> [round(float(x), 4) for x in px.scipy.special.bessel_jn(1.0, v=1)]
    [0.7652, 0.4401]
    """
    v, n_iter = integer("bessel_jn", "v", v), integer("bessel_jn", "n_iter", n_iter)
    if v < 0:
        raise ValueError(f"bessel_jn: v must not be negative, got {v}")
    if n_iter < 1:
        raise ValueError(f"bessel_jn: n_iter must be positive, got {n_iter}")
    aval = get_aval(z)
    if not dtypes.is_floating(aval.dtype):
        raise TypeError(f"bessel_jn: z must be floating, got {aval.str_short()}")
    (z,) = real("bessel_jn", z)
    return _bessel_program(v, n_iter, strong(z))


def _legendre(n_max: int, n: Any, m: Any, theta: Any) -> Array:
    """Normalized associated Legendre functions of cos(theta), with the phase of Condon and Shortley."""
    cosine, sine = pnp.cos(theta), pnp.sin(theta)
    # They are functions of the cosine: the sine counts as positive for all angles. The sine of the angle nearest to pi
    # may be negative by rounding, and keeps its derivative.
    sine = pnp.where(pnp.mod(theta, 2 * pi) > np.asarray(pi, theta.dtype), -sine, sine)
    square = m * m

    def diagonal(k: Any, p: Any) -> Array:
        k = pnp.asarray(k, theta.dtype)
        return pnp.where(k <= m, -p * pnp.sqrt(1 + 0.5 / k) * sine, p)

    def upwards(k: Any, state: Any) -> tuple[Any, Any]:
        before, p = state
        k = pnp.asarray(k, theta.dtype)
        going = (k > m) & (k <= n)
        here = pnp.where(going, k * k - square, 1.0)
        last = pnp.where(going, (k - 1) ** 2 - square, 0.0)
        after = pnp.sqrt((4 * k * k - 1) / here) * (cosine * p - pnp.sqrt(last / (4 * (k - 1) ** 2 - 1)) * before)
        return pnp.where(going, p, before), pnp.where(going, after, p)

    start = pnp.full_like(theta, 1 / sqrt(4 * pi))
    start = lax.fori_loop(1, n_max + 1, diagonal, start)
    _, p = lax.fori_loop(1, n_max + 1, upwards, (pnp.zeros_like(theta), start))
    return pnp.where(m <= n, p, 0.0)


@partial(jit, static_argnums=0)
def _harmonic(n_max: int, n: Any, m: Any, theta: Any, phi: Any) -> Array:
    order = pnp.abs(m)
    p = _legendre(n_max, pnp.minimum(n, n_max).astype(theta.dtype), order.astype(theta.dtype), theta)
    p = pnp.where((m < 0) & (order % 2 == 1), -p, p)
    angle = m.astype(theta.dtype) * phi
    return lax.complex(p * pnp.cos(angle), p * pnp.sin(angle))


def sph_harm_y(
    n: ArrayLike, m: ArrayLike, theta: ArrayLike, phi: ArrayLike, diff_n: None = None, n_max: int | None = None
) -> Array:
    """Orthonormal spherical harmonics, with the phase of Condon and Shortley.

    Args:
      n: degrees, integers from 0 on.
      m: orders, integers from -n to n; the result is 0 elsewhere.
      theta: polar angles. For those outside of 0 to pi, as in SciPy, the result is that of the angle from 0 to pi with
        the same cosine.
      phi: azimuths.
      diff_n: None; differentiate with `px.grad`.
      n_max: the largest degree, required in compiled functions; larger degrees are replaced by this one.

    Returns:
      Complex numbers, of the shape to which all broadcast.

    Raises:
      NotImplementedError: `diff_n` is given.
      TypeError: `n` or `m` are not integers, or the angles complex.
      ValueError: `n` is traced and `n_max` is None.

    Source: NIST DLMF 14.30; the recurrence 14.10.3, normalized.

    >>> import primax as px
    >>> round(float(px.scipy.special.sph_harm_y(1, 0, 0.0, 0.0).real), 4)
    0.4886
    """
    if diff_n is not None:
        raise NotImplementedError(f"sph_harm_y: diff_n must be None; differentiate with px.grad, got {diff_n!r}")
    for name, value in (("n", n), ("m", m)):
        if not dtypes.is_integer(get_aval(value).dtype):
            raise TypeError(f"sph_harm_y: {name} must be integers, got {get_aval(value).str_short()}")
    if n_max is None:
        if isinstance(n, Tracer):
            raise ValueError("sph_harm_y: n_max must be given where n is traced, got None")
        n_max = int(np.max(host_values(n))) if get_aval(n).size else 0
    n_max = max(integer("sph_harm_y", "n_max", n_max), 0)
    theta, phi = (strong(x) for x in real("sph_harm_y", theta, phi))
    n, m, theta, phi = broadcast("sph_harm_y", [pnp.asarray(n), pnp.asarray(m), theta, phi], scalars=False)
    return _harmonic(n_max, n, m, theta, phi)
