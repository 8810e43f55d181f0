"""Checks of jaxprs: they are well-formed, and their types agree with the rules of their primitives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from primax.core import dtypes, rules
from primax.core.avals import WEAKNESS, get_aval, is_valid, same_type
from primax.core.effects import Effects, effects_of
from primax.core.errors import JaxprTypeError, RuleError
from primax.core.jaxpr import Atom, ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, Var, jaxprs_in_params, opened
from primax.core.recursion import raised_recursion_limit
from primax.core.source_info import summarize
from primax.core.text import printer

_MOST_LINES = 40
_KINDS_OF_PYTHON_SCALARS = {bool: np.bool_, int: np.integer, float: np.floating, complex: np.complexfloating}


def check_jaxpr(jaxpr: Jaxpr | ClosedJaxpr) -> None:
    """Check a program, and the programs that its equations hold.

    Args:
      jaxpr: the program; if it is closed, its constants are checked too.

    Raises:
      JaxprTypeError: a variable is read before it is bound, or is bound twice; a literal or constant does not have its
        declared type; an equation disagrees with its primitive's rule, or has undeclared effects.
    """
    rules.load_plugins()
    open_jaxpr = opened(jaxpr)
    try:
        context = CheckContext(open_jaxpr, set())
        if isinstance(jaxpr, ClosedJaxpr):
            _check_constants(jaxpr)
        context.run()
    except _Fault as fault:
        raise JaxprTypeError(_explain(fault, open_jaxpr)) from fault.__cause__


class _Fault(Exception):
    """A fault in a program: the text, the atom if there is one, and later the place."""

    def __init__(self, text: str, atom: Atom | None = None) -> None:
        self.text = text
        self.atom = atom
        self.eqn: JaxprEqn | None = None
        self.place: list[str] = []

    def locate(self, place: str, eqn: JaxprEqn | None) -> None:
        """Add the place in a program, from the innermost program outwards."""
        self.place.append(f"in the jaxpr of {eqn.primitive} {place}" if self.place and eqn else place)
        self.eqn = self.eqn or eqn


class CheckContext:
    """The program being checked, for check rules.

    Attributes:
      jaxpr: the program.
      eqn: the equation being checked, or None.
    """

    __slots__ = ("_bound", "_done", "eqn", "jaxpr")

    def __init__(self, jaxpr: Jaxpr, done: set[Jaxpr]) -> None:
        self.jaxpr = jaxpr
        self.eqn: JaxprEqn | None = None
        self._done = done
        self._bound: set[Var] = set()

    def check(self, program: Jaxpr | ClosedJaxpr) -> None:
        """Check a program that the equation holds; only rules whose programs need a scope must call this."""
        jaxpr = opened(program)
        if jaxpr in self._done:
            return
        with raised_recursion_limit():
            CheckContext(jaxpr, self._done).run()

    def check_operands(self, program: Jaxpr | ClosedJaxpr, atoms: Sequence[Atom]) -> None:
        """Check that a program accepts operands of these types, one for each argument."""
        invars = opened(program).invars
        if len(atoms) != len(invars):
            raise JaxprTypeError(f"{len(atoms)} operands are given to a program of {len(invars)} arguments")
        for i, (v, x) in enumerate(zip(invars, atoms, strict=True)):
            if not same_type(v.aval, x.aval, WEAKNESS):
                raise JaxprTypeError(f"operand {i} is {_type(x.aval)}, but the program takes {_type(v.aval)}")

    def run(self) -> None:
        """Check the whole program."""
        jaxpr = self.jaxpr
        self._done.add(jaxpr)
        place = "among the arguments"
        try:
            for v in (*jaxpr.constvars, *jaxpr.invars):
                self._bind(v)
            for k, eqn in enumerate(jaxpr.eqns):
                self.eqn = eqn
                place = f"at equation {k}"
                self._check_equation(eqn)
            self.eqn = None
            place = "among the outputs"
            for atom in jaxpr.outvars:
                self._read(atom)
        except _Fault as fault:
            fault.locate(place, self.eqn)
            raise

    def _check_equation(self, eqn: JaxprEqn) -> None:
        for atom in eqn.invars:
            self._read(atom)
        out_avals, effects = self._judge(eqn)
        if len(out_avals) != len(eqn.outvars):
            raise _Fault(f"{eqn.primitive} has {len(out_avals)} outputs, but {len(eqn.outvars)} variables are bound")
        for v, aval in zip(eqn.outvars, out_avals, strict=True):
            if not same_type(v.aval, aval, WEAKNESS):
                raise _Fault(f"is of type {_type(v.aval)}, but {eqn.primitive} returns {_type(aval)}", v)
            self._bind(v)
        if effects != eqn.effects:
            raise _Fault(f"{eqn.primitive} has {_listed(effects)}, but the equation has {_listed(eqn.effects)}")
        effects = effects_of([eqn], [*self.jaxpr.constvars, *self.jaxpr.invars])
        if not effects <= self.jaxpr.effects:
            raise _Fault(f"the equation has {_listed(effects)}, but its jaxpr has {_listed(self.jaxpr.effects)}")

    def _judge(self, eqn: JaxprEqn) -> tuple[Sequence[Any], Effects]:
        """The types and effects of an equation, by its primitive's rule."""
        rule = rules.check_rules.functions.get(eqn.primitive)
        try:
            if rule is None:
                if eqn.params:
                    self._check_held(eqn)
                out_avals, effects = eqn.primitive.result_types(tuple([x.aval for x in eqn.invars]), eqn.params)
                if eqn.params:
                    _require_effects(eqn, effects)
                return out_avals, effects
            out_avals, effects = rule(self, *eqn.invars, **eqn.params)
        except (JaxprTypeError, RuleError) as error:
            raise _Fault(str(error).partition("\n")[0]) from error.__cause__
        except (TypeError, ValueError) as error:
            operands = ", ".join(_type(x.aval) for x in eqn.invars)
            raise _Fault(f"{eqn.primitive} refuses operands of types ({operands}): {error}") from error
        self._check_held(eqn)
        return list(out_avals), frozenset(effects)

    def _check_held(self, eqn: JaxprEqn) -> None:
        for held in jaxprs_in_params(eqn.params):
            self.check(held)

    def _read(self, atom: Any) -> None:
        if type(atom) is Literal:
            _check_literal(atom)
        elif not isinstance(atom, Var):
            raise _Fault(f"{atom!r} is read, but is neither a variable nor a literal")
        elif atom not in self._bound:
            raise _Fault("is read, but nothing before binds it", atom)

    def _bind(self, v: Any) -> None:
        if not isinstance(v, Var):
            raise _Fault(f"{v!r} is bound, but is not a variable")
        if v in self._bound:
            raise _Fault("is bound twice", v)
        if type(v) is not DropVar:
            self._bound.add(v)


