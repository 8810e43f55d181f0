"""Derivatives of elementwise primitives as formulas, computed from their rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import primax as px
from primax.core.jaxpr import ClosedJaxpr, Jaxpr, Literal
from primax.core.primitive import Primitive
from primax.extend.core.samples import Sample

_LONG = 200
_ATOM, _POWER, _NEGATIVE, _PRODUCT, _SUM = 4, 3, 2, 1, 0
_SAME = ("convert_element_type", "copy", "broadcast_in_dim", "reshape", "pvary", "copy_p", "real_if_close")
Term = tuple[str, int]  # a text, and how tightly it binds


class _NoFormula(Exception):
    """The program has no formula that is worth reading."""


def derivative(primitive: Primitive, sample: Sample) -> str:
    """`d name(x) = ...` for an elementwise primitive; empty if there is no short formula."""
    if any(isinstance(value, ClosedJaxpr | Jaxpr) for value in sample.params.values()):
        return ""
    if not 1 <= len(sample.args) <= 3 or any(not isinstance(arg, np.ndarray | np.generic) for arg in sample.args):
        return ""
    args = [arg.reshape(-1)[0] if np.size(arg) else arg for arg in sample.args]
    inexact = [i for i, arg in enumerate(args) if np.issubdtype(arg.dtype, np.inexact) and i not in sample.constant]
    if not inexact:
        return ""

    def call(*values: Any) -> Any:
        return primitive.bind(*values, **sample.params)

    def pushed(values: Sequence[Any], tangents: Sequence[Any]) -> Any:
        def of_inexact(*some: Any) -> Any:
            full = list(values)
            for i, value in zip(inexact, some, strict=True):
                full[i] = value
            return call(*full)

        return px.jvp(of_inexact, tuple(values[i] for i in inexact), tuple(tangents))[1]

    try:
        closed = px.make_jaxpr(pushed)(args, [args[i] for i in inexact])
        names = "x y z".split()[: len(args)]
        terms: list[Term] = [(name, _ATOM) for name in [*names, *(f"d{names[i]}" for i in inexact)]]
        (result,) = _terms(closed.jaxpr, closed.consts, terms)
    except Exception:  # the primitive takes no scalars, or its rule is no formula
        return ""
    text = f"d {primitive.name}({', '.join(names)}) = {result[0]}"
    return text if len(text) < _LONG and primitive.name + "(d" not in text else ""


def _terms(jaxpr: Any, consts: Sequence[Any], terms: Sequence[Term]) -> list[Term]:
    env: dict[Any, Term] = dict(zip(jaxpr.invars, terms, strict=True))
    for var, const in zip(jaxpr.constvars, consts, strict=True):
        env[var] = _number(const)

    def read(atom: Any) -> Term:
        return _number(atom.val) if isinstance(atom, Literal) else env[atom]

    for eqn in jaxpr.eqns:
        operands = [read(atom) for atom in eqn.invars]
        inner = eqn.params.get("jaxpr") or eqn.params.get("call_jaxpr")
        if inner is not None:
            results = _terms(inner.jaxpr, inner.consts, operands)
        else:
            results = [_applied(eqn.primitive.name, operands, eqn.params)]
        if len(results) != len(eqn.outvars) or max(len(text) for text, _ in results) > _LONG:
            raise _NoFormula
        env.update(zip(eqn.outvars, results, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _number(value: Any) -> Term:
    if np.ndim(value):
        raise _NoFormula
    number = np.asarray(value).item()
    if isinstance(number, complex):
        return str(number), _ATOM
    text = repr(number) if number != int(number or 0) or abs(number) > 1e6 else str(int(number))
    text = f"{float(number):.6g}" if len(text) > 8 else text
    return text, _NEGATIVE if number < 0 else _ATOM


def _inside(term: Term, least: int) -> str:
    return term[0] if term[1] >= least else f"({term[0]})"


def _applied(name: str, operands: Sequence[Term], params: dict[str, Any]) -> Term:
    if name in _SAME:
        return operands[0]
    match name, operands:
        case "mul", [a, b]:
            return f"{_inside(a, _PRODUCT)} * {_inside(b, _PRODUCT)}", _PRODUCT
        case "div", [a, b]:
            return f"{_inside(a, _PRODUCT)} / {_inside(b, _NEGATIVE)}", _PRODUCT
        case (("add" | "add_any"), [a, b]):
            return f"{_inside(a, _SUM)} + {_inside(b, _SUM)}", _SUM
        case "sub", [a, b]:
            return f"{_inside(a, _SUM)} - {_inside(b, _PRODUCT)}", _SUM
        case "neg", [a]:
            return f"-{_inside(a, _POWER)}", _NEGATIVE
        case "square", [a]:
            return f"{_inside(a, _ATOM)}²", _POWER
        case "integer_pow", [a]:
            return f"{_inside(a, _ATOM)}^{params['y']}", _POWER
        case "pow", [a, b]:
            return f"{_inside(a, _ATOM)}^{_inside(b, _ATOM)}", _POWER
        case "select_n", [which, a, b]:
            return f"where({which[0]}, {b[0]}, {a[0]})", _ATOM
        case (("gt" | "lt" | "ge" | "le" | "eq" | "ne"), [a, b]):
            sign = {"gt": ">", "lt": "<", "ge": "≥", "le": "≤", "eq": "=", "ne": "≠"}[name]
            return f"{_inside(a, _SUM)} {sign} {_inside(b, _SUM)}", -1
    return f"{name}({', '.join(text for text, _ in operands)})", _ATOM
