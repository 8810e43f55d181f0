"""Elementwise activation functions.

A function of several operations is one call in programs, and one compiled program outside of them.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import canonical_axis
from primax.extend.provisional.elementwise import like
from primax.extend.provisional.typing import ArrayLike
from primax.nn.arguments import inexact, inexact_number, number, weakly_inexact
from primax.numpy.conversion import asarray
from primax.numpy.formulas import hypot, logaddexp
from primax.numpy.promotion import aval_of, promote, strong
from primax.numpy.rounding import clip
from primax.numpy.selection import choose, where
from primax.numpy.ufuncs import tanh, to_inexact
from primax.plugins import exponential, special
from primax.plugins.arithmetic import clamp_p, max_p, min_p, square_p
from primax.plugins.calls import jit
from primax.plugins.custom_derivatives import custom_jvp
from primax.plugins.structural import stop_gradient
from primax.plugins.structural.slicing import slice_in_dim

__all__ = [
    "celu",
    "elu",
    "gelu",
    "glu",
    "hard_sigmoid",
    "hard_silu",
    "hard_swish",
    "hard_tanh",
    "identity",
    "leaky_relu",
    "log1mexp",
    "log_sigmoid",
    "mish",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "soft_sign",
    "softplus",
    "sparse_plus",
    "sparse_sigmoid",
    "squareplus",
    "swish",
    "tanh",
]

# Klambauer et al., "Self-normalizing neural networks" (2017): these constants preserve mean 0 and variance 1.
_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


def identity(x: ArrayLike) -> Array:
    """x itself, as an array.

    Args:
      x: an array or a number.

    Examples:
      >>> import primax as px
      >>> px.nn.identity(3)
      Array(3, dtype=int32, weak_type=True)
    """
    return asarray(x)


@jit
def relu(x: ArrayLike) -> Array:
    """max(x, 0), whose derivative at 0 is 0.

    Args:
      x: an array or a number, real.

    >>> import primax as px
    >>> px.nn.relu(px.numpy.array([-1.0, 0.0, 2.0]))
    Array([0., 0., 2.], dtype=float32)
    >>> px.vmap(px.grad(px.nn.relu))(px.numpy.array([-1.0, 0.0, 2.0]))
    Array([0., 0., 1.], dtype=float32)
    """
    x = number("relu", x)
    zero = like(x, 0)
    return choose(x > zero, x, stop_gradient(max_p.bind(x, zero)))


@jit
def relu6(x: ArrayLike) -> Array:
    """min(max(x, 0), 6), whose derivative at 0 and 6 is 0.

    Args:
      x: an array or a number; integers are converted to a floating dtype.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.nn.relu6(pnp.array([-1.0, 3.0, 9.0])), px.grad(px.nn.relu6)(6.0)
      (Array([0., 3., 6.], dtype=float32), Array(0., dtype=float32, weak_type=True))
    """
    x = weakly_inexact("relu6", x)
    low, high = like(x, 0), like(x, 6)
    inside = (x > low) & (x < high)
    return choose(inside, x, stop_gradient(min_p.bind(max_p.bind(x, low), high)))


def sigmoid(x: ArrayLike) -> Array:
    """1 / (1 + exp(-x)).

    Args:
      x: an array or a number, of a floating or complex dtype.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.nn.sigmoid(pnp.array([-1000.0, 0.0, 1000.0]))
      Array([0. , 0.5, 1. ], dtype=float32)
    """
    return exponential.logistic_p.bind(x, accuracy=None)


@jit
def softplus(x: ArrayLike) -> Array:
    """log(1 + exp(x)), without overflow.

    Args:
      x: an array or a number; integers are converted to a floating dtype.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.nn.softplus(pnp.array([-1000.0, 1000.0])), px.grad(px.nn.softplus)(0.0)
      (Array([   0., 1000.], dtype=float32), Array(0.5, dtype=float32, weak_type=True))
    """
    return logaddexp(inexact_number("softplus", x), 0.0)


@jit
def sparse_plus(x: ArrayLike) -> Array:
    """0 where x <= -1, x where x >= 1, and (x + 1)**2 / 4 between: a softplus that is exact outside of (-1, 1).

    Args:
      x: an array or a number; integers are converted to a floating dtype.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.nn.sparse_plus(pnp.array([-1.0, 0.0, 1.0, 2.0]))
      Array([0.  , 0.25, 1.  , 2.  ], dtype=float32)
    """
    x = weakly_inexact("sparse_plus", x)
    above = x >= 1.0
    # For large x the square overflows, and the derivative would be zero times infinity.
    harmless = choose(above | (x <= -1.0), like(x, -1), x)
    return where(above, x, (harmless + 1.0) ** 2 / 4)


@jit
def sparse_sigmoid(x: ArrayLike) -> Array:
    """0 where x <= -1, 1 where x >= 1, and (x + 1) / 2 between: the derivative of `sparse_plus`.

    Args:
      x: an array or a number; integers are converted to a floating dtype.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.nn.sparse_sigmoid(pnp.array([-2.0, 0.0, 0.5, 2.0]))
      Array([0.  , 0.5 , 0.75, 1.  ], dtype=float32)
    """
    return 0.5 * (clip(weakly_inexact("sparse_sigmoid", x), -1.0, 1.0) + 1.0)


@jit
def soft_sign(x: ArrayLike) -> Array:
    """x / (1 + |x|).

    Args:
      x: an array or a number; integers are converted to a floating dtype.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.nn.soft_sign(pnp.array([-1.0, 0.0, 3.0]))
      Array([-0.5 ,  0.  ,  0.75], dtype=float32)
    """
    return _soft_sign(inexact_number("soft_sign", x))


@custom_jvp
def _soft_sign(x: Any) -> Array:
    return x / (abs(x) + 1.0)


# The derivative of the quotient would be the difference of two numbers that are nearly equal.
_soft_sign.defjvps(lambda t, out, x: t * square_p.bind(1.0 / (abs(x) + 1.0)))


@jit
def silu(x: ArrayLike) -> Array:
    """x * sigmoid(x), also known as swish.

    Args:
      x: an array or a number, of a floating or complex dtype.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.nn.silu(pnp.array([0.0, 1000.0])), px.grad(px.nn.silu)(0.0)
      (Array([   0., 1000.], dtype=float32), Array(0.5, dtype=float32, weak_type=True))
    """
    return number("silu", x) * sigmoid(x)


@jit
def mish(x: ArrayLike) -> Array:
    """x * tanh(softplus(x)).

    Args:
      x: an array or a number; integers are converted to a floating dtype.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.nn.mish(pnp.array([0.0, 1000.0]))
      Array([   0., 1000.], dtype=float32)
    """
    x = inexact_number("mish", x)
    return x * tanh(softplus(x))


@jit
def log_sigmoid(x: ArrayLike) -> Array:
    """log(sigmoid(x)), without overflow.

    Args:
      x: an array or a number; integers are converted to a floating dtype.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.nn.log_sigmoid(pnp.array([-1000.0])), px.grad(px.nn.log_sigmoid)(0.0)
      (Array([-1000.], dtype=float32), Array(0.5, dtype=float32, weak_type=True))
    """
    return -softplus(-inexact_number("log_sigmoid", x))


@jit
def leaky_relu(x: ArrayLike, negative_slope: ArrayLike = 0.01) -> Array:
    """x where x >= 0, else negative_slope * x.

    Args:
      x: an array or a number; integers are converted to a floating dtype.
      negative_slope: a number or an array that broadcasts with x.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.nn.leaky_relu(pnp.array([-2.0, 0.0, 2.0]), negative_slope=0.5), px.grad(px.nn.leaky_relu)(0.0)
      (Array([-1.,  0.,  2.], dtype=float32), Array(1., dtype=float32, weak_type=True))
    """
    x = weakly_inexact("leaky_relu", x)
    aval_of("leaky_relu", negative_slope, "negative_slope")
    return where(x >= 0.0, x, negative_slope * x)


@jit
def hard_sigmoid(x: ArrayLike) -> Array:
    """relu6(x + 3) / 6, a piecewise linear sigmoid.

    Args:
      x: an array or a number; integers are converted to a floating dtype.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.nn.hard_sigmoid(pnp.array([-4.0, 0.0, 4.0]))
      Array([0. , 0.5, 1. ], dtype=float32)
    """
    x = weakly_inexact("hard_sigmoid", x)
    # Compared before the addition, which rounds: the derivative would be 0 for the neighbors of 3.
    inside = (x > -3.0) & (x < 3.0)
    shifted = x + 3.0
    return choose(inside, shifted, stop_gradient(min_p.bind(max_p.bind(shifted, like(x, 0)), like(x, 6)))) / 6.0


@jit
def hard_silu(x: ArrayLike) -> Array:
    """x * hard_sigmoid(x).

    Args:
      x: an array or a number; integers are converted to a floating dtype.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.nn.hard_silu(pnp.array([0.0, 3.0, 4.0])), px.grad(px.nn.hard_silu)(-4.0)
      (Array([0., 3., 4.], dtype=float32), Array(0., dtype=float32, weak_type=True))
    """
    x = weakly_inexact("hard_silu", x)
    return x * hard_sigmoid(x)


@jit
def hard_tanh(x: ArrayLike) -> Array:
    """-1 where x < -1, 1 where x > 1, and x between.

    Args:
      x: an array or a number, real.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.nn.hard_tanh(pnp.array([-4.0, 0.5, 4.0]))
      Array([-1. ,  0.5,  1. ], dtype=float32)
    """
    x = number("hard_tanh", x)
    high = like(x, 1)
    if not dtypes.is_unsigned_integer(get_aval(x).dtype):
        low = like(x, -1)
        x = choose(x < low, low, x)
    return choose(x > high, high, x)


@jit
def elu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """x where x > 0, else alpha * (exp(x) - 1).

    Args:
      x: an array or a number; integers are converted to a floating dtype.
      alpha: a number or an array that broadcasts with x.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.nn.elu(pnp.array([-100.0, 0.0, 2.0]))
      Array([-1.,  0.,  2.], dtype=float32)
    """
    x = weakly_inexact("elu", x)
    aval_of("elu", alpha, "alpha")
    positive = x > 0.0
    # For large x the exponential overflows, and the derivative would be zero times infinity.
    harmless = choose(positive, like(x, 0), x)
    return where(positive, x, alpha * exponential.expm1_p.bind(harmless, accuracy=None))


@jit
def celu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """max(x, 0) + alpha * (exp(min(x, 0) / alpha) - 1), whose derivative is continuous.

    Args:
      x: an array or a number; integers are converted to a floating dtype.
      alpha: a number or an array that broadcasts with x.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.nn.celu(pnp.array([-100.0, 0.0, 2.0]), alpha=2.0)
      Array([-2.,  0.,  2.], dtype=float32)
    """
    x = weakly_inexact("celu", x)
    aval_of("celu", alpha, "alpha")
    zero = like(x, 0)
    below = min_p.bind(x, zero) / alpha
    return max_p.bind(x, zero) + alpha * exponential.expm1_p.bind(below, accuracy=None)


@jit
def selu(x: ArrayLike) -> Array:
    """`elu` with constants that preserve mean 0 and variance 1.

    Args:
      x: an array or a number; integers are converted to a floating dtype.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.nn.selu(pnp.array([0.0, 1.0, -100.0])) > pnp.array([0, 1, -1.75])
      Array([False,  True, False], dtype=bool)
    """
    return _SELU_SCALE * elu(x, _SELU_ALPHA)


def gelu(x: ArrayLike, approximate: bool = True) -> Array:
    """x times the probability that a standard normal number is less than x.

    Args:
      x: an array or a number; integers are converted to a floating dtype.
      approximate: whether to approximate the probability by (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x**3))) / 2.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.nn.gelu(pnp.array([0.0, 10.0])), px.nn.gelu(1.0) == px.nn.gelu(1.0, approximate=False)
      (Array([ 0., 10.], dtype=float32), Array(False, dtype=bool))
    """
    return _gelu(x, approximate)


@partial(jit, static_argnums=1)
def _gelu(x: Any, approximate: bool) -> Array:
    x = strong(inexact("gelu", x))
    if approximate:
        # (1 + tanh(u)) / 2 is the logistic function of 2u, which has all digits where tanh(u) rounds to -1. Beyond
        # the bounds it is 0 or 1.
        bounded = clamp_p.bind(like(x, -100), x, like(x, 100))
        return x * sigmoid(math.sqrt(8 / math.pi) * (bounded * (1.0 + 0.044715 * square_p.bind(bounded))))
    return 0.5 * x * special.erfc(-x * math.sqrt(0.5))


@partial(jit, static_argnames=("axis",))
def glu(x: ArrayLike, axis: int = -1) -> Array:
    """The first half of an array along an axis, times the sigmoid of the second half.

    Args:
      x: an array of a floating or complex dtype.
      axis: the axis.

    Raises:
      ValueError: `axis` is out of range, or its length is odd.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.nn.glu(pnp.array([2.0, 4.0, 0.0, 100.0]))
      Array([1., 4.], dtype=float32)
    """
    x = number("glu", x)
    axis = canonical_axis(axis, x.ndim, "glu")
    size = x.shape[axis]
    if size % 2:
        raise ValueError(
            f"glu: x must be of even length along the axis, got {size} for axis {axis} of {get_aval(x).str_short()}"
        )
    return slice_in_dim(x, 0, size // 2, axis=axis) * sigmoid(slice_in_dim(x, size // 2, size, axis=axis))


@jit
def squareplus(x: ArrayLike, b: ArrayLike = 4) -> Array:
    """(x + sqrt(x**2 + b)) / 2, an approximation of softplus without exponentials.

    Args:
      x: an array or a number; integers are converted to a floating dtype.
      b: a number or an array that broadcasts with x: the smoothness at 0.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.nn.squareplus(pnp.array([0.0, 1.5]))
      Array([1., 2.], dtype=float32)
    """
    x, b = promote("squareplus", asarray(x), b, to=to_inexact)
    if dtypes.is_complex(get_aval(x).dtype):
        return (x + exponential.sqrt(square_p.bind(x) + b)) / 2
    # XLA would replace the sum of both halves by half of the sum, which overflows.
    size = abs(x) * 0.5 + hypot(x * 0.5, exponential.sqrt(b) * 0.5)
    return where(x >= 0, size, b / 4 / size)  # the sum of x and the root would lose digits for negative x


@custom_jvp
def _log1mexp(x: Any) -> Array:
    # For small x, 1 - exp(-x) loses digits and expm1 does not; for large x, log1p does not.
    exact = exponential.log(-exponential.expm1(-x))
    return where(x < math.log(2), exact, exponential.log1p(-exponential.exp(-x)))


@custom_jvp
def _inverse_of_expm1(x: Any) -> Array:
    return exponential.exp(-x) / -exponential.expm1(-x)  # where exp(x) does not overflow


_inverse_of_expm1.defjvps(lambda t, out, x: -t * (out * (1.0 + out)))
_log1mexp.defjvps(lambda t, out, x: t * _inverse_of_expm1(x))


@jit
def log1mexp(x: ArrayLike) -> Array:
    """log(1 - exp(-x)), accurate for small and for large x.

    Args:
      x: an array or a number, real and positive; integers are converted to a floating dtype.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.nn.log1mexp(pnp.array([0.0, 50.0])), pnp.log(1 - pnp.exp(-50.0))
      (Array([          -inf, -1.9287499e-22], dtype=float32), Array(0., dtype=float32, weak_type=True))
    """
    return _log1mexp(inexact("log1mexp", x))


swish = silu
hard_swish = hard_silu
