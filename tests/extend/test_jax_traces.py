"""A transformation written for JAX: a Trace without a parent, with `process_primitive`."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.extend import core
from primax.extend.core import primitives


class DualTracer(core.Tracer):
    """As written for JAX: the type is that of the value."""

    def __init__(self, trace, val):
        self._trace = trace
        self.val = val

    @property
    def aval(self):
        return core.get_aval(self.val)


class NegatingTrace(core.Trace):
    """Adds where the program subtracts."""

    def __init__(self, parent_trace, tag):
        super().__init__()
        self.parent_trace = parent_trace
        self.tag = tag

    def lower(self, x):
        return x.val if isinstance(x, DualTracer) and x._trace.tag is self.tag else x

    def process_primitive(self, primitive, tracers, params):
        values = [self.lower(x) for x in tracers]
        with core.set_current_trace(self.parent_trace):
            out = (primitives.add_p if primitive is primitives.sub_p else primitive).bind(*values, **params)
        if primitive.multiple_results:
            return [DualTracer(self, x) for x in out]
        return DualTracer(self, out)


def negated(fun):
    def run(x):
        with core.take_current_trace() as parent:
            tag = core.TraceTag()
            trace = NegatingTrace(parent, tag)
            with core.set_current_trace(trace):
                out = fun(DualTracer(trace, x))
            return trace.lower(out)

    return run


def f(x):
    return px.jit(pnp.sin)(x) - x * 2.0


def test_a_trace_written_for_jax_transforms_functions():
    assert float(negated(f)(1.0)) == pytest.approx(np.sin(1.0) + 2.0)


@pytest.mark.parametrize("transform", [px.jit, px.grad, lambda g: px.jit(px.grad(g))])
def test_it_composes_with_other_transformations(transform):
    expected = transform(lambda x: pnp.sin(x) + x * 2.0)(1.0)
    assert float(transform(negated(f))(1.0)) == pytest.approx(float(expected))
    assert px.vmap(negated(f))(pnp.ones(2)).shape == (2,)


@pytest.mark.parametrize(
    "fun",
    [
        pnp.linalg.det,
        lambda a: pnp.linalg.slogdet(a).logabsdet,
        lambda a: pnp.linalg.slogdet(a, method="qr")[1],
        lambda a: pnp.linalg.solve(a, a @ a),
        pnp.linalg.pinv,
    ],
)
def test_a_trace_written_for_jax_is_given_primitives_that_jax_has(fun):
    met = set()

    class Listing(NegatingTrace):
        def process_primitive(self, primitive, tracers, params):
            met.add(primitive.name)
            return super().process_primitive(primitive, tracers, params)

    a = np.diag(np.arange(1.0, 5.0, dtype=np.float32)) + 0.1
    with core.take_current_trace() as parent:
        trace = Listing(parent, core.TraceTag())
        with core.set_current_trace(trace), px.disable_jit():
            out = trace.lower(fun(DualTracer(trace, pnp.asarray(a))))
    assert not met & {"det", "slogdet", "solve", "pinv"}
    assert met & {"lu", "geqrf", "svd"}
    assert np.shape(out) == fun(a).shape


def test_a_trace_written_for_jax_need_not_call_the_init_of_the_class():
    class Bare(NegatingTrace):
        def __init__(self, parent_trace, tag):
            self.parent_trace, self.tag = parent_trace, tag

    with core.take_current_trace() as parent:
        trace = Bare(parent, core.TraceTag())
        with core.set_current_trace(trace):
            out = trace.lower(f(DualTracer(trace, 1.0)))
    assert float(out) == pytest.approx(np.sin(1.0) + 2.0)
    assert isinstance(trace, NegatingTrace)
    assert not isinstance(parent, NegatingTrace)
    assert all(isinstance(each, core.Trace) for each in (trace, parent))


def test_a_trace_without_a_method_says_what_is_missing():
    class Empty(core.Trace):
        pass

    with pytest.raises(NotImplementedError, match=r"Empty must define process\(primitive, args, params\)"):
        primitives.sin_p.bind_with_trace(Empty(), (1.0,), {})


def test_rules_of_primitives_are_called_as_in_jax():
    x = core.get_aval(np.ones(3, np.float32))
    assert primitives.sin_p.abstract_eval(x) == (x, core.no_effects)
    assert primitives.sin_p.abstract_eval((x,), {}) == ([x], core.no_effects)
    assert primitives.reduce_sum_p.abstract_eval(x, axes=(0,))[0].shape == ()
    assert primitives.top_k_p.abstract_eval(x, k=2, axis=0)[0][1].shape == (2,)
    assert float(primitives.add_p.impl(np.float32(1), np.float32(2))) == 3.0


def test_the_impl_of_a_primitive_computes_inside_of_programs_too():
    def fun(x):
        return x + float(primitives.mul_p.impl(np.float32(2), np.float32(3)))

    assert float(px.jit(fun)(1.0)) == 7.0


def test_a_tracer_may_be_given_its_type():
    class Typed(core.Tracer):
        def __init__(self, trace, value):
            super().__init__(trace, core.get_aval(value))

    tracer = Typed(core.current_trace(), np.ones((2, 3), np.float32))
    assert tracer.shape == (2, 3)
    assert core.get_aval(tracer).str_short() == "f32[2,3]"


def test_a_trace_is_given_the_two_functions_of_a_custom_derivative():
    seen = []

    class Doubling(core.Trace):
        """Written for JAX: binds what a custom derivative consists of on the trace below."""

        def __init__(self, parent):
            super().__init__()
            self.below = parent

        def process_primitive(self, primitive, operands, params):
            with core.set_current_trace(self.below):
                return primitive.bind(*operands, **params)

        def process_custom_jvp_call(self, primitive, fun, jvp, operands, *, symbolic_zeros):
            seen.append((primitive.name, symbolic_zeros))
            types = [core.get_aval(x) for x in operands]
            params = {"subfuns": (fun, jvp), "symbolic_zeros": symbolic_zeros}
            return primitive.bind_with_trace(self.below, tuple(operands), types, params)

    @px.custom_jvp
    def f(x, y):
        return pnp.sin(x) * y

    f.defjvp(lambda primals, tangents: (f(*primals), 10 * tangents[0] + tangents[1]))

    def traced(x, y):
        with core.take_current_trace() as parent, core.set_current_trace(Doubling(parent)):
            return f(x, y)

    assert float(traced(0.5, 2.0)) == pytest.approx(float(f(0.5, 2.0)))
    for wrap in (lambda g: g, px.jit):
        found = px.jvp(wrap(traced), (0.5, 2.0), (1.0, 3.0))
        assert [float(x) for x in found] == pytest.approx([2 * np.sin(0.5), 13.0], rel=1e-6)
    assert px.vmap(traced, (0, None))(np.float32([0.5, 0.7]), 2.0).shape == (2,)
    assert set(seen) == {("custom_jvp_call", False)}


def test_get_bind_params_gives_the_two_functions_of_a_custom_derivative():
    @px.custom_jvp
    def f(x):
        return pnp.sin(x)

    f.defjvp(lambda primals, tangents: (f(*primals), 10 * tangents[0]))
    for wrap in (lambda g: g, px.vmap):  # a mapped program has other functions
        x = np.float32([0.5, 0.7])
        eqn = px.make_jaxpr(wrap(lambda x: f(x)))(x).eqns[0]
        params = eqn.primitive.get_bind_params(eqn.params)
        fun, jvp = params["subfuns"]
        assert params["symbolic_zeros"] is False
        np.testing.assert_allclose(fun.call_wrapped(x)[0], np.sin(x), rtol=1e-6)
        for functions in (params["subfuns"], (fun, jvp), [fun, jvp]):

            def bound(x, functions=functions, eqn=eqn):
                return eqn.primitive.bind(x, subfuns=functions, symbolic_zeros=False)[0]

            out, tangent = px.jvp(bound, (x,), (x,))
            np.testing.assert_allclose(out, np.sin(x), rtol=1e-6)
            np.testing.assert_allclose(tangent, 10 * x, rtol=1e-6)
    assert px.make_jaxpr(lambda x: eqn.primitive.bind(x, **params))(x).eqns[0].params["name"] == eqn.params["name"]
