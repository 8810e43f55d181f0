"""Primitives of JAX for which packages define rules; programs of primax do not contain them."""

from __future__ import annotations

from typing import Any

from primax import lax
from primax.extend import define_primitive, derive
from primax.extend.core import Primitive

__all__ = ["approx_top_k_p", "linear_solve_p", "polynomial_p"]


def _approx_top_k(operand: Any, *, is_max_k: bool, **params: Any) -> list[Any]:
    return list((lax.approx_max_k if is_max_k else lax.approx_min_k)(operand, **params))


approx_top_k_p = define_primitive(
    "approx_top_k",
    multiple_results=True,
    impl=_approx_top_k,
    abstract_eval=derive.from_impl,
    jvp=derive.from_impl,
    batch=derive.from_impl,
    lowering=derive.from_impl,
)
linear_solve_p = Primitive("custom_linear_solve", multiple_results=True)
polynomial_p = Primitive("polynomial")
