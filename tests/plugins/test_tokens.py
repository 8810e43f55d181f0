"""Tokens, sinks and numbers that no key determines."""

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import lax
from primax.extend import core
from primax.extend.core import primitives


def test_tokens_are_made_and_joined_where_nothing_is_staged():
    token = lax.after_all(lax.create_token(), lax.create_token("anything"))
    assert isinstance(token, core.Token)
    assert token.block_until_ready() is token
    assert repr(token) == "Token()"
    assert core.get_aval(token) is core.abstract_token


def test_tokens_are_operations_of_programs():
    program = px.make_jaxpr(lambda: lax.after_all(lax.create_token(), lax.create_token()))()
    assert [eqn.primitive for eqn in program.eqns] == [lax.create_token_p, lax.create_token_p, lax.after_all_p]
    assert program.out_avals == [core.abstract_token]


def joined(x):
    lax.after_all(lax.create_token())
    return x * x


def test_functions_with_tokens_are_transformed_and_compiled():
    assert px.grad(joined)(3.0) == 6.0
    assert px.jit(joined)(3.0) == 9.0
    assert px.vmap(joined)(pnp.arange(3.0)).tolist() == [0.0, 1.0, 4.0]
    program = px.make_jaxpr(px.vmap(lambda x: (lax.after_all(lax.create_token()), x)[1]))(pnp.zeros(2))
    assert lax.after_all_p in [eqn.primitive for eqn in program.eqns]


def test_a_token_is_no_result_of_a_mapped_function():
    with pytest.raises(TypeError, match="vmap: results must be arrays if out_axes is not None, got token"):
        px.vmap(lambda x: lax.create_token())(pnp.zeros(2))
    assert isinstance(px.vmap(lambda x: lax.create_token(), out_axes=None)(pnp.zeros(2)), core.Token)


def test_what_is_no_token_is_refused():
    with pytest.raises(TypeError, match=r"after_all: operands must be tokens, got f(32|64)\[\] for operand 1"):
        lax.after_all(lax.create_token(), 1.0)
    with pytest.raises(TypeError, match="after_all: operands must be tokens"):
        px.make_jaxpr(lax.after_all)(1.0)


def test_a_compiled_program_neither_takes_nor_returns_tokens():
    with pytest.raises(TypeError, match="results of a compiled program must be arrays, got a token"):
        px.jit(lax.create_token)()


def kept(x):
    assert lax.dce_sink({"a": pnp.sin(x), "b": x}) is None
    return x * 2.0


TRANSFORMS = {"none": lambda f: f, "grad": px.grad, "vmap": px.vmap, "checkpoint": px.checkpoint}


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_a_sink_keeps_what_it_is_given_through_transformations(transform):
    x = pnp.ones(2) if transform is px.vmap else pnp.float32(1.0)
    text = str(px.make_jaxpr(transform(kept))(x))
    assert text.count("dce_sink[") >= 2
    assert "sin" in text


def test_a_sink_changes_no_result():
    assert kept(1.5) == px.jit(kept)(1.5) == 3.0
    _, outs = lax.scan(lambda carry, x: (carry, kept(x)), 0.0, pnp.arange(3.0))
    assert outs.tolist() == [0.0, 2.0, 4.0]
    assert px.jit(px.vmap(px.grad(kept)))(pnp.ones(2)).tolist() == [2.0, 2.0]


def test_a_sink_for_a_compiler_is_a_call():
    text = px.jit(lambda x: lax.dce_sink(x, prevent_mlir_dce=True)).lower(1.0).as_text()
    assert "custom_call @dce_sink" in text
    assert "dce_sink" not in px.jit(kept).lower(1.0).as_text()


@pytest.mark.parametrize("low, high", [(0.0, 1.0), (-3, 5), (np.float16(1), np.float16(2))])
def test_rng_uniform_draws_numbers_between_two_of_their_dtype(low, high):
    drawn = px.jit(lambda: lax.rng_uniform(low, high, (4, 50)))()
    assert drawn.shape == (4, 50)
    assert drawn.dtype == pnp.asarray(low).dtype
    values = np.asarray(drawn, np.float64)
    assert values.min() >= low
    assert values.max() <= high
    assert len(np.unique(values)) > 4


def test_rng_uniform_refuses_what_is_no_pair_of_scalars():
    with pytest.raises(ValueError, match="rng_uniform: a and b must have the same dtype, got float32 and int32"):
        lax.rng_uniform(pnp.float32(0.0), pnp.int32(1), (2,))
    with pytest.raises(ValueError, match=r"rng_uniform: a and b must be scalars, got f32\[2\]"):
        lax.rng_uniform(pnp.zeros(2, "float32"), pnp.float32(1), (2,))
    with pytest.raises(TypeError, match="rng_uniform: shape must be a sequence of integers, got 3"):
        lax.rng_uniform(0.0, 1.0, 3)
    for dtype in ("bool", "int4", "int8", "uint16", "float8_e4m3fn", "complex64"):
        low, high = pnp.zeros((), dtype), pnp.ones((), dtype)
        with pytest.raises(TypeError, match=f"rng_uniform: the dtype of a and b must be one of int32, .*, got {dtype}"):
            lax.rng_uniform(low, high, (3,))
    with pytest.raises(NotImplementedError, match="differ between calls"):
        px.vmap(lambda a: lax.rng_uniform(a, 1.0, (2,)))(pnp.zeros(3))


def test_the_primitives_are_those_of_jax_by_name():
    for name in ("create_token", "after_all", "rng_uniform", "dce_sink"):
        assert primitives[name] is getattr(lax, f"{name}_p")
