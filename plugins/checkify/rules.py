"""The checks of operations, and rules for operations that hold programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.core import get_aval
from primax.extend.held_programs import given, nonzero_flags, sections, tangents_of
from primax.extend.interpreter import replay
from primax.extend.interpreters import ad
from primax.plugins.bitwise import bitwise_or
from primax.plugins.calls import call_params, jit_p
from primax.plugins.checkify.checker import Checker, checkify, without_checks
from primax.plugins.checkify.devices import check_devices
from primax.plugins.checkify.errors import DivisionByZeroError, NaNError, OOBError
from primax.plugins.comparison import gt, lt
from primax.plugins.composite import call_p, closed_call_p
from primax.plugins.control_flow import scan, switch, while_loop
from primax.plugins.custom_batching import custom_vmap_call_p
from primax.plugins.custom_derivatives import custom_jvp_call_p, custom_vjp_call_p, linear_call_p
from primax.plugins.remat import checkpoint_p
from primax.plugins.sharding import shard_map_p
from primax.plugins.structural import squeeze

__all__ = ["Checker", "checkify"]

p: Any = core.primitives


@Checker.rule(p.div_p)
def _div(checker: Checker, eqn: core.JaxprEqn, x: Any, y: Any) -> Any:
    (out,) = replay(eqn, [x, y])
    checker.check(p.eq_p.bind(y, get_aval(y).dtype.type(0)), DivisionByZeroError, lambda: "division by zero")
    if NaNError in checker.errors:
        checker.check_nan(eqn, [out])
    return out


def _check_starts(checker: Checker, starts: Any, axes: tuple[int, ...], shape: Any, windows: Any) -> None:
    """Record positions that are out of bounds.

    Args:
      checker: records them.
      starts: the starts of windows, of shape (..., len(axes)).
      axes: the axes of the operand that correspond to the last axis of `starts`.
      shape: the shape of the operand.
      windows: the lengths of windows along the axes of the operand.
    """
    if OOBError not in checker.errors or not axes or 0 in get_aval(starts).shape:
        return
    shape = tuple(shape)
    dims = get_aval(starts).shape
    wide = p.convert_element_type_p.bind(starts, new_dtype=np.dtype(np.int32), weak_type=False)
    last = np.array([shape[axis] - windows[axis] for axis in axes], np.int32)
    limits = np.broadcast_to(last, dims).copy()
    bad = bitwise_or(lt(wide, np.zeros(dims, np.int32)), gt(wide, limits))
    size = int(np.prod(dims))
    flat = p.reshape_p.bind(bad, new_sizes=(size,), dimensions=None)
    place = p.argmax_p.bind(flat, axes=(0,), index_dtype=np.dtype(np.int32))
    numbers = p.reshape_p.bind(wide, new_sizes=(size,), dimensions=None)
    number = squeeze(p.dynamic_slice_p.bind(numbers, place, slice_sizes=(1,)), (0,))

    def describe(index: Any, place: Any) -> str:
        axis = axes[int(place) % len(axes)]
        return (
            f"out-of-bounds indexing for array of shape {shape}: index {int(index)} is out of bounds for axis {axis} "
            f"with size {shape[axis]}."
        )

    checker.check(bad, OOBError, describe, [number, place])


@Checker.rule(p.gather_p)
def _gather(checker: Checker, eqn: core.JaxprEqn, operand: Any, indices: Any) -> Any:
    axes = tuple(eqn.params["dimension_numbers"].start_index_map)
    _check_starts(checker, indices, axes, get_aval(operand).shape, eqn.params["slice_sizes"])
    return replay(eqn, [operand, indices])[0]


@Checker.rule(
    *(p[name] for name in ("scatter", "scatter-add", "scatter-mul", "scatter-min", "scatter-max") if name in p)
)
def _scatter(checker: Checker, eqn: core.JaxprEqn, operand: Any, indices: Any, updates: Any) -> Any:
    numbers = eqn.params["dimension_numbers"]
    shape, sizes = get_aval(operand).shape, get_aval(updates).shape
    without = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    along = iter(numbers.update_window_dims)
    windows = [1 if axis in without else sizes[next(along)] for axis in range(len(shape))]
    _check_starts(checker, indices, tuple(numbers.scatter_dims_to_operand_dims), shape, windows)
    outs = replay(eqn, [operand, indices, updates])
    if NaNError in checker.errors:
        checker.check_nan(eqn, outs)
    return outs[0]


def _stacked(starts: Any) -> Any:
    """Scalars as an array."""
    wide = [p.convert_element_type_p.bind(x, new_dtype=np.dtype(np.int32), weak_type=False) for x in starts]
    parts = [p.broadcast_in_dim_p.bind(x, shape=(1,), broadcast_dimensions=()) for x in wide]
    return p.concatenate_p.bind(*parts, dimension=0)


@Checker.rule(p.dynamic_slice_p)
def _dynamic_slice(checker: Checker, eqn: core.JaxprEqn, operand: Any, *starts: Any) -> Any:
    if starts and OOBError in checker.errors:
        shape = get_aval(operand).shape
        _check_starts(checker, _stacked(starts), tuple(range(len(shape))), shape, eqn.params["slice_sizes"])
    return replay(eqn, [operand, *starts])[0]


@Checker.rule(p.dynamic_update_slice_p)
def _dynamic_update_slice(checker: Checker, eqn: core.JaxprEqn, operand: Any, update: Any, *starts: Any) -> Any:
    if starts and OOBError in checker.errors:
        shape = get_aval(operand).shape
        _check_starts(checker, _stacked(starts), tuple(range(len(shape))), shape, get_aval(update).shape)
    return replay(eqn, [operand, update, *starts])[0]


def _program(checker: Checker, closed: core.ClosedJaxpr) -> tuple[core.ClosedJaxpr, list[Any]]:
    """The program that takes and returns the error before its other values, and the values that it closes over."""
    count = len(checker.state)

    def run(*values: Any) -> list[Any]:
        state, outs = checker.run(closed, values[:count], values[count:])
        return [*state, *outs]

    avals = [*map(get_aval, checker.state), *closed.in_avals]
    program = core.trace_to_jaxpr(run, avals, closed.jaxpr.debug_info, "checkify")
    jaxpr = program.jaxpr.replace(constvars=[], invars=[*program.jaxpr.constvars, *program.jaxpr.invars])
    return core.ClosedJaxpr(jaxpr), program.consts


def _store_error(checker: Checker, outs: Any) -> list[Any]:
    """Store the error from the beginning of the results; returns the rest."""
    count = len(checker.state)
    checker.state = list(outs[:count])
    return list(outs[count:])


@Checker.rule(jit_p)
def _jit(checker: Checker, eqn: core.JaxprEqn, *values: Any) -> list[Any]:
    closed, name = eqn.params["jaxpr"], eqn.params["name"]
    if not checker.holds_sites(closed):
        return replay(eqn, values)
    program, consts = _program(checker, closed)
    return _store_error(checker, jit_p.bind(*consts, *checker.state, *values, **call_params(program, name)))


@Checker.rule(checkpoint_p)
def _checkpoint(checker: Checker, eqn: core.JaxprEqn, *values: Any) -> list[Any]:
    if not checker.holds_sites(eqn.params["jaxpr"]):
        return replay(eqn, values)
    program, consts = _program(checker, eqn.params["jaxpr"])
    params = {**eqn.params, "jaxpr": program}
    return _store_error(checker, checkpoint_p.bind(*consts, *checker.state, *values, **params))


def _inlined(parameter: str) -> Callable[..., Any]:
    """The rule for a call of the program in a parameter: the equations of the program replace the call."""

    def rule(checker: Checker, eqn: core.JaxprEqn, *values: Any) -> list[Any]:
        closed = eqn.params[parameter]
        return checker.interpret(closed, *values) if checker.holds_sites(closed) else replay(eqn, values)

    return rule


for _primitive, _parameter in (
    (custom_vmap_call_p, "call"),
    (linear_call_p, "callee"),
    (call_p, "call_jaxpr"),
    (closed_call_p, "call_jaxpr"),
):
    Checker.rule(_primitive)(_inlined(_parameter))


Checker.rule(shard_map_p)(check_devices)


@Checker.rule(*(p[name] for name in ("reduce", "reduce_window", "scatter-apply", "select_and_scatter")))
def _folded(checker: Checker, eqn: core.JaxprEqn, *values: Any) -> Any:
    """An operation that combines numbers by a program is checked as a whole."""
    return checker.default(eqn, *values)


@Checker.rule(p.cond_p)
def _cond(checker: Checker, eqn: core.JaxprEqn, index: Any, *values: Any) -> list[Any]:
    branches = eqn.params["branches"]
    if not checker.holds_sites(*branches):
        return replay(eqn, [index, *values])

    def branch_of(closed: core.ClosedJaxpr) -> Callable[..., Any]:
        return lambda state, *xs: checker.run(closed, state, xs)

    checker.state, outs = switch(index, list(map(branch_of, branches)), checker.state, *values)
    return outs


@Checker.rule(p.scan_p)
def _scan(checker: Checker, eqn: core.JaxprEqn, *values: Any) -> list[Any]:
    params = eqn.params
    if not checker.holds_sites(params["jaxpr"]):
        return replay(eqn, values)
    first, second = params["num_consts"], params["num_consts"] + params["num_carry"]

    def step(carry: Any, elements: Any) -> tuple[Any, Any]:
        state, outs = checker.run(params["jaxpr"], carry[0], [*values[:first], *carry[1], *elements])
        return (state, outs[: params["num_carry"]]), outs[params["num_carry"] :]

    options = {name: params[name] for name in ("length", "reverse", "unroll")}
    carry = (list(checker.state), list(values[first:second]))
    (checker.state, last), results = scan(step, carry, list(values[second:]), **options)
    return [*last, *results]


@Checker.rule(p.while_p)
def _while(checker: Checker, eqn: core.JaxprEqn, *values: Any) -> list[Any]:
    params = eqn.params
    test, body = params["cond_jaxpr"], params["body_jaxpr"]
    if not checker.holds_sites(test, body):
        return replay(eqn, values)
    first, second = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]

    def tested(state: Any, carry: Any) -> tuple[list[Any], list[Any]]:
        return checker.run(test, state, [*values[:first], *carry])

    def condition(carry: Any) -> Any:
        return carry[2]

    def turn(carry: Any) -> tuple[Any, Any, Any]:
        state, outs = checker.run(body, carry[0], [*values[first:second], *carry[1]])
        state, (more,) = tested(state, outs)
        return state, outs, more

    start = list(values[second:])
    state, (more,) = tested(list(checker.state), start)
    checker.state, outs, _ = while_loop(condition, turn, (state, start, more))
    return outs


def _derivative(jvp: Any, primals: Any, tangents: Any) -> tuple[Any, Any]:
    """The result of a JVP rule without its checks, since the function has made them already."""
    nonzero = nonzero_flags(tangents)
    nonzero_out: list[bool] = []
    count = len(primals)

    def run(*xs: Any) -> list[Any]:
        outs, out_tangents = jvp(xs[:count], tangents_of(xs[:count], nonzero, xs[count:]))
        nonzero_out.extend(nonzero_flags(out_tangents))
        return [*outs, *given(out_tangents)]

    outs, out_tangents = sections(without_checks(run, [*primals, *given(tangents)]), len(nonzero_out))
    return outs, tangents_of(outs, nonzero_out, out_tangents)


@Checker.rule(custom_jvp_call_p)
def _custom_jvp(checker: Checker, eqn: core.JaxprEqn, *values: Any) -> list[Any]:
    closed = eqn.params["call_jaxpr"]
    if not checker.holds_sites(closed):
        return replay(eqn, values)
    consts, count, jvp = eqn.params["num_consts"], len(checker.state), eqn.params["jvp"]
    closed_over = values[:consts]

    def call(*xs: Any) -> list[Any]:
        own = xs[consts:]
        state, outs = checker.run(closed, own[:count], [*xs[:consts], *own[count:]])
        return [*state, *outs]

    def rule(primals: Any, tangents: Any) -> tuple[list[Any], list[Any]]:
        state, _ = checker.run(closed, primals[:count], [*closed_over, *primals[count:]])
        outs, out_tangents = _derivative(jvp, primals[count:], tangents[count:])
        return [*state, *outs], [*map(ad.Zero.from_primal_value, state), *out_tangents]

    params = {**eqn.params, "call_jaxpr": call, "jvp": rule}
    return _store_error(checker, custom_jvp_call_p.bind(*closed_over, *checker.state, *values[consts:], **params))


@Checker.rule(custom_vjp_call_p)
def _custom_vjp(checker: Checker, eqn: core.JaxprEqn, *values: Any) -> list[Any]:
    closed = eqn.params["call_jaxpr"]
    if not checker.holds_sites(closed):
        return replay(eqn, values)
    consts, count, fwd, bwd = eqn.params["num_consts"], len(checker.state), eqn.params["fwd"], eqn.params["bwd"]
    closed_over = values[:consts]

    def call(*xs: Any) -> list[Any]:
        own = xs[consts:]
        state, outs = checker.run(closed, own[:count], [*xs[:consts], *own[count:]])
        return [*state, *outs]

    def forward(primals: Any, nonzero: Any) -> tuple[Any, Any]:
        state, _ = checker.run(closed, primals[:count], [*closed_over, *primals[count:]])
        num_outs: list[int] = []

        def run(*xs: Any) -> list[Any]:
            outs, residuals = fwd(xs, nonzero[count:])
            num_outs.append(len(outs))
            return [*outs, *residuals]

        outs = without_checks(run, primals[count:])
        return [*state, *outs[: num_outs[0]]], outs[num_outs[0] :]

    def backward(residuals: Any, cts: Any) -> list[Any]:
        return [*(ad.Zero.from_primal_value(x) for x in checker.fresh()), *bwd(residuals, cts[count:])]

    params = {**eqn.params, "call_jaxpr": call, "fwd": forward, "bwd": backward}
    return _store_error(checker, custom_vjp_call_p.bind(*closed_over, *checker.state, *values[consts:], **params))
