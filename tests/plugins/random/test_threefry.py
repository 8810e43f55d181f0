"""threefry2x32 is that of its authors, and keys and bits are jax's, to the last one."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
from primax.extend.core import ShapedArray
from primax.plugins.random import threefry as T

pytestmark = pytest.mark.usefixtures("in_32_bits")

SHAPES = [(), (1,), (5,), (0,), (2, 3), (4, 0), (3, 1, 2)]
WORDS = np.array([[0x13198A2E, 0x03707344], [0, 0], [2**32 - 1, 5]], np.uint32)


def test_the_words_are_those_of_the_published_vectors():
    ones = 0xFFFFFFFF
    published = [
        ((0, 0, 0, 0), (0x6B200159, 0x99BA4EFE)),
        ((ones, ones, ones, ones), (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344, 0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ]
    args = np.array([given for given, _ in published], np.uint32).T
    np.testing.assert_array_equal(np.stack(T.threefry2x32_p.bind(*args)).T, [words for _, words in published])


@pytest.mark.parametrize("widths, x64", [((8, 16, 32), False), ((64, 32), True)])
def test_bits_of_every_width_and_shape_are_those_of_jax(widths, x64):
    jax = pytest.importorskip("jax")

    def draw(random):
        return lambda key: [random.bits(key, shape, f"uint{width}") for width in widths for shape in SHAPES]

    with px.enable_x64(x64), jax.enable_x64(x64):
        got = px.jit(draw(px.random))(px.random.wrap_key_data(WORDS[0]))
        want = jax.jit(draw(jax.random))(jax.random.wrap_key_data(WORDS[0]))
        for x, y in zip(got, want, strict=True):
            assert (x.shape, x.dtype) == (y.shape, y.dtype)
            np.testing.assert_array_equal(x, y)


def test_what_is_made_of_a_key_is_what_jax_makes_of_it():
    jax = pytest.importorskip("jax")

    def make(random, vmap):
        def all_of(words):
            key = random.wrap_key_data(words)
            made = [random.split(key, shape) for shape in (1, 4, 0, (2, 3), ())]
            made += [random.fold_in(key, data) for data in (0, 7, np.uint32(2**32 - 1), np.int32(-3), np.int8(5))]
            return [random.key_data(keys) for keys in made]

        return [all_of(WORDS[1]), vmap(all_of)(WORDS)]

    got, want = px.jit(lambda: make(px.random, px.vmap))(), jax.jit(lambda: make(jax.random, jax.vmap))()
    for x, y in zip(got[0] + got[1], want[0] + want[1], strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("x64", [False, True])
def test_a_seed_is_the_key_that_jax_makes_of_it(x64):
    jax = pytest.importorskip("jax")
    seeds = [0, 7, -5, 2**31 - 1, 2**40 + 5, -(2**63), True, np.int8(-1), np.uint32(2**32 - 1), np.int64(2**33)]
    with px.enable_x64(x64), jax.enable_x64(x64):
        got = [px.random.key_data(px.random.key(seed)) for seed in seeds]
        want = [jax.random.key_data(jax.random.key(seed)) for seed in seeds]
        np.testing.assert_array_equal(np.stack(got), np.stack(want))
        several = np.arange(-2, 3)
        np.testing.assert_array_equal(
            px.random.key_data(px.vmap(px.random.key)(several)), jax.random.key_data(jax.vmap(jax.random.key)(several))
        )


def test_counts_that_need_more_than_32_bits_go_on_in_the_upper_word():
    shape = (2**17, 2**17)
    (high, low) = px.make_jaxpr(lambda: T.iota_2x32(shape))().out_avals
    assert (high, low) == (ShapedArray(shape, np.uint32), ShapedArray(shape, np.uint32))
    narrow = [np.broadcast_to(x, (3, 4)) for x in T.iota_2x32((3, 4))]
    np.testing.assert_array_equal(px.jit(lambda: T.wide_iota_2x32((3, 4)))(), narrow)
    assert px.eval_shape(lambda key: px.random.bits(key, shape, "uint8"), px.random.key(0)).shape == shape


def test_what_is_drawn_first_does_not_depend_on_how_much_is_drawn():
    key = px.random.key(3)
    few, many, keys, more_keys = px.jit(
        lambda key: (
            px.random.bits(key, (3, 2)),
            px.random.bits(key, (50,)),
            px.random.key_data(px.random.split(key, 3)),
            px.random.key_data(px.random.split(key, (4, 2))),
        )
    )(key)
    np.testing.assert_array_equal(few.ravel(), many[:6])
    np.testing.assert_array_equal(keys, more_keys.reshape(-1, 2)[:3])


def test_a_program_that_draws_twice_holds_the_rounds_once():
    def draw(key):
        return px.random.bits(key, (7,)), px.random.bits(px.random.fold_in(key, 1), (7,), "uint16")

    text = px.jit(draw).lower(px.random.key(0)).as_text()
    assert text.count("func.func private @threefry2x32(") == 1
    assert text.count("call @threefry2x32(") == 2
    assert text.count("stablehlo.while") == 1  # the rounds of the new key


@pytest.mark.parametrize("args", [(1, 2, 3, np.uint32(4)), (np.uint32(1), np.float32(2), np.uint32(3), np.uint32(4))])
def test_words_that_are_not_uint32_are_refused(args):
    with pytest.raises(TypeError, match=r"threefry2x32: argument . must be uint32"):
        T.threefry2x32_p.bind(*args)


def test_words_of_unlike_shapes_are_refused():
    a, b = np.zeros(2, np.uint32), np.zeros(3, np.uint32)
    with pytest.raises(TypeError, match=r"must have the same shape, or rank 0, got shapes \(2,\) and \(3,\)"):
        T.threefry2x32_p.bind(a, a, b, b)
