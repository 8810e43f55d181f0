"""Derivatives of high order along curves, by truncated Taylor series.

The rules map the Taylor coefficients of a curve x(t) = x_0 + x_1 t + ... + x_K t**K to those of a result y(t). The
derivative is y' = g(x, x'), where g is the JVP rule; its coefficient of order K - 1 is K y_K, so the arguments of g are
series of one order less. Products, quotients and linear operations have their own rules, so that the cost grows like
K**2, and not like 2**K as with nested JVPs.

Source: A. Griewank and A. Walther, "Evaluating derivatives" (2008), chapter 13.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import factorial
from typing import Any

from primax import jvp, make_jaxpr, tree_util
from primax import numpy as pnp
from primax.extend import dtypes
from primax.extend.core import Literal, get_aval
from primax.extend.interpreter import replay
from primax.extend.lazy_names import explain_absent
from primax.extend.linearity import linearity_of
from primax.extend.provisional.arguments import check_function
from primax.plugins.arithmetic import div_p, mul_p
from primax.plugins.calls import jit_p
from primax.plugins.convolution import conv_general_dilated_p
from primax.plugins.custom_derivatives import custom_vjp_call_p
from primax.plugins.dot import dot_general_p
from primax.plugins.structural import stop_gradient_p

__all__ = ["jet", "jet2", "jet_rules"]
__dir__ = __all__.copy
explain_absent(__name__)

Terms = Any  # a list of the coefficients x_1, x_2, ...; None if all are zero


def _is_floating(x: Any) -> bool:
    return bool(dtypes.is_inexact(get_aval(x).dtype))


def _zero_terms(x: Any, order: int) -> list[Any]:
    return [pnp.zeros_like(x) for _ in range(order)]


def _filled(x: Any, terms: Terms, order: int) -> list[Any]:
    return _zero_terms(x, order) if terms is None else terms


def _evaluate(
    closed: Any, primals: Sequence[Any], series: Sequence[Terms], order: int
) -> tuple[list[Any], list[Terms]]:
    """The values of a program's results, and their series."""
    jaxpr = closed.jaxpr
    env: dict[Any, tuple[Any, Terms]] = {}
    env.update(zip(jaxpr.constvars, ((const, None) for const in closed.consts), strict=True))
    env.update(zip(jaxpr.invars, zip(primals, series, strict=True), strict=True))

    def read(atom: Any) -> tuple[Any, Terms]:
        return (atom.val, None) if isinstance(atom, Literal) else env[atom]

    for eqn in _needed(jaxpr):
        operands = [read(atom) for atom in eqn.invars]
        ins, terms = [x for x, _ in operands], [coefficients for _, coefficients in operands]
        outs, out_terms = _apply(eqn, ins, terms, order)
        env.update(zip(eqn.outvars, zip(outs, out_terms, strict=True), strict=True))
    results = [read(atom) for atom in jaxpr.outvars]
    return [x for x, _ in results], [coefficients for _, coefficients in results]


def _needed(jaxpr: Any) -> list[Any]:
    """The equations that results depend on, and those with effects."""
    needed_vars = {atom for atom in jaxpr.outvars if not isinstance(atom, Literal)}
    kept = []
    for eqn in reversed(jaxpr.eqns):
        if eqn.effects or any(var in needed_vars for var in eqn.outvars):
            kept.append(eqn)
            needed_vars.update(atom for atom in eqn.invars if not isinstance(atom, Literal))
    return kept[::-1]


def _apply(eqn: Any, ins: list[Any], terms: list[Terms], order: int) -> tuple[list[Any], list[Terms]]:
    primitive = eqn.primitive
    if not order or all(coefficients is None for coefficients in terms):
        return _plain(eqn, ins)
    rule = jet_rules.get(primitive)
    if rule is not None:
        filled = [_filled(x, coefficients, order) for x, coefficients in zip(ins, terms, strict=True)]
        out, out_terms = rule(ins, filled, **eqn.params)
        return (list(out), list(out_terms)) if primitive.multiple_results else ([out], [out_terms])
    if primitive in _PROGRAMS:
        return _evaluate(eqn.params[_PROGRAMS[primitive]], ins, terms, order)
    if all(map(_is_floating, ins)) and _is_linear(primitive, eqn.params, len(ins)):
        return _linear(eqn, ins, terms, order)
    return _by_derivative(eqn, ins, terms, order)


def _is_linear(primitive: Any, params: Any, count: int) -> bool:
    """Whether a primitive is linear in all its operands jointly."""
    linearity = linearity_of(primitive, params)
    return linearity is not None and linearity.together and all(map(linearity.holds, range(count)))


def _plain(eqn: Any, ins: list[Any]) -> tuple[list[Any], list[Terms]]:
    outs = replay(eqn, ins)
    return outs, [None] * len(outs)


