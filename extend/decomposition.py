"""Decomposition of a program into given primitives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from primax.core.errors import MissingRuleError
from primax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, jaxprs_in_params, subjaxprs
from primax.core.primitive import Primitive
from primax.core.rules import load_plugins
from primax.core.source_info import summarize
from primax.extend.derive.impl_program import ImplProgram
from primax.extend.host.plugin_host import host
from primax.extend.interpreter import Interpreter, replay
from primax.extend.stablehlo.rules import operations_of
from primax.interpreters.staging import trace_to_jaxpr

__all__ = ["decompose"]


def decompose(
    closed: ClosedJaxpr,
    to: Iterable[Primitive | str] | None = None,
    *,
    away: Primitive
    | str
    | Callable[[JaxprEqn], bool]
    | Iterable[Primitive | str | Callable[[JaxprEqn], bool]]
    | None = None,
) -> ClosedJaxpr:
    """Rewrite a program so that it contains only given primitives, or no longer contains given primitives.

    Other primitives are replaced by the operations of their `interpret` rules, such as the program that `jit` calls or
    an impl with `interpret=derive.from_impl`; or by the impl, if the lowering is derived from it; or by the function of
    a lowering made by `mlir.lower_fun`. Programs inside equations are decomposed too.

    Args:
      closed: the program.
      to: the primitives that may be left, or their names, such as the keys of `MyInterpreter.rules`.
      away: instead of `to`, one or several things that must not be left: a primitive; the name of a primitive; the
        name of a plugin or family, which stands for all its primitives; or a function of an equation that returns
        whether to decompose the equation.

    Raises:
      TypeError: both or neither of `to` and `away` are given, or they contain something else.
      ValueError: no primitive and no plugin has a name in `away`.
      MissingRuleError: a primitive must not be left and has no decomposition; the message names it and its line.

    >>> import primax as px
    >>> from primax.extend import define_primitive, derive
    >>> cube_p = define_primitive(
    ...     "cube", impl=lambda x: x * x * x, abstract_eval=derive.from_impl, interpret=derive.from_impl
    ... )
    >>> decompose(px.make_jaxpr(cube_p.bind)(2.0), to=["mul"])
    { lambda ; a:f32[]. let b:f32[] = mul a a; c:f32[] = mul b a in (c,) }
    >>> decompose(px.make_jaxpr(px.jit(cube_p.bind))(2.0), away="jit")
    { lambda ; a:f32[]. let b:f32[] = cube a in (b,) }
    """
    if (to is None) is (away is None):
        raise TypeError(f"decompose: one of to and away must be given, got to={to!r} and away={away!r}")
    if to is not None:
        stays, must = _among(to), "be among the primitives to decompose to, or have"
    else:
        stays, must = _but(away, closed.jaxpr), "have"
    program = trace_to_jaxpr(
        lambda *xs: _Decomposer(stays).interpret(closed, *xs), closed.in_avals, closed.jaxpr.debug_info, "decompose"
    )
    left = {eqn.primitive.name: eqn for eqn in _equations(program.jaxpr) if not stays(eqn)}
    if left:
        lines = [
            f"  {name} (from {eqn.primitive.plugin or 'no plugin'}), used at {summarize(eqn.source_info)}."
            for name, eqn in sorted(left.items())
        ]
        raise MissingRuleError(
            "\n".join(
                [
                    f"decompose: {', '.join(sorted(left))} must {must} a decomposition:",
                    *lines,
                    "  A primitive's author gives one by interpret=derive.from_impl, if its impl is written in primax "
                    "operations, or by lowering=mlir.lower_fun(function).",
                ]
            )
        )
    return program


def _among(to: Iterable[Primitive | str]) -> Callable[[JaxprEqn], bool]:
    """Whether an equation may stay, since its primitive is one of these."""
    names = set()
    for primitive in to:
        if not isinstance(primitive, Primitive | str):
            raise TypeError(f"decompose: to must hold primitives or their names, got {primitive!r}")
        names.add(str(primitive))
    return lambda eqn: eqn.primitive.name in names and eqn.primitive.form_of is None


def _but(away: Any, jaxpr: Jaxpr) -> Callable[[JaxprEqn], bool]:
    """Whether an equation may stay, since it is not one of these."""
    names: set[str] = set()
    primitives: set[Primitive] = set()
    functions: list[Callable[[JaxprEqn], bool]] = []
    several = not isinstance(away, Primitive | str) and not callable(away)
    for x in away if several else [away]:
        if isinstance(x, Primitive):
            primitives.add(x)
        elif isinstance(x, str):
            names.add(x)
        elif callable(x):
            functions.append(x)
        else:
            raise TypeError(
                "decompose: away must hold primitives, names of primitives or plugins, or functions of an equation, "
                f"got {x!r}"
            )
    unknown = names - {name for eqn in _equations(jaxpr) for name in (eqn.primitive.name, eqn.primitive.plugin)}
    unknown -= {record.name for record in host.records()}
    if unknown:
        load_plugins(everything=True)
        unknown -= host.primitives.keys()
    if unknown:
        raise ValueError(
            f"decompose: away must name primitives or plugins, got {', '.join(map(repr, sorted(unknown)))}"
        )

    def stays(eqn: JaxprEqn) -> bool:
        primitive = eqn.primitive.form_of or eqn.primitive
        return not (
            primitive in primitives
            or primitive.name in names
            or primitive.plugin in names
            or any(function(eqn) for function in functions)
        )

    return stays


def _equations(jaxpr: Jaxpr) -> Iterator[JaxprEqn]:
    """The equations of a program and of its inner programs."""
    yield from jaxpr.eqns
    for held in subjaxprs(jaxpr):
        yield from _equations(held)


class _Decomposer(Interpreter):
    """Applies the primitives that are kept, and decomposes all others."""

    def __init__(self, stays: Callable[[JaxprEqn], bool]) -> None:
        self.stays = stays

    def equation(self, eqn: JaxprEqn, values: list[Any]) -> list[Any]:
        stays = self.stays(eqn)
        self.inline = not stays  # type: ignore[misc]
        holds_programs = any(jaxprs_in_params(eqn.params))
        if stays and not holds_programs:
            return replay(eqn, values)
        # An `interpret` rule of a loop makes such a loop again; the function of the lowering says what the loop does.
        if not stays and holds_programs and operations_of(eqn.primitive) is not None:
            out = self.default(eqn, *values)
            return list(out) if eqn.primitive.multiple_results else [out]
        return super().equation(eqn, values)

    def default(self, eqn: JaxprEqn, *values: Any) -> Any:
        impl = operations_of(eqn.primitive)
        if impl is None:
            return _result(eqn, replay(eqn, values))
        program = ImplProgram(eqn.primitive, impl)
        closed = trace_to_jaxpr(program.on(eqn.params), [v.aval for v in eqn.invars])
        return _result(eqn, self.interpret(closed, *values))

    def default_higher_order(self, eqn: JaxprEqn, *values: Any) -> Any:
        return self.default(eqn, *values)


def _result(eqn: JaxprEqn, outs: Sequence[Any]) -> Any:
    return list(outs) if eqn.primitive.multiple_results else outs[0]
