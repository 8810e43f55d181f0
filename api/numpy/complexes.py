"""Functions of complex numbers with infinite or NaN parts, by C's Annex G and the array API standard.

XLA computes the functions, but returns NaN for parts of the result that are known although a part of the argument is
infinite or NaN. Each rule takes the parts of the argument and of the result, and returns the corrected parts of the
result.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from primax.extend.core import Array
from primax.extend.provisional.elementwise import like
from primax.numpy.programs import one_program
from primax.numpy.selection import choose
from primax.plugins import arithmetic, bitwise, comparison, rounding

Rule = Callable[[Any, Any, Any, Any], tuple[Any, Any]]


def of_complex(primitive: Any, rule: Rule) -> Callable[[Any], Any]:
    """A function of complex arrays that binds a primitive and corrects its results for infinite or NaN parts."""

    @one_program(static=1)
    def function(z: Any) -> Array:
        out = primitive.bind(z)
        real, imag = arithmetic.real_p.bind, arithmetic.imag_p.bind
        return arithmetic.complex_p.bind(*rule(real(z), imag(z), real(out), imag(out)))

    return function


def _where(condition: Any, value: float, x: Any) -> Array:
    return choose(condition, like(x, value), x)


def _equals(x: Any, value: float) -> Array:
    return comparison.eq_p.bind(x, like(x, value))


def _is_nan(x: Any) -> Array:
    return comparison.ne_p.bind(x, x)


def _is_infinite(x: Any) -> Array:
    return _equals(arithmetic.abs_p.bind(x), math.inf)


def _is_not_finite(x: Any) -> Array:
    return bitwise.not_p.bind(rounding.is_finite_p.bind(x))


def _and(x: Any, y: Any) -> Array:
    return bitwise.and_p.bind(x, y)


def _or(x: Any, y: Any) -> Array:
    return bitwise.or_p.bind(x, y)


def _growing(least: float) -> Rule:
    """exp, and exp - 1: the modulus is known even where the angle is not."""

    def rule(a: Any, b: Any, re: Any, im: Any) -> tuple[Any, Any]:
        wild = _is_not_finite(b)
        vanishes = _and(wild, _equals(a, -math.inf))
        re = _where(vanishes, least, _where(_and(wild, _equals(a, math.inf)), math.inf, re))
        return re, _where(vanishes, 0.0, im)

    return rule


def _logarithm(a: Any, b: Any, re: Any, im: Any) -> tuple[Any, Any]:
    return _where(_or(_is_infinite(a), _is_infinite(b)), math.inf, re), im


def _square_root(a: Any, b: Any, re: Any, im: Any) -> tuple[Any, Any]:
    unknown = _is_nan(b)
    re = _where(_and(unknown, _equals(a, math.inf)), math.inf, re)
    im = _where(_and(unknown, _equals(a, -math.inf)), math.inf, im)
    infinite = _is_infinite(b)
    return _where(infinite, math.inf, re), choose(infinite, b, im)


def _cosh(a: Any, b: Any, re: Any, im: Any) -> tuple[Any, Any]:
    wild = _is_not_finite(b)
    re = _where(_and(wild, _is_infinite(a)), math.inf, re)
    return re, _where(_and(wild, _equals(a, 0.0)), 0.0, im)


def _sinh(a: Any, b: Any, re: Any, im: Any) -> tuple[Any, Any]:
    return choose(_and(_is_not_finite(b), _or(_equals(a, 0.0), _is_infinite(a))), a, re), im


def _tanh(a: Any, b: Any, re: Any, im: Any) -> tuple[Any, Any]:
    re = choose(_and(_is_not_finite(b), _equals(a, 0.0)), a, re)
    im = choose(_and(_is_nan(a), _equals(b, 0.0)), b, im)
    # The zero has the sign of b by the array API standard, and the sign of sin(2 b) by Annex G.
    signed = _and(_is_infinite(a), rounding.is_finite_p.bind(b))
    return re, choose(signed, arithmetic.mul_p.bind(b, like(b, 0.0)), im)


def _arccos(a: Any, b: Any, re: Any, im: Any) -> tuple[Any, Any]:
    return _where(_and(_equals(a, 0.0), _is_nan(b)), math.pi / 2, re), im


def _arccosh(a: Any, b: Any, re: Any, im: Any) -> tuple[Any, Any]:
    return re, _where(_and(_equals(a, 0.0), _is_nan(b)), math.pi / 2, im)


def _arcsinh(a: Any, b: Any, re: Any, im: Any) -> tuple[Any, Any]:
    return re, choose(_and(_is_nan(a), _equals(b, 0.0)), b, im)


def _arctanh(a: Any, b: Any, re: Any, im: Any) -> tuple[Any, Any]:
    unknown = _is_nan(b)
    vanishing = _or(_equals(a, 0.0), _is_infinite(a))
    zero = arithmetic.mul_p.bind(arithmetic.sign_p.bind(a), like(a, 0.0))
    re = choose(_and(unknown, vanishing), choose(_equals(a, 0.0), a, zero), re)
    nowhere = _or(unknown, _and(_is_nan(a), rounding.is_finite_p.bind(b)))
    re = _where(_and(nowhere, bitwise.not_p.bind(vanishing)), math.nan, re)
    return re, _where(nowhere, math.nan, im)


def _turned(rule: Rule) -> Rule:
    """The rule of g(z) = -i f(iz) from the rule of f: g is sin for f = sinh, arcsin for f = arcsinh, and so on."""

    def turned(a: Any, b: Any, re: Any, im: Any) -> tuple[Any, Any]:
        negative = arithmetic.neg_p.bind
        im, re = rule(negative(b), a, negative(im), re)
        return re, negative(im)

    return turned


def _cos(a: Any, b: Any, re: Any, im: Any) -> tuple[Any, Any]:
    return _cosh(arithmetic.neg_p.bind(b), a, re, im)


RULES: dict[str, Rule] = {
    "arccos": _arccos,
    "arccosh": _arccosh,
    "arcsin": _turned(_arcsinh),
    "arcsinh": _arcsinh,
    "arctan": _turned(_arctanh),
    "arctanh": _arctanh,
    "cos": _cos,
    "cosh": _cosh,
    "exp": _growing(0.0),
    "expm1": _growing(-1.0),
    "log": _logarithm,
    "log1p": _logarithm,
    "sin": _turned(_sinh),
    "sinh": _sinh,
    "sqrt": _square_root,
    "tan": _turned(_tanh),
    "tanh": _tanh,
}
