"""Symbolic dimensions as numbers in programs."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend import core, dtypes
from primax.extend.core import ShapedArray
from primax.extend.interpreters import mlir
from primax.extend.rule_types import Table

dim_as_value_p = core.Primitive("dim_as_value")


def as_value(dim: Any) -> Any:
    """The array of rank 0 with the value of a dimension."""
    return dim_as_value_p.bind(dim=dim)


def _abstract_eval(*, dim: Any) -> ShapedArray:
    return ShapedArray((), dtypes.canonicalize_dtype(np.dtype(np.int64)), weak_type=True)


def _lowering(ctx: mlir.LoweringRuleContext, *, dim: Any) -> list[Any]:
    return [mlir.size_value(dim, ctx.avals_out[0].dtype)]


RULES: Table = {dim_as_value_p: {"abstract_eval": _abstract_eval, "lowering": _lowering}}
