"""Units of measure, checked while a function runs: a transformation outside of primax.

A trace pairs every value with its unit. The parent trace (evaluation, `jit`, `grad`, `vmap`) computes the value. A rule
of a new kind, `units`, computes the unit. Any plugin can define such rules by `registry.define(primitive, units=rule)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import primax as px
import primax.numpy as pnp
from primax.extend import Interpreter, core, source_info_util
from primax.extend.core import primitives

source_info_util.register_exclusion(__file__)  # messages name a line of the user, not of this file


@dataclass(frozen=True)
class Unit:
    """A product of powers of base units; the empty product is the unit of plain numbers."""

    powers: tuple[tuple[str, Fraction], ...] = ()

    def __mul__(self, other):
        powers = dict(self.powers)
        for name, power in other.powers:
            powers[name] = powers.get(name, 0) + power
        return Unit(tuple(sorted((name, power) for name, power in powers.items() if power)))

    def __truediv__(self, other):
        return self * other**-1

    def __pow__(self, exponent):
        return Unit(tuple((name, power * Fraction(exponent)) for name, power in self.powers if exponent))

    def __str__(self):
        return " ".join(name if power == 1 else f"{name}^{power}" for name, power in self.powers) or "no unit"


NONE = Unit()
m, s, kg = (Unit(((name, Fraction(1)),)) for name in ("m", "s", "kg"))


class UnitError(TypeError):
    """Units do not agree, as in metres plus seconds; the message names the primitive and the user's line."""

    def __init__(self, eqn, problem):
        super().__init__(f"{eqn.primitive}: {problem}, at {source_info_util.summarize(eqn.source_info)}")


class Quantity(NamedTuple):
    """An array with its unit: an argument or a result of a checked function."""

    value: Any
    unit: Unit


units_rules = core.new_rule_table("units", "(eqn, *units) -> the unit of the result, or a list of them")


class Units(Interpreter):
    """The units of a program's values, computed from the rules only, also in inner programs of primitives."""

    def lift(self, constant):
        return NONE

    def default(self, eqn, *units):
        return units_rules.find(eqn.primitive)(eqn, *units)

    def handle_cond(self, eqn, index, *units):
        branches = [self.interpret(branch, *units) for branch in eqn.params["branches"]]
        return [same(eqn, *results) for results in zip(*branches, strict=True)]

    def handle_scan(self, eqn, *units):
        outs = self.interpret(eqn.params["jaxpr"], *units)
        count = eqn.params["num_carry"]
        carry = units[eqn.params["num_consts"] :][:count]
        return [*(same(eqn, *pair) for pair in zip(carry, outs[:count], strict=True)), *outs[count:]]

    def handle_while(self, eqn, *units):
        first, second = eqn.params["cond_nconsts"], eqn.params["cond_nconsts"] + eqn.params["body_nconsts"]
        carry = units[second:]
        self.interpret(eqn.params["cond_jaxpr"], *units[:first], *carry)
        outs = self.interpret(eqn.params["body_jaxpr"], *units[first:])
        return [same(eqn, *pair) for pair in zip(carry, outs, strict=True)]


class UnitTracer(core.Tracer):
    """A value with its unit."""

    __slots__ = ("aval", "unit", "value")

    def __init__(self, trace, value, unit):
        super().__init__(trace)
        self.value = value
        self.unit = unit
        self.aval = core.get_aval(value)

    @property
    def is_concrete(self):
        return not isinstance(self.value, core.Tracer) or self.value.is_concrete

    def concrete(self):
        return self.value.concrete() if isinstance(self.value, core.Tracer) else self.value


class UnitTrace(core.Trace):
    """Computes values by the parent trace, and units by the rules."""

    __slots__ = ()

    transformation = "the checking of units"

    def process(self, primitive, args, params):
        units = [x.unit if self.owns(x) else NONE for x in args]
        values = [x.value if self.owns(x) else x for x in args]
        with core.set_current_trace(self.parent):
            out = primitive.bind(*values, **params)
        outs = out if primitive.multiple_results else [out]
        invars, outvars = ([core.Var(core.get_aval(x)) for x in xs] for xs in (values, outs))
        eqn = core.new_jaxpr_eqn(invars, outvars, primitive, params, source_info=source_info_util.current())
        pairs = zip(outs, Units().equation(eqn, units), strict=True)
        tracers = [x if unit == NONE else UnitTracer(self, x, unit) for x, unit in pairs]
        return tracers if primitive.multiple_results else tracers[0]


def with_units(fun):
    """`fun` for quantities: its arguments and results may have quantities in place of arrays."""

    def run(*args):
        trace = UnitTrace(core.current_trace())

        def enter(x):
            return UnitTracer(trace, pnp.asarray(x.value), x.unit) if isinstance(x, Quantity) else x

        def leave(x):
            return Quantity(x.value, x.unit) if trace.owns(x) else x

        try:
            with core.set_current_trace(trace):
                out = fun(*px.tree.map(enter, args, is_leaf=lambda x: isinstance(x, Quantity)))
            return px.tree.map(leave, out)
        finally:
            trace.end()

    return run


def same(eqn, *units):
    """All units must agree."""
    for unit in units[1:]:
        if unit != units[0]:
            raise UnitError(eqn, f"units must agree, got {units[0]} and {unit}")
    return units[0]


def pure(eqn, *units):
    """Operands and results have no unit."""
    for unit in units:
        if unit != NONE:
            raise UnitError(eqn, f"the operand must have no unit, got {unit}")
    return NONE


def power(exponent):
    """The rule of a primitive that raises to a fixed power."""
    return lambda eqn, unit: unit**exponent


def product(eqn, x, y):
    return x * y


def elements(eqn, unit, *positions):
    return unit


def compared(eqn, *units):
    same(eqn, *units)
    return NONE


NAMES = {
    same: """add sub add_any max min rem neg abs real imag reduce_sum reduce_max reduce_min cumsum cummax cummin
        reshape broadcast_in_dim transpose squeeze slice rev concatenate stack copy convert_element_type stop_gradient
        floor ceil""",
    elements: "dynamic_slice gather",
    pure: "exp log sin cos tan asin acos atan sinh cosh tanh logistic erf iota pow",
    compared: "eq ne lt le gt ge",
    product: "mul dot_general",
    power(2): "square",
    power(Fraction(1, 2)): "sqrt",
    power(Fraction(-1, 2)): "rsqrt",
    power(Fraction(1, 3)): "cbrt",
    power(0): "sign",
}
units_rules.update({primitives[name]: rule for rule, names in NAMES.items() for name in names.split()})
units_rules[primitives["div"]] = lambda eqn, x, y: x / y
units_rules[primitives["integer_pow"]] = lambda eqn, unit: unit ** eqn.params["y"]
units_rules[primitives["select_n"]] = lambda eqn, which, *cases: same(eqn, *cases)
