"""The primitives of references, which programs hold; `primax.plugins.state.ref` has the functions that users call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from primax.extend import core
from primax.extend.core import ShapedArray
from primax.extend.provisional.references import PrintedEquation
from primax.extend.rule_types import Table
from primax.plugins.state.indices import Indices, type_of_elements
from primax.plugins.state.types import AbstractRef, AccumEffect, EndEffect, ReadEffect, WriteEffect, new_ref_effect

ref_p = core.Primitive("new_ref")
empty2_p = core.Primitive("empty_ref")
freeze_p = core.Primitive("freeze")
free_p = core.Primitive("free_ref", multiple_results=True)
get_p = core.Primitive("get")
swap_p = core.Primitive("swap")
addupdate_p = core.Primitive("addupdate", multiple_results=True)


def _require_ref(what: str, ref: Any) -> None:
    if not isinstance(ref, AbstractRef):
        raise TypeError(
            f"{what}: the first operand must be a reference, got {ref.str_short()}; px.new_ref(x) makes one"
        )


def _ref_types(aval: ShapedArray, *, memory_space: Any, kind: Any) -> tuple[Any, Any]:
    return AbstractRef(aval.strip_weak_type(), memory_space, kind), {new_ref_effect}


def _empty_types(*, shape: Any, dtype: Any, memory_space: Any, kind: Any) -> tuple[Any, Any]:
    return AbstractRef(ShapedArray(shape, dtype), memory_space, kind), {new_ref_effect}


def _freeze_types(ref: AbstractRef) -> tuple[Any, Any]:
    _require_ref("freeze", ref)
    return ref.inner_aval, {ReadEffect(0)}


def _free_types(ref: AbstractRef) -> tuple[Any, Any]:
    _require_ref("free_ref", ref)
    return [], {EndEffect(0)}


def _get_types(ref: AbstractRef, *operands: Any, indices: Indices) -> tuple[Any, Any]:
    _require_ref("get", ref)
    return type_of_elements(ref.inner_aval, indices, operands), {ReadEffect(0)}


def _swap_types(ref: AbstractRef, value: Any, *operands: Any, indices: Indices) -> tuple[Any, Any]:
    _require_ref("swap", ref)
    return require_elements("swap", ref.inner_aval, indices, operands, value), {WriteEffect(0)}


def _addupdate_types(ref: AbstractRef, value: Any, *operands: Any, indices: Indices) -> tuple[Any, Any]:
    _require_ref("addupdate", ref)
    require_elements("addupdate", ref.inner_aval, indices, operands, value)
    return [], {AccumEffect(0)}


def require_elements(
    what: str, contents: ShapedArray, indices: Indices, operands: Sequence[Any], value: Any
) -> ShapedArray:
    """The type of the elements at some indices, which a value must have.

    Raises:
      TypeError: it has another shape or dtype.
    """
    elements = type_of_elements(contents, indices, operands)
    if value.shape != elements.shape or value.dtype != elements.dtype:
        raise TypeError(
            f"{what}: the value must be of type {elements.str_short()}, as the elements that it replaces, got "
            f"{value.str_short()}"
        )
    return elements


def _printed_get(params: dict[str, Any]) -> PrintedEquation:
    def text(outs: Sequence[str], operands: Sequence[str]) -> str:
        return f"{outs[0]} <- {operands[0]}{params['indices'].text(operands[1:])}"

    return PrintedEquation(text)


def _printed_swap(params: dict[str, Any]) -> PrintedEquation:
    def text(outs: Sequence[str], operands: Sequence[str]) -> str:
        place = operands[0] + params["indices"].text(operands[2:])
        if outs[0].startswith("_"):
            return f"{place} <- {operands[1]}"
        return f"{outs[0]}, {place} <- {place}, {operands[1]}"

    return PrintedEquation(text)


def _printed_addupdate(params: dict[str, Any]) -> PrintedEquation:
    def text(outs: Sequence[str], operands: Sequence[str]) -> str:
        return f"{operands[0]}{params['indices'].text(operands[2:])} += {operands[1]}"

    return PrintedEquation(text)


_CELL = "transformations make references cells, whose values are read and replaced by pure operations"
_UNSUPPORTED = {
    "jvp": _CELL,
    "transpose": _CELL,
    "batch": _CELL,
    "axis_batch": _CELL,
    "impl": "outside of programs a reference is a cell",
    "discharge": "where a program is discharged, its references are cells",
    "lowering": "a program is discharged before it is lowered",
}

RULES: Table = {
    ref_p: {"effectful_abstract_eval": _ref_types},
    empty2_p: {"effectful_abstract_eval": _empty_types},
    freeze_p: {"effectful_abstract_eval": _freeze_types},
    free_p: {"effectful_abstract_eval": _free_types},
    get_p: {"effectful_abstract_eval": _get_types, "print": _printed_get},
    swap_p: {"effectful_abstract_eval": _swap_types, "print": _printed_swap},
    addupdate_p: {"effectful_abstract_eval": _addupdate_types, "print": _printed_addupdate},
}
for _rules in RULES.values():
    _rules["unsupported"] = _UNSUPPORTED
