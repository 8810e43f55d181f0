"""Primitives of JAX for which packages define rules, and which no program has here."""

from __future__ import annotations

from primax.extend.core import Primitive

__all__ = ["approx_top_k_p", "linear_solve_p", "polynomial_p"]

approx_top_k_p = Primitive("approx_top_k", multiple_results=True)
linear_solve_p = Primitive("custom_linear_solve", multiple_results=True)
polynomial_p = Primitive("polynomial")