def _require_effects(eqn: JaxprEqn, effects: Effects) -> None:
    """Raise an error unless a primitive has the effects of its inner programs; its check rule may decide otherwise."""
    held = frozenset().union(*(jaxpr.effects for jaxpr in jaxprs_in_params(eqn.params)))
    forgotten = held - effects
    if forgotten:
        raise _Fault(
            f"{eqn.primitive} must have the effects of its inner program, got none of {_listed(forgotten)}: its type "
            "rule must be an effectful_abstract_eval that returns (avals, effects)"
        )


def _check_constants(closed: ClosedJaxpr) -> None:
    for v, const in zip(closed.jaxpr.constvars, closed.consts, strict=True):
        if not same_type(v.aval, get_aval(const), WEAKNESS):
            raise _Fault(f"is of type {_type(v.aval)}, but its constant is {_type(get_aval(const))}", v)


def _check_literal(literal: Literal) -> None:
    value, aval = literal.val, literal.aval
    shape, dtype = getattr(aval, "shape", None), getattr(aval, "dtype", None)
    kind = _KINDS_OF_PYTHON_SCALARS.get(type(value))
    if kind is not None:
        fits = shape == () and dtypes.issubdtype(dtype, kind)
    elif isinstance(value, np.generic | np.ndarray):
        fits = shape == value.shape and dtype in (value.dtype, dtypes.canonicalize_dtype(value.dtype))
    else:
        fits = is_valid(value) and same_type(aval, get_aval(value), WEAKNESS)
    if not fits:
        raise _Fault(f"does not have the type of its value, which is of {type(value).__name__}", literal)


def _type(aval: Any) -> str:
    return str(aval.str_short())


def _listed(effects: Effects) -> str:
    return f"the effects {{{', '.join(sorted(map(repr, effects)))}}}" if effects else "no effects"


def _explain(fault: _Fault, root: Jaxpr) -> str:
    names = printer.name_vars(root)
    text = fault.text
    if fault.atom is not None:
        kind = "literal" if type(fault.atom) is Literal else "variable"
        text = f"{kind} {printer.atom_to_text(fault.atom, names)} {text}"
    lines = [f"check_jaxpr: {', '.join([text, *fault.place])}"]
    if fault.eqn is not None:
        lines += _shortened(printer.eqn_to_text(fault.eqn, names).split("\n"))
        lines.append(f"from {summarize(fault.eqn.source_info)}")
    return "\n".join(lines)


def _shortened(lines: list[str]) -> list[str]:
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 2], "  ...", lines[-1]]
    return [f"    {line}" for line in lines]
