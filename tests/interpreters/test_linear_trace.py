"""Recording: what does not depend on the tape's inputs is computed, the rest is recorded."""

from __future__ import annotations

import numpy as np

import primax as px
from primax import lax
from primax.core.avals import get_aval
from primax.core.trace import current_trace, set_current_trace
from primax.interpreters.linear_trace import LinearTrace, LinearTracer, is_staged
from primax.interpreters.staging import StagingTrace

X = np.float32(2)


def recorded(fun):
    """The tape of a function of one tangent, and its result."""
    trace = LinearTrace(current_trace())
    tangent = trace.new_input(get_aval(X))
    with set_current_trace(trace):
        out = fun(tangent)
    return trace, out


def test_known_operations_are_computed_and_linear_ones_recorded():
    trace, out = recorded(lambda t: lax.mul(lax.sin(X), t))
    assert [eqn.primitive.name for eqn in trace.eqns] == ["mul"]
    residual, tangent = trace.eqns[0].args
    np.testing.assert_allclose(residual, np.sin(X), rtol=1e-6)
    assert trace.is_linear(tangent)
    assert trace.is_linear(out)


def test_values_on_a_tape_are_numbered_and_typed():
    trace, out = recorded(lambda t: lax.neg(lax.mul(t, X)))
    assert [eqn.outs[0].index for eqn in trace.eqns] == [1, 2]
    assert trace.count == 3
    assert (type(out), out.aval) == (LinearTracer, get_aval(X))


def test_the_known_part_of_a_call_is_computed_and_the_rest_recorded():
    call = px.jit(lambda x, t: lax.mul(lax.sin(lax.cos(x)), t))
    trace, _ = recorded(lambda t: call(X, t))
    (eqn,) = trace.eqns
    assert [inner.primitive.name for inner in eqn.params["jaxpr"].eqns] == ["mul"]


def test_a_call_that_is_linear_as_a_whole_is_recorded_as_it_is():
    call = px.jit(lambda t: lax.neg(t))
    programs = []
    for _ in range(2):
        trace, _ = recorded(call)
        (eqn,) = trace.eqns
        programs.append(eqn.params["jaxpr"])
    assert programs[0] is programs[1]


def test_a_value_of_another_tape_is_a_residual():
    other, linear = recorded(lambda t: t)
    trace, _ = recorded(lambda t: lax.mul(t, X))
    assert not trace.is_linear(linear)
    assert other.is_linear(linear)


def test_operations_under_a_staging_trace_become_equations():
    staging = StagingTrace(current_trace(), "f")
    assert is_staged(LinearTrace(staging))
    assert not is_staged(LinearTrace(current_trace()))
