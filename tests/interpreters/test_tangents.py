"""Symbolic zeros, placeholders of transposition, and sums of tangents."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
from primax.core.avals import get_aval
from primax.extend import core
from primax.extend.interpreters import ad, batching
from primax.interpreters.tangents import (
    SymbolicZero,
    UndefinedPrimal,
    Zero,
    add_tangents,
    instantiate_zeros,
    is_undefined_primal,
    zero_from_primal,
    zeros_like_aval,
)

X = np.ones(3, np.float32)


def test_a_zero_has_the_tangent_type_of_its_primal():
    assert Zero.from_primal_value(X).aval == get_aval(X)
    integer = Zero.from_primal_value(np.int32(3))
    assert integer.dtype == px.float0
    assert integer.shape == ()


def test_zeros_are_instantiated_with_their_types():
    np.testing.assert_array_equal(instantiate_zeros(Zero(get_aval(X))), 0 * X)
    assert instantiate_zeros(X) is X
    assert zeros_like_aval(get_aval(np.int32(1)).to_tangent_aval()).dtype == px.float0


def test_a_zero_is_neutral_in_sums():
    zero = Zero(get_aval(X))
    assert add_tangents(zero, X) is X
    assert add_tangents(X, zero) is X
    np.testing.assert_array_equal(add_tangents(X, X), 2 * X)


@pytest.mark.parametrize(
    ("x", "message"),
    [(Zero(get_aval(X)), "is a symbolic zero, not an array"), (UndefinedPrimal(get_aval(X)), "has no value")],
)
@pytest.mark.parametrize("use", [lambda x: x + 1, lambda x: 2 * x, lambda x: -x, np.asarray, lambda x: x[0]])
def test_what_is_no_array_is_not_computed_with(x, message, use):
    with pytest.raises(TypeError, match=message):
        use(x)


def test_attributes_of_arrays_are_refused_with_the_remedy():
    with pytest.raises(AttributeError, match=r"sum: .*instantiate_zeros"):
        _ = Zero(get_aval(X)).sum


def test_placeholders_are_recognized():
    assert is_undefined_primal(UndefinedPrimal(get_aval(X)))
    assert not is_undefined_primal(X)


def test_zeros_of_trees_have_their_structure():
    zeros = zero_from_primal({"x": X, "n": 2})
    np.testing.assert_array_equal(zeros["x"], 0 * X)
    assert zeros["n"].dtype == px.float0
    assert all(type(zero) is SymbolicZero for zero in zero_from_primal((X, 2), symbolic_zeros=True))


@pytest.mark.parametrize("kind", [Zero, UndefinedPrimal])
def test_zeros_and_placeholders_pass_transformed_functions(kind):
    other = kind(get_aval(X))

    def f(x, other=other):
        return 2 * x, other

    lax = px.lax
    for g in (
        px.jit(f),
        px.vmap(f),
        px.jit(px.vmap(px.jit(f))),
        px.checkpoint(f),
        lambda x: px.vmap(f, (0, None))(x, other),
        lambda x: px.jit(f)(x, other),
        lambda x: lax.cond(True, f, f, x),
        lambda x: lax.scan(lambda c, _: f(c), x, length=1),
        lambda x: px.jvp(f, (x,), (x,))[0],
        lambda x: px.vjp(f, x)[0],
    ):
        out, passed = g(X)
        assert np.array_equal(out, 2 * X)
        assert (type(passed), passed.aval) == (kind, other.aval)


def test_a_rule_that_is_mapped_may_return_zeros():
    """As the primitives of equinox do, whose batch rules map their JVP rules."""
    pair_p = core.Primitive("pair", multiple_results=True)

    def impl(x):
        return [x * x, px.lax.convert_element_type(x, np.int32)]

    def jvp(primals, tangents):
        (x,), (t,) = primals, tangents
        outs = pair_p.bind(x)
        return outs, [2 * x * t, Zero(get_aval(outs[1]).to_tangent_aval())]

    def batch(args, dims):
        mapped_p = core.Primitive("mapped_pair", multiple_results=True)
        mapped_p.def_impl(px.vmap(impl))
        mapped_p.def_abstract_eval(lambda x: [x, x.update(dtype=np.dtype(np.int32))])
        ad.primitive_jvps[mapped_p] = px.vmap(jvp)
        return mapped_p.bind(*args), [0, 0]

    pair_p.def_impl(impl)
    pair_p.def_abstract_eval(lambda x: [x, x.update(dtype=np.dtype(np.int32))])
    ad.primitive_jvps[pair_p] = jvp
    batching.primitive_batchers[pair_p] = batch
    assert px.grad(lambda x: px.vmap(pair_p.bind)(x)[0].sum())(X).tolist() == [2, 2, 2]
    assert px.jvp(px.vmap(pair_p.bind), (X,), (X,))[1][1].dtype == px.float0


def test_a_jvp_rule_that_is_not_linear_is_named_as_a_cause() -> None:
    square_p = core.Primitive("square_of_tangent")
    square_p.def_impl(lambda x: x)
    square_p.def_abstract_eval(lambda x: x)
    ad.primitive_jvps[square_p] = lambda primals, tangents: (primals[0], px.lax.mul(tangents[0], tangents[0]))
    with pytest.raises(TypeError, match="not linear in its tangents"):
        px.grad(square_p.bind)(1.0)
