"""Functions with rules within functions with rules; cotangents with None; what the ecosystem relies on."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp


def pulled_back(primal, returned, fun=lambda t: t["a"]):
    """What the rule returns becomes of it in the pullback of a function of one argument."""
    f = px.custom_vjp(fun)
    f.defvjp(lambda t: (fun(t), None), lambda _, g: returned(g))
    out, pull = px.vjp(f, primal)
    return pull(px.tree.map(pnp.ones_like, out))[0]


def test_none_within_an_argument_is_none_within_its_cotangent():
    f = px.custom_vjp(lambda t: t)
    f.defvjp(lambda t: (t, None), lambda _, g: (g,))
    (found,) = px.vjp(f, (None, 1.0))[1]((None, 2.0))
    assert found[0] is None
    assert float(found[1]) == 2.0
    found = pulled_back({"a": 2.0, "b": None}, lambda g: ({"a": g, "b": None},))
    assert (float(found["a"]), found["b"]) == (1.0, None)


@pytest.mark.parametrize(
    "returned", [lambda g: ({"a": g, "b": None},), lambda g: [{"a": g, "b": (None, pnp.zeros(2))}]]
)
def test_none_stands_for_zeros_of_all_of_a_container(returned):
    found = pulled_back({"a": 2.0, "b": (3.0, pnp.ones(2))}, returned)
    assert float(found["a"]) == 1.0
    assert float(found["b"][0]) == 0.0
    assert found["b"][1].tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    "returned",
    [
        lambda g: ({"a": g, "c": None},),
        lambda g: ({"a": g},),
        lambda g: ({"a": g, "b": [None, None]},),
        lambda g: ({"a": (g,), "b": None},),
    ],
)
def test_a_cotangent_of_another_structure_is_refused(returned):
    with pytest.raises(TypeError, match="for argument 0, a cotangent of its structure"):
        pulled_back({"a": 2.0, "b": (3.0, pnp.ones(2))}, returned)


def test_one_cotangent_for_a_container_must_have_the_type_of_each_leaf():
    with pytest.raises(TypeError, match=r"leaf 2 of the arguments is f..\[2\], and its cotangent is f..\[\]"):
        pulled_back({"a": 2.0, "b": (3.0, pnp.ones(2))}, lambda g: (g,))


def test_a_function_with_a_derivative_forwards_the_rule_for_mapping():
    @px.custom_jvp
    @px.custom_batching.custom_vmap
    def f(x):
        return pnp.sin(x)

    @f.def_vmap
    def mapped(size, batched, x):
        return pnp.cos(x), True

    @f.defjvp
    def derivative(primals, tangents):
        return f(*primals), tangents[0] * 5.0

    assert px.vmap(f)(pnp.zeros(2)).tolist() == [1.0, 1.0]
    assert float(px.grad(f)(0.0)) == 5.0
    assert px.vmap(px.grad(f))(pnp.zeros(2)).tolist() == [5.0, 5.0]


@pytest.mark.parametrize("kind", ["custom_vjp", "custom_jvp"])
def test_a_function_with_a_rule_for_mapping_forwards_those_for_derivatives(kind):
    f = px.custom_batching.custom_vmap(getattr(px, kind)(lambda x: pnp.sin(x)))
    if kind == "custom_vjp":
        f.defvjp(lambda x: (pnp.sin(x), None), lambda _, g: (g * 7.0,))
    else:
        f.defjvps(lambda t, out, x: t * 7.0)
    f.def_vmap(lambda size, batched, x: (pnp.cos(x), True))
    assert px.vmap(f)(pnp.zeros(2)).tolist() == [1.0, 1.0]
    assert float(px.grad(f)(0.0)) == 7.0


def test_rules_that_nothing_within_takes_are_not_there():
    for f in (px.custom_jvp(pnp.sin), px.custom_vjp(pnp.sin), px.custom_batching.custom_vmap(pnp.sin)):
        with pytest.raises(AttributeError, match="has no attribute 'def_other'"):
            _ = f.def_other
    with pytest.raises(AttributeError, match="'custom_jvp' object has no attribute 'defvjp'"):
        _ = px.custom_jvp(pnp.sin).defvjp


def test_arrays_of_axes_are_taken_where_sequences_are():
    x = pnp.arange(24.0).reshape(2, 3, 4)
    axes = np.array([0, 2])
    assert pnp.transpose(x, np.array([2, 0, 1])).shape == (4, 2, 3)
    np.testing.assert_array_equal(pnp.sum(x, axis=axes), pnp.sum(x, axis=(0, 2)))
    np.testing.assert_array_equal(pnp.flip(x, axis=axes), pnp.flip(x, axis=(0, 2)))
    np.testing.assert_array_equal(pnp.sum(x, axis=np.array(1)), pnp.sum(x, axis=1))


@pytest.mark.parametrize("impl", ["threefry2x32", "rbg"])
def test_parts_of_arrays_of_keys_are_read_on_the_host(impl):
    keys = px.random.split(px.random.key(3, impl=impl), 6).reshape(2, 3)
    data = np.asarray(px.random.key_data(keys))
    with px.no_tracing():
        parts = {
            "one": (keys[1, 2], data[1, 2]),
            "row": (keys[-1], data[-1]),
            "slice": (keys[:, 1:], data[:, 1:]),
            "none": (keys[None, 0], data[None, 0]),
            "back": (keys[::-1, 0], data[::-1, 0]),
            "many": (keys[np.array([1, 0, 1])], data[[1, 0, 1]]),
            "mask": (keys[np.array([True, False])], data[[True, False]]),
        }
        rows = list(keys)
        first, second = keys
        columns = pnp.unstack(keys, axis=1)
    for part, expected in parts.values():
        assert part.shape == expected.shape[:-1]
        assert part.dtype == keys.dtype
        np.testing.assert_array_equal(px.random.key_data(part), expected)
    np.testing.assert_array_equal(px.random.key_data(rows[1]), data[1])
    np.testing.assert_array_equal(px.random.key_data(second[0]), data[1, 0])
    np.testing.assert_array_equal(px.random.key_data(columns[2]), data[:, 2])
    np.testing.assert_array_equal(px.random.key_data(px.jit(lambda k: k[1, 2])(keys)), data[1, 2])
    assert px.random.uniform(first[0]) == px.random.uniform(keys[0, 0])


def test_empty_arrays_of_keys_have_parts():
    keys = px.random.split(px.random.key(0), 4)
    assert keys[:0].shape == (0,)
    assert keys[:0][1:].shape == (0,)


def test_pullbacks_are_returned_passed_mapped_and_carried():
    _, pull = px.jit(lambda x: px.vjp(pnp.sin, x))(1.0)
    assert float(px.jit(lambda p, g: p(g)[0])(pull, 2.0)) == pytest.approx(2 * np.cos(1.0))
    xs = pnp.arange(3.0)
    pulls = px.vmap(lambda x: px.vjp(pnp.sin, x)[1])(xs)
    (found,) = px.vmap(lambda p, g: p(g))(pulls, pnp.ones(3))
    np.testing.assert_allclose(found, np.cos(np.arange(3.0)), rtol=1e-6)
    _, stacked = px.lax.scan(lambda c, x: (c, px.vjp(pnp.sin, x)[1]), 0.0, xs)
    np.testing.assert_allclose(px.vmap(lambda p: p(1.0)[0])(stacked), found, rtol=1e-6)
    _, pushed = px.jit(lambda x: px.linearize(pnp.sin, x))(1.0)
    assert float(pushed(2.0)) == pytest.approx(2 * np.cos(1.0))
