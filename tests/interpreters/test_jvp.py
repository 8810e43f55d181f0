"""Forward mode."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
from primax import lax
from primax.extend import core
from primax.extend.interpreters import ad


def f(x):
    y = lax.sin(x) * 2.0
    return -y + x


def test_values_and_tangents_of_the_spec():
    assert float(f(3.0)) == pytest.approx(2.7177599838802657, rel=1e-6)
    y, dy = px.jvp(f, (3.0,), (1.0,))
    assert float(y) == pytest.approx(2.7177599838802657, rel=1e-6)
    assert float(dy) == pytest.approx(2.979985, rel=1e-6)


def test_derivatives_nest_without_limit():
    def derivative(g):
        return lambda x: px.jvp(g, (x,), (1.0,))[1]

    g = lax.sin
    for expected in (-0.98999, -0.14112, 0.98999, 0.14112):
        g = derivative(g)
        assert float(g(3.0)) == pytest.approx(expected, abs=1e-5)


def test_python_control_flow_on_concrete_values_works():
    def g(x):
        return lax.sin(x) if x > 0 else -x

    assert float(px.jvp(g, (3.0,), (1.0,))[1]) == pytest.approx(np.cos(3.0), rel=1e-6)
    assert float(px.jvp(g, (-3.0,), (1.0,))[1]) == -1.0


def test_perturbations_are_not_confused():
    def g(x):
        return x * px.jvp(lambda y: x + y, (1.0,), (1.0,))[1]

    assert float(px.jvp(g, (1.0,), (1.0,))[1]) == 1.0


def test_inner_jvp_differentiates_a_closed_over_tracer():
    def g(x):
        return px.jvp(lambda y: x * y * y, (3.0,), (1.0,))[1]

    value, tangent = px.jvp(g, (2.0,), (1.0,))
    assert (float(value), float(tangent)) == (12.0, 6.0)


def test_pytrees_go_in_and_out():
    def g(d):
        return {"sum": d["a"] + d["b"][0], "product": (d["a"] * d["b"][0],)}

    point = {"a": 2.0, "b": [3.0]}
    out, tangent = px.jvp(g, (point,), ({"a": 1.0, "b": [0.0]},))
    assert float(out["sum"]) == 5.0
    assert float(tangent["product"][0]) == 3.0


def test_a_mismatch_of_structure_names_both_structures():
    with pytest.raises(TypeError, match=r"same structure") as error:
        px.jvp(lambda x: x, ([1.0],), ((1.0,),))
    assert "[*]" in str(error.value)
    assert "(*,)" in str(error.value)


@pytest.mark.parametrize(
    ("tangent", "found"),
    [(np.ones(3, np.float32), r"f32\[3\]"), (np.float16(1), r"f16\[\]"), (1, r"i32\[\]|i64\[\]")],
)
def test_a_tangent_of_the_wrong_type_is_refused(tangent, found):
    with pytest.raises(TypeError, match=rf"tangents\[0\] must be of type .*got {found}"):
        px.jvp(lambda x: x, (np.float32(1.0),), (tangent,))


def test_integers_take_float0_tangents():
    zero = np.zeros((2,), px.float0)
    _, tangent = px.jvp(lambda i, x: (i, i * x), (np.arange(2), np.float32(2.0)), (zero, np.float32(1.0)))
    assert tangent[0].dtype == px.float0
    assert tangent[1].tolist() == [0.0, 1.0]


def test_zero_tangents_stay_symbolic_along_constants():
    seen = []
    probe_p = core.Primitive("probe")
    probe_p.def_impl(lambda x, y: x)
    probe_p.def_abstract_eval(lambda x, y: x)

    def rule(primals, tangents):
        seen.append([type(t) is ad.Zero for t in tangents])
        return probe_p.bind(*primals), tangents[0]

    ad.primitive_jvps[probe_p] = rule
    px.jvp(lambda x: probe_p.bind(x, 2.0 * np.float32(3)), (1.0,), (1.0,))
    assert seen == [[False, True]]


def test_none_among_the_tangents_of_a_rule_is_a_zero():
    split_p = core.Primitive("split_off_sign")
    split_p.multiple_results = True
    split_p.def_impl(lambda x: [abs(x), x / abs(x)])
    split_p.def_abstract_eval(lambda x: [x, x])

    def jvp(primals, tangents):
        size, sign = split_p.bind(*primals)
        return [size, sign], [tangents[0] * sign, None]

    ad.primitive_jvps[split_p] = jvp

    def g(x):
        size, sign = split_p.bind(x)
        return size * size * sign

    assert float(px.grad(g)(-3.0)) == 6.0
    assert float(px.linearize(g, -3.0)[1](2.0)) == 12.0
    assert float(px.grad(lambda x: split_p.bind(x)[1])(-3.0)) == 0.0
    _, tangents = px.jvp(split_p.bind, (-3.0,), (1.0,))
    assert [float(t) for t in tangents] == [-1.0, 0.0]
    ad.primitive_jvps[split_p] = lambda primals, tangents: (split_p.bind(*primals), [None, None])
    with pytest.raises(px.errors.RuleError, match="the jvp rule of split_off_sign returned None as a tangent"):
        px.grad(g)(-3.0)


def test_has_aux_passes_the_second_result_through():
    out, tangent, aux = px.jvp(lambda x: (x * 2.0, {"x": x}), (3.0,), (1.0,), has_aux=True)
    assert (float(out), float(tangent), float(aux["x"])) == (6.0, 2.0, 3.0)


@pytest.mark.parametrize("wrong", ["tangent_shape", "tangent_none", "tangent_dtype"])
def test_a_wrong_rule_is_refused_by_name(wrong):
    p = core.Primitive(f"wrong_{wrong}")
    p.def_impl(lambda x: x)
    p.def_abstract_eval(lambda x: x)
    tangents = {
        "tangent_shape": np.ones(7, np.float32),
        "tangent_none": None,
        "tangent_dtype": np.ones(3, np.float16),
    }
    ad.primitive_jvps[p] = lambda primals, _: (p.bind(*primals), tangents[wrong])
    with pytest.raises(px.errors.RuleError, match=rf"the jvp rule of wrong_{wrong} returned"):
        px.jvp(p.bind, (np.ones(3, np.float32),), (np.ones(3, np.float32),))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex64"])
def test_numbers_that_rules_return_get_the_type_of_the_primal(dtype):
    x = px.numpy.ones(3, dtype)
    for number in (2, 2.0):
        p = core.Primitive("number")
        p.def_impl(lambda x: x)
        p.def_abstract_eval(lambda x: x)
        ad.primitive_jvps[p] = lambda primals, _, number=number: (primals[0], number)
        out, tangent = px.jvp(lambda x, p=p: p.bind(x) * 3, (x,), (x,))
        assert (tangent.dtype, tangent.tolist()) == (out.dtype, [6, 6, 6])
        ad.primitive_jvps[p] = lambda primals, tangents, p=p: (p.bind(*primals), p.bind(*tangents))
        ad.primitive_transposes[p] = lambda ct, x, number=number: [number]
        cotangents = px.linear_transpose(p.bind, x)(x)[0]
        assert (cotangents.dtype, cotangents.tolist()) == (x.dtype, [2, 2, 2])
    ad.primitive_jvps[p] = lambda primals, tangents: (5.0, tangents[0])
    out, _ = px.jvp(p.bind, (x[0],), (x[0],))
    assert (px.numpy.asarray(out).dtype, out) == (x.dtype, 5)
    g = px.custom_vjp(lambda x: x)
    g.defvjp(lambda x: (x, None), lambda _, ct: (2.0,))
    assert px.vjp(g, x[0])[1](x[0])[0].dtype == x.dtype
    ad.primitive_jvps[p] = lambda primals, _: (primals[0], 2j if dtype == "float32" else "2")
    with pytest.raises(px.errors.RuleError, match=r"returned a tangent of type c|must return arrays"):
        px.jvp(p.bind, (x,), (x,))


def test_jvp_of_jit_equals_jvp():
    plain = px.jvp(f, (3.0,), (2.0,))
    jitted = px.jvp(px.jit(f), (3.0,), (2.0,))
    both = px.jit(lambda x, t: px.jvp(px.jit(f), (x,), (t,)))(3.0, 2.0)
    for found in (jitted, both):
        np.testing.assert_allclose(found, plain, rtol=1e-6)


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (3,)])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64"])
def test_any_shape_and_floating_dtype(shape, dtype):
    x = px.numpy.ones(shape, dtype)
    y, dy = px.jvp(lambda x: x * x, (x,), (x,))
    assert (y.shape, y.dtype, dy.shape, dy.dtype) == (x.shape, x.dtype) * 2
    np.testing.assert_array_equal(np.asarray(dy, np.complex64), np.full(shape, 2))


def test_zero_tangents_are_arrays_also_inside_of_another_derivative():
    def inner(x):
        return px.jvp(lambda x: np.float32(2), (x,), (x,))[1]

    assert isinstance(inner(1.0), px.Array)
    assert all(isinstance(x, px.Array) for x in px.jvp(inner, (1.0,), (1.0,)))


def test_the_tangent_of_an_array_is_an_array():
    out, tangent = px.jvp(lambda x: (x, x + 1), (1.0,), (1.0,))
    assert [type(x) for x in (out[1], tangent[1])] == [px.Array, px.Array]
    assert tangent[1].weak_type
    assert (out[0], tangent[0]) == (1.0, 1.0)