def _linear(eqn: Any, ins: list[Any], terms: list[Terms], order: int) -> tuple[list[Any], list[Terms]]:
    """The rule of linear operations: apply the operation to each coefficient."""
    columns = zip(*(_filled(x, row, order) for x, row in zip(ins, terms, strict=True)), strict=True)
    coefficients = [replay(eqn, list(column)) for column in columns]
    outs = replay(eqn, ins)
    rows = [list(row) for row in zip(*coefficients, strict=True)]
    return outs, [row if _is_floating(out) else None for out, row in zip(outs, rows, strict=True)]


def _by_derivative(eqn: Any, ins: list[Any], terms: list[Terms], order: int) -> tuple[list[Any], list[Terms]]:
    """The rule from the JVP: a result's derivative along the curve is a function of the curve and its derivative."""
    moving = [row is not None and _is_floating(x) for x, row in zip(ins, terms, strict=True)]
    if not any(moving):
        return _plain(eqn, ins)
    count = len(ins)

    def derivative(*args: Any) -> Any:
        values, tangents = list(args[:count]), iter(args[count:])
        places = [i for i, moves in enumerate(moving) if moves]

        def of_moving(*xs: Any) -> list[Any]:
            mixed = list(values)
            for i, x in zip(places, xs, strict=True):
                mixed[i] = x
            return replay(eqn, mixed)

        _, out = jvp(of_moving, tuple(values[i] for i in places), tuple(tangents))
        return out

    outs = replay(eqn, ins)
    speeds = [row[0] for row, moves in zip(terms, moving, strict=True) if moves]
    closed = make_jaxpr(derivative)(*ins, *speeds)
    shorter = [row[:-1] if moves else None for row, moves in zip(terms, moving, strict=True)]
    rising = [
        [(k + 1) * x for k, x in enumerate(row[1:], 1)] for row, moves in zip(terms, moving, strict=True) if moves
    ]
    firsts, rest = _evaluate(closed, [*ins, *speeds], [*shorter, *rising], order - 1)
    out_terms: list[list[Any] | None] = []
    for out, first, later in zip(outs, firsts, rest, strict=True):
        if not _is_floating(out):
            out_terms.append(None)
            continue
        slopes = [first, *_filled(first, later, order - 1)]
        out_terms.append([slope / (k + 1) if k else slope for k, slope in enumerate(slopes)])
    return outs, out_terms


def _bilinear(primitive: Any) -> Callable[..., Any]:
    """The rule of a product: each coefficient is a sum of products of coefficients (Cauchy's product)."""

    def rule(primals: Sequence[Any], series: Sequence[list[Any]], **params: Any) -> tuple[Any, Any]:
        x, y = ([p, *row] for p, row in zip(primals, series, strict=True))
        bind = primitive.bind

        def coefficient(k: int) -> Any:
            return sum((bind(x[j], y[k - j], **params) for j in range(1, k + 1)), start=bind(x[0], y[k], **params))

        return bind(x[0], y[0], **params), [coefficient(k) for k in range(1, len(x))]

    return rule


def _quotient(primals: Sequence[Any], series: Sequence[list[Any]], **params: Any) -> tuple[Any, Any]:
    """The rule of z = x / y: the coefficients of y z are those of x."""
    x, y = ([p, *row] for p, row in zip(primals, series, strict=True))
    z = [div_p.bind(x[0], y[0], **params)]
    for k in range(1, len(x)):
        z.append((x[k] - sum(z[j] * y[k - j] for j in range(k))) / y[0])
    return z[0], z[1:]


_PROGRAMS = {jit_p: "jaxpr", custom_vjp_call_p: "call_jaxpr"}

# Rules by primitive. They take the operands, lists of their coefficients, and parameters, and return the result and its
# coefficients; coefficients have no factorials. A primitive without a rule is differentiated by its JVP rule.
jet_rules: dict[Any, Callable[..., Any]] = {
    stop_gradient_p: lambda primals, series: (primals[0], [pnp.zeros_like(x) for x in series[0]]),
    mul_p: _bilinear(mul_p),
    dot_general_p: _bilinear(dot_general_p),
    conv_general_dilated_p: _bilinear(conv_general_dilated_p),
    div_p: _quotient,
}


def _read_terms(i: int, primal: Any, terms: Any) -> tuple[list[Any], Any, list[list[Any]]]:
    """The leaves of an argument, their structure, and the coefficients of each leaf."""
    leaves, structure = tree_util.tree_flatten(primal)
    for leaf in leaves:
        get_aval(leaf)
    if not isinstance(terms, list | tuple):
        raise TypeError(f"jet: series[{i}] must be a list of terms, got {terms!r}")
    rows = []
    for k, term in enumerate(terms):
        flat, tree = tree_util.tree_flatten(term)
        if tree != structure:
            raise ValueError(f"jet: series[{i}][{k}] must have the structure of primals[{i}], {structure}, got {tree}")
        for x, leaf in zip(flat, leaves, strict=True):
            if get_aval(x).shape != get_aval(leaf).shape:
                raise ValueError(
                    f"jet: series[{i}][{k}] must have the shapes of primals[{i}], {get_aval(leaf).shape}, "
                    f"got {get_aval(x).shape}"
                )
        rows.append(flat)
    columns = [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in leaves]
    moving = [
        type(leaf) is int and any(map(_is_floating, column)) for leaf, column in zip(leaves, columns, strict=True)
    ]
    return [float(leaf) if m else leaf for leaf, m in zip(leaves, moving, strict=True)], structure, columns


