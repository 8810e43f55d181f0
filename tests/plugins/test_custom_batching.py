"""Functions with a rule for mapping them: it is used, on the way back too, and wrong ones are refused."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.custom_batching import custom_vmap, sequential_vmap
from primax.extend import core

pytestmark = pytest.mark.usefixtures("in_32_bits")

XS = np.float32([1, 2, 3])


def noted(calls):
    """sin(x) y, with a rule that notes what it is given."""

    @custom_vmap
    def f(x, y):
        return pnp.sin(x) * y

    @f.def_vmap
    def rule(size, in_batched, x, y):
        calls.append((size, tuple(in_batched), np.shape(x), np.shape(y)))
        return pnp.sin(x) * y, True

    return f


def test_the_rule_is_used_under_vmap_alone():
    calls = []
    f = noted(calls)
    assert abs(float(f(1.0, 2.0)) - 2 * np.sin(1)) < 1e-6
    assert abs(float(px.jit(px.grad(f))(1.0, 2.0)) - 2 * np.cos(1)) < 1e-6
    assert calls == []
    np.testing.assert_allclose(px.vmap(f, (None, 0))(1.0, XS), np.sin(1) * XS, rtol=1e-6)
    assert calls == [(3, (False, True), (), (3,))]
    np.testing.assert_allclose(px.vmap(f, (1, None), 0)(XS[None], 1.0)[:, 0], np.sin(XS), rtol=1e-6)
    assert calls[-1] == (3, (True, False), (3, 1), ())


@pytest.mark.parametrize("jit", [False, True])
def test_the_rule_is_used_in_reverse_mode_in_either_order(jit):
    calls = []
    f = noted(calls)
    once = px.jit if jit else (lambda g: g)
    for gradient in (px.vmap(px.grad(once(f), (0, 1))), px.grad(lambda x, y: px.vmap(once(f))(x, y).sum(), (0, 1))):
        calls.clear()
        dx, dy = once(gradient)(XS, 2 * XS)
        np.testing.assert_allclose(dx, np.cos(XS) * 2 * XS, rtol=1e-5)
        np.testing.assert_allclose(dy, np.sin(XS), rtol=1e-5)
        assert calls
    calls.clear()
    np.testing.assert_allclose(px.vmap(px.grad(px.grad(f)))(XS, XS), -np.sin(XS) * XS, rtol=1e-5)
    tangents = px.vmap(lambda x: px.jvp(lambda z: f(z, 2.0), (x,), (1.0,))[1])(XS)
    np.testing.assert_allclose(tangents, 2 * np.cos(XS), rtol=1e-5)
    assert calls


def test_a_program_is_computed_with_whatever_rule_says():
    @custom_vmap
    def f(x):
        return x + 1

    f.def_vmap(lambda size, in_batched, x: (x + 100, True))
    assert float(f(1.0)) == 2
    assert px.vmap(f)(XS).tolist() == [101, 102, 103]
    assert px.jit(px.vmap(px.jit(f)))(XS).tolist() == [101, 102, 103]
    closed = px.make_jaxpr(f)(1.0)
    core.check_jaxpr(closed)
    assert px.vmap(lambda x: core.jaxpr_as_fun(closed)(x)[0])(XS).tolist() == [101, 102, 103]


def test_results_may_be_the_same_for_all_elements_and_of_any_structure():
    @custom_vmap
    def f(a):
        return {"sum": a["x"] + a["y"], "count": 1}

    f.def_vmap(lambda size, in_batched, a: ({"sum": a["x"] + a["y"], "count": size}, {"sum": True, "count": False}))
    out = px.vmap(f, ({"x": 0, "y": None},), {"sum": 0, "count": None})({"x": XS, "y": 1.0})
    assert (out["sum"].tolist(), int(out["count"])) == ([2, 3, 4], 3)


def test_a_sequential_function_runs_one_element_after_the_other():
    seen = []

    @sequential_vmap
    def f(x, y):
        px.debug.callback(lambda v: seen.append(float(v)), x, ordered=True)
        return pnp.sin(x) * y

    np.testing.assert_allclose(px.vmap(f, (0, None))(XS, 2.0), 2 * np.sin(XS), rtol=1e-6)
    px.effects_barrier()
    assert seen == [1, 2, 3]
    np.testing.assert_allclose(px.vmap(px.grad(f), (0, None))(XS, 2.0), 2 * np.cos(XS), rtol=1e-6)


def test_a_gradient_has_the_effects_of_the_function_once():
    seen = []
    f = custom_vmap(lambda x: (px.debug.callback(seen.append, x), pnp.sin(x))[1])
    assert abs(float(px.grad(f)(1.0)) - np.cos(1)) < 1e-6
    px.effects_barrier()
    assert [float(x) for x in seen] == [1.0]


def mapped_by(rule):
    f = custom_vmap(lambda x: x)
    f.def_vmap(rule)
    return lambda: px.vmap(f)(XS)


@pytest.mark.parametrize(
    "call, error, phrases",
    [
        (mapped_by(lambda n, b, x: x), TypeError, ["must return a pair (out, out_batched)"]),
        (mapped_by(lambda n, b, x: ((x,), (True,))), ValueError, ["the structure that <lambda> returns"]),
        (mapped_by(lambda n, b, x: (x, (True, True))), ValueError, ["out_batched of the structure of out"]),
        (mapped_by(lambda n, b, x: (x.sum(), True)), TypeError, ["axis of size 3 in front", "of shape ()"]),
        (mapped_by(lambda n, b, x: (x, 1)), TypeError, ["booleans as out_batched, got 1"]),
        (lambda: px.vmap(custom_vmap(lambda x: x))(XS), AttributeError, ["has no rule", "def_vmap"]),
        (
            lambda: px.vmap(lambda y: closing_over(y)(1.0))(XS),
            core.UnexpectedTracerError,
            ["closes over a mapped value"],
        ),
    ],
)
def test_wrong_rules_are_refused(call, error, phrases):
    with pytest.raises(error) as caught:
        call()
    for phrase in phrases:
        assert phrase in str(caught.value)


def closing_over(y):
    f = custom_vmap(lambda x: x * y)
    f.def_vmap(lambda n, b, x: (x, True))
    return f


def test_constants_come_out_of_it_as_arrays():
    constant = px.custom_batching.custom_vmap(lambda x: 2.0)
    constant.def_vmap(lambda size, batched, x: (2.0, False))
    assert isinstance(constant(1.0), px.Array)
    assert constant(1.0).weak_type


def test_numbers_of_python_have_a_dtype_in_rules():
    seen = []
    f = px.custom_batching.custom_vmap(lambda x, y: x * y)
    f.def_vmap(lambda size, batched, x, y: (seen.append((y, y.dtype)), (x * y, batched[0]))[1])
    assert px.vmap(f, (0, None))(np.ones(2, np.float32), 3.0).tolist() == [3.0, 3.0]
    assert seen == [(3.0, px.typeof(3.0).dtype)]
