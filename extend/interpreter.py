"""Interpreters of jaxprs: `replay` for one equation, and a base class that walks programs and their inner programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import count
from typing import Any, ClassVar, TypeVar

import numpy as np

from primax.core import config, tree
from primax.core.array_protocol import protocol_of
from primax.core.avals import get_aval
from primax.core.errors import MissingRuleError, PluginError, RuleError
from primax.core.jaxpr import ClosedJaxpr, JaxprEqn, Literal, jaxprs_in_params, last_uses
from primax.core.lazy_tables import Table
from primax.core.recursion import raised_recursion_limit
from primax.core.rules import RuleTable, explain_missing, interpret_rules, missing_error
from primax.core.source_info import summarize
from primax.core.trace import thread
from primax.interpreters.batching import broadcast
from primax.interpreters.partial_eval import close_over
from primax.interpreters.staging import trace_to_jaxpr

__all__ = ["Interpreter", "Transformed", "replay"]
__dir__ = __all__.copy

Rule = Callable[..., Any]
_R = TypeVar("_R", bound=Rule)

constructs = Table("construct", __name__)  # branches and loops over arrays, which the plugin control_flow enters


def _construct(name: str) -> Any:
    if name not in constructs:
        raise PluginError(f"Interpreter: {name} needs the plugin 'control_flow', which is not active")
    return constructs[name]


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
    3. the rule in the interpreter's `table`, to which plugins add rules for their primitives;
    4. the `interpret` rule from the primitive's plugin, which tells every interpreter how to treat the primitive's
       inner programs, such as the program of `jit`;
    5. the method `default_higher_order` if the primitive has inner programs, otherwise `default`.

    If a value stands for a set of arrays, such as an interval, define `join`. Branches and loops then give values for
    every path that a program may take.

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

    table: ClassVar[RuleTable | None] = None
    """A table of rules `(interpreter, eqn, *values)` that other plugins extend, as `core.new_rule_table` makes it."""

    rounds: ClassVar[int] = 100
    """With `join`: the number of rounds of a loop that are interpreted one by one before they are taken together."""

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
        """The array in a value, which decides a branch or the end of a loop.

        Raises:
          TypeError: values stand for sets of arrays, which decide nothing.
        """
        if self.is_abstract:
            raise TypeError(
                f"{type(self).__name__}.primal: an abstract value decides no branch and no loop, got {value!r}; an "
                "interpret rule must use interpreter.branch, interpreter.loop or interpreter.steps"
            )
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

    def join(self, x: Any, y: Any) -> Any:
        """The value of a variable that has one of two values; a subclass defines it for abstract values.

        It must stand for all arrays of `x` and of `y`.
        """
        raise NotImplementedError(f"{type(self).__name__}.join: define it if values stand for sets of arrays")

    def widen(self, x: Any, y: Any) -> Any:
        """The value at the head of a loop after many rounds, from those before and after one more; by default `y`.

        It must stand for all arrays for which `y` does. Define it so that loops end, for example by an infinite bound
        in place of one that grows.
        """
        return y

    def same(self, x: Any, y: Any) -> bool:
        """Whether two values are equal, so that a loop can end; by default whether their leaves are."""
        (xs, x_tree), (ys, y_tree) = tree.flatten(x), tree.flatten(y)
        return bool(x_tree == y_tree) and all(map(_equal, xs, ys))

    def possible(self, value: Any, choices: int) -> Sequence[int]:
        """With `join`: the branches, numbered from 0, that an index may select; by default all.

        Args:
          value: the value of the index, an integer that is clamped; or of a condition, whose branch 1 is that of True.
          choices: the number of branches.
        """
        return range(choices)

    def element(self, value: Any, index: int | None, length: int) -> Any:
        """With `join`: the value of an element of an array along axis 0, for loops along arrays.

        By default that element of each leaf. Override it, and `collect`, if one value stands for all elements.

        Args:
          value: the value of the array.
          index: the position of the element; with None, the value must stand for all elements.
          length: the number of elements.
        """
        if index is None:
            return reduce(self.join, [self.element(value, i, length) for i in range(length)])
        leaves, structure = tree.flatten(value)
        if any(np.shape(leaf)[:1] != (length,) for leaf in leaves) or not leaves:
            raise TypeError(
                f"{type(self).__name__}.element: values must be pytrees of arrays with an axis 0 of length {length}, "
                f"got {value!r}; override element and collect if a value stands for all elements of an array"
            )
        return tree.unflatten(structure, [protocol_of(get_aval(leaf)).index(leaf, index, 0) for leaf in leaves])

    def collect(self, values: Sequence[Any], length: int) -> Any:
        """The reverse of `element`: the value of an array, from those of its elements.

        Args:
          values: a value for each element, or a single one that stands for all.
          length: the number of elements.
        """
        (_, structure), *_ = flat = [tree.flatten(value) for value in values]
        columns = zip(*[leaves for leaves, _ in flat], strict=True)
        if len(values) == length:
            return tree.unflatten(structure, [protocol_of(get_aval(xs[0])).stack(list(xs), 0) for xs in columns])
        return tree.unflatten(structure, [broadcast(xs[0], length, 0) for xs in columns])

    @property
    def is_abstract(self) -> bool:
        """Whether values stand for sets of arrays, because the class defines `join`."""
        return type(self).join is not Interpreter.join

    def branch(self, index: Any, branches: Sequence[ClosedJaxpr | Rule], *values: Any) -> list[Any]:
        """Interpret one of several programs, or with `join` all that are possible. For `interpret` rules.

        Args:
          index: the value of an integer, which is clamped, or of a condition.
          branches: programs, or functions of values that return a list of values.
          values: the values of their inputs.
        """
        functions = [self._function(branch) for branch in branches]
        if not self.is_abstract:
            uniform = [lambda *xs, f=function: list(map(self.uniform, f(*xs))) for function in functions]
            return list(_construct("switch")(self.primal(index), uniform, *values))
        chosen = list(dict.fromkeys(self.possible(index, len(functions))))
        if not chosen:
            raise ValueError(
                f"{type(self).__name__}.possible: it must return one branch or more, got none for {index!r}"
            )
        return self._joined([functions[i](*values) for i in chosen])

    def loop(self, condition: ClosedJaxpr | Rule, body: ClosedJaxpr | Rule, carry: Sequence[Any]) -> list[Any]:
        """Interpret a loop that runs while a condition holds. For `interpret` rules.

        With `join`, the result stands for the carry after any number of rounds after which the loop may end. The first
        `rounds` rounds are interpreted one by one as long as the condition surely holds.

        Args:
          condition: a program, or function, from the values of the carry to a list with one value, whether to continue.
          body: a program, or function, from the values of the carry to those after a round.
          carry: the values at the start.

        Raises:
          RuntimeError: the values at the head of the loop do not settle; `widen` must see to it.
        """
        holds, step = self._function(condition), self._function(body)
        if not self.is_abstract:
            start = list(map(self.uniform, carry))
            return list(
                _construct("while_loop")(
                    lambda xs: self.primal(holds(*xs)[0]), lambda xs: list(map(self.uniform, step(*xs))), start
                )
            )
        carry, ends = list(carry), []
        for done in count():
            chosen = self.possible(holds(*carry)[0], 2)
            if 0 in chosen:
                ends.append(carry)
            if 1 not in chosen:
                break
            after = step(*carry)
            if 0 not in chosen and done < self.rounds:
                carry = after
                continue
            after, settled = self._settled(carry, after, done)
            if settled:
                break
            carry = after
        return self._joined(ends) if ends else carry  # without an end, no value is wrong

    def steps(
        self,
        step: ClosedJaxpr | Rule,
        carry: Sequence[Any],
        arrays: Sequence[Any],
        length: int,
        *,
        reverse: bool = False,
        unroll: int | bool = 1,
    ) -> tuple[list[Any], list[Any]]:
        """Interpret a loop along arrays. For `interpret` rules.

        Args:
          step: a program, or function, from the values of the carry and of one element of each array, to a list of the
            values of the carry and of elements of results.
          carry: the values at the start.
          arrays: the values of the arrays, whose axis 0 is that of the loop.
          length: the number of steps; with `join` one or more.
          reverse: whether the loop begins with the last elements.
          unroll: as for `lax.scan`.

        Returns:
          The values of the last carry, and of the arrays of results.

        Raises:
          RuntimeError: the values at the head of the loop do not settle; `widen` must see to it.
        """
        function, n = self._function(step), len(carry)
        if not self.is_abstract:

            def run(xs: Any, elements: Any) -> tuple[Any, Any]:
                outs = list(map(self.uniform, function(*xs, *elements)))
                return outs[:n], outs[n:]

            start, elements = list(map(self.uniform, carry)), list(map(self.unstack, arrays))
            last, results = _construct("scan")(run, start, elements, length=length, reverse=reverse, unroll=unroll)
            return list(last), list(map(self.stack, results))
        carry = list(carry)
        if length <= self.rounds:
            rows: list[list[Any]] = []
            for i in range(length)[:: -1 if reverse else 1]:
                outs = function(*carry, *[self.element(x, i, length) for x in arrays])
                carry, row = outs[:n], outs[n:]
                rows.append(row)
            columns = zip(*rows[:: -1 if reverse else 1], strict=True)
            return carry, [self.collect(column, length) for column in columns]
        elements = [self.element(x, None, length) for x in arrays]
        for done in count():
            outs = function(*carry, *elements)
            after, settled = self._settled(carry, outs[:n], done)
            if settled:
                return outs[:n], [self.collect([x], length) for x in outs[n:]]
            carry = after
        raise AssertionError

    def _function(self, program: ClosedJaxpr | Rule) -> Callable[..., list[Any]]:
        """A program as a function of values."""
        if isinstance(program, ClosedJaxpr):
            return lambda *values: self.interpret(program, *values)
        return lambda *values: list(program(*values))

    def _joined(self, rows: Sequence[Sequence[Any]]) -> list[Any]:
        """For each result its value on any of several paths."""
        return [reduce(self.join, column) for column in zip(*rows, strict=True)]

    def _settled(self, before: Sequence[Any], after: Sequence[Any], done: int) -> tuple[list[Any], bool]:
        """The values at the head of a loop after one more round, and whether they are those before it."""
        joined = self._joined([before, after])
        if done >= self.rounds:
            joined = list(map(self.widen, before, joined))
        if done >= 10 * self.rounds + 1000:
            raise RuntimeError(
                f"{type(self).__name__}: the values of a loop do not settle after {done} rounds; define widen(before, "
                f"after) so that they do, got {before!r} before the last round and {joined!r} after it"
            )
        return joined, all(map(self.same, before, joined))

    def default(self, eqn: JaxprEqn, *values: Any) -> Any:
        """The result for a primitive without a rule; by default an error."""
        self._refuse_unsupported(eqn)
        raise MissingRuleError(
            f"{self._missing(eqn)}\n"
            f"  Give one: @{type(self).__name__}.rule({eqn.primitive.name}_p) before a function "
            f"(interpreter, eqn, *values){self._in_table(eqn)}."
        )

    def default_higher_order(self, eqn: JaxprEqn, *values: Any) -> Any:
        """The result for a primitive with inner programs and without a rule; by default an error."""
        self._refuse_unsupported(eqn)
        held = ", ".join(name for name, value in eqn.params.items() if any(jaxprs_in_params({name: value})))
        raise MissingRuleError(
            f"{self._missing(eqn)}\n"
            f"  It has inner programs ({held}), and only its author knows how it uses them.\n"
            f"  Define {type(self).__name__}.handle_{eqn.primitive.name}(self, eqn, *values), or for all interpreters "
            f"registry.define({eqn.primitive.name}_p, interpret=rule) in its plugin{self._in_table(eqn)}."
        )

    def _in_table(self, eqn: JaxprEqn) -> str:
        """The way in which a plugin gives a rule to this kind of interpreters, as text."""
        kind = "" if self.table is None else self.table.kind
        return kind and f"; or in a plugin, registry.define({eqn.primitive.name}_p, {kind}=rule)"

    def _refuse_unsupported(self, eqn: JaxprEqn) -> None:
        """Raise the error for a primitive that has no rule in the table, as a plugin declares."""
        if self.table is not None and eqn.primitive in self.table.unsupported:
            raise missing_error(self.table, eqn.primitive)(explain_missing(self.table, eqn.primitive))

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
        rule = getattr(type(self), f"handle_{primitive.name}", None)
        if rule is None and self.table is not None:
            rule = self.table.get_or_load(primitive)
        rule = rule or interpret_rules.get_or_load(primitive)
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


def _equal(x: Any, y: Any) -> bool:
    """Whether two leaves of values are equal; NaN is equal to itself."""
    if x is y:
        return True
    x, y = np.asarray(x), np.asarray(y)
    return x.shape == y.shape and bool(np.all((x == y) | ((x != x) & (y != y))))
