"""Comparisons."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend import core, hookimpl
from primax.extend.core import dtypes
from primax.extend.interpreters import mlir
from primax.plugins.elementwise import ANY, ORDERED, row

__all__ = ["eq", "eq_p", "ge", "ge_p", "gt", "gt_p", "le", "le_p", "lt", "lt_p", "ne", "ne_p"]

eq_p = core.Primitive("eq")
ne_p = core.Primitive("ne")
ge_p = core.Primitive("ge")
gt_p = core.Primitive("gt")
le_p = core.Primitive("le")
lt_p = core.Primitive("lt")


def eq(x: Any, y: Any) -> Any:
    """Elementwise x == y, for arrays of one dtype and one shape."""
    return eq_p.bind(x, y)


def ne(x: Any, y: Any) -> Any:
    """Elementwise x != y, for arrays of one dtype and one shape."""
    return ne_p.bind(x, y)


def ge(x: Any, y: Any) -> Any:
    """Elementwise x >= y, for real arrays of one dtype and one shape."""
    return ge_p.bind(x, y)


def gt(x: Any, y: Any) -> Any:
    """Elementwise x > y, for real arrays of one dtype and one shape."""
    return gt_p.bind(x, y)


def le(x: Any, y: Any) -> Any:
    """Elementwise x <= y, for real arrays of one dtype and one shape."""
    return le_p.bind(x, y)


def lt(x: Any, y: Any) -> Any:
    """Elementwise x < y, for real arrays of one dtype and one shape."""
    return lt_p.bind(x, y)


def _compare(direction: str) -> Any:
    def lowering(ctx: mlir.LoweringRuleContext, x: Any, y: Any) -> Any:
        dtype = ctx.avals_in[0].dtype
        if dtypes.is_inexact(dtype):
            kind = "FLOAT"
        elif dtypes.is_bool(dtype) or dtypes.is_unsigned_integer(dtype):
            kind = "UNSIGNED"
        else:
            kind = "SIGNED"
        compare = mlir.nary(
            "stablehlo.compare",
            comparison_direction=lambda: mlir.hlo.ComparisonDirectionAttr.get(direction),
            compare_type=lambda: mlir.hlo.ComparisonTypeAttr.get(kind),
        )
        return compare(ctx, x, y)

    lowering.__name__ = f"compare_{direction}"
    return lowering


def _boolean(dtype: Any) -> Any:
    return np.dtype(np.bool_)


_TIE = ((0.3, -1.2, 2.6), (0.3, 0.8, -0.6))

TABLE = (
    row(eq_p, (ANY, ANY), _compare("EQ"), out=_boolean, at=_TIE),
    row(ne_p, (ANY, ANY), _compare("NE"), out=_boolean, at=_TIE),
    row(ge_p, (ORDERED, ORDERED), _compare("GE"), out=_boolean, at=_TIE),
    row(gt_p, (ORDERED, ORDERED), _compare("GT"), out=_boolean, at=_TIE),
    row(le_p, (ORDERED, ORDERED), _compare("LE"), out=_boolean, at=_TIE),
    row(lt_p, (ORDERED, ORDERED), _compare("LT"), out=_boolean, at=_TIE),
)


@hookimpl
def primax_register(registry: Any) -> None:
    for primitive, rules in TABLE:
        registry.define(primitive, **rules)
