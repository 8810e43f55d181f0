"""To type checkers arrays have the operators, methods and properties that are registered, with their signatures."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

import pytest

from primax.core import operand
from primax.core.operand import operator_names
from primax.core.primitive import Primitive
from primax.interpreters.runtime.array import Array
from primax.numpy.operators import OPERATORS

UNARY = {"__neg__", "__pos__", "__abs__", "__invert__", "__iter__", "__len__"}


def _declared() -> dict[str, ast.FunctionDef]:
    stub = Path(operand.__file__).with_name("operand_methods.pyi")
    (cls,) = [node for node in ast.parse(stub.read_text(encoding="utf-8")).body if isinstance(node, ast.ClassDef)]
    return {node.name: node for node in cls.body if isinstance(node, ast.FunctionDef)}


def _name(attribute: str) -> str:
    """By which name `registry.operators` knows an attribute of arrays."""
    if attribute == "__round__":
        return "builtin_round"
    return attribute.strip("_") if attribute.startswith("__") else attribute


DECLARED = _declared()
METHODS = sorted(name for name in DECLARED if not name.startswith("__") and not DECLARED[name].decorator_list)


def test_what_is_declared_is_what_can_be_registered() -> None:
    assert {_name(attribute) for attribute in DECLARED} == operator_names - {
        "item",
        "setitem",
    }  # which classes define, and references alone
    assert set(OPERATORS) == operator_names


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_declared_with_the_signature_that_is_registered(name: str) -> None:
    namespace: dict[str, Any] = {}
    DECLARED[name].returns = None
    definition = ast.Module([DECLARED[name]], [])
    exec("from __future__ import annotations\n" + ast.unparse(definition), namespace)
    declared = inspect.signature(namespace[name]).parameters.values()
    registered = inspect.signature(OPERATORS[name]).parameters.values()
    assert [str(p.replace(annotation=p.empty)) for p in list(declared)[1:]] == [
        str(p.replace(annotation=p.empty)) for p in list(registered)[1:]
    ]


def test_operators_are_declared_with_as_many_operands_as_they_have() -> None:
    for name, function in DECLARED.items():
        if name.startswith("__") and name not in ("__array_namespace__", "__round__"):
            operands = len(function.args.posonlyargs) + len(function.args.args)
            assert operands == (1 if name in UNARY else 2), name


def test_properties_are_declared_as_such() -> None:
    properties = {name for name, function in DECLARED.items() if function.decorator_list}
    assert properties == {name for name in operator_names if isinstance(getattr(operand.Operand, name, None), property)}


def test_what_is_generic_to_type_checkers_is_a_plain_class_where_it_runs() -> None:
    assert not hasattr(Primitive("scale"), "__orig_class__")
    assert "__add__" in vars(operand.Operand)


def test_whoever_reads_about_arrays_loads_what_describes_their_methods() -> None:
    waiting = operand._special("sum").__doc__
    assert "help(primax.Array)" in waiting
    assert Array.__doc__.startswith("An immutable n-dimensional array")
    members = {name: getattr(Array, name).__doc__ for name in (*METHODS, *operand._PROPERTIES)}
    assert all(members.values())
    assert waiting not in members.values()
    assert members["sum"] == OPERATORS["sum"].__doc__
