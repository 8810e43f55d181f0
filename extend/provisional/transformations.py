"""The transformations of functions, for families whose functions apply them; users find them in `primax`."""

from __future__ import annotations

from primax.interpreters.grad import grad, jvp, linear_transpose, linearize, value_and_grad, vjp
from primax.interpreters.make_jaxpr import make_jaxpr
from primax.interpreters.vmap import vmap

__all__ = ["grad", "jvp", "linear_transpose", "linearize", "make_jaxpr", "value_and_grad", "vjp", "vmap"]
