"""Interpreters of jaxprs: `replay` for one equation, and a base class that walks programs and their inner programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from primax.core import config, tree
from primax.core.avals import get_aval
from primax.core.errors import MissingRuleError, RuleError
from primax.core.jaxpr import ClosedJaxpr, JaxprEqn, Literal, jaxprs_in_params, last_uses
from primax.core.recursion import raised_recursion_limit
from primax.core.rules import interpret_rules
from primax.core.source_info import summarize
from primax.core.trace import thread
from primax.interpreters.partial_eval import close_over
from primax.interpreters.staging import trace_to_jaxpr

__all__ = ["Interpreter", "Transformed", "replay"]
__dir__ = __all__.copy

Rule = Callable[..., Any]
_R = TypeVar("_R", bound=Rule)


def replay(eqn: JaxprEqn, values: Sequence[Any]) -> list[Any]:
    """Apply the primitive of an equation to other values, under the current trace.

    New equations get the line of this equation.

    Args:
      eqn: the equation; its parameters are used unchanged.
      values: one value for each operand.

    Returns:
      The list of results, also if the primitive has a single result.

    >>> import primax as px
    >>> (eqn,) = px.make_jaxpr(lambda x: x + 1.0)(2.0).eqns
    >>> replay(eqn, [5.0, 1.0])
    [Array(6., dtype=float32, weak_type=True)]
    """
    params = eqn.primitive.get_bind_params(eqn.params)
    before = thread.source
    thread.source = before if eqn.source_info is None else eqn.source_info
    try:
        out = eqn.primitive.bind(*values, **params)
    finally:
        thread.source = before
    return list(out) if eqn.primitive.multiple_results else [out]


@dataclass(frozen=True, slots=True)
class Transformed:
    """The program that an interpreter makes of another one.

    Attributes:
      closed: the program, without constants. Its arguments are `consts`, then the leaves of the values.
      consts: the values that the rules closed over.
      out_tree: the structure of the list of output values; the program returns their leaves.
    """

    closed: ClosedJaxpr
    consts: list[Any]
    out_tree: Any


class Interpreter:
    """Walks a program and computes a value for each variable; subclasses define the values.

    For each equation the interpreter calls a function `(interpreter, eqn, *values)`, with one value for each operand.
    The function returns a value, or a list of values if the primitive has multiple results. It is the first of these
    that exists:

    1. the rule that `rule` entered for the primitive, in the class or the nearest of its bases;
    2. the method `handle_<name of the primitive>`;
    3. the `interpret` rule from the primitive's plugin, which tells every interpreter how to treat the primitive's
       inner programs, such as the program of `jit`;
    4. the method `default_higher_order` if the primitive has inner programs, otherwise `default`.

    >>> import primax as px
    >>> from primax.extend.core.primitives import sin_p
    >>> class Doubting(Interpreter):
    ...     def default(self, eqn, *values):
    ...         return replay(eqn, values)[0]
    >>> @Doubting.rule(sin_p)
    ... def small_angle(self, eqn, x):
    ...     return x
    >>> closed = px.make_jaxpr(px.jit(lambda x: px.lax.sin(x) + 1.0))(2.0)
    >>> Doubting().interpret(closed, 2.0)
    [Array(3., dtype=float32, weak_type=True)]
    """

    inline: ClassVar[bool] = True
    """Whether a call, such as `jit`, is interpreted in place. If not, it becomes a call of the transformed program,
    and values must be pytrees of arrays."""

    rules: ClassVar[dict[Any, Rule]] = {}
    """The rules of this class by primitive, without those of its bases."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.rules = dict(cls.__dict__.get("rules", {}))

    @classmethod
    def rule(cls, *primitives: Any) -> Callable[[_R], _R]:
        """A decorator that enters a rule `(interpreter, eqn, *values)` for primitives.

        Raises:
          TypeError: this is `Interpreter` itself, whose rules all interpreters would share.
        """
        if cls is Interpreter:
            raise TypeError(
                "Interpreter.rule: call it on a subclass; a rule for all interpreters is given by "
                "registry.define(primitive, interpret=rule) in the primitive's plugin"
            )

        def enter(rule: _R) -> _R:
            cls.rules.update(dict.fromkeys(primitives, rule))
            return rule

        return enter

    def interpret(self, closed: ClosedJaxpr, *values: Any) -> list[Any]:
        """The values of a program's outputs from the values of its inputs.

        Raises:
          TypeError: the number of values is not that of the inputs.
          MissingRuleError: a primitive has no rule, and no default applies.
        """
        jaxpr = closed.jaxpr
        if len(values) != len(jaxpr.invars):
            raise TypeError(
                f"{type(self).__name__}.interpret: there must be one value per input of the program, "
                f"got {len(values)} for {len(jaxpr.invars)} inputs"
            )
        if jaxpr.x64 is not config.enable_x64.value:
            with config.enable_x64(jaxpr.x64):
                return self.interpret(closed, *values)
        last_reads = last_uses(jaxpr)
        env: dict[Any, Any] = dict(zip(jaxpr.constvars, map(self.lift, closed.consts), strict=True))
        env.update(zip(jaxpr.invars, values, strict=True))

        def read(atom: Any) -> Any:
            return self.lift(atom.val) if type(atom) is Literal else env[atom]

        with raised_recursion_limit():
            for eqn, dead in zip(jaxpr.eqns, last_reads, strict=True):
                env.update(zip(eqn.outvars, self.equation(eqn, list(map(read, eqn.invars))), strict=True))
                for var in dead:
                    env.pop(var, None)
        return list(map(read, jaxpr.outvars))

    def equation(self, eqn: JaxprEqn, values: list[Any]) -> list[Any]:
        """The values of an equation's results; override this method to see every equation."""
        before = thread.source
        thread.source = before if eqn.source_info is None else eqn.source_info
        try:
            out = self._handler(eqn)(self, eqn, *values)
        except Exception as error:
            self._say_where(error, eqn)
            raise
        finally:
            thread.source = before
        if not eqn.primitive.multiple_results:
            return [out]
        if not isinstance(out, list | tuple) or len(out) != len(eqn.outvars):
            raise RuleError(
                f"{type(self).__name__}: the rule or method for {eqn.primitive} must return a list of "
                f"{len(eqn.outvars)} values, got {out!r}"
            )
        return list(out)

    def lift(self, constant: Any) -> Any:
        """The value of a literal or constant of the program; by default the constant itself."""
        return constant

    def primal(self, value: Any) -> Any:
        """The array in a value, which decides a branch or the end of a loop."""
        return value

    def uniform(self, value: Any) -> Any:
        """The value in the common structure of all branches or of all steps of a loop.

        Override this method if variables have different kinds of values, such as constants.
        """
        return value

    def unstack(self, value: Any) -> Any:
        """The values of an array's elements, stacked along axis 0 of each leaf; for loops along arrays."""
        return value

    def stack(self, value: Any) -> Any:
        """The reverse of `unstack`."""
        return value

    def default(self, eqn: JaxprEqn, *values: Any) -> Any:
        """The result for a primitive without a rule; by default an error."""
        raise MissingRuleError(
            f"{self._missing(eqn)}\n"
            f"  Give one: @{type(self).__name__}.rule({eqn.primitive.name}_p) before a function "
            "(interpreter, eqn, *values)."
        )

    def default_higher_order(self, eqn: JaxprEqn, *values: Any) -> Any:
        """The result for a primitive with inner programs and without a rule; by default an error."""
        held = ", ".join(name for name, value in eqn.params.items() if any(jaxprs_in_params({name: value})))
        raise MissingRuleError(
            f"{self._missing(eqn)}\n"
            f"  It has inner programs ({held}), and only its author knows how it uses them.\n"
            f"  Define {type(self).__name__}.handle_{eqn.primitive.name}(self, eqn, *values), or for all interpreters "
            f"registry.define({eqn.primitive.name}_p, interpret=rule) in its plugin."
        )

    def call(
        self, closed: ClosedJaxpr, values: Sequence[Any], bind: Callable[[ClosedJaxpr, list[Any]], Sequence[Any]]
    ) -> list[Any]:
        """Interpret a program that an equation calls once, in place or by a call of the transformed program.

        Args:
          closed: the program.
          values: the values of its inputs.
          bind: a function that applies the equation's primitive, with another inner program, to a list of arrays.
        """
        if self.inline:
            return self.interpret(closed, *values)
        transformed = self.transform(closed, *values)
        outs = bind(transformed.closed, [*transformed.consts, *tree.flatten(list(values))[0]])
        return tree.unflatten(transformed.out_tree, outs)  # type: ignore[no-any-return]

    def transform(self, closed: ClosedJaxpr, *values: Any) -> Transformed:
        """The program from the leaves of input values to the leaves of output values.

        Args:
          closed: the program to interpret.
          values: pytrees whose leaves are arrays, or stand for arrays of their shape and dtype.

        Raises:
          TypeError: a leaf is not an array.
        """
        leaves, in_tree = tree.flatten(list(values))
        out_trees: list[Any] = []

        def run(*flat: Any) -> Any:
            outs, out_tree = tree.flatten(self.interpret(closed, *tree.unflatten(in_tree, flat)))
            out_trees.append(out_tree)
            return outs

        name = closed.jaxpr.debug_info or "a program"
        program = trace_to_jaxpr(run, list(map(self._aval, leaves)), name, type(self).__name__)
        return Transformed(ClosedJaxpr(close_over(program.jaxpr)), program.consts, out_trees[0])

    def _aval(self, leaf: Any) -> Any:
        try:
            return get_aval(leaf)
        except TypeError as error:
            raise TypeError(
                f"{type(self).__name__}.transform: values must be pytrees of arrays, got a leaf {leaf!r}"
            ) from error

    def _handler(self, eqn: JaxprEqn) -> Rule:
        primitive = eqn.primitive
        for cls in type(self).__mro__:
            rule: Rule | None = getattr(cls, "rules", {}).get(primitive)
            if rule is not None:
                return rule
        rule = getattr(type(self), f"handle_{primitive.name}", None) or interpret_rules.get_or_load(primitive)
        if rule is not None:
            return rule
        return type(self).default_higher_order if any(jaxprs_in_params(eqn.params)) else type(self).default

    def _missing(self, eqn: JaxprEqn) -> str:
        owner = eqn.primitive.plugin or "no plugin"
        return (
            f"{type(self).__name__} has no rule for primitive {eqn.primitive.name!r} (from {owner}), "
            f"used at {summarize(eqn.source_info)}."
        )

    def _say_where(self, error: Exception, eqn: JaxprEqn) -> None:
        """Add a note with the innermost equation and its line to an error."""
        prefix = f"{type(self).__name__} was at "
        if not any(note.startswith(prefix) for note in getattr(error, "__notes__", ())):
            remedy = ""
            if self._handler(eqn) is interpret_rules.functions.get(eqn.primitive):
                method = f"{type(self).__name__}.handle_{eqn.primitive.name}"
                remedy = f" Define {method} to treat its inner programs in another way."
            error.add_note(f"{prefix}{eqn.primitive}, used at {summarize(eqn.source_info)}.{remedy}")
