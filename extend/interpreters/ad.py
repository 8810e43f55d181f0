"""Differentiation: tangents, JVP and transpose rules, and factories for the rules that recur."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from primax.core.avals import get_aval
from primax.core.jaxpr import Jaxpr, eval_jaxpr
from primax.core.rules import jvp_rules as primitive_jvps
from primax.core.rules import transpose_rules as primitive_transposes
from primax.extend import examples
from primax.extend.lazy_names import explain_absent
from primax.extend.linearity import linear_alone, linear_together
from primax.interpreters.jvp import JVPTrace, JVPTracer, binds_only, jvp_flat, jvp_jaxpr
from primax.interpreters.linearize import linear_tape, linearize_flat, transpose_jaxpr
from primax.interpreters.tangents import (
    UndefinedPrimal,
    Zero,
    add_tangents,
    instantiate_zeros,
    is_undefined_primal,
    zeros_like_aval,
)

__all__ = [
    "JVPTrace",
    "JVPTracer",
    "UndefinedPrimal",
    "Zero",
    "add_jaxvals",
    "add_tangents",
    "backward_pass",
    "bilinear_jvp",
    "bilinear_transpose",
    "defbilinear",
    "defjvp",
    "defjvp2",
    "deflinear",
    "deflinear2",
    "get_primitive_transpose",
    "instantiate_zeros",
    "is_undefined_primal",
    "jvp_flat",
    "jvp_jaxpr",
    "linear_alone",
    "linear_jvp",
    "linear_together",
    "linear_transpose",
    "linear_transpose2",
    "linearize_flat",
    "primitive_jvps",
    "primitive_transposes",
    "standard_jvp",
    "standard_jvp2",
    "transpose_jaxpr",
    "zero_jvp",
    "zeros_like_aval",
]
__dir__ = __all__.copy
examples.attach()
explain_absent(__name__)

Rule = Callable[..., Any]


def add_jaxvals(x: Any, y: Any) -> Any:
    """The sum of two values of the same type; `add_tangents` takes symbolic zeros too.

    Examples:
      >>> import numpy as np
      >>> from primax.extend.interpreters import ad
      >>> ad.add_jaxvals(np.float32([1, 2]), np.float32([3, 4]))
      Array([4., 6.], dtype=float32)
    """
    return add_tangents(x, y)


def backward_pass(
    jaxpr: Jaxpr, transform_stack: bool, consts: Sequence[Any], primals_in: Sequence[Any], cts_in: Sequence[Any]
) -> list[Any]:
    """Pull cotangents back through a program that is linear in some of its arguments.

    Args:
      jaxpr: the program.
      transform_stack: not used; names of scopes follow the equations.
      consts: the values of its constvars.
      primals_in: for each argument its value, or an `UndefinedPrimal` if the program is linear in it.
      cts_in: for each result its cotangent, or a `Zero`.

    Returns:
      For each argument its cotangent, which may be a `Zero`; a `Zero` for those that have values.

    Raises:
      MissingRuleError: the program is not linear in these arguments.

    Examples:
      >>> import primax as px
      >>> from primax.extend.core import get_aval
      >>> from primax.extend.interpreters import ad
      >>> jaxpr = px.make_jaxpr(lambda x, y: x * y)(1.0, 2.0).jaxpr
      >>> ad.backward_pass(jaxpr, False, [], [3.0, ad.UndefinedPrimal(get_aval(2.0))], [1.0])
      [Zero(f32[]), Array(3., dtype=float32, weak_type=True)]
    """
    linear = [x.aval for x in primals_in if is_undefined_primal(x)]

    def run(*tangents: Any) -> list[Any]:
        remaining = iter(tangents)
        return eval_jaxpr(jaxpr, consts, *(next(remaining) if is_undefined_primal(x) else x for x in primals_in))

    cotangents = iter(linear_tape(run, linear).transpose(cts_in))
    return [next(cotangents) if is_undefined_primal(x) else Zero(get_aval(x).to_tangent_aval()) for x in primals_in]


def get_primitive_transpose(primitive: Any) -> Rule:
    """The transpose rule of a primitive.

    Raises:
      MissingRuleError: no active plugin gives one.

    Examples:
      >>> from primax.extend.core.primitives import sin_p
      >>> from primax.extend.interpreters import ad
      >>> ad.get_primitive_transpose(sin_p)
      Traceback (most recent call last):
          ...
      primax.errors.MissingRuleError: no transpose rule for primitive 'sin' (from trigonometry).
    """
    return primitive_transposes.find(primitive)


def standard_jvp(primitive: Any, *rules: Rule | None) -> Rule:
    """The JVP rule of a primitive with one result, as a sum over its arguments.

    Args:
      primitive: the primitive of the rule.
      rules: for each argument `(tangent, *primals, **params) -> tangent_out`, or None where there is no derivative.

    Examples:
      >>> from primax.extend.core.primitives import mul_p
      >>> from primax.extend.interpreters import ad
      >>> rule = ad.standard_jvp(mul_p, lambda t, x, y: t * y, None)
      >>> rule((2.0, 3.0), (1.0, 10.0))
      (Array(6., dtype=float32, weak_type=True), 3.0)
    """
    return _sum_of_terms(primitive, rules, takes_out=False)


def standard_jvp2(primitive: Any, *rules: Rule | None) -> Rule:
    """Like `standard_jvp`, for rules `(tangent, out, *primals, **params)` that use the result.

    Examples:
      >>> from primax.extend.core.primitives import exp_p
      >>> from primax.extend.interpreters import ad
      >>> rule = ad.standard_jvp2(exp_p, lambda t, out, x, accuracy: t * out)
      >>> rule((0.0,), (3.0,), accuracy=None)
      (Array(1., dtype=float32, weak_type=True), Array(3., dtype=float32, weak_type=True))
    """
    return _sum_of_terms(primitive, rules, takes_out=True)


def _sum_of_terms(primitive: Any, rules: tuple[Rule | None, ...], takes_out: bool) -> Rule:
    bind = primitive.bind

    def jvp(primals: Any, tangents: Any, /, **params: Any) -> Any:
        out = bind(*primals, **params)
        operands = (out, *primals) if takes_out else primals
        total: Any = None
        for rule, t in zip(rules, tangents, strict=True):
            if rule is not None and type(t) is not Zero:
                term = rule(t, *operands, **params)
                total = term if total is None else add_tangents(total, term)
        return out, Zero.from_primal_value(out) if total is None else total

    if len(rules) == 1 and rules[0] is not None:
        jvp = (_unary_jvp2 if takes_out else _unary_jvp)(bind, rules[0])
    return _named(jvp, primitive, rules)


def _unary_jvp(bind: Rule, rule: Rule) -> Rule:
    """`standard_jvp` for primitives of one argument, as most elementwise ones are."""

    def jvp(primals: Any, tangents: Any, /, **params: Any) -> Any:
        (x,), (t,) = primals, tangents
        out = bind(x, **params)
        return out, Zero.from_primal_value(out) if type(t) is Zero else rule(t, x, **params)

    return jvp


def _unary_jvp2(bind: Rule, rule: Rule) -> Rule:
    def jvp(primals: Any, tangents: Any, /, **params: Any) -> Any:
        (x,), (t,) = primals, tangents
        out = bind(x, **params)
        return out, Zero.from_primal_value(out) if type(t) is Zero else rule(t, out, x, **params)

    return jvp


def zero_jvp(primitive: Any) -> Rule:
    """The JVP rule of a primitive whose derivative is zero wherever it exists.

    Examples:
      >>> from primax.extend.core.primitives import floor_p
      >>> from primax.extend.interpreters import ad
      >>> ad.zero_jvp(floor_p)((2.5,), (1.0,))
      (Array(2., dtype=float32, weak_type=True), Zero(f32[]))
    """

    def jvp(primals: Any, tangents: Any, /, **params: Any) -> Any:
        out = primitive.bind(*primals, **params)
        return out, _zeros(primitive, out)

    jvp.__name__ = f"zero_jvp({primitive})"
    return jvp


def _zeros(primitive: Any, out: Any) -> Any:
    """The zero tangents of the results of a primitive."""
    return [Zero.from_primal_value(x) for x in out] if primitive.multiple_results else Zero.from_primal_value(out)


def linear_jvp(primitive: Any) -> Rule:
    """The JVP rule of a primitive that is jointly linear in all its arguments: the primitive itself.

    Examples:
      >>> from primax.extend.core.primitives import neg_p
      >>> from primax.extend.interpreters import ad
      >>> ad.linear_jvp(neg_p)((2.0,), (3.0,))
      (Array(-2., dtype=float32, weak_type=True), Array(-3., dtype=float32, weak_type=True))
    """

    def jvp(primals: Any, tangents: Any, /, **params: Any) -> Any:
        out = primitive.bind(*primals, **params)
        if all(type(t) is Zero for t in tangents):
            return out, _zeros(primitive, out)
        return out, primitive.bind(*map(instantiate_zeros, tangents), **params)

    jvp.__name__ = f"linear_jvp({primitive})"
    binds_only.add(jvp)
    return linear_together(jvp)


def linear_transpose(primitive: Any, rule: Rule) -> Rule:
    """The transpose rule of a linear primitive from `(cotangent, **params) -> cotangents`.

    Examples:
      >>> from primax.extend.core import get_aval
      >>> from primax.extend.core.primitives import neg_p
      >>> from primax.extend.interpreters import ad
      >>> rule = ad.linear_transpose(neg_p, lambda ct: [-ct])
      >>> x = ad.UndefinedPrimal(get_aval(1.0))
      >>> rule(2.0, x), rule(ad.Zero(x.aval), x)  # the function is not asked about a symbolic zero
      ([-2.0], [Zero(f32[])])
    """

    def transpose(ct: Any, /, *args: Any, **params: Any) -> Any:
        return [Zero(x.aval) for x in args] if type(ct) is Zero else rule(ct, **params)

    return _named(transpose, primitive, (rule,))


def linear_transpose2(primitive: Any, rule: Rule) -> Rule:
    """The transpose rule of a linear primitive from `(cotangent, *args, **params) -> cotangents`.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> from primax.extend.core import ShapedArray
      >>> from primax.extend.core.primitives import reduce_sum_p
      >>> from primax.extend.interpreters import ad
      >>> rule = ad.linear_transpose2(reduce_sum_p, lambda ct, x, axes: [pnp.broadcast_to(ct, x.aval.shape)])
      >>> rule(2.0, ad.UndefinedPrimal(ShapedArray((3,), np.float32)), axes=(0,))
      [Array([2., 2., 2.], dtype=float32, weak_type=True)]
    """

    def transpose(ct: Any, /, *args: Any, **params: Any) -> Any:
        return [Zero(x.aval) for x in args] if type(ct) is Zero else rule(ct, *args, **params)

    return _named(transpose, primitive, (rule,))


def bilinear_jvp(primitive: Any) -> Rule:
    """The JVP rule of a primitive that is linear in each of two arguments: the product rule.

    Examples:
      >>> from primax.extend.core.primitives import mul_p
      >>> from primax.extend.interpreters import ad
      >>> ad.bilinear_jvp(mul_p)((2.0, 3.0), (1.0, 10.0))
      (Array(6., dtype=float32, weak_type=True), Array(23., dtype=float32, weak_type=True))
    """
    rule = standard_jvp(
        primitive,
        lambda t, x, y, /, **params: primitive.bind(t, y, **params),
        lambda t, x, y, /, **params: primitive.bind(x, t, **params),
    )
    return linear_alone(rule)


def bilinear_transpose(primitive: Any, lhs: Rule, rhs: Rule) -> Rule:
    """The transpose rule of a bilinear primitive.

    Args:
      primitive: the primitive of the rule.
      lhs: `(cotangent, x, y, **params) -> cotangent of x`, where x is undefined.
      rhs: `(cotangent, x, y, **params) -> cotangent of y`, where y is undefined.

    Examples:
      >>> from primax.extend.core import get_aval
      >>> from primax.extend.core.primitives import mul_p
      >>> from primax.extend.interpreters import ad
      >>> rule = ad.bilinear_transpose(mul_p, lambda ct, x, y: ct * y, lambda ct, x, y: ct * x)
      >>> rule(1.0, ad.UndefinedPrimal(get_aval(1.0)), 3.0)
      (3.0, None)
    """

    def transpose(ct: Any, x: Any, y: Any, /, **params: Any) -> Any:
        if type(x) is UndefinedPrimal:
            if type(y) is UndefinedPrimal:
                raise TypeError(f"{primitive} is not jointly linear in both of its arguments")
            return (Zero(x.aval) if type(ct) is Zero else lhs(ct, x, y, **params)), None
        return None, (Zero(y.aval) if type(ct) is Zero else rhs(ct, x, y, **params))

    return _named(transpose, primitive, (lhs, rhs))


def _named(rule: Rule, primitive: Any, parts: tuple[Any, ...]) -> Rule:
    """A factory's rule, with a name for tracebacks and the location of its first part."""
    rule.__name__ = f"{rule.__name__}({primitive})"
    binds_only.add(rule)
    for part in parts:
        if part is not None and not callable(part):
            raise TypeError(f"{rule.__name__}: each rule must be a function or None, got {part!r}")
    first = next((part for part in parts if part is not None), None)
    if first is not None:
        rule.func = first  # type: ignore[attr-defined]
    return rule


