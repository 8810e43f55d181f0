"""Generators that anybody may define: their keys go where those of primax go, and names belong to plugins."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import primax as px
import primax.extend.random as jer
import primax.numpy as pnp
from primax.core.errors import PluginError
from primax.extend.core import ShapedArray, primitives
from primax.extend.host.registry import Registry
from primax.extend.provisional.random import find_prng_impl
from primax.plugins.random import rbg

pytestmark = pytest.mark.usefixtures("in_32_bits")

random = px.random

MASK = np.uint32(0x9E3779B9)


def seed(number):
    return pnp.stack([number.astype("uint32"), MASK, MASK]).astype("uint32")


def split(key, shape):
    steps = pnp.arange(int(np.prod(shape)), dtype="uint32").reshape(*shape, 1)
    return (key + (steps + np.uint32(1)) * MASK).astype("uint32")


def random_bits(key, bit_width, shape):
    counts = pnp.arange(int(np.prod(shape)), dtype="uint32").reshape(shape)
    return ((counts * MASK) ^ key[0] ^ key[2]).astype(f"uint{bit_width}")


def fold_in(key, data):
    return key ^ data


FUNCTIONS = {"seed": seed, "split": split, "random_bits": random_bits, "fold_in": fold_in}

weak = jer.define_prng_impl(key_shape=(3,), name="weak", tag="wk", **FUNCTIONS)


def test_its_keys_print_and_have_a_dtype_of_their_own():
    key = random.key(7, impl=weak)
    assert repr(key).startswith("Array((), dtype=key<wk>) overlaying:\n[")
    assert (key.itemsize, key.dtype, random.key_data(key).shape) == (12, weak.dtype, (3,))
    assert str(px.make_jaxpr(lambda n: random.key(n, impl=weak))(3)) == (
        "{ lambda ; a:i32[]. let b:key<wk>[] = random_seed[impl=wk] a in (b,) }"
    )
    assert random.key_impl(key) is weak
    assert random.key(1, impl=random.key_impl(key)).dtype == random.key(1, dtype=key.dtype).dtype == key.dtype
    assert pnp.issubdtype(key.dtype, px.dtypes.prng_key)


def test_its_functions_see_one_key_and_arrays_of_keys_are_mapped_over():
    key = random.key(7, impl=weak)
    words = np.array([7, MASK, MASK], np.uint32)
    keys = random.split(key, (2, 3))
    steps = np.arange(1, 7, dtype=np.uint32).reshape(2, 3, 1)
    np.testing.assert_array_equal(random.key_data(keys), words + steps * MASK)
    bits = px.jit(px.vmap(px.vmap(lambda k: random.bits(k, (4,), "uint8"))))(keys)
    data = np.asarray(random.key_data(keys))
    want = (np.arange(4, dtype=np.uint32) * MASK) ^ (data[..., :1] ^ data[..., 2:])
    np.testing.assert_array_equal(bits, want.astype(np.uint8))
    folded = px.vmap(random.fold_in, (None, 0))(key, np.arange(3))
    np.testing.assert_array_equal(random.key_data(folded), words ^ np.arange(3, dtype=np.uint32)[:, None])


@pytest.mark.parametrize(
    "step, function, call, message",
    [
        ("seed", lambda n: pnp.zeros(2, "uint32"), lambda k: random.key(1, impl=k.dtype), r"u32\[3\] for i32\[\], got"),
        (
            "split",
            lambda k, shape: k,
            lambda k: random.split(k),
            r"must return u32\[2,3\] for key<\?>\[\], got u32\[3\]",
        ),
        ("fold_in", lambda k, n: k.astype("int32"), lambda k: random.fold_in(k, 1), r"u32\[3\].*got i32\[3\]"),
        ("random_bits", lambda k, n, s: k[:2], lambda k: random.bits(k), r"must return u32\[\] .*, got u32\[2\]"),
    ],
)
def test_a_function_that_returns_something_else_is_named(step, function, call, message):
    faulty = jer.define_prng_impl(key_shape=(3,), **{**FUNCTIONS, step: function})
    with pytest.raises(TypeError, match=f"{step} of generator '<unnamed>' .*{message}"):
        call(random.wrap_key_data(np.zeros(3, np.uint32), impl=faulty))


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"key_shape": 2}, "key_shape must be a sequence of integers, got 2"),
        ({"split": None}, "split must be a function, got None"),
        ({"name": ""}, "name must be a non-empty string, got ''"),
        ({"tag": 3}, "tag must be a non-empty string, got 3"),
    ],
)
def test_a_definition_names_what_is_wrong_with_it(changed, message):
    with pytest.raises(TypeError, match=f"define_prng_impl: {message}"):
        jer.define_prng_impl(**{"key_shape": (3,), **FUNCTIONS, **changed})


def test_users_ask_for_it_by_name_once_it_is_registered():
    mine = jer.define_prng_impl(key_shape=(3,), name="mine of a test", **FUNCTIONS)
    with pytest.raises(ValueError, match=r"impl must be a generator of an active plugin, .* got 'mine of a test'"):
        random.key(0, impl="mine of a test")
    with pytest.raises(TypeError, match="cannot be pickled, since it is not registered"):
        pickle.dumps(random.key(0, impl=mine))
    jer.register_prng_impl(mine)
    key = random.key(4, impl="mine of a test")
    assert random.key_impl(key) == "mine of a test"
    assert pickle.loads(pickle.dumps(key)).dtype is mine.dtype
    assert copy.deepcopy(mine) is mine
    again = jer.define_prng_impl(key_shape=(3,), name="mine of a test", **FUNCTIONS)
    jer.register_prng_impl(again)
    assert find_prng_impl("mine of a test") is again
    assert random.key_impl(key) is mine


def test_a_name_belongs_to_the_plugin_that_entered_it():
    theirs = jer.define_prng_impl(key_shape=(3,), name="theirs of a test", **FUNCTIONS)
    registry = Registry("a test", {})
    jer.register_prng_impl(theirs, registry)
    assert [(entry.what, entry.name) for entry in registry.entries] == [("generator", "theirs of a test")]
    with pytest.raises(PluginError, match="name of impl must be new, got 'theirs of a test'"):
        jer.register_prng_impl(theirs)
    with pytest.raises(PluginError, match="may not replace the generator 'threefry2x32'"):
        jer.register_prng_impl(jer.define_prng_impl(key_shape=(3,), name="threefry2x32", **FUNCTIONS), registry)
    registry.roll_back()
    with pytest.raises(ValueError, match="got 'theirs of a test'"):
        find_prng_impl("theirs of a test")
    with pytest.raises(TypeError, match="impl must be what define_prng_impl returned, got 'weak'"):
        jer.register_prng_impl("weak")


def test_the_generators_of_primax_are_here_too():
    assert jer.threefry2x32_p is primitives["threefry2x32"]
    assert jer.rbg_prng_impl is rbg.rbg_prng_impl
    assert repr(jer.threefry_prng_impl) == "<generator threefry2x32>"
    assert find_prng_impl() is jer.threefry_prng_impl
    keys = jer.random_seed(np.arange(3), jer.unsafe_rbg_prng_impl)
    assert (keys.shape, random.key_impl(keys)) == ((3,), "unsafe_rbg")
    assert (jer.seed_with_impl("rbg", 3) == random.key(3, impl="rbg")).item()
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = jer.nothing


def test_the_platforms_own_generator_draws_what_jax_draws():
    jax = pytest.importorskip("jax")

    def draw(random, vmap, words, impl):
        key = random.wrap_key_data(words, impl=impl)
        keys = random.split(key, (3,))
        made = [keys, random.fold_in(key, 5), random.key(-3, impl=impl), vmap(lambda k: random.split(k, 2))(keys)]
        bits = [random.bits(key, (2, 3), dtype) for dtype in ("uint8", "uint16", "uint32")]
        return [*map(random.key_data, made), *bits, vmap(lambda k: random.bits(k, (2,)))(keys)]

    words = np.arange(4, dtype=np.uint32) + 9
    for impl in ("rbg", "unsafe_rbg"):
        got = px.jit(draw, static_argnums=(0, 1, 3))(random, px.vmap, words, impl)
        want = jax.jit(draw, static_argnums=(0, 1, 3))(jax.random, jax.vmap, words, impl)
        for x, y in zip(got, want, strict=True):
            np.testing.assert_array_equal(x, y)


def test_xlas_generator_takes_and_returns_its_state():
    state, bits = px.lax.rng_bit_generator(np.arange(4, dtype=np.uint32), (5,), algorithm=px.lax.RandomAlgorithm(1))
    np.testing.assert_array_equal(state, [0, 1, 5, 3])
    assert (bits.shape, bits.dtype) == ((5,), np.uint32)
    assert "algorithm=RNG_DEFAULT" in str(px.make_jaxpr(lambda k: px.lax.rng_bit_generator(k, (3,)))(state))
    with pytest.raises(TypeError, match=r"key must be uint32\[4\] or uint64\[2\], got u32\[2\]"):
        px.lax.rng_bit_generator(np.zeros(2, np.uint32), (3,))
    with pytest.raises(TypeError, match="dtype must be uint8, uint16, uint32 or uint64, got float32"):
        px.lax.rng_bit_generator(state, (3,), "float32")
    empty = px.vmap(lambda k: px.lax.rng_bit_generator(k, (3,)))(np.zeros((0, 4), np.uint32))
    assert [x.shape for x in empty] == [(0, 4), (0, 3)]


@pytest.mark.parametrize("shape", [(6,), (5,), (3, 3), (1,), ()])
def test_threefry_2x32_takes_counts_in_two_halves(shape):
    jax_random = pytest.importorskip("jax.extend.random")
    key = np.array([7, 11], np.uint32)
    count = np.arange(np.prod(shape, dtype=int), dtype=np.uint32).reshape(shape)
    got = px.jit(jer.threefry_2x32)(key, count)
    assert px.make_jaxpr(jer.threefry_2x32)(key, count).out_avals == [ShapedArray(shape, np.uint32)]
    np.testing.assert_array_equal(got, jax_random.threefry_2x32(key, count))


@pytest.mark.parametrize(
    "key, count, message",
    [
        (np.zeros(2, np.int32), np.zeros(2, np.uint32), r"must be uint32, got i32\[2\] and u32\[2\]"),
        (np.zeros(3, np.uint32), np.zeros(2, np.uint32), r"keypair must have shape \(2,\), got u32\[3\]"),
    ],
)
def test_threefry_2x32_refuses_what_is_no_key(key, count, message):
    with pytest.raises(TypeError, match=f"threefry_2x32: .*{message}"):
        jer.threefry_2x32(key, count)
