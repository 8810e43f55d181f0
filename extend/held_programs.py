"""Functions for the rules of primitives with inner programs.

Such a primitive has programs among its parameters, such as branches or the body of a loop. Its rules transform these by
`ad.jvp_jaxpr`, `ad.transpose_jaxpr`, `batching.batch_jaxpr`, `pe.partial_eval_jaxpr` and `core.dce_jaxpr`, and bind the
primitive again. This module has the other parts of these rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import compress
from typing import Any

from primax.core.avals import get_aval
from primax.core.closure_lifting import lifted
from primax.core.dce import dce_jaxpr
from primax.core.effects import OperandEffect, effects_of
from primax.core.jaxpr import (
    ClosedJaxpr,
    DropVar,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    cached,
    cached_by_interface,
    eval_jaxpr,
    jaxprs_in_params,
)
from primax.core.list_utils import fixpoint, merge, partition, sections
from primax.interpreters.partial_eval import partial_eval_jaxpr
from primax.interpreters.staging import trace_to_jaxpr
from primax.interpreters.tangents import UndefinedPrimal, Zero

__all__ = [
    "SplitEquation",
    "all_lifted",
    "checked_types",
    "closes_over",
    "cotangents",
    "cut",
    "fixpoint",
    "given",
    "held_types",
    "interpret_branches",
    "interpret_call",
    "interpret_loop",
    "lifted",
    "linear_flags",
    "merge",
    "nonzero_flags",
    "partition",
    "reordered",
    "sections",
    "tangents_of",
    "trimmed",
    "without_effects",
]
__dir__ = __all__.copy


def held_types(parameter: str) -> Callable[..., tuple[Any, Any]]:
    """The type rule of a primitive with the results and effects of the program in a parameter.

    Examples:
      >>> import primax as px
      >>> import numpy as np
      >>> from primax.extend.held_programs import held_types
      >>> program = px.make_jaxpr(lambda x: (x, x > 0))(np.ones(2))
      >>> held_types("program")(program=program)
      ([ShapedArray(float32[2]), ShapedArray(bool[2])], frozenset())
    """

    def effectful_abstract_eval(*avals: Any, **params: Any) -> tuple[Any, Any]:
        closed = params[parameter]
        return closed.out_avals, closed.effects

    return effectful_abstract_eval


def checked_types(parameter: str) -> Callable[..., tuple[Any, Any]]:
    """The `check` rule of a primitive with an inner program: operands must have the types of the program's inputs.

    Examples:
      >>> import primax as px
      >>> from primax.extend.core import check_jaxpr
      >>> from primax.extend.held_programs import checked_types
      >>> program = px.make_jaxpr(px.jit(lambda x: 2 * x))(1.0)
      >>> program.eqns[0].params["jaxpr"] = px.make_jaxpr(lambda x: 2 * x)(1)  # jit's rule is checked_types("jaxpr")
      >>> check_jaxpr(program)
      Traceback (most recent call last):
          ...
      primax.errors.JaxprTypeError: check_jaxpr: operand 0 is f32[], but the program takes i32[], at equation 0
    """

    def check(context: Any, /, *atoms: Any, **params: Any) -> tuple[Any, Any]:
        closed = params[parameter]
        context.check_operands(closed, atoms)
        return closed.out_avals, closed.effects

    return check


def all_lifted(programs: Sequence[ClosedJaxpr]) -> tuple[list[ClosedJaxpr], list[Any]]:
    """`lifted` for several programs, each of which takes the tracers of all.

    Examples:
      >>> import primax as px
      >>> from primax.extend.held_programs import all_lifted
      >>> def f(y):
      ...     programs = [px.make_jaxpr(lambda x: x + y)(1.0), px.make_jaxpr(lambda x: x * x)(1.0)]
      ...     lifted, values = all_lifted(programs)
      ...     print([len(program.invars) for program in lifted], len(values))
      ...     return y
      >>> _ = px.jit(f)(2.0)
      [2, 2] 1
    """
    pairs = list(map(lifted, programs))
    values = [x for _, own in pairs for x in own]
    lifted_programs, start = [], 0
    for program, own in pairs:
        unused: list[Any] = [Var(get_aval(x)) for x in values]
        unused[start : start + len(own)] = program.invars[: len(own)]
        start += len(own)
        lifted_programs.append(reordered(program, [*unused, *program.invars[len(own) :]]))
    return lifted_programs, values


def closes_over(parameter: str) -> Callable[..., tuple[list[Any], dict[str, Any]]]:
    """The `close_over` rule of a primitive whose operands are those of the program in a parameter.

    Examples:
      >>> import primax as px
      >>> from primax.extend.held_programs import closes_over
      >>> close_over = closes_over("program")
      >>> def f(y):
      ...     args, params = close_over([3.0], {"program": px.make_jaxpr(lambda x: x + y)(1.0)})
      ...     print(len(args), params["program"])
      ...     return y
      >>> _ = px.jit(f)(2.0)
      2 { lambda ; a:f32[] b:f32[]. let c:f32[] = add b a in (c,) }
    """

    def close_over(args: Sequence[Any], params: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        program, values = lifted(params[parameter])
        return [*values, *args], {**params, parameter: program}

    return close_over


def interpret_call(parameter: str) -> Callable[..., list[Any]]:
    """The `interpret` rule of a primitive that calls the program in a parameter once, with its operands.

    Examples:
      >>> import primax as px
      >>> from primax.extend import Interpreter, replay
      >>> from primax.extend.held_programs import interpret_call
      >>> class Plain(Interpreter):
      ...     def default(self, eqn, *values):
      ...         return replay(eqn, values)[0]
      >>> (eqn,) = px.make_jaxpr(px.jit(lambda x: 2 * x))(1.0).eqns
      >>> interpret_call("jaxpr")(Plain(), eqn, 3.0)
      [Array(6., dtype=float32, weak_type=True)]
    """

    def interpret(interpreter: Any, eqn: JaxprEqn, *values: Any) -> list[Any]:
        def bind(program: ClosedJaxpr, args: Sequence[Any]) -> Any:
            return eqn.primitive.bind(*args, **{**eqn.params, parameter: program})

        return interpreter.call(eqn.params[parameter], values, bind)  # type: ignore[no-any-return]

    return interpret


def interpret_branches(parameter: str) -> Callable[..., list[Any]]:
    """The `interpret` rule of a primitive that calls one of the programs in a parameter.

    Operand 0 is the number of the program, which is clamped, or a condition; the others are the program's inputs.
    Abstract interpreters join the results of all programs, which is sound for any choice.

    Examples:
      >>> from primax import lax
      >>> import primax as px
      >>> from primax.extend import Interpreter, replay
      >>> from primax.extend.held_programs import interpret_branches
      >>> class Plain(Interpreter):
      ...     def default(self, eqn, *values):
      ...         return replay(eqn, values)[0]
      >>> eqn = px.make_jaxpr(lambda i, x: lax.switch(i, [lax.neg, lax.abs], x))(0, 1.0).eqns[-1]
      >>> interpret_branches("branches")(Plain(), eqn, 9, -2.0)  # there is no program 9; the last one is called
      [Array(2., dtype=float32, weak_type=True)]
    """

    def interpret(interpreter: Any, eqn: JaxprEqn, index: Any, *values: Any) -> list[Any]:
        return interpreter.branch(index, eqn.params[parameter], *values)  # type: ignore[no-any-return]

    return interpret


def interpret_loop(
    condition: str, body: str, condition_consts: str | int = 0, body_consts: str | int = 0
) -> Callable[..., list[Any]]:
    """The `interpret` rule of a primitive that repeats a program while another one returns True.

    The operands are constants of the condition, those of the body, and the carry. Abstract interpreters continue until
    the values at the head of the loop settle, which is sound for any number of rounds.

    Args:
      condition: the parameter with the program from constants and carry to a boolean.
      body: the parameter with the program from constants and carry to the next carry.
      condition_consts: the number of constants of the condition, or the parameter that has it.
      body_consts: the same for the body.

    Examples:
      >>> from primax import lax
      >>> import primax as px
      >>> from primax.extend import Interpreter, replay
      >>> from primax.extend.held_programs import interpret_loop
      >>> class Plain(Interpreter):
      ...     def default(self, eqn, *values):
      ...         return replay(eqn, values)[0]
      >>> (eqn,) = px.make_jaxpr(lambda x: lax.while_loop(lambda x: x < 9.0, lambda x: 2.0 * x, x))(1.0).eqns
      >>> rule = interpret_loop("cond_jaxpr", "body_jaxpr", "cond_nconsts", "body_nconsts")
      >>> rule(Plain(), eqn, 1.0)
      [Array(16., dtype=float32, weak_type=True)]
    """

    def interpret(interpreter: Any, eqn: JaxprEqn, *values: Any) -> list[Any]:
        params = eqn.params
        first, more = (params[n] if isinstance(n, str) else n for n in (condition_consts, body_consts))
        tests, steps, carry = values[:first], values[first : first + more], values[first + more :]
        return interpreter.loop(  # type: ignore[no-any-return]
            lambda *xs: interpreter.interpret(params[condition], *tests, *xs),
            lambda *xs: interpreter.interpret(params[body], *steps, *xs),
            carry,
        )

    return interpret


def nonzero_flags(tangents: Iterable[Any]) -> list[bool]:
    """For each tangent or cotangent, whether it is not a symbolic zero.

    Examples:
      >>> from primax.extend.core import get_aval
      >>> from primax.extend.held_programs import nonzero_flags
      >>> from primax.extend.interpreters.ad import Zero
      >>> nonzero_flags([0.0, Zero(get_aval(1.0))])  # 0.0 is not symbolic
      [True, False]
    """
    return [type(t) is not Zero for t in tangents]


def linear_flags(args: Iterable[Any]) -> list[bool]:
    """For each argument of a transpose rule, whether the rule must return its cotangent.

    Examples:
      >>> from primax.extend.core import get_aval
      >>> from primax.extend.held_programs import linear_flags
      >>> from primax.extend.interpreters.ad import UndefinedPrimal
      >>> linear_flags([1.0, UndefinedPrimal(get_aval(1.0))])
      [False, True]
    """
    return [type(x) is UndefinedPrimal for x in args]


def given(xs: Iterable[Any]) -> list[Any]:
    """The values without symbolic zeros and without the linear arguments of a transpose rule.

    Examples:
      >>> from primax.extend.core import get_aval
      >>> from primax.extend.held_programs import given
      >>> from primax.extend.interpreters.ad import UndefinedPrimal, Zero
      >>> given([1.0, Zero(get_aval(1.0)), UndefinedPrimal(get_aval(1.0)), 2.0])
      [1.0, 2.0]
    """
    return [x for x in xs if type(x) is not Zero and type(x) is not UndefinedPrimal]


def tangents_of(primals: Iterable[Any], nonzero: Iterable[bool], found: Iterable[Any]) -> list[Any]:
    """The tangents that a JVP rule returns.

    Args:
      primals: the results.
      nonzero: for each result whether it has a tangent.
      found: the tangents of the results that have one.

    >>> import numpy as np
    >>> tangents_of(np.float32([1, 2]), [False, True], [0.5])
    [Zero(f32[]), 0.5]
    """
    tangents = iter(found)
    return [next(tangents) if nz else Zero.from_primal_value(x) for x, nz in zip(primals, nonzero, strict=True)]


def cotangents(args: Iterable[Any], nonzero: Iterable[bool], found: Iterable[Any]) -> list[Any]:
    """The cotangents that a transpose rule returns.

    Args:
      args: its arguments.
      nonzero: for each linear argument, whether its cotangent was computed.
      found: the computed cotangents.

    Returns:
      For each argument its cotangent, a symbolic zero if it was not computed, None for other arguments.

    Examples:
      >>> from primax.extend.core import get_aval
      >>> from primax.extend.held_programs import cotangents
      >>> from primax.extend.interpreters.ad import UndefinedPrimal
      >>> x = UndefinedPrimal(get_aval(1.0))
      >>> cotangents([2.0, x, x], [False, True], [5.0])
      [None, Zero(f32[]), 5.0]
    """
    flags, values = iter(nonzero), iter(found)
    return [(next(values) if next(flags) else Zero(x.aval)) if type(x) is UndefinedPrimal else None for x in args]


def readable(var: Var) -> Var:
    """A new variable instead of a dropped result variable, so that it can be read."""
    return Var(var.aval) if type(var) is DropVar else var


def reordered(closed: ClosedJaxpr, invars: Iterable[Any], outvars: Iterable[Any] | None = None) -> ClosedJaxpr:
    """A program with its arguments, and perhaps its results, in another order.

    Args:
      closed: the program.
      invars: the variables of the arguments; variables that the program does not use are allowed.
      outvars: the variables of the results; None keeps the results.

    Examples:
      >>> import primax as px
      >>> from primax.extend.held_programs import reordered
      >>> program = px.make_jaxpr(lambda x, y: x - y)(1.0, 2.0)
      >>> reordered(program, program.invars[::-1])
      { lambda ; a:f32[] b:f32[]. let c:f32[] = sub b a in (c,) }
    """
    changes = {"invars": list(invars)} if outvars is None else {"invars": list(invars), "outvars": list(outvars)}
    return ClosedJaxpr(closed.jaxpr.replace(**changes), closed.consts)


def trimmed(
    closed: ClosedJaxpr, used_outputs: Sequence[bool], used_inputs: bool | Sequence[bool] = False
) -> tuple[ClosedJaxpr, list[bool]]:
    """The part of a program that the used results need; the program itself if they need all of it.

    Args:
      closed: the program.
      used_outputs: for each result whether it is used.
      used_inputs: for each argument (or for all) whether it stays even if it is not needed.

    Returns:
      The program, and for each argument whether it stays.

    Examples:
      >>> import primax as px
      >>> from primax.extend.held_programs import trimmed
      >>> program = px.make_jaxpr(lambda x, y: (2 * x, 3 * y))(1.0, 2.0)
      >>> trimmed(program, [False, True])
      ({ lambda ; a:f32[]. let b:f32[] = mul 3.0:f32[] a in (b,) }, [False, True])
      >>> trimmed(program, [True, True])[0] is program
      True
    """

    def make() -> tuple[ClosedJaxpr | None, list[bool]]:
        jaxpr, used = dce_jaxpr(closed.jaxpr, list(used_outputs), list(kept))
        if all(used_outputs) and all(used) and len(jaxpr.eqns) == len(closed.eqns):
            return None, used  # not the program itself, which would keep itself alive
        return ClosedJaxpr(jaxpr, closed.consts), used

    kept = (used_inputs,) * len(closed.invars) if isinstance(used_inputs, bool) else tuple(used_inputs)
    program, used = cached_by_interface(closed, ("trimmed", tuple(used_outputs)), kept, make)
    return closed if program is None else program, used


def cut(
    eqn: JaxprEqn, used_inputs: Iterable[bool], used_outputs: Iterable[bool], params: dict[str, Any], effects: Any
) -> JaxprEqn:
    """An equation with only some operands and results, and with new parameters, as a dce rule returns it.

    Examples:
      >>> from primax import lax
      >>> import primax as px
      >>> from primax.extend.held_programs import cut
      >>> (eqn,) = px.make_jaxpr(lambda x, y: lax.add(x, y))(1.0, 2.0).eqns
      >>> cut(eqn, [True, False], [True], {"kept": 1}, frozenset())
      a:f32[] = add[kept=1] b
    """
    return eqn.replace(
        invars=list(compress(eqn.invars, used_inputs)),
        outvars=list(compress(eqn.outvars, used_outputs)),
        params=params,
        effects=effects,
    )


def without_effects(closed: ClosedJaxpr, unknown_in: Sequence[bool] | None = None) -> ClosedJaxpr:
    """A program without its effects, for rules that compute it a second time: prints then happen once.

    A JVP rule needs this if it binds the primitive for the results, and computes tangents by another program that
    contains the first. A `partial_eval_jaxpr` rule needs it if the unknown equation recomputes the known one.

    Effects on operands stay, and so do operations with effects whose results the program returns or uses.

    Args:
      closed: the program.
      unknown_in: for each input whether it was unknown where the known part was computed; effects that depend on
        unknown inputs have not happened there, and stay. By default all are known.

    >>> import primax as px
    >>> program = px.make_jaxpr(lambda x: (px.debug.print("{}", x), x * x)[1])(2.0)
    >>> without_effects(program)
    { lambda ; a:f32[]. let b:f32[] = mul a a in (b,) }
    """
    if not closed.effects:
        return closed
    if unknown_in is None or not any(unknown_in):
        make = lambda: ClosedJaxpr(_without_effects(closed.jaxpr), closed.consts)  # noqa: E731
        return cached(closed, ("without effects",), make)  # type: ignore[no-any-return]
    flags = list(unknown_in)
    split = partial_eval_jaxpr(closed, flags)
    if not split.unknown.effects:
        return without_effects(closed)

    def again(*args: Any) -> list[Any]:
        known_in, unknown_args = partition(args, flags)
        known = without_effects(split.known)
        values = eval_jaxpr(known.jaxpr, known.consts, *known_in)
        available = [*known_in, *values]
        residuals = [available[i] for i in split.residuals]
        unknown = eval_jaxpr(split.unknown.jaxpr, split.unknown.consts, *residuals, *unknown_args)
        return merge(split.unknown_out, values[: split.unknown_out.count(False)], unknown)

    name = closed.jaxpr.debug_info
    key = "without effects", tuple(flags)
    return cached(closed, key, lambda: trace_to_jaxpr(again, closed.in_avals, name))  # type: ignore[no-any-return]


def _without_effects(jaxpr: Jaxpr) -> Jaxpr:
    needed = set(jaxpr.outvars)
    eqns: list[JaxprEqn] = []
    for eqn in reversed(jaxpr.eqns):
        stays = any(isinstance(effect, OperandEffect) for effect in eqn.effects)
        if not stays and needed.isdisjoint(eqn.outvars):
            continue
        if eqn.effects and any(jaxprs_in_params(eqn.params)):
            params = {name: _pure(value) for name, value in eqn.params.items()}
            _, effects = eqn.primitive.result_types(tuple([v.aval for v in eqn.invars]), params)
            eqn = eqn.replace(params=params, effects=effects)
        needed.update(v for v in eqn.invars if type(v) is not Literal)
        eqns.append(eqn)
    eqns.reverse()
    return jaxpr.replace(eqns=eqns, effects=effects_of(eqns, [*jaxpr.constvars, *jaxpr.invars]))


def _pure(value: Any) -> Any:
    """A parameter with programs without effects."""
    if isinstance(value, ClosedJaxpr):
        return without_effects(value)
    if isinstance(value, Jaxpr):
        return _without_effects(value)
    return type(value)(map(_pure, value)) if type(value) in (tuple, list) else value


class SplitEquation:
    """An equation that is being split into a known equation and an unknown one.

    Args:
      eqn: the equation.
      unknown_in: for each operand whether it is unknown.
      unknown_out: for each result whether it is unknown.
      residuals: the types of the values that the known equation computes for the rest, besides its results.

    Attributes:
      known_in: the known operands.
      unknown_in: the unknown operands.
      known_out: the known results; the unknown equation may read them.
      unknown_out: the unknown results.
      residuals: a variable for each residual.

    Examples:
      >>> import primax as px
      >>> from primax.extend.core import get_aval
      >>> from primax.extend.held_programs import SplitEquation
      >>> (eqn,) = px.make_jaxpr(lambda x, y: x * y)(1.0, 2.0).eqns
      >>> split = SplitEquation(eqn, [False, True], [True], [get_aval(1.0)])
      >>> split.known_in == eqn.invars[:1], split.unknown_in == eqn.invars[1:]
      (True, True)
      >>> [v.aval for v in split.residuals]
      [ShapedArray(float32[], weak_type=True)]
    """

    def __init__(
        self, eqn: JaxprEqn, unknown_in: Sequence[bool], unknown_out: Sequence[bool], residuals: Iterable[Any]
    ) -> None:
        self.eqn = eqn
        self.known_in, self.unknown_in = partition(eqn.invars, unknown_in)
        known_out, self.unknown_out = partition(eqn.outvars, unknown_out)
        self.known_out = list(map(readable, known_out))
        self.residuals = list(map(Var, residuals))

    @property
    def available(self) -> list[Any]:
        """Values for the unknown equation: known operands, known results, and the `PartialEval.residuals`."""
        return [*self.known_in, *self.known_out, *self.residuals]

    def known(self, params: dict[str, Any], effects: Any, invars: Sequence[Any] | None = None) -> JaxprEqn | None:
        """The known equation, or None.

        Args:
          params: its parameters.
          effects: the effects of its programs.
          invars: its operands; by default the known ones.
        """
        outvars = [*self.known_out, *self.residuals]
        if not outvars and not effects:
            return None
        operands = self.known_in if invars is None else list(invars)
        return self.eqn.replace(invars=operands, outvars=outvars, params=params, effects=effects)

    def rest(self, invars: Iterable[Any], params: dict[str, Any], effects: Any) -> JaxprEqn | None:
        """The unknown equation, or None."""
        if not self.unknown_out and not effects:
            return None
        return self.eqn.replace(invars=list(invars), outvars=self.unknown_out, params=params, effects=effects)