def defjvp(primitive: Any, *rules: Rule | None) -> None:
    """Register `standard_jvp(primitive, *rules)`.

    Examples:
      >>> import primax as px
      >>> from primax.extend.core import Primitive
      >>> from primax.extend.interpreters import ad
      >>> power_p = Primitive("power")
      >>> _ = power_p.def_impl(lambda x, n: x**n)
      >>> ad.defjvp(power_p, lambda t, x, n: t * n * x ** (n - 1), None)  # no derivative with respect to n
      >>> px.jvp(power_p.bind, (2.0, 3.0), (1.0, 1.0))
      (Array(8., dtype=float32, weak_type=True), Array(12., dtype=float32, weak_type=True))
    """
    primitive_jvps[primitive] = standard_jvp(primitive, *rules)


def defjvp2(primitive: Any, *rules: Rule | None) -> None:
    """Register `standard_jvp2(primitive, *rules)`.

    Examples:
      >>> import primax as px
      >>> from primax.extend.core import Primitive
      >>> from primax.extend.interpreters import ad
      >>> growth_p = Primitive("growth")
      >>> _ = growth_p.def_impl(lambda x: 2.0**x)
      >>> ad.defjvp2(growth_p, lambda t, out, x: t * out)  # as if log(2) were 1
      >>> px.jvp(growth_p.bind, (3.0,), (1.0,))
      (Array(8., dtype=float32, weak_type=True), Array(8., dtype=float32, weak_type=True))
    """
    primitive_jvps[primitive] = standard_jvp2(primitive, *rules)


