"""The names that packages use of `jax._src.ad_util`."""

from __future__ import annotations

from primax.extend.core import Primitive
from primax.extend.core.primitives import add_any_p, add_jaxvals_p
from primax.extend.interpreters.ad import Zero, instantiate_zeros

__all__ = ["Zero", "add_any_p", "add_jaxvals_p", "instantiate_zeros", "stop_gradient_p"]

# No program has this primitive, nor does one in JAX; packages define rules for it.
stop_gradient_p = Primitive("stop_gradient")
