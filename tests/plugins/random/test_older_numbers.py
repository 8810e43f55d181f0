"""Without `threefry_partitionable` the numbers are those that jax gives without it."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px


def data(m, key):
    return np.asarray(m.random.key_data(key))


DRAWS = {
    "split": lambda m, key: data(m, m.random.split(key, 3)),
    "split in two axes": lambda m, key: data(m, m.random.split(key, (2, 3))),
    "fold_in": lambda m, key: data(m, m.random.fold_in(key, 7)),
    **{
        f"{dtype} {shape}": (lambda m, key, dtype=dtype, shape=shape: m.random.bits(key, shape, dtype))
        for dtype in ("uint8", "uint16", "uint32")
        for shape in ((), (1,), (5,), (2, 3), (0,))
    },
    "uniform": lambda m, key: m.random.uniform(key, (3, 3)),
    "permutation": lambda m, key: m.random.permutation(key, 10),
    "vmap": lambda m, key: m.vmap(lambda k: m.random.uniform(k, (3,)))(m.random.split(key, 2)),
    "jit": lambda m, key: m.jit(lambda k: m.random.normal(k, (3,)))(key),
}


@pytest.mark.parametrize(
    "draw, impl", [*((draw, "threefry2x32") for draw in DRAWS), ("split", "rbg"), ("fold_in", "rbg")]
)
def test_numbers_are_those_of_jax(draw, impl, jax):
    with px.threefry_partitionable(False), jax.threefry_partitionable(False):
        ours = DRAWS[draw](px, px.random.key(42, impl=impl))
        theirs = DRAWS[draw](jax, jax.random.key(42, impl=impl))
    np.testing.assert_array_equal(ours, theirs)


def test_64_bits_are_those_of_jax(jax):
    with px.enable_x64(True), jax.enable_x64(True), px.threefry_partitionable(False), jax.threefry_partitionable(False):
        ours = px.random.bits(px.random.key(1), (5,), "uint64")
        theirs = jax.random.bits(jax.random.key(1), (5,), "uint64")
    np.testing.assert_array_equal(ours, theirs)


def test_the_option_counts_for_what_has_been_compiled_before():
    draw = px.jit(lambda key: px.random.uniform(key, (4,)))
    key = px.random.key(0)
    before, eager = draw(key), px.random.uniform(key, (4,))
    with px.threefry_partitionable(False):
        assert not np.array_equal(draw(key), before)
        assert not np.array_equal(px.random.uniform(key, (4,)), eager)
    np.testing.assert_array_equal(draw(key), before)
    np.testing.assert_array_equal(px.random.uniform(key, (4,)), eager)