def deflinear(primitive: Any, transpose_rule: Rule) -> None:
    """Register the rules of a linear primitive; `transpose_rule` is `(cotangent, **params) -> cotangents`.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> from primax.extend.core import Primitive
      >>> from primax.extend.interpreters import ad
      >>> swap_p = Primitive("swap")
      >>> _ = swap_p.def_impl(lambda x: x[::-1])
      >>> _ = swap_p.def_abstract_eval(lambda x: x)
      >>> ad.deflinear(swap_p, lambda ct: [swap_p.bind(ct)])
      >>> px.linear_transpose(swap_p.bind, pnp.ones(2))(pnp.array([1.0, 2.0]))
      (Array([2., 1.], dtype=float32),)
    """
    _define(primitive, linear_jvp, linear_transpose(primitive, transpose_rule))


def deflinear2(primitive: Any, transpose_rule: Rule) -> None:
    """Like `deflinear`, for transpose rules `(cotangent, *args, **params) -> cotangents`.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> from primax.extend.core import Primitive
      >>> from primax.extend.interpreters import ad
      >>> widen_p = Primitive("widen")
      >>> _ = widen_p.def_impl(lambda x, n: pnp.broadcast_to(x, (n, *x.shape)))
      >>> _ = widen_p.def_abstract_eval(lambda x, n: x.update(shape=(n, *x.shape)))
      >>> ad.deflinear2(widen_p, lambda ct, x, n: [ct.sum(0)])  # x tells the type, if the rule needs it
      >>> px.linear_transpose(lambda x: widen_p.bind(x, n=3), pnp.ones(2))(pnp.ones((3, 2)))
      (Array([3., 3.], dtype=float32),)
    """
    _define(primitive, linear_jvp, linear_transpose2(primitive, transpose_rule))


def defbilinear(primitive: Any, lhs_rule: Rule, rhs_rule: Rule) -> None:
    """Register the rules of a bilinear primitive; see `bilinear_transpose`.

    Examples:
      >>> import primax as px
      >>> from primax.extend.core import Primitive
      >>> from primax.extend.interpreters import ad
      >>> times_p = Primitive("times")
      >>> _ = times_p.def_impl(lambda x, y: x * y)
      >>> ad.defbilinear(times_p, lambda ct, x, y: times_p.bind(ct, y), lambda ct, x, y: times_p.bind(x, ct))
      >>> px.jvp(times_p.bind, (2.0, 3.0), (1.0, 10.0))
      (Array(6., dtype=float32, weak_type=True), Array(23., dtype=float32, weak_type=True))
    """
    _define(primitive, bilinear_jvp, bilinear_transpose(primitive, lhs_rule, rhs_rule))


def _define(primitive: Any, jvp: Callable[[Any], Rule], transpose: Rule) -> None:
    primitive_jvps[primitive] = jvp(primitive)
    primitive_transposes[primitive] = transpose
