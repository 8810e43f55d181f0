"""Decomposition of a program into given primitives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from primax.core.errors import MissingRuleError
from primax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, jaxprs_in_params, subjaxprs
from primax.core.primitive import Primitive
from primax.core.rules import impl_rules, lowering_rules
from primax.core.source_info import summarize
from primax.extend.derive.impl_program import ImplProgram
from primax.extend.interpreter import Interpreter, replay
from primax.interpreters.staging import trace_to_jaxpr

__all__ = ["decompose"]


def decompose(closed: ClosedJaxpr, to: Iterable[Primitive | str]) -> ClosedJaxpr:
    """Rewrite a program so that it contains only given primitives, for interpreters with few rules.

    Other primitives are replaced by the operations of their `interpret` rules, such as the program that `jit` calls or
    an impl with `interpret=derive.from_impl`, or by the impl if the lowering is derived from it. Programs inside
    equations are decomposed too.

    Args:
      closed: the program.
      to: the primitives that may be left, or their names, such as the keys of `MyInterpreter.rules`.

    Raises:
      TypeError: `to` contains an element that is neither a primitive nor a name.
      MissingRuleError: a primitive is not among them and has no decomposition; the message names it and its line.

    >>> import primax as px
    >>> from primax.extend import define_primitive, derive
    >>> cube_p = define_primitive(
    ...     "cube", impl=lambda x: x * x * x, abstract_eval=derive.from_impl, interpret=derive.from_impl
    ... )
    >>> decompose(px.make_jaxpr(cube_p.bind)(2.0), to=["mul"])
    { lambda ; a:f32[]. let b:f32[] = mul a a; c:f32[] = mul b a in (c,) }
    """
    names = frozenset(map(_name, to))
    program = trace_to_jaxpr(
        lambda *xs: _Decomposer(names).interpret(closed, *xs), closed.in_avals, closed.jaxpr.debug_info, "decompose"
    )
    left = {eqn.primitive.name: eqn for eqn in _equations(program.jaxpr) if eqn.primitive.name not in names}
    if left:
        lines = [
            f"  {name} (from {eqn.primitive.plugin or 'no plugin'}), used at {summarize(eqn.source_info)}."
            for name, eqn in sorted(left.items())
        ]
        raise MissingRuleError(
            "\n".join(
                [
                    f"decompose: {', '.join(sorted(left))} must be among the primitives to decompose to, "
                    "or have a decomposition:",
                    *lines,
                    "  A primitive's author gives one by interpret=derive.from_impl, if its impl is written in primax "
                    "operations.",
                ]
            )
        )
    return program


def _name(primitive: Any) -> str:
    if isinstance(primitive, Primitive | str):
        return str(primitive)
    raise TypeError(f"decompose: to must hold primitives or their names, got {primitive!r}")


def _equations(jaxpr: Jaxpr) -> Iterator[JaxprEqn]:
    """The equations of a program and of its inner programs."""
    yield from jaxpr.eqns
    for held in subjaxprs(jaxpr):
        yield from _equations(held)


class _Decomposer(Interpreter):
    """Applies the primitives that are kept, and decomposes all others."""

    def __init__(self, names: frozenset[str]) -> None:
        self.names = names

    def equation(self, eqn: JaxprEqn, values: list[Any]) -> list[Any]:
        stays = eqn.primitive.name in self.names and eqn.primitive.form_of is None
        self.inline = not stays  # type: ignore[misc]
        if stays and not any(jaxprs_in_params(eqn.params)):
            return replay(eqn, values)
        return super().equation(eqn, values)

    def default(self, eqn: JaxprEqn, *values: Any) -> Any:
        impl = _decomposition(eqn.primitive)
        if impl is None:
            return _result(eqn, replay(eqn, values))
        program = ImplProgram(eqn.primitive, impl)
        closed = trace_to_jaxpr(program.on(eqn.params), [v.aval for v in eqn.invars])
        return _result(eqn, self.interpret(closed, *values))

    def default_higher_order(self, eqn: JaxprEqn, *values: Any) -> Any:
        return self.default(eqn, *values)


def _decomposition(primitive: Any) -> Any:
    """The impl that may replace a primitive; None unless the lowering shows that it uses only primax operations."""
    impl = impl_rules.functions.get(primitive)
    return impl if impl is not None and getattr(lowering_rules.functions.get(primitive), "func", None) is impl else None


def _result(eqn: JaxprEqn, outs: Sequence[Any]) -> Any:
    return list(outs) if eqn.primitive.multiple_results else outs[0]
