"""Symbolic dimensions as numbers in programs."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.core import ShapedArray, dtypes
from primax.extend.dimensions import hooks, is_symbolic_dim
from primax.extend.interpreters import mlir
from primax.extend.rule_types import Table
from primax.plugins.structural.conversion import convert_element_type_p

__all__ = ["RULES", "as_scalar", "dim_as_value_p"]

dim_as_value_p = core.Primitive("dim_as_value")


def as_scalar(size: Any, dtype: np.dtype[Any]) -> Any:
    """A size as a scalar of a dtype: a NumPy scalar, or a value of the program for a symbolic dimension."""
    if is_symbolic_dim(size):
        return convert_element_type_p.bind(dim_as_value_p.bind(dim=size), new_dtype=dtype, weak_type=False)
    return dtype.type(size)


def _abstract_eval(*, dim: Any) -> ShapedArray:
    return ShapedArray((), dtypes.canonicalize_dtype(np.dtype(np.int64)), weak_type=True)


hooks.as_array = lambda dim: dim_as_value_p.bind(dim=dim)


def _lowering(ctx: mlir.LoweringRuleContext, *, dim: Any) -> list[Any]:
    return [mlir.size_value(dim, ctx.avals_out[0].dtype)]


RULES: Table = {dim_as_value_p: {"abstract_eval": _abstract_eval, "lowering": _lowering}}
