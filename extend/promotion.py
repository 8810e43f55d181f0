"""The lattice of type promotion, as in JAX's design document "Design of type promotion semantics" (JEP 9407).

Its nodes are dtypes and the scalar types int, float and complex, which are weak: they take the width of other operands.
"""

from __future__ import annotations

import functools
from typing import Any, TypeAlias

import numpy as np

from primax.core.dtypes import (
    BOOL,
    COMPLEX,
    FLOATS,
    NARROW_FLOATS,
    NARROW_SIGNED,
    NARROW_UNSIGNED,
    NUMBERS,
    SIGNED,
    UNSIGNED,
    float0,
)
from primax.core.source_info import called

__all__ = ["NoPromotionError", "Node", "TypePromotionError", "least_upper_bound"]

Node: TypeAlias = "np.dtype[Any] | type"


class TypePromotionError(ValueError):
    """Operands have no common dtype, and need an explicit cast."""


class NoPromotionError(TypePromotionError, TypeError):
    """An operand has a dtype without arithmetic, such as random keys; in JAX this is a TypeError."""


def _edges(x64: bool) -> dict[Node, tuple[Node, ...]]:
    """Return the direct upper neighbors of each dtype and each weak scalar type."""
    u8, u16, u32, u64 = UNSIGNED[-4:]
    i8, i16, i32, i64 = SIGNED[-4:]
    bf16, f16, f32, f64 = FLOATS[-4:]
    c64, c128 = COMPLEX
    return {
        **dict.fromkeys((*NARROW_UNSIGNED, *NARROW_SIGNED, *NARROW_FLOATS), ()),
        BOOL: (int,),
        int: (*NARROW_UNSIGNED, *NARROW_SIGNED, u8, i8),
        u8: (u16, i16),
        u16: (u32, i32),
        # Without 64-bit dtypes, uint32 and a signed integer must not promote to int64.
        u32: (u64, i64) if x64 else (u64, i32),
        u64: (float,),
        i8: (i16,),
        i16: (i32,),
        i32: (i64,),
        i64: (float,),
        float: (*NARROW_FLOATS, bf16, f16, complex),
        bf16: (f32,),
        f16: (f32,),
        f32: (f64, c64),
        f64: (c128,),
        complex: (c64,),
        c64: (c128,),
        c128: (),
    }


def _strict_edges() -> dict[Node, tuple[Node, ...]]:
    """Return the lattice in which only weak scalar types promote, and only to dtypes that can represent them."""
    return {
        **dict.fromkeys((BOOL, *NUMBERS), ()),
        int: (float, *UNSIGNED, *SIGNED),
        float: (complex, *FLOATS),
        complex: COMPLEX,
    }


@functools.cache
def _upper_bounds(mode: str, x64: bool) -> dict[Node, frozenset[Node]]:
    """Return for each node the set of itself and all nodes above it."""
    edges = _strict_edges() if mode == "strict" else _edges(x64)
    bounds: dict[Node, frozenset[Node]] = {}

    def above(node: Node) -> frozenset[Node]:
        if node not in bounds:
            bounds[node] = frozenset({node}).union(*map(above, edges[node]))
        return bounds[node]

    for node in edges:
        above(node)
    return bounds


def least_upper_bound(mode: str, x64: bool, nodes: frozenset[Node]) -> Node:
    """Return the node to which nodes promote.

    Args:
        mode: the value of `numpy_dtype_promotion`.
        x64: the value of `enable_x64`.
        nodes: one or more nodes.

    Raises:
        TypePromotionError: there is no such node; a `NoPromotionError` if a node has no other above it.
    """
    bounds = _upper_bounds(mode, x64)
    if alone := sorted(nodes - bounds.keys(), key=_name):
        hint, names = getattr(alone[0], "how_to_compute", ""), ", ".join(map(_name, alone))
        subject, has = (f"dtypes {names} do", "have") if len(alone) > 1 else (f"dtype {names} does", "has")
        text = f"{subject} not promote to or from another dtype, and {has} no arithmetic"
        raise NoPromotionError(f"{called() or 'result_type'}: {text}{hint and f'; {hint}'}")
    common = frozenset.intersection(*(bounds[node] for node in nodes))
    for candidate in common:
        if common <= bounds[candidate]:
            return candidate
    names = ", ".join(sorted(map(_name, nodes)))
    if mode == "strict":
        why = "numpy_dtype_promotion is 'strict'"
    else:
        why = "floats and integers of fewer than 8 bits, and 8-bit floats, do not promote implicitly"
    raise TypePromotionError(
        f"{called() or 'result_type'}: dtypes must have a common dtype, got {names}; {why}; cast one with astype"
    )


def _name(node: Any) -> str:
    return node.__name__ if isinstance(node, type) else "float0" if node == float0 else str(node)