def jet(
    fun: Callable[..., Any], primals: Sequence[Any], series: Sequence[Any], factorial_scaled: bool = True
) -> tuple[Any, Any]:
    """The derivatives of `fun(x(t))` at t = 0, from those of the curve x(t).

    Args:
      fun: a function from pytrees of arrays to a pytree of arrays; its primitives must have JVP rules.
      primals: the arguments x(0), a tuple or a list. Python integers with floating terms are read as floats; other
        integers are constant.
      series: for each argument the list of its derivatives of order 1 to K, each of the structure and shapes of the
        argument. All lists have the same length.
      factorial_scaled: whether the series hold derivatives; if False they hold Taylor coefficients, which are
        derivatives divided by the factorial of their order.

    Returns:
      `fun(*primals)`, and a pytree of the same structure that has, for each array, the list of its derivatives of
      orders 1 to K.

    Raises:
      TypeError: `fun` is not callable, or an argument is not a tuple or list.
      ValueError: the number of series, the lengths of the lists, structures or shapes do not match.

    >>> import primax as px
    >>> from primax.experimental.jet import jet
    >>> jet(lambda x: x**3, (2.0,), ([1.0, 0.0, 0.0],))
    (Array(8., dtype=float32, weak_type=True), [Array(12., dtype=float32, weak_type=True),
      Array(12., dtype=float32, weak_type=True), Array(6., dtype=float32, weak_type=True)])
    """
    check_function("jet", "fun", fun)
    for name, value in (("primals", primals), ("series", series)):
        if not isinstance(value, list | tuple):
            raise TypeError(f"jet: {name} must be a tuple or a list, got {value!r}")
    if len(primals) != len(series):
        raise ValueError(f"jet: series must have a list for each of {len(primals)} primals, got {len(series)}")
    read = [_read_terms(i, x, terms) for i, (x, terms) in enumerate(zip(primals, series, strict=True))]
    orders = {len(terms) for terms in series}
    if len(orders) > 1:
        raise ValueError(
            f"jet: series must be lists of the same length, got lengths {[len(terms) for terms in series]}"
        )
    order = orders.pop() if orders else 0
    structure = tree_util.tree_structure(tuple(primals))
    leaves = [leaf for leaves_of, _, _ in read for leaf in leaves_of]
    coefficients = [row for _, _, rows in read for row in rows]
    result: list[Any] = []

    def flat(*args: Any) -> list[Any]:
        out, out_tree = tree_util.tree_flatten(fun(*tree_util.tree_unflatten(structure, args)))
        result[:] = [out_tree]
        return out

    closed = make_jaxpr(flat)(*leaves)
    scales = [factorial(k) if factorial_scaled else 1 for k in range(1, order + 1)]
    terms = [_unscaled(leaf, row, scales) for leaf, row in zip(leaves, coefficients, strict=True)]
    outs, out_terms = _evaluate(closed, leaves, terms, order)
    filled = [
        [s * x if s != 1 else x for s, x in zip(scales, _result_terms(out, row, order), strict=True)]
        for out, row in zip(outs, out_terms, strict=True)
    ]
    return tree_util.tree_unflatten(result[0], outs), tree_util.tree_unflatten(result[0], filled)


def _unscaled(leaf: Any, row: list[Any], scales: list[int]) -> Terms:
    """Coefficients in the dtype of an argument; arguments of integers have none."""
    if not _is_floating(leaf):
        return None
    dtype = get_aval(leaf).dtype
    weak = get_aval(leaf).weak_type
    return [
        (x if weak and get_aval(x).weak_type else pnp.asarray(x, dtype)) / s for x, s in zip(row, scales, strict=True)
    ]


def _result_terms(out: Any, terms: Terms, order: int) -> list[Any]:
    if _is_floating(out):
        return _filled(out, terms, order)
    return [pnp.zeros(get_aval(out).shape, dtypes.default_float_dtype()) for _ in range(order)]


def jet2(
    fun: Callable[..., Any], primals: Sequence[Any], series: Sequence[Any], *, factorial_scaled: bool = False
) -> tuple[Any, Any]:
    """`jet` of Taylor coefficients: derivatives divided by the factorial of their order.

    Args:
      fun: a function.
      primals: its arguments at t = 0.
      series: the list of derivatives, or of Taylor coefficients, of each argument.
      factorial_scaled: whether the series hold derivatives.
    """
    return jet(fun, primals, series, factorial_scaled)
